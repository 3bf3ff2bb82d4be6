import { timingSafeEqual } from 'node:crypto';
import { base32 } from '../../../platform/secrets/base32.ts';
import { mac } from '../../../platform/secrets/mac.ts';

const MAC_BYTES = 16;

/** In lower case, because servers may change the case of local parts. */
function macOf(key: Buffer, accountId: number, messageId: number): string {
  return base32(mac(key, `return-path:${accountId}:${messageId}`, MAC_BYTES));
}

/**
 * Creates the variable envelope return path of a message. A bounce to it identifies the message, and its 128-bit MAC
 * proves that the address is genuine.
 * @param key the subkey `return-path`
 */
export function returnPathAddress(
  key: Buffer,
  message: { accountId: number; messageId: number },
  mailDomain: string,
): string {
  const { accountId, messageId } = message;
  return `b-${accountId.toString(36)}-${messageId.toString(36)}-${macOf(key, accountId, messageId)}@${mailDomain}`;
}

/**
 * Verifies and parses a return path.
 * @param keys every subkey `return-path` that is still accepted
 * @returns the message that bounced, or null if the local part is not a genuine return path
 */
export function parseReturnPath(
  keys: readonly Buffer[],
  localPart: string,
): { accountId: number; messageId: number } | null {
  const match = /^b-([0-9a-z]{1,11})-([0-9a-z]{1,11})-([a-z2-7]{26})$/.exec(localPart.toLowerCase());
  if (!match?.[1] || !match[2] || !match[3]) return null;
  const accountId = parseInt(match[1], 36);
  const messageId = parseInt(match[2], 36);
  const given = Buffer.from(match[3]);
  const genuine = keys.some((key) => timingSafeEqual(given, Buffer.from(macOf(key, accountId, messageId))));
  return genuine ? { accountId, messageId } : null;
}
