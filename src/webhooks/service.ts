/** The webhooks room, as other rooms and processes see it. */
export { emailEventData, type EmailEventMessage } from './email-event-data.ts';
export { publishEvents, type PublishedEvent } from './publish.ts';
