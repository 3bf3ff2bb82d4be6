import { z } from 'zod';
import { count, describeEvent, id, test } from '../../../platform/events/define.ts';

const emailFields = {
  message_id: id,
  to: z.string().nullable().meta({ description: 'Null once the contact was deleted.' }),
  subject: z.string().nullable(),
  idempotency_key: z.string().optional().meta({ description: 'Absent where none was sent.' }),
  tags: z.record(z.string(), z.string()),
  test,
};

const bounce = z.object({
  type: z.enum(['hard', 'soft']),
  subtype: z.string(),
  diagnostic: z.string().nullable(),
});
const failure = z.object({ code: z.string(), message: z.string() });
const attachment = z.object({
  id,
  filename: z.string(),
  content_type: z.string(),
  size: count,
  scanned: z.boolean(),
});

const sampleMessage = {
  message_id: null,
  to: 'ada@example.com',
  subject: 'Your receipt',
  idempotency_key: 'order-1042',
  tags: { order: '1042' },
  test: true,
} as const;

const browser =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15';

/** Of transactional email only (interface §6.3). */
export const emailEvents = {
  'email.sent': describeEvent({
    sentWhen: 'A provider accepted the message.',
    data: z.object({ ...emailFields, provider: z.string().nullable() }),
    sample: () => ({ ...sampleMessage, provider: 'smtp' }),
  }),
  'email.delivered': describeEvent({
    sentWhen: 'The recipient’s mail server accepted it.',
    data: z.object({ ...emailFields, smtp_response: z.string().nullable() }),
    sample: () => ({ ...sampleMessage, smtp_response: '250 2.0.0 OK: queued as 4bXyZ12mRz' }),
  }),
  'email.bounced': describeEvent({
    sentWhen: 'It bounced, hard or soft.',
    data: z.object({ ...emailFields, bounce }),
    sample: () => ({
      ...sampleMessage,
      bounce: {
        type: 'hard' as const,
        subtype: 'no_such_mailbox',
        diagnostic: '550 5.1.1 <ada@example.com>: Recipient address rejected: User unknown',
      },
    }),
  }),
  'email.complained': describeEvent({
    sentWhen: 'The recipient marked it as spam.',
    data: z.object(emailFields),
    sample: () => sampleMessage,
  }),
  'email.opened': describeEvent({
    sentWhen: 'It was opened for the first time; security scanners and bots do not count.',
    data: z.object({ ...emailFields, user_agent: z.string().nullable() }),
    sample: () => ({ ...sampleMessage, user_agent: browser }),
  }),
  'email.clicked': describeEvent({
    sentWhen: 'A person clicked a link of it for the first time; once for each link.',
    data: z.object({ ...emailFields, url: z.string(), user_agent: z.string().nullable() }),
    sample: () => ({ ...sampleMessage, url: 'https://example.com/orders/1042', user_agent: browser }),
  }),
  'email.failed': describeEvent({
    sentWhen: 'It failed for good; failures that are still being retried are not told.',
    data: z.object({ ...emailFields, failure }),
    sample: () => ({
      ...sampleMessage,
      failure: { code: 'suppressed', message: 'the recipient is on the suppression list' },
    }),
  }),
  'email.received': describeEvent({
    sentWhen: 'Mail reached one of the brand’s inboxes and was not quarantined.',
    data: z.object({
      message_id: id,
      idempotency_key: z.string().optional(),
      tags: z.record(z.string(), z.string()),
      from: z.string(),
      to: z.string(),
      subject: z.string().nullable(),
      text: z.string().nullable(),
      html: z.string().nullable(),
      truncated: z.boolean(),
      auto_submitted: z.boolean(),
      attachments: z.array(attachment),
      conversation_id: id,
      conversation_message_id: id,
      test,
    }),
    sample: () => ({
      message_id: null,
      idempotency_key: 'order-1042',
      tags: { order: '1042' },
      from: 'Ada Lovelace <ada@example.com>',
      to: 'support@inbox.example.org',
      subject: 'Re: Your receipt',
      text: 'Thank you! The invoice is attached.',
      html: '<p>Thank you! The invoice is attached.</p>',
      truncated: false,
      auto_submitted: false,
      attachments: [
        { id: null, filename: 'invoice.pdf', content_type: 'application/pdf', size: 48_213, scanned: true },
      ],
      conversation_id: null,
      conversation_message_id: null,
      test: true as const,
    }),
  }),
};
