/** The events that a webhook receives. */
import type { Schemas } from '../../api/client.ts';

export type Webhook = Schemas['Webhook'];
export type EventType = Webhook['events'][number];

/** What can be chosen here, with what each means. The events of the account are added through the API. */
export const EMAIL_EVENTS: readonly { type: EventType; meaning: string }[] = [
  { type: 'email.sent', meaning: 'the provider accepted the message' },
  { type: 'email.delivered', meaning: 'the server of the recipient accepted it' },
  { type: 'email.bounced', meaning: 'it was returned, with the reason' },
  { type: 'email.complained', meaning: 'the recipient reported it as spam' },
  { type: 'email.opened', meaning: 'it was opened' },
  { type: 'email.clicked', meaning: 'a link in it was clicked' },
  { type: 'email.failed', meaning: 'it could not be sent' },
  { type: 'email.received', meaning: 'mail arrived in an inbox' },
];

const emailTypes = new Set<string>(EMAIL_EVENTS.map(({ type }) => type));

export const isEmailEvent = (type: string): boolean => emailTypes.has(type);

/** Events that someone has chosen through the API; the console keeps them. */
export const accountEvents = ({ events }: Pick<Webhook, 'events'>): EventType[] =>
  events.filter((type) => !isEmailEvent(type));

/** The types that a webhook may have deliveries of. */
export const typesOf = (webhook: Pick<Webhook, 'events'>): EventType[] => [
  ...EMAIL_EVENTS.map(({ type }) => type),
  ...accountEvents(webhook),
];

/** Returns whether a text of the URL or of a form is the type of an event. */
export const eventOf = (types: readonly EventType[], text: string | undefined): EventType | undefined =>
  types.find((type) => type === text);
