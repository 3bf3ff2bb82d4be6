import type { EventConsumer } from '../platform/events/publish.ts';
import type { TrackedEventConsumer } from './contact-events/service.ts';
import { webhookConsumer } from './webhooks/subscribers.ts';

/** Every feature that acts on events; a feature adds one line. */
export const eventConsumers: EventConsumer[] = [webhookConsumer];

/** Every feature that acts on the events of contacts; a feature adds one line. */
export const trackedEventConsumers: TrackedEventConsumer[] = [];
