import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

const MAC_BYTES = 16;
const SHAPE = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([A-Za-z0-9_-]{22})$/;

/** What a reference identifies. */
export interface ReferencedMessage {
  accountId: number;
  messageId: number;
}

function mac(key: Buffer | KeyObject, { accountId, messageId }: ReferencedMessage): Buffer {
  const digest = createHmac('sha256', key).update(`reference:${accountId}:${messageId}`).digest();
  return digest.subarray(0, MAC_BYTES);
}

/**
 * Makes the reference that a provider keeps with a message and returns in its callbacks. Its 128-bit MAC shows that a
 * callback is about a message that Carillon gave to the provider.
 * @param key the subkey `reference`
 */
export function messageReference(key: Buffer | KeyObject, message: ReferencedMessage): string {
  const { accountId, messageId } = message;
  return `${accountId.toString(36)}-${messageId.toString(36)}-${mac(key, message).toString('base64url')}`;
}

/**
 * Reads a reference.
 * @param keys every subkey that is still accepted
 * @returns null if the text is not a genuine reference
 */
export function parseMessageReference(
  keys: readonly (Buffer | KeyObject)[],
  text: string,
): ReferencedMessage | null {
  const [, account, id, given] = SHAPE.exec(text) ?? [];
  if (account === undefined || id === undefined || given === undefined) return null;
  const message = { accountId: parseInt(account, 36), messageId: parseInt(id, 36) };
  const bytes = Buffer.from(given, 'base64url');
  return keys.some((key) => timingSafeEqual(bytes, mac(key, message))) ? message : null;
}
