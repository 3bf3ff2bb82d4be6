import type { DueDelivery } from './attempt.ts';
import type { Endpoint } from './endpoint.ts';
import type { DroppedDelivery } from './record.ts';
import type { ClaimedDelivery } from './schedule.ts';

/** Which deliveries may be attempted: their webhook is on, and was never off since the event. */
export function sortClaims(
  due: readonly DueDelivery[],
  endpoints: ReadonlyMap<number, Endpoint>,
  claimedAt: number,
): { deliveries: ClaimedDelivery[]; dropped: DroppedDelivery[] } {
  const deliveries: ClaimedDelivery[] = [];
  const dropped: DroppedDelivery[] = [];
  for (const each of due) {
    const endpoint = endpoints.get(each.webhookId);
    if (!endpoint) dropped.push({ due: each, reason: 'webhook_gone' });
    else if (!endpoint.enabled || endpoint.generation !== each.generation) {
      dropped.push({ due: each, reason: 'webhook_off' });
    } else deliveries.push({ due: each, endpoint, claimedAt });
  }
  return { deliveries, dropped };
}
