import { hasEvent, type FoundDelivery } from './attempt.ts';
import type { Endpoint } from './endpoint.ts';
import type { DroppedDelivery } from './record.ts';
import type { ClaimedDelivery } from './schedule.ts';

/** Which deliveries may be attempted: their webhook is on, and was never off since the event, which is there. */
export function sortClaims(
  due: readonly FoundDelivery[],
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
    } else if (!hasEvent(each)) dropped.push({ due: each, reason: 'event_gone' });
    else deliveries.push({ due: each, endpoint, claimedAt });
  }
  return { deliveries, dropped };
}
