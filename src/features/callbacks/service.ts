import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { parseMessageReference } from '../../delivery/terms/addresses/reference.ts';
import type { DeliveryFact } from '../../delivery/ledger/facts/delivery-fact.ts';
import type {
  CallbackRequest,
  CallbackResult,
  InboundSms,
  ProviderFact,
} from '../../delivery/wire/adapters/kind.ts';
import type { NamedProvider } from '../../delivery/wire/providers/named.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Egress } from '../../platform/egress/client.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { CallbackRecording } from './recording.ts';

export interface CallbackDeps {
  keyring: Keyring;
  /** Fetches certificates and confirms subscriptions. */
  egress: Egress;
  recording: CallbackRecording;
  /** Handles an SMS that a recipient sent. Repeating it changes nothing. */
  takeSms: (provider: NamedProvider, sms: InboundSms) => Promise<unknown>;
  log: Logger;
}

/** The response that the service expects. */
export interface CallbackReply {
  contentType: string;
  body: string;
}

type Reports = Extract<CallbackResult, { kind: 'reports' }>;

const EMPTY: CallbackReply = { contentType: 'text/plain', body: '' };

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Handles what providers send to the callback URLs. */
export interface Callbacks {
  /**
   * Handles a callback. Resolves when everything in it is committed.
   * @throws AppError not_found if the provider has no callbacks; forbidden if the callback is not genuine; unavailable if
   *   it could not be checked or confirmed
   */
  take(provider: NamedProvider, request: CallbackRequest): Promise<CallbackReply>;
}

export function createCallbacks({ keyring, egress, recording, takeSms, log }: CallbackDeps): Callbacks {
  const keys = keyring.accepted('reference').map(({ key }) => key);

  /** @returns null if the fact has no genuine reference: it is about mail that Carillon did not send */
  function deliveryFact(provider: string, fact: ProviderFact): DeliveryFact | null {
    const { reference, ...rest } = fact;
    const message = reference === null ? null : parseMessageReference(keys, reference);
    return message && { ...rest, ...message, source: { kind: 'callback', provider } };
  }

  async function record(provider: NamedProvider, { body }: CallbackRequest, reports: Reports): Promise<void> {
    const { id, name } = provider;
    const facts = reports.facts.flatMap((fact) => deliveryFact(name, fact) ?? []);
    log.debug(
      {
        provider: name,
        facts: facts.length,
        foreign: reports.facts.length - facts.length,
        ignored: reports.ignored,
      },
      'callback received',
    );
    if (facts.length > 0 || reports.onceTokens.length > 0) {
      const tokens = reports.onceTokens.map(sha256);
      const recorded = await recording.record({ providerId: id, facts, tokens, bodyDigest: sha256(body) });
      if (recorded === 'reused') throw refused(name, 'its token was used before');
    }
    for (const sms of reports.inbound) await takeSms(provider, sms);
  }

  function refused(provider: string, reason: string): AppError {
    log.warn({ provider, reason }, 'callback refused');
    return new AppError('forbidden', 'the callback is not genuine');
  }

  /**
   * The provider kind has checked that the host belongs to the service. Redirects are not followed, because they could
   * lead elsewhere.
   */
  async function confirm(provider: string, url: string): Promise<void> {
    if (URL.parse(url)?.protocol !== 'https:')
      throw refused(provider, 'the confirmation URL does not use https');
    const result = await egress.request({ url, method: 'GET' });
    const ok = result.ok && result.statusCode >= 200 && result.statusCode < 300;
    log.info({ provider, status_code: result.statusCode, confirmed: ok }, 'callback subscription requested');
    if (!ok) throw new AppError('unavailable', 'the subscription could not be confirmed; try again');
  }

  return {
    async take(provider, request) {
      const { kind, settings, name } = provider;
      if (!kind.callbacks) throw notFound('callback');
      const result = await kind.callbacks.parseCallback(request, settings, egress);
      switch (result.kind) {
        case 'refused':
          throw refused(name, result.reason);
        case 'unavailable':
          log.warn({ provider: name, reason: result.reason }, 'callback not checked');
          throw new AppError('unavailable', 'the callback cannot be checked right now; try again');
        case 'confirm':
          await confirm(name, result.url);
          return EMPTY;
        case 'reports':
          await record(provider, request, result);
          return result.response ?? EMPTY;
      }
    },
  };
}
