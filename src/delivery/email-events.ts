import type { Bounce } from '../providers/outcome.ts';
import { emailEventData, type PublishedEvent } from '../webhooks/service.ts';
import type { MessageEventType } from './outcomes.ts';

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

/** What an event says beyond the fields all email events have; null: nobody is told (a retry to come). */
function extraData(message: RecordedMessage, type: MessageEventType): Record<string, unknown> | null {
  switch (type) {
    case 'sent':
      return { provider: message.provider };
    case 'delivered':
      return { smtp_response: message.response };
    case 'bounced':
      return { bounce: message.bounce };
    case 'failed':
      return { failure: message.failure };
    case 'deferred':
    case 'unknown':
      return null;
  }
}

/** The webhook events of messages that were just recorded. */
export function emailEventsOf(messages: readonly RecordedMessage[], occurredAt: Date): PublishedEvent[] {
  return messages.flatMap((message) =>
    message.events.flatMap((type) => {
      const extra = extraData(message, type);
      if (extra === null) return [];
      const { accountId, brandId } = message;
      return [
        { accountId, brandId, type: `email.${type}`, occurredAt, data: emailEventData(message, extra) },
      ];
    }),
  );
}
