/** Shared by the services that sign their callbacks. Nothing here throws, whatever the request contains. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { clipText } from '../../terms/bounces.ts';
import { plainFact } from './callback-body.ts';
import type { CallbackRequest, CallbackResult, ProviderFact } from './kind.ts';

/** @returns the value of a header; null if it is missing or was sent more than once */
export function headerOf({ headers }: CallbackRequest, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

/** Compares two digests in constant time. */
export function sameDigest(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** The HMAC of a text, or of several parts joined. */
export function hmacOf(
  algorithm: 'sha1' | 'sha256',
  key: string | Buffer,
  ...parts: (string | Buffer)[]
): Buffer {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

export function refusedCallback(reason: string): CallbackResult {
  return { kind: 'refused', reason };
}

/** The result of a genuine callback. */
export function genuineCallback(
  given: Partial<Omit<Extract<CallbackResult, { kind: 'reports' }>, 'kind'>>,
): CallbackResult {
  return { kind: 'reports', facts: [], inbound: [], ignored: 0, onceTokens: [], ...given };
}

/** A fact without the fields that only some types have. `response` is clipped to what can be stored. */
export function factOf(
  given: Pick<ProviderFact, 'reference' | 'providerMessageId' | 'type' | 'occurredAt'> &
    Partial<ProviderFact>,
): ProviderFact {
  const { response = null } = given;
  return {
    ...plainFact,
    ...given,
    response: response === null || response === '' ? null : clipText(response),
  };
}
