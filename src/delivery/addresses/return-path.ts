import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

const MAC_BYTES = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Encodes in lower-case base 32 (RFC 4648 without padding), because servers may change the case of local parts. */
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
 * Makes the variable envelope return path of a message. A bounce to it identifies the message, and its 128-bit MAC
 * shows that the address is genuine.
 * @param key a KeyObject if there are many addresses: from bytes, each call makes one, which takes five times as long
 */
export function returnPathAddress(
  key: Buffer | KeyObject,
  message: { accountId: number; messageId: number },
  mailDomain: string,
): string {
  const { accountId, messageId } = message;
  return `b-${accountId.toString(36)}-${messageId.toString(36)}-${mac(key, accountId, messageId)}@${mailDomain}`;
}

/**
 * Reads a return path.
 * @param keys every subkey `return-path` that is still accepted
 * @returns the message that bounced, or null if the local part is not a genuine return path
 */
export function parseReturnPath(
  keys: readonly (Buffer | KeyObject)[],
  localPart: string,
): { accountId: number; messageId: number } | null {
  const match = /^b-([0-9a-z]{1,11})-([0-9a-z]{1,11})-([a-z2-7]{26})$/.exec(localPart.toLowerCase());
  if (!match?.[1] || !match[2] || !match[3]) return null;
  const accountId = parseInt(match[1], 36);
  const messageId = parseInt(match[2], 36);
  const given = Buffer.from(match[3]);
  const genuine = keys.some((key) => timingSafeEqual(given, Buffer.from(mac(key, accountId, messageId))));
  return genuine ? { accountId, messageId } : null;
}
