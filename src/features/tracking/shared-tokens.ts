/**
 * Tokens for mail that differs only in its recipient, such as that of a campaign. A link has two parts: the recipient's
 * token, which all links of the message share, and the target's token, which all messages of the set share. So a sender
 * signs once for each message, however many links it has. Each part names its set, so that parts of different sets
 * cannot be combined.
 */
import { timingSafeEqual } from 'node:crypto';
import { mac, macInHex } from '../../platform/secrets/mac.ts';
import type { TrackedTarget } from './tokens.ts';

export interface SharedRecipient {
  accountId: number;
  messageId: number;
  /** The version of the content. */
  set: number;
}

export interface SharedTarget {
  set: number;
  /** Counted from 1; 0: the pixel. */
  link: number;
  links: number;
  /** The URL of the link; empty for the pixel. */
  url: string;
}

/** The first byte of a part. Other tokens begin with 1, so that no MAC is valid for another kind. */
const RECIPIENT = 2;
const TARGET = 3;
const KEY_ID_BYTES = 4;
const ID_BYTES = 6;
const LINK_BYTES = 2;
const MAC_BYTES = 16;
const RECIPIENT_BYTES = 1 + KEY_ID_BYTES + 3 * ID_BYTES + MAC_BYTES;
const TARGET_HEAD_BYTES = 1 + ID_BYTES + 2 * LINK_BYTES;

/** Number of bytes in a target's token, not counting its URL. */
export const TARGET_OVERHEAD = TARGET_HEAD_BYTES + MAC_BYTES;
/** Separates the two parts. It needs no encoding in a URL, nor at the start of a line in quoted-printable. */
export const SEPARATOR = '~';
/** Length of a recipient's token, including the separator, in characters. */
export const RECIPIENT_LENGTH = (RECIPIENT_BYTES * 4) / 3 + SEPARATOR.length;

/** @returns the token with the separator */
export function recipientToken(keyId: string, key: Buffer, recipient: SharedRecipient): string {
  const bytes = Buffer.allocUnsafe(RECIPIENT_BYTES);
  let at = bytes.writeUInt8(RECIPIENT, 0);
  at += bytes.write(keyId, at, 'hex');
  at = bytes.writeUIntBE(recipient.accountId, at, ID_BYTES);
  at = bytes.writeUIntBE(recipient.messageId, at, ID_BYTES);
  at = bytes.writeUIntBE(recipient.set, at, ID_BYTES);
  bytes.write(macInHex(key, bytes.subarray(0, at)), at, MAC_BYTES, 'hex');
  return bytes.toString('base64url') + SEPARATOR;
}

export function targetToken(key: Buffer, { set, link, links, url }: SharedTarget): string {
  const bytes = Buffer.allocUnsafe(TARGET_OVERHEAD + url.length);
  let at = bytes.writeUInt8(TARGET, 0);
  at = bytes.writeUIntBE(set, at, ID_BYTES);
  at = bytes.writeUIntBE(link, at, LINK_BYTES);
  at = bytes.writeUIntBE(links, at, LINK_BYTES);
  at += bytes.write(url, at, 'latin1');
  bytes.write(macInHex(key, bytes.subarray(0, at)), at, MAC_BYTES, 'hex');
  return bytes.toString('base64url');
}

function isGenuine(key: Buffer, bytes: Buffer): boolean {
  const content = bytes.subarray(0, -MAC_BYTES);
  return timingSafeEqual(mac(key, content, MAC_BYTES), bytes.subarray(-MAC_BYTES));
}

/** @returns null unless both parts were signed with one of the keys, for the same set */
export function readSharedToken(
  keys: ReadonlyMap<string, Buffer>,
  recipientPart: string,
  targetPart: string,
): TrackedTarget | null {
  const recipient = Buffer.from(recipientPart, 'base64url');
  const target = Buffer.from(targetPart, 'base64url');
  if (recipient.length !== RECIPIENT_BYTES || recipient[0] !== RECIPIENT) return null;
  if (target.length < TARGET_OVERHEAD || target[0] !== TARGET) return null;
  const key = keys.get(recipient.toString('hex', 1, 1 + KEY_ID_BYTES));
  if (!key || !isGenuine(key, recipient) || !isGenuine(key, target)) return null;
  const ids = 1 + KEY_ID_BYTES;
  if (recipient.readUIntBE(ids + 2 * ID_BYTES, ID_BYTES) !== target.readUIntBE(1, ID_BYTES)) return null;
  return {
    accountId: recipient.readUIntBE(ids, ID_BYTES),
    messageId: recipient.readUIntBE(ids + ID_BYTES, ID_BYTES),
    link: target.readUInt16BE(1 + ID_BYTES),
    links: target.readUInt16BE(1 + ID_BYTES + LINK_BYTES),
    url: target.toString('latin1', TARGET_HEAD_BYTES, target.length - MAC_BYTES),
  };
}
