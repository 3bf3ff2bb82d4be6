import { z } from 'zod';
import { messageStatuses } from '../../../delivery/terms/message.ts';
import { idParam, MAX_ID, pageQuery } from '../../../platform/db/paging.ts';
import { oneLine } from '../../../platform/input/one-line.ts';
import { quarantineReasons } from '../mail/mail.ts';
import { attachmentsSchema } from '../../attachments/schema.ts';

const when = z.iso.datetime();
const count = z.int().nonnegative();

export const conversationStatuses = ['open', 'closed'] as const;
export type ConversationStatus = (typeof conversationStatuses)[number];

export const conversationSchema = z
  .object({
    id: z.int(),
    inbox_id: z.int(),
    contact_id: z.int().nullable().meta({
      description: 'The contact who wrote, if SPF or DKIM has proved the sender’s address.',
    }),
    subject: z.string().nullable(),
    status: z.enum(conversationStatuses),
    assignee_id: z.int().nullable().meta({ description: 'A user of the account.' }),
    unread_count: count,
    linked_conversation_id: z.int().nullable().meta({
      description:
        'A stranger answered a message of that conversation, and so has a conversation of their own.',
    }),
    last_message_at: when,
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof conversationSchema>;

export const scanStatuses = ['pending', 'clean', 'infected', 'skipped'] as const;
export type ScanStatus = (typeof scanStatuses)[number];

const attachmentSchema = z
  .object({
    id: z.int(),
    filename: z.string(),
    content_type: z.string().meta({ description: 'Detected from the content.' }),
    size: count.meta({ description: 'Bytes.' }),
    scanned: z.boolean().meta({ description: 'Whether a virus scanner found the attachment clean.' }),
    scan: z.object({
      status: z.enum(scanStatuses),
      reason: z.string().nullable().meta({
        description:
          'The virus that was found, or why the attachment was not scanned: `no_scanner`, `encrypted`, `too_large` and the like.',
      }),
    }),
  })
  .meta({ id: 'ConversationAttachment' });
export type ConversationAttachment = z.infer<typeof attachmentSchema>;

const result = { result: z.string(), domain: z.string().nullable() };
const authentication = z
  .object({
    spf: z.object(result),
    dkim: z.object(result),
    dmarc: z.object({ ...result, policy: z.string().nullable() }),
    arc: z.object(result),
    aligned: z.boolean().meta({
      description:
        'Whether SPF or DKIM passed for the domain of the From field, or its organizational domain, and DMARC did not fail.',
    }),
  })
  .meta({ id: 'MailAuthentication', description: 'Results of RFC 8601, such as `pass` and `none`.' });

const quarantine = z
  .object({
    reason: z.enum(quarantineReasons),
    detail: z.string().nullable(),
    released_at: when.nullable(),
  })
  .meta({ id: 'Quarantine' });

export const conversationMessageSchema = z
  .object({
    id: z.int(),
    conversation_id: z.int().nullable().meta({
      description:
        'Null until the message arrives in a conversation: while it is in quarantine or being scanned.',
    }),
    inbox_id: z.int(),
    direction: z.enum(['inbound', 'outbound']),
    message_id: z.int().nullable().meta({
      description: 'Inbound: the message of yours that it answers. Outbound: the message that sends it.',
    }),
    status: z
      .enum(messageStatuses)
      .nullable()
      .meta({ description: 'The status of that message; null for inbound messages.' }),
    from: z.string(),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    reply_to: z.string().nullable().meta({
      description:
        'The Reply-To field, which may have several addresses; null if there is none, and if outbound.',
    }),
    date: when.nullable().meta({
      description:
        'The Date field, as the sender’s program wrote it. Null if it is missing or cannot be read, and if outbound.',
    }),
    message_id_header: z.string().nullable().meta({
      description: 'The Message-ID field, without angle brackets. Null if there is none, and if outbound.',
    }),
    raw_available: z.boolean().meta({
      description: 'Whether the mail can be fetched as it arrived, at `…/raw`.',
    }),
    subject: z.string().nullable(),
    text: z.string().nullable(),
    html: z
      .string()
      .nullable()
      .meta({
        description:
          'Contains only harmless elements, attributes and CSS: no scripts, forms, style sheets and remote images. Images of ' +
          'the message itself have the paths of its attachments. Null if the message has none, or if it is too large.',
      }),
    truncated: z.boolean().meta({ description: 'Whether `text` or `html` was cut.' }),
    auto_submitted: z
      .boolean()
      .meta({ description: 'Whether it is an automatic reply or notice (RFC 3834).' }),
    authentication: authentication.nullable().meta({ description: 'Null for outbound messages.' }),
    quarantine: quarantine.nullable().meta({ description: 'Null if the message never was in quarantine.' }),
    attachments: z.array(attachmentSchema),
    files: z
      .array(
        z.object({
          n: z.int(),
          filename: z.string(),
          content_type: z.string(),
          size: z.int().meta({ description: 'Bytes.' }),
        }),
      )
      .optional()
      .meta({
        description:
          'The files of an outbound message, for as long as they are kept: `GET /messages/{message_id}/attachments/{n}`. ' +
          'Absent without files.',
      }),
    received_at: when.meta({ description: 'When the message was received or, if outbound, written.' }),
    repeated_count: count.meta({
      description: 'How often the same mail was received again within 30 days. It arrives once.',
    }),
    last_repeated_at: when.nullable().meta({ description: 'When the mail was last received again.' }),
  })
  .meta({ id: 'ConversationMessage' });
export type ConversationMessage = z.infer<typeof conversationMessageSchema>;

const idQuery = (description: string) => pageQuery.page.meta({ description });

/** The list is not in the order of ids, so it has no `after`. */
export const listConversationsQuery = z.strictObject({
  page: pageQuery.page,
  limit: pageQuery.limit,
  inbox_id: idQuery('An inbox of the brand.'),
  contact_id: idQuery('A contact of the brand.'),
  assignee_id: idQuery('A user of the account.'),
  status: z.enum(conversationStatuses).optional(),
  unread: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true`: only conversations with unread messages; `false`: only those without.' }),
  search: z
    .string()
    .min(2)
    .max(200)
    .optional()
    .meta({
      description:
        'A part of the subject, or the beginning of the address of a participant, in any case. Searches the 5,000 newest ' +
        'conversations that match the other filters.',
    }),
});
export type ListConversationsQuery = z.output<typeof listConversationsQuery>;

/** An omitted field stays unchanged. */
export const changeConversationBody = z.strictObject({
  status: z.enum(conversationStatuses).optional(),
  assignee_id: z
    .int()
    .positive()
    .max(MAX_ID)
    .nullable()
    .optional()
    .meta({ description: 'A user of the account; null: no one.' }),
});
export type ChangeConversationBody = z.output<typeof changeConversationBody>;

export const conversationReadOnlyFields = Object.keys(conversationSchema.shape).filter(
  (name) => !(name in changeConversationBody.shape),
);

export const conversationParams = z.strictObject({ id: idParam });
export const messagesParams = z.strictObject({ conversation_id: idParam });
export const messageParams = z.strictObject({ conversation_id: idParam, id: idParam });
export const listMessagesQuery = z.strictObject(pageQuery);

export const attachmentParams = z.strictObject({
  conversation_id: idParam,
  conversation_message_id: idParam,
  id: idParam,
});
const acknowledgement = (description: string) =>
  z.strictObject({ acknowledge_unscanned: z.enum(['true', 'false']).optional().meta({ description }) });
export const attachmentQuery = acknowledgement('Must be `true` for an attachment with `scanned` false.');
export const rawMailQuery = acknowledgement(
  'Must be `true` for a mail with an attachment that has `scanned` false.',
);

export const quarantineParams = z.strictObject({ conversation_message_id: idParam });
export const listQuarantineQuery = z.strictObject({
  ...pageQuery,
  inbox_id: idQuery('An inbox of the brand.'),
  reason: z.enum(quarantineReasons).optional(),
});
export type ListQuarantineQuery = z.output<typeof listQuarantineQuery>;

const MAX_CONTENT_BYTES = 2 * 1024 * 1024;
const content = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_CONTENT_BYTES, 'must have at most 2 MB')
  .meta({ maxLength: MAX_CONTENT_BYTES, description: 'At most 2 MB of UTF-8.' });

export const replyBody = z
  .strictObject({
    text: content.optional(),
    html: content.optional(),
    subject: oneLine(998).optional().meta({
      description: 'The default is the subject of the conversation, after `Re:`.',
    }),
    to: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({
        description:
          'Its contact, or an address in From, Reply-To, To or Cc of one of its 200 newest messages. The default is the ' +
          'contact’s address or, without a contact, the sender of the last mail.',
      }),
    attachments: attachmentsSchema.optional(),
  })
  .meta({
    id: 'Reply',
    description: '`text`, `html` or both are required.',
    if: { required: ['text'] },
    else: { required: ['html'] },
  });
export type ReplyBody = z.output<typeof replyBody>;
