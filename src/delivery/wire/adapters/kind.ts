import type pg from 'pg';
import type { z } from 'zod';
import type { Config } from '../../../config.ts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import type { Bounce, Channel, FailureCode } from '../../terms/message.ts';
import type { ProviderPorts } from './port.ts';

/** What a provider named by a setting is built from. */
export interface SettingsProviderDeps {
  config: Config;
  pool: pg.Pool;
  resolver: Resolver;
}

/** What every provider is built from. */
export interface ProviderDeps extends SettingsProviderDeps {
  /** For all requests to the provider's API. */
  egress: Egress;
}

/** What the provider of one row of `providers` is built from. */
export interface NamedProviderDeps extends ProviderDeps {
  /** Its callback URL, with the secret token, for services that take it with each message; null without PUBLIC_URL. */
  callbackUrl: string | null;
  /** The id of the row. */
  id: number;
}

/** What every provider has, whether operators add it or name it in a setting: an entry in the list in `index.ts`. */
export interface ProviderEntry<C extends Channel = Channel> {
  /** As in `carillon provider add --kind ses`. */
  readonly name: string;
  readonly channel: C;
  /** Absent: the channel's setting, such as EMAIL_PROVIDER_URL, cannot name it. */
  readonly url?: {
    /** Including the colon. */
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
  /** A strict object of credentials and options; each field's `describe()` is its help text on the command line. */
  readonly settings: z.ZodType<Settings>;
  /** The names of the settings that are never shown. */
  readonly secrets: readonly string[];
  /** Whether handing over a message again is safe, because the service takes an idempotency key. */
  readonly repeatable: boolean;
  create(settings: Settings, deps: NamedProviderDeps): ProviderPorts[C];
  /**
   * Checks the credentials without sending anything.
   * @returns what is wrong, for the operator; null if nothing is
   */
  check(settings: Settings, deps: ProviderDeps): Promise<string | null>;
  /**
   * Checks whether the service's own settings make it track opens and clicks: links would then be rewritten twice, and
   * each open counted twice. Called before settings are stored. Absent: each message switches tracking off.
   * @returns what the operator has to change; null if nothing
   * @throws Error if the service cannot be reached
   */
  trackingProblem?(settings: Settings, deps: ProviderDeps): Promise<string | null>;
  /** Absent if the service needs no registration of domains. */
  readonly domains?: ProviderDomains<Settings>;
  /** Absent if the service has no callbacks. */
  readonly callbacks?: ProviderCallbacks<Settings>;
}

/** A DNS record that a service asks for. */
export interface ProviderDnsRecord {
  type: 'TXT' | 'CNAME' | 'MX';
  /** The fully qualified name, in A-labels. */
  name: string;
  value: string;
  /** MX records only. */
  priority: number | null;
  /** Whether the service refuses to send for the domain without it. */
  required: boolean;
  /** What the record proves. `dkim`: signs for the domain; `return_path`: takes bounces. */
  purpose: 'dkim' | 'return_path' | 'other';
}

/** How sending domains are registered with a service. */
export interface ProviderDomains<Settings> {
  /**
   * Registers the domain; it may be registered already.
   * @param creating awaited after the service has reported that it does not know the domain, and before the request
   *   that registers it
   * @returns whether this call registered it
   * @throws DomainRefusedError if the service refuses the domain for good; other errors may pass, see `domainError`
   */
  registerDomain(
    domain: string,
    settings: Settings,
    deps: ProviderDeps,
    creating?: () => Promise<void>,
  ): Promise<boolean>;
  /** The records that the service asks for, if it knows them already. The domain must be registered. */
  dnsRecords(domain: string, settings: Settings, deps: ProviderDeps): Promise<ProviderDnsRecord[]>;
  /**
   * Called when Carillon has verified the domain: asks the service to check the records now. Absent if the service
   * checks them by itself.
   */
  verifyDomain?(domain: string, settings: Settings, deps: ProviderDeps): Promise<void>;
  /** Removes the registration, which may be gone already. Called only if `registerDomain` created it. */
  removeDomain(domain: string, settings: Settings, deps: ProviderDeps): Promise<void>;
  /** Whether Carillon can manage domains with these settings; by default it can. If not, it knows no records. */
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

/** What a service reports about one message. Facts without a genuine reference are ignored. */
export interface ProviderFact {
  /** As the service returned it. null: it returned none, so the fact is about mail that Carillon did not send. */
  reference: string | null;
  providerMessageId: string | null;
  type: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'complained' | 'failed';
  occurredAt: Date;
  /** The reply of the remote server, or of the service. */
  response: string | null;
  /** Only with `bounced`. */
  bounce: Bounce | null;
  /** Only with `failed`. */
  failure: { code: FailureCode; message: string } | null;
  /**
   * With `bounced` and `complained`: whether the report may suppress the address. An entry on a service's own block
   * list and a spam verdict may not.
   */
  suppresses: boolean;
  /** With `failed`: the service refused the message because the recipient opted out of the brand's messages. */
  optedOut?: true;
}

/** An SMS that a recipient sent. */
export interface InboundSms {
  /** E.164. */
  from: string;
  /** The brand's number: E.164, or a short code. */
  to: string;
  /** The pool of numbers that `to` belongs to; null if the service has no pools, or the number is in none. */
  pool: string | null;
  text: string;
  /** The service has recognized the text as this keyword and has answered it itself. */
  answered: 'stop' | 'start' | 'help' | null;
  providerMessageId: string | null;
}

export type CallbackResult =
  | {
      kind: 'reports';
      facts: ProviderFact[];
      inbound: InboundSms[];
      /** Number of items that are not about the outcome of a message, or that could not be read. */
      ignored: number;
      /** Single-use tokens; a callback whose token was used before is refused. */
      onceTokens: string[];
      /** The response that the service expects; 200 without a body by default. */
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
   * Reads a callback and checks its signature. Never throws: a malformed item is ignored and does not affect the
   * others; a malformed request is refused.
   * @param egress fetches what checking the signature needs, such as a certificate
   */
  parseCallback(request: CallbackRequest, settings: Settings, egress: Egress): Promise<CallbackResult>;
}
