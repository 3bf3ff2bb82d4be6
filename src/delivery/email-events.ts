import type { PublishedEvent } from '../features/webhooks/subscribers.ts';
import { emailEventData } from './email-event-data.ts';
import type { Bounce } from './message.ts';
import type { MessageEventType } from './send/outcomes.ts';

/** A transactional email whose state changed, for its webhook events. */
export interface RecordedMessage {
  id: number;
  accountId: number;
  brandId: number;
  to: string;
  subject: string | null;
  tags: Record<string, string> | null;
  idempotencyKey: string | null;
  provider: string | null;
  failure: { code: string; message: string } | null;
  bounce: Bounce | null;
  response: string | null;
  events: MessageEventType[];
}

type EmailEvent = Pick<PublishedEvent, 'type' | 'data'>;

/** What subscribers are told; null: nobody is, because a retry is to come or the outcome is not known. */
function eventOf(message: RecordedMessage, type: MessageEventType): EmailEvent | null {
  const data = (extra: Record<string, unknown>) => emailEventData(message, extra);
  switch (type) {
    case 'sent':
      return { type: 'email.sent', data: data({ provider: message.provider }) };
    case 'delivered':
      return { type: 'email.delivered', data: data({ smtp_response: message.response }) };
    case 'bounced':
      return { type: 'email.bounced', data: data({ bounce: message.bounce }) };
    case 'failed':
      return { type: 'email.failed', data: data({ failure: message.failure }) };
    case 'deferred':
    case 'unknown':
      return null;
  }
}

/** The webhook events of messages that were just recorded. */
export function emailEventsOf(messages: readonly RecordedMessage[], occurredAt: Date): PublishedEvent[] {
  return messages.flatMap((message) =>
    message.events.flatMap((type) => {
      const event = eventOf(message, type);
      const { accountId, brandId } = message;
      return event ? [{ accountId, brandId, occurredAt, ...event }] : [];
    }),
  );
}
