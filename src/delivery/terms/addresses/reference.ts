import { timingSafeEqual } from 'node:crypto';
import { mac } from '../../../platform/secrets/mac.ts';

const MAC_BYTES = 16;
const SHAPE = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([A-Za-z0-9_-]{22})$/;

/** The message that a reference identifies. */
export interface ReferencedMessage {
  accountId: number;
  messageId: number;
}

function macOf(key: Buffer, { accountId, messageId }: ReferencedMessage): Buffer {
  return mac(key, `reference:${accountId}:${messageId}`, MAC_BYTES);
}

/**
 * Creates the reference that a provider stores with a message and returns in its callbacks. Its 128-bit MAC proves that
 * a callback is about a message that Carillon handed to the provider.
 * @param key the subkey `reference`
 */
export function messageReference(key: Buffer, message: ReferencedMessage): string {
  const { accountId, messageId } = message;
  return `${accountId.toString(36)}-${messageId.toString(36)}-${macOf(key, message).toString('base64url')}`;
}

/**
 * Verifies and parses a reference.
 * @param keys every subkey that is still accepted
 * @returns null if the text is not a genuine reference
 */
export function parseMessageReference(keys: readonly Buffer[], text: string): ReferencedMessage | null {
  const [, account, id, given] = SHAPE.exec(text) ?? [];
  if (account === undefined || id === undefined || given === undefined) return null;
  const message = { accountId: parseInt(account, 36), messageId: parseInt(id, 36) };
  const bytes = Buffer.from(given, 'base64url');
  return keys.some((key) => timingSafeEqual(bytes, macOf(key, message))) ? message : null;
}
