import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { isMacOf, mac } from '../../../platform/secrets/mac.ts';

const MAC_BYTES = 32;

/** What proves that a form was sent by the page that we showed to this user for this authorization, and when it was. */
export interface FormTokens {
  /** @param sessionId null: the user is not signed in */
  of(uid: string, sessionId: number | null): string;
  isOf(uid: string, sessionId: number | null, given: string): boolean;
  /** The time now, signed for the form with this token. */
  timeOf(csrf: string): string;
  /** @returns how long ago the form was shown, in ms; null if the time was not signed for it */
  ageOf(csrf: string, given: string): number | null;
}

/** @param now ms since 1970 */
export function createFormTokens(keyring: Keyring, now: () => number = Date.now): FormTokens {
  // The CSRF tokens of the API are the MACs of bare numbers.
  const signed = (uid: string, sessionId: number | null) => `form of ${sessionId ?? 'nobody'} for ${uid}`;
  const shown = (csrf: string, at: string) => `form ${csrf} shown at ${at}`;
  const prove = (text: string) => mac(keyring.subkey('csrf').key, text, MAC_BYTES).toString('base64url');
  const isProof = (text: string, given: string) =>
    isMacOf(keyring.accepted('csrf'), text, Buffer.from(given, 'base64url'));
  return {
    of: (uid, sessionId) => prove(signed(uid, sessionId)),
    isOf: (uid, sessionId, given) => isProof(signed(uid, sessionId), given),
    timeOf(csrf) {
      const at = String(now());
      return `${at}.${prove(shown(csrf, at))}`;
    },
    ageOf(csrf, given) {
      const [at = '', proof = ''] = given.split('.');
      return isProof(shown(csrf, at), proof) ? now() - Number(at) : null;
    },
  };
}

/** The fields of a form. */
export function readForm(body: Buffer | null): URLSearchParams {
  return new URLSearchParams(body?.toString('utf8') ?? '');
}
