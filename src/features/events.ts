import type { EventConsumer } from '../platform/events/publish.ts';
import { webhookConsumer } from './webhooks/subscribers.ts';

/** Every feature that acts on events; a feature adds one line. */
export const eventConsumers: EventConsumer[] = [webhookConsumer];
