import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { mac } from '../../platform/secrets/mac.ts';

/** What an unsubscribe link identifies. */
export interface UnsubscribeTarget {
  accountId: number;
  brandId: number;
  /** The message that contains the link, or the contact if there is no message yet. */
  source: { messageId: number } | { contactId: number };
  /** HMAC of the address, as opt-outs store it: the link works after the message and the contact were removed. */
  addressHash: Buffer;
}

type TokenKeys = Pick<Keyring, 'subkey' | 'accepted'>;

const MAC_BYTES = 16;
const TOKEN =
  /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([mc])([0-9a-z]{1,11})-([A-Za-z0-9_-]{43})-([A-Za-z0-9_-]{22})$/;

/** The purpose of a link. A token of one purpose is not accepted for another. */
export type LinkPurpose = 'unsubscribe' | 'preferences';

function macOf(key: Buffer, content: string, purpose: LinkPurpose): Buffer {
  return mac(key, `${purpose}:${content}`, MAC_BYTES);
}

/**
 * Creates the token of an unsubscribe link. It does not contain the address, and has a 128-bit MAC over its other
 * parts.
 */
export function unsubscribeToken(
  keyring: TokenKeys,
  target: UnsubscribeTarget,
  purpose: LinkPurpose = 'unsubscribe',
): string {
  const { accountId, brandId, source, addressHash } = target;
  const id =
    'messageId' in source ? `m${source.messageId.toString(36)}` : `c${source.contactId.toString(36)}`;
  const content = [accountId.toString(36), brandId.toString(36), id, addressHash.toString('base64url')].join(
    '-',
  );
  return `${content}-${macOf(keyring.subkey('unsubscribe').key, content, purpose).toString('base64url')}`;
}

/** @returns null unless the token was signed for this purpose, with one of the accepted secrets */
export function parseUnsubscribeToken(
  keyring: TokenKeys,
  token: string,
  purpose: LinkPurpose = 'unsubscribe',
): UnsubscribeTarget | null {
  const [, account, brand, kind, id, hash, mac] = TOKEN.exec(token) ?? [];
  if (!account || !brand || !kind || !id || !hash || !mac) return null;
  const content = token.slice(0, -mac.length - 1);
  const given = Buffer.from(mac, 'base64url');
  const isGenuine = keyring
    .accepted('unsubscribe')
    .some(({ key }) => timingSafeEqual(macOf(key, content, purpose), given));
  if (!isGenuine) return null;
  const number = parseInt(id, 36);
  return {
    accountId: parseInt(account, 36),
    brandId: parseInt(brand, 36),
    source: kind === 'm' ? { messageId: number } : { contactId: number },
    addressHash: Buffer.from(hash, 'base64url'),
  };
}
