import type { EventConsumer } from '../platform/events/publish.ts';
import type { Waker } from '../platform/db/wake.ts';
import type { TrackedEventConsumer } from './contact-events/service.ts';
import { createFlowConsumer } from './flows/entry/consumer.ts';
import { webhookConsumer } from './webhooks/subscribers.ts';

/** Every feature that acts on events. A feature adds one line. */
export const eventConsumers: EventConsumer[] = [webhookConsumer];

/** Every feature that acts on the events of contacts. A feature adds one line. */
export function createTrackedEventConsumers(deps: { waker: Pick<Waker, 'wake'> }): TrackedEventConsumer[] {
  return [createFlowConsumer(deps)];
}
