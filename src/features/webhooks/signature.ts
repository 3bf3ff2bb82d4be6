import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export function createSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The key of a secret (interface §6.2, 1). Create it once: given plain bytes, every signature would create a key. */
export function keyOfSecret(secret: string): KeyObject {
  return createSecretKey(secret.slice(PREFIX.length), 'base64');
}

/** The masked form in which a secret is shown by default. */
export function maskSecret(last4: string): string {
  return `${PREFIX}…${last4}`;
}

/** The `webhook-id` of an event, the same in every attempt. */
export function webhookIdOf(eventId: string): string {
  return `evt_${eventId.replaceAll('-', '')}`;
}

/**
 * The headers that sign a request (https://www.standardwebhooks.com, interface §6.2).
 * @param keys each signs; there are two for a day after a rotation
 * @param webhookId from {@link webhookIdOf}
 * @param at time of this attempt
 * @param body exactly the bytes that are sent
 */
export function signatureHeaders(
  keys: readonly KeyObject[],
  webhookId: string,
  at: Date,
  body: string,
): { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string } {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const content = `${webhookId}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return {
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
