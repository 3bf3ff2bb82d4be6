import { z } from 'zod';
import { ADDRESS_PATTERN } from '../../delivery/terms/addresses/email.ts';
import { holdReasons } from '../../delivery/ledger/limits/authority.ts';
import { recipientKinds } from '../../delivery/terms/letter.ts';
import { channels, messageStatuses } from '../../delivery/terms/message.ts';
import { RESERVED_HEADERS_DESCRIPTION } from '../../delivery/content/mime/reserved-headers.ts';
import { filterTime, timeUnlessNull } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { ONE_LINE, oneLine } from '../../platform/input/one-line.ts';
import type { Twins } from '../../platform/input/read-only.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { attachmentsSchema, messageAttachmentSchema } from '../attachments/schema.ts';
import { checkedProblems, templateValues } from '../templates/schema.ts';
import { betweenFields } from './body-rules.ts';
import { describeMessage, SUBJECT_PATTERN } from './channel-rules.ts';
import { recipientFields, replyFields } from './recipient-fields.ts';

/** Maximum size of a request with files: 5 MB of them in base64, and the other fields. */
export const MAX_BODY_BYTES = 12 * 1024 * 1024;
const MAX_CONTENT_BYTES = 2 * 1024 * 1024;
const MAX_HEADERS = 50;
const MAX_TAGS = 20;

const content = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_CONTENT_BYTES, 'must have at most 2 MB')
  .meta({ maxLength: MAX_CONTENT_BYTES, description: 'At most 2 MB of UTF-8.' });

function atMost(max: number, entries: string) {
  return z.refine<Record<string, string>>(
    (value) => Object.keys(value).length <= max,
    `must have at most ${max} ${entries}`,
  );
}

const headersDescription = `Extra headers of the email, at most ${MAX_HEADERS}. ${RESERVED_HEADERS_DESCRIPTION}`;
/** Printable ASCII except the colon, as in `headers-and-tags.ts`. */
const HEADER_NAME_PATTERN = '^[!-9;-~]{1,76}$';
const tagsDescription =
  `Your own labels, at most ${MAX_TAGS}, which are part of the message and its events. Email only. Reserved: ` +
  'account_id, brand_id, message_id, campaign_id, flow_id and names that begin with carillon.';

const fields = z
  .strictObject({
    channel: z.enum(channels),
    ...recipientFields,
    subject: oneLine(998).optional().meta({ pattern: SUBJECT_PATTERN }),
    html: content.optional(),
    body: content
      .optional()
      .meta({ description: 'Plain text. Generated from `html` if only that is given.' }),
    template_id: z
      .int()
      .positive()
      .max(MAX_ID)
      .optional()
      .meta({
        description:
          'A template of the brand for the same channel. `subject`, `html` and `body` replace its parts. Without `from` or ' +
          '`reply_to`, those of the template apply.',
      }),
    variables: templateValues
      .optional()
      .meta({ description: 'Values of the template’s variables, by name, at most 64 KB of JSON.' }),
    from: z.string().min(1).max(1_000).optional().meta({
      pattern: ADDRESS_PATTERN,
      description: 'A verified sender identity of the brand, with or without a name.',
    }),
    from_email: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ pattern: ADDRESS_PATTERN, description: 'The same as `from`.' }),
    ...replyFields,
    headers: z
      .record(z.string().max(998), z.string().max(10_000))
      .check(atMost(MAX_HEADERS, 'headers'))
      .optional()
      .meta({
        maxProperties: MAX_HEADERS,
        propertyNames: { pattern: HEADER_NAME_PATTERN },
        additionalProperties: { type: 'string', maxLength: 10_000, pattern: ONE_LINE.source },
        description: headersDescription,
      }),
    tags: z
      .record(z.string().min(1).max(64), z.string().max(256))
      .check(atMost(MAX_TAGS, 'tags'))
      .optional()
      .meta({
        maxProperties: MAX_TAGS,
        propertyNames: { minLength: 1, maxLength: 64, pattern: ONE_LINE.source },
        additionalProperties: { type: 'string', maxLength: 256, pattern: ONE_LINE.source },
        description: tagsDescription,
      }),
    tracking: z.strictObject({ opens: z.boolean().optional(), clicks: z.boolean().optional() }).optional(),
    scheduled_at: filterTime.optional().meta({
      description:
        'When to send it, at most 30 days ahead, or as many days as the service keeps contents. Until then it is ' +
        '`scheduled`. A time of the last five minutes means now.',
    }),
    attachments: attachmentsSchema.optional(),
  })
  .check(betweenFields);

export const messageFields = fields.shape;

/** POST /messages (interface section 4.3). */
export const sendMessageBody = describeAs(fields, () => describeMessage(fields.shape)).meta({
  examples: [
    {
      channel: 'email',
      to: 'Ada Lovelace <ada@example.com>',
      subject: 'Your receipt',
      html: '<p>Thank you, Ada.</p>',
      tags: { order: '1042' },
    },
  ],
});

export type SendMessageBody = z.output<typeof sendMessageBody>;

const { shape } = fields;

/** What a mail says as a request does. The rules between the fields are those of mail. */
export const mailFields = z.strictObject({
  subject: shape.subject,
  html: shape.html,
  body: shape.body,
  template_id: shape.template_id,
  variables: shape.variables,
  from: shape.from,
  reply_to: shape.reply_to,
  headers: shape.headers,
  tags: shape.tags,
  tracking: shape.tracking,
  scheduled_at: shape.scheduled_at,
});

export type MailFields = z.output<typeof mailFields>;

/** The states of a message as clients see it. */
const shownStatuses = [...messageStatuses, 'sending', 'scheduled'] as const;

/** Filters of GET /messages. All but the subject and the two times match exactly. */
export const listMessagesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(shownStatuses).optional(),
  channel: z.enum(channels).optional(),
  to: z
    .string()
    .max(1_000)
    .optional()
    .meta({ description: 'The recipient. Case and display name do not matter.' }),
  idempotency_key: z.string().max(128).optional(),
  subject: z
    .string()
    .min(1)
    .max(998)
    .optional()
    .meta({
      description:
        'A part of the subject, in any letter case. For messages of campaigns and flows, the subject as it is written in the ' +
        'template, before it is filled in.',
    }),
  template_id: pageQuery.after.meta({
    description: 'The template that the content was made from; for campaigns and flows, their own.',
  }),
  contact_id: pageQuery.after.meta({ description: 'Messages to this contact.' }),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});

export type ListMessagesQuery = z.output<typeof listMessagesQuery>;

export const messageParams = z.strictObject({ id: idParam });
export const messageFileParams = z.strictObject({
  id: idParam,
  n: idParam.meta({ description: 'Its place in the message, from 1.' }),
});

const time = z.iso.datetime().nullable();
const strings = z.record(z.string(), z.string());

/** What PATCH changes. */
export const changeMessageBody = z.strictObject({
  scheduled_at: timeUnlessNull('give a time; the present one sends the message now').meta({
    description:
      'When to send it, at most 30 days ahead, or as many days as the service keeps contents. A time of the last five ' +
      'minutes means now.',
  }),
});

export const cancelMessageBody = z.strictObject({
  only: z.boolean().optional().meta({
    description:
      'Of a letter to several recipients, cancel only this copy. By default, all copies that wait are canceled.',
  }),
});

/** A message in a list. */
export const messageResource = z
  .object({
    id: z.int(),
    letter_id: z.int().optional().meta({
      description:
        'Of an email with files or with several recipients: the message that its copies are named after.',
    }),
    account_id: z.int(),
    brand_id: z.int(),
    channel: z.enum(channels),
    status: z.enum(shownStatuses),
    to: z.string().nullable(),
    from: z.string().nullable(),
    reply_to: z.string().nullable().meta({ description: 'Several addresses are separated by commas.' }),
    subject: z.string().nullable().meta({
      description:
        'In a list, the subject of a message of a campaign or flow is the one written in the template, before it is filled in.',
    }),
    template_id: z.int().nullable(),
    contact_id: z.int().nullable(),
    campaign_id: z.int().nullable(),
    flow_id: z.int().nullable(),
    tags: strings,
    headers: strings,
    tracking: z.object({ opens: z.boolean().nullable(), clicks: z.boolean().nullable() }).meta({
      description: 'Whether the message is tracked, decided when it was accepted. Null for an SMS.',
    }),
    idempotency_key: z.string().nullable(),
    provider: z.string().nullable(),
    provider_message_id: z.string().nullable(),
    segments: z.int().nullable(),
    test: z.boolean(),
    answers_mail: z.boolean().meta({
      description:
        'Whether it answers mail, in a conversation or by a flow: its subject and the name of its recipient may then be ' +
        'texts of a stranger.',
    }),
    failure: z.object({ code: z.string(), message: byStrangers(z.string()) }).nullable(),
    bounce: z
      .object({ type: z.enum(['hard', 'soft']), subtype: z.string(), diagnostic: byStrangers(z.string()) })
      .nullable(),
    hold: z.object({ reason: z.enum(holdReasons), until: time }).nullable(),
    queued_at: time,
    scheduled_at: time.meta({
      description: 'When it was to be sent; it stays when that time has passed. Null: at once.',
    }),
    sent_at: time,
    delivered_at: time,
    opened_at: time,
    clicked_at: time,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Message' });

/** Whether a message has texts of a stranger's mail. @param item a message as clients see it */
export const answersMail = (item: unknown): boolean =>
  (item as { answers_mail?: unknown } | null)?.answers_mail === true;

const letterFields = {
  opaque: z.literal(true).optional().meta({
    description:
      'The message was submitted by SMTP and is sent as it was written, such as signed or encrypted mail: it has neither `html` nor `text` here, and is not tracked. Absent otherwise.',
  }),
  attachments: z.array(messageAttachmentSchema).optional().meta({ description: 'Absent without files.' }),
  recipients: z
    .array(
      z.object({
        message_id: z.int(),
        kind: z.enum(recipientKinds),
        address: z.string().nullable().meta({ description: 'Null: the contact was removed.' }),
        status: z.enum(shownStatuses),
      }),
    )
    .optional()
    .meta({
      description:
        'The copies of the letter, each of them a message. Absent if there is only one. Assistants do not see those of `bcc`.',
    }),
};

/** What POST /messages returns. */
export const acceptedMessage = messageResource
  .extend({
    ...letterFields,
    warnings: checkedProblems.optional().meta({
      description:
        'What is noticeable about an email with files or several recipients: `unknown_cid`, `unused_content_id` or ' +
        '`suppressed`. Absent if there is nothing.',
    }),
  })
  .meta({ id: 'AcceptedMessage' });

/** A message with its content and the events of each attempt. */
export const messageDetail = messageResource
  .extend({
    ...letterFields,
    html: z.string().nullable(),
    text: z.string().nullable(),
    events: z.array(
      z.object({
        type: z.enum([
          'held',
          'released',
          'sent',
          'delivered',
          'bounced',
          'complained',
          'deferred',
          'failed',
          'unknown',
          'opened',
          'clicked',
        ]),
        attempt: z.int(),
        occurred_at: z.iso.datetime(),
        data: byStrangers(z.record(z.string(), z.unknown()), {
          fields: ['response', 'message', 'diagnostic', 'user_agent'],
        }),
      }),
    ),
  })
  .meta({ id: 'MessageDetail' });

export const messageReadOnlyFields = Object.keys({ ...messageDetail.shape, ...acceptedMessage.shape }).filter(
  (name) => !(name in fields.shape),
);

/** What sets read-only fields of a message. */
export const messageTwins: Twins = {
  text: { use: 'body' },
  idempotency_key: { use: 'Idempotency-Key' },
};
