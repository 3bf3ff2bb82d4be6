import { z } from 'zod';
import { countField, defineEvent, idField, testField } from '../../platform/events/define.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';

const attachment = z.object({
  id: idField,
  filename: z.string(),
  content_type: z.string(),
  size: countField,
  scanned: z.boolean(),
});

export const inboxEvents = {
  received: defineEvent('email.received', {
    sentWhen: 'Mail reached one of the brand’s inboxes and was not quarantined.',
    data: z.object({
      message_id: idField,
      idempotency_key: z.string().optional(),
      tags: z.record(z.string(), z.string()),
      from: z.string(),
      to: z.string(),
      reply_to: z.string().nullable(),
      date: z.iso.datetime().nullable(),
      message_id_header: z.string().nullable(),
      subject: byStrangers(z.string().nullable()),
      text: byStrangers(z.string().nullable()),
      html: byStrangers(z.string().nullable()),
      truncated: z.boolean(),
      auto_submitted: z.boolean(),
      attachments: z.array(attachment),
      conversation_id: idField,
      conversation_message_id: idField,
      test: testField,
    }),
    sample: () => ({
      message_id: null,
      idempotency_key: 'order-1042',
      tags: { order: '1042' },
      from: 'Ada Lovelace <ada@example.com>',
      to: 'support@inbox.example.org',
      reply_to: null,
      date: '2026-03-10T09:40:10.000Z',
      message_id_header: '8f14e45f@example.com',
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
