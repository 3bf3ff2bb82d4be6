import { z } from 'zod';
import {
  countField,
  createEvent,
  defineEvent,
  idField,
  testField,
  timeField,
  type PublishedEvent,
} from '../../platform/events/define.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';
import { type Bounce, type Channel, messageClasses, type MessageEventType } from './message.ts';

/** Fields in the data of every event about an email. */
export const emailFields = {
  message_id: idField,
  to: z.string().nullable().meta({ description: 'Null once the contact was deleted.' }),
  // That of an answer may be the subject of a stranger's mail.
  subject: byStrangers(z.string().nullable()),
  idempotency_key: z.string().optional().meta({ description: 'Absent if none was sent.' }),
  tags: z.record(z.string(), z.string()),
  test: testField,
};

export const sampleEmail = {
  message_id: null,
  to: 'ada@example.com',
  subject: 'Your receipt',
  idempotency_key: 'order-1042',
  tags: { order: '1042' },
  test: true,
} as const;

const bounceField = z.object({
  type: z.enum(['hard', 'soft']),
  subtype: z.string(),
  diagnostic: byStrangers(z.string().nullable()),
});
const failureField = z.object({ code: z.string(), message: byStrangers(z.string()) });

/** Sent for transactional email only (interface §6.3). */
export const emailEvents = {
  sent: defineEvent('email.sent', {
    sentWhen: 'A provider accepted the message.',
    data: z.object({ ...emailFields, provider: z.string().nullable() }),
    sample: () => ({ ...sampleEmail, provider: 'smtp' }),
  }),
  delivered: defineEvent('email.delivered', {
    sentWhen: 'The recipient’s mail server accepted the message.',
    data: z.object({ ...emailFields, smtp_response: byStrangers(z.string().nullable()) }),
    sample: () => ({ ...sampleEmail, smtp_response: '250 2.0.0 OK: queued as 4bXyZ12mRz' }),
  }),
  bounced: defineEvent('email.bounced', {
    sentWhen: 'The message bounced, hard or soft.',
    data: z.object({ ...emailFields, bounce: bounceField }),
    sample: () => ({
      ...sampleEmail,
      bounce: {
        type: 'hard' as const,
        subtype: 'no_such_mailbox',
        diagnostic: '550 5.1.1 <ada@example.com>: Recipient address rejected: User unknown',
      },
    }),
  }),
  complained: defineEvent('email.complained', {
    sentWhen: 'The recipient marked the message as spam.',
    data: z.object(emailFields),
    sample: () => sampleEmail,
  }),
  failed: defineEvent('email.failed', {
    sentWhen: 'The message failed for good. Failures that are still retried send no event.',
    data: z.object({ ...emailFields, failure: failureField }),
    sample: () => ({
      ...sampleEmail,
      failure: { code: 'suppressed', message: 'the recipient is on the suppression list' },
    }),
  }),
};

const limit = z.object({ allowance: countField, used: countField, resets_at: timeField, test: testField });

const SAMPLE_RESET_MS = 6 * 3_600_000;

const limitSample = (used: number) => (at: Date) => ({
  allowance: 50_000,
  used,
  resets_at: new Date(at.getTime() + SAMPLE_RESET_MS).toISOString(),
  test: true as const,
});

/** These events concern the whole account and are delivered to the webhooks of every brand. */
export const sendingEvents = {
  paused: defineEvent('sending.paused', {
    sentWhen: 'All sending of the account was paused.',
    data: z.object({ account_id: idField, reason: z.string(), test: testField }),
    sample: () => ({ account_id: null, reason: 'complaint_rate', test: true as const }),
  }),
  limitApproaching: defineEvent('sending.limit_approaching', {
    sentWhen: 'Most of the rolling 24-hour allowance is used.',
    data: limit,
    sample: limitSample(40_000),
  }),
  limitReached: defineEvent('sending.limit_reached', {
    sentWhen: 'The whole rolling 24-hour allowance is used; messages wait for capacity.',
    data: limit,
    sample: limitSample(50_000),
  }),
};

/** What every email event contains about its message. */
export interface EmailEventMessage {
  id: number;
  to: string | null;
  subject: string | null;
  /** Set by the client; omitted from the event if null. */
  idempotencyKey: string | null;
  /** Set by the client. */
  tags: Record<string, string> | null;
}

/** The part of the `data` that all email events share (interface §6.3). */
export function emailEventData(message: EmailEventMessage) {
  return {
    message_id: message.id,
    to: message.to,
    subject: message.subject,
    ...(message.idempotencyKey === null ? {} : { idempotency_key: message.idempotencyKey }),
    tags: message.tags ?? {},
  };
}

/** What events about a message's outcome need from the message. */
export interface EmailEventSource {
  messageId: number;
  accountId: number;
  brandId: number;
  channel: Channel;
  class: number;
  to: string | null;
  subject: string | null;
  idempotencyKey: string | null;
  tags: Record<string, string> | null;
}

/** An outcome, with everything that its events contain. */
interface EmailOutcome {
  message: EmailEventSource;
  events: readonly MessageEventType[];
  provider: string | null;
  /** Never null with the event `failed`. */
  failure: { code: string; message: string } | null;
  /** Never null with the event `bounced`. */
  bounce: Bounce | null;
  response: string | null;
}

/** @returns null if nothing is published because a retry follows or the outcome is unknown */
function emailEvent(outcome: EmailOutcome, type: MessageEventType, occurredAt: Date): PublishedEvent | null {
  const { message, provider, response, bounce, failure } = outcome;
  const { accountId, brandId, messageId: id } = message;
  const occurrence = { accountId, brandId, occurredAt };
  const data = emailEventData({ ...message, id });
  switch (type) {
    case 'sent':
      return createEvent(emailEvents.sent, { ...occurrence, data: { ...data, provider } });
    case 'delivered':
      return createEvent(emailEvents.delivered, {
        ...occurrence,
        data: { ...data, smtp_response: response },
      });
    case 'bounced':
      return bounce && createEvent(emailEvents.bounced, { ...occurrence, data: { ...data, bounce } });
    case 'failed':
      return failure && createEvent(emailEvents.failed, { ...occurrence, data: { ...data, failure } });
    case 'complained':
      return createEvent(emailEvents.complained, { ...occurrence, data });
    case 'deferred':
    case 'unknown':
      return null;
  }
}

/** The events that an outcome publishes. Only transactional email publishes events of its own (interface §6.3). */
export function emailEventsOf(outcome: EmailOutcome, occurredAt: Date): PublishedEvent[] {
  const { channel, class: priority } = outcome.message;
  if (channel !== 'email' || priority !== messageClasses.transactional) return [];
  return outcome.events.flatMap((type) => emailEvent(outcome, type, occurredAt) ?? []);
}
