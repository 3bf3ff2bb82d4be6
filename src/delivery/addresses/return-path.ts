import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

const MAC_BYTES = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Base 32 in lower case (RFC 4648 without padding): local parts may lose their case on the way. */
function base32(bytes: Buffer): string {
  let value = 0;
  let bits = 0;
  let text = '';
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      text += ALPHABET[(value >>> (bits - 5)) & 31];
      bits -= 5;
    }
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}

function mac(key: Buffer | KeyObject, accountId: number, messageId: number): string {
  const digest = createHmac('sha256', key).update(`return-path:${accountId}:${messageId}`).digest();
  return base32(digest.subarray(0, MAC_BYTES));
}

/**
 * The variable envelope return path of one message: whoever receives a bounce there knows which message it was,
 * and that the address was not made up (128-bit MAC).
 * @param key for many addresses a KeyObject: bytes are made into one at each call, which takes five times as long
 */
export function returnPathAddress(
  key: Buffer | KeyObject,
  message: { accountId: number; messageId: number },
  mailDomain: string,
): string {
  const { accountId, messageId } = message;
  return `b-${accountId.toString(36)}-${messageId.toString(36)}-${mac(key, accountId, messageId)}@${mailDomain}`;
}

/** @returns whose bounce it is, or null where the local part is not one of ours */
export function parseReturnPath(
  key: Buffer,
  localPart: string,
): { accountId: number; messageId: number } | null {
  const match = /^b-([0-9a-z]{1,11})-([0-9a-z]{1,11})-([a-z2-7]{26})$/.exec(localPart.toLowerCase());
  if (!match?.[1] || !match[2] || !match[3]) return null;
  const accountId = parseInt(match[1], 36);
  const messageId = parseInt(match[2], 36);
  const genuine = timingSafeEqual(Buffer.from(match[3]), Buffer.from(mac(key, accountId, messageId)));
  return genuine ? { accountId, messageId } : null;
}
