import { eventConsumers } from '../../src/features/events.ts';
import { createEventPublisher } from '../../src/platform/events/publish.ts';

/** Publishes events like every role does. */
export const testEvents = createEventPublisher(eventConsumers);
