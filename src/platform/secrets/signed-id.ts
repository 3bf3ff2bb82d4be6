import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Keyring } from './keyring.ts';

/** The purpose of a signed id. An id signed for one purpose is invalid for any other. */
export type SignedPurpose = 'upload' | 'preview';

/** The row that a signed id stands for. */
export interface SignedRow {
  accountId: number;
  id: number;
}

/** Ids that clients can store and send back, but not forge: `<account>-<row>-<128-bit MAC>`. */
export interface SignedIds {
  sign(purpose: SignedPurpose, row: SignedRow): string;
  /** @returns null unless the id was signed for this purpose with APP_SECRET or one of APP_SECRET_PREVIOUS */
  verify(purpose: SignedPurpose, signedId: string): SignedRow | null;
}

const MAC_BYTES = 16;
/** The pattern of every signed id; part of the OpenAPI description. */
export const SIGNED_ID = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([A-Za-z0-9_-]{22})$/;

function macOf(key: Buffer, purpose: SignedPurpose, row: SignedRow): Buffer {
  const content = JSON.stringify([purpose, row.accountId, row.id]);
  return createHmac('sha256', key).update(content).digest().subarray(0, MAC_BYTES);
}

export function createSignedIds(keyring: Pick<Keyring, 'subkey' | 'accepted'>): SignedIds {
  return {
    sign(purpose, row) {
      const mac = macOf(keyring.subkey('uploads').key, purpose, row);
      return `${row.accountId.toString(36)}-${row.id.toString(36)}-${mac.toString('base64url')}`;
    },
    verify(purpose, signedId) {
      const [, account, id, mac] = SIGNED_ID.exec(signedId) ?? [];
      if (account === undefined || id === undefined || mac === undefined) return null;
      const row = { accountId: parseInt(account, 36), id: parseInt(id, 36) };
      const given = Buffer.from(mac, 'base64url');
      const ours = keyring.accepted('uploads').map(({ key }) => macOf(key, purpose, row));
      return ours.some((each) => timingSafeEqual(each, given)) ? row : null;
    },
  };
}
