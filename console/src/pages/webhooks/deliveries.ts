/** The states of a webhook's deliveries. */
import type { Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';

export type Delivery = Schemas['WebhookDelivery'];
export type Attempt = Schemas['WebhookDeliveryDetail']['attempts'][number];

export const STATUSES = ['pending', 'retrying', 'delivered', 'failed'] as const;

/** A retry that is due later than this is not watched closely. */
const SOON_MS = 60_000;
const LATER_POLL_MS = 15_000;

/** Returns when to ask for a delivery again; false if nothing more happens to it. */
export function pollOf({ status, next_attempt_at: next }: Delivery): number | false {
  if (status === 'pending') return POLL_MS;
  if (status !== 'retrying') return false;
  return next === null || Date.parse(next) - Date.now() < SOON_MS ? POLL_MS : LATER_POLL_MS;
}

/** Returns when to ask for a list again. New deliveries appear without it. */
export const pollOfAll = (deliveries: readonly Delivery[]): number =>
  deliveries.some((delivery) => pollOf(delivery) === POLL_MS) ? POLL_MS : LATER_POLL_MS;

/** Returns what the endpoint answered last, in short. */
export function answerOf({ response_code: code, error }: Pick<Attempt, 'response_code' | 'error'>): string {
  if (code !== null) return String(code);
  return error ?? 'no response yet';
}
