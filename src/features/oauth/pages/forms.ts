import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { mac } from '../../../platform/secrets/mac.ts';

const MAC_BYTES = 32;

/** What proves that a form was sent by the page that we showed to this user for this authorization. */
export interface FormTokens {
  /** @param sessionId null: the user is not signed in */
  of(uid: string, sessionId: number | null): string;
  isOf(uid: string, sessionId: number | null, given: string): boolean;
}

export function createFormTokens(keyring: Keyring): FormTokens {
  // The CSRF tokens of the API are the MACs of bare numbers.
  const sign = (key: Buffer, uid: string, sessionId: number | null) =>
    mac(key, `form of ${sessionId ?? 'nobody'} for ${uid}`, MAC_BYTES);
  return {
    of: (uid, sessionId) => sign(keyring.subkey('csrf').key, uid, sessionId).toString('base64url'),
    isOf(uid, sessionId, given) {
      const bytes = Buffer.from(given, 'base64url');
      if (bytes.length !== MAC_BYTES) return false;
      return keyring.accepted('csrf').some(({ key }) => timingSafeEqual(sign(key, uid, sessionId), bytes));
    },
  };
}

/** The fields of a form. */
export function readForm(body: Buffer | null): URLSearchParams {
  return new URLSearchParams(body?.toString('utf8') ?? '');
}
