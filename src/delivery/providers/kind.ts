import type pg from 'pg';
import type { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Resolver } from '../../platform/dns/resolver.ts';
import type { Egress } from '../../platform/egress/client.ts';
import type { Bounce, Channel, FailureCode } from '../message.ts';
import type { ProviderPorts } from './port.ts';

/** What the providers of the settings are built from. */
export interface SettingsProviderDeps {
  config: Config;
  pool: pg.Pool;
  resolver: Resolver;
}

/** What providers are built from. */
export interface ProviderDeps extends SettingsProviderDeps {
  /** For all requests to the provider's API. */
  egress: Egress;
}

/** What the provider of one row of `providers` is built from. */
export interface NamedProviderDeps extends ProviderDeps {
  /** Its callback URL, with the secret token; null without PUBLIC_URL. For services that take it with each message. */
  callbackUrl: string | null;
}

/** What every provider has: one line of the list in `index.ts`, whichever way operators choose it. */
export interface ProviderEntry<C extends Channel = Channel> {
  /** As in `carillon provider add --kind ses`. */
  readonly name: string;
  readonly channel: C;
  /** Absent: the setting of the channel, such as EMAIL_PROVIDER_URL, cannot name it. */
  readonly url?: {
    /** With their colon. */
    readonly schemes: readonly string[];
    create(url: URL, deps: SettingsProviderDeps): ProviderPorts[C];
  };
}

/**
 * A kind of provider that operators add with `carillon provider add`: one folder, and one line in `index.ts`.
 * `docs/adding-a-provider.md` is the recipe.
 */
export interface ProviderKind<Settings = unknown, C extends Channel = Channel> extends ProviderEntry<C> {
  /** The service's own name. */
  readonly title: string;
  /** A strict object of credentials and options; `describe()` of each field is the help of its option. */
  readonly settings: z.ZodType<Settings>;
  /** The names of the settings that are never shown. */
  readonly secrets: readonly string[];
  /** The hand-over of a message may be repeated: the service takes an idempotency key. */
  readonly repeatable: boolean;
  create(settings: Settings, deps: NamedProviderDeps): ProviderPorts[C];
  /**
   * Checks the credentials without sending anything.
   * @returns null, or what is wrong, for the operator
   */
  check(settings: Settings, deps: ProviderDeps): Promise<string | null>;
  /**
   * Looks whether the service itself tracks opens and clicks by settings of its own: links would then be rewritten
   * twice, and each open counted twice. Asked before settings are stored. Absent: each message switches it off.
   * @returns null, or what the operator has to change
   * @throws Error if the service cannot be asked
   */
  trackingProblem?(settings: Settings, deps: ProviderDeps): Promise<string | null>;
  /** Absent if domains need nothing at this service. */
  readonly domains?: ProviderDomains<Settings>;
  /** Absent if the service has no callbacks. */
  readonly callbacks?: ProviderCallbacks<Settings>;
}

/** A DNS record that a service asks for. */
export interface ProviderDnsRecord {
  type: 'TXT' | 'CNAME' | 'MX';
  /** The complete name, in A-labels. */
  name: string;
  value: string;
  /** Of an MX record. */
  priority: number | null;
  /** The service refuses to send for the domain without it. */
  required: boolean;
  /** What the record proves. `dkim`: signs for the domain; `return_path`: takes bounces. */
  purpose: 'dkim' | 'return_path' | 'other';
}

/** How a service learns of sending domains. */
export interface ProviderDomains<Settings> {
  /**
   * Registers the domain; it may be registered already.
   * @param creating called, and waited for, once the service has said that it does not know the domain, and before it is
   *   told to register it
   * @returns whether it was registered by this call
   * @throws DomainRefusedError if the service refuses the domain for good; other errors may pass, see `domainError`
   */
  registerDomain(
    domain: string,
    settings: Settings,
    deps: ProviderDeps,
    creating?: () => Promise<void>,
  ): Promise<boolean>;
  /** The records that the service asks for, as far as it has them. The domain is registered. */
  dnsRecords(domain: string, settings: Settings, deps: ProviderDeps): Promise<ProviderDnsRecord[]>;
  /** Called when the domain is verified: asks the service to look at the records now, if it does not by itself. */
  verifyDomain?(domain: string, settings: Settings, deps: ProviderDeps): Promise<void>;
  /** Removes the registration, which may be gone already. Called only for one that `registerDomain` has made. */
  removeDomain(domain: string, settings: Settings, deps: ProviderDeps): Promise<void>;
  /** Whether Carillon can manage domains with these settings; by default it can. Otherwise no records are known. */
  managesDomains?(settings: Settings): boolean;
  /** Whether Carillon signs with the domain's own keys, because the service takes complete messages unchanged. */
  readonly carillonSigns: boolean;
}

/** A request to the callback URL of a provider. */
export interface CallbackRequest {
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes as received. */
  body: Buffer;
  /** The complete URL under PUBLIC_URL, which some services sign. */
  url: string;
  now: Date;
}

/** What a service reports about one message. It counts only with a genuine reference. */
export interface ProviderFact {
  /** As the service returned it. null: it returned none, so the fact is about other mail. */
  reference: string | null;
  providerMessageId: string | null;
  type: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'complained' | 'failed';
  occurredAt: Date;
  /** The remote server's words, or the service's. */
  response: string | null;
  /** With `bounced` only. */
  bounce: Bounce | null;
  /** With `failed` only. */
  failure: { code: FailureCode; message: string } | null;
  /**
   * With `bounced` and `complained`: whether the report may suppress the address. A service's own block list or spam
   * verdict may not.
   */
  suppresses: boolean;
  /** With `failed`: the service refused the message because the recipient opted out of the brand's messages. */
  optedOut?: true;
}

/** An SMS that a recipient sent. */
export interface InboundSms {
  /** E.164. */
  from: string;
  /** The number of the brand: E.164, or a short code. */
  to: string;
  /** The pool of numbers that `to` belongs to, if the service has such; null: none. */
  pool: string | null;
  text: string;
  /** The service itself has read the text as this keyword, and has answered it. */
  answered: 'stop' | 'start' | 'help' | null;
  providerMessageId: string | null;
}

export type CallbackResult =
  | {
      kind: 'reports';
      facts: ProviderFact[];
      inbound: InboundSms[];
      /** Items that are not about the outcome of a message, or that could not be read. */
      ignored: number;
      /** Tokens that the service uses once; a callback whose token was used before is refused. */
      onceTokens: string[];
      /** The response that the service expects; by default 200 without a body. */
      response?: { contentType: string; body: string };
    }
  /** The service asks to confirm the subscription: the callback feature requests this URL through egress. */
  | { kind: 'confirm'; url: string }
  /** What the signature needs, such as a certificate, could not be fetched. The response is 503: the service tries again. */
  | { kind: 'unavailable'; reason: string }
  /** The signature is wrong, or the request is malformed. `reason` goes to the log. */
  | { kind: 'refused'; reason: string };

export interface ProviderCallbacks<Settings> {
  /**
   * Reads a callback and checks its signature. It never throws: a malformed item is ignored and does not fail the others
   * of its batch; a malformed request is refused.
   * @param egress for what the signature needs, such as a certificate
   */
  parseCallback(request: CallbackRequest, settings: Settings, egress: Egress): Promise<CallbackResult>;
}
