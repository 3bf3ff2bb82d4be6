import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { isMacOf, mac } from '../../../platform/secrets/mac.ts';

const MAC_BYTES = 32;

/** What proves that a form was sent by the page that we showed to this user for this authorization. */
export interface FormTokens {
  /** @param sessionId null: the user is not signed in */
  of(uid: string, sessionId: number | null): string;
  isOf(uid: string, sessionId: number | null, given: string): boolean;
}

export function createFormTokens(keyring: Keyring): FormTokens {
  // The CSRF tokens of the API are the MACs of bare numbers.
  const signed = (uid: string, sessionId: number | null) => `form of ${sessionId ?? 'nobody'} for ${uid}`;
  return {
    of: (uid, sessionId) =>
      mac(keyring.subkey('csrf').key, signed(uid, sessionId), MAC_BYTES).toString('base64url'),
    isOf: (uid, sessionId, given) =>
      isMacOf(keyring.accepted('csrf'), signed(uid, sessionId), Buffer.from(given, 'base64url')),
  };
}

/** The fields of a form. */
export function readForm(body: Buffer | null): URLSearchParams {
  return new URLSearchParams(body?.toString('utf8') ?? '');
}
