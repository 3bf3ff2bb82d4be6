import { z } from 'zod';
import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { parsePhone } from '../../delivery/addresses/phone.ts';
import { messageStatuses } from '../../delivery/message.ts';
import { pageQuery } from '../../platform/http/pagination.ts';

const MAX_CONTENT_BYTES = 2 * 1024 * 1024;
const MAX_HEADERS = 50;
const MAX_TAGS = 20;

const content = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_CONTENT_BYTES, 'must have at most 2 MB')
  .meta({ description: 'At most 2 MB of UTF-8.' });

function atMost(most: number, what: string) {
  return (value: Record<string, string>) =>
    Object.keys(value).length <= most || `must have at most ${most} ${what}`;
}

function bounded(most: number, what: string) {
  const check = atMost(most, what);
  return z.refine<Record<string, string>>(
    (value) => check(value) === true,
    `must have at most ${most} ${what}`,
  );
}

const emailOnlyFields = [
  'subject',
  'html',
  'template_id',
  'from',
  'from_email',
  'reply_to',
  'headers',
  'tags',
  'tracking',
];

type Body = Record<string, unknown>;
type Say = (field: string, message: string) => void;

function isBlank(text: unknown): boolean {
  return typeof text === 'string' && text.trim() === '';
}

function smsRules(body: Body, say: Say): void {
  for (const name of emailOnlyFields) if (body[name] !== undefined) say(name, 'is for email only');
  if (body.body === undefined) say('body', 'is required for sms');
  else if (isBlank(body.body)) say('body', 'must not be empty');
}

function emailRules(body: Body, say: Say): void {
  const given = (name: string) => body[name] !== undefined;
  if (isBlank(body.subject)) say('subject', 'must not be empty');
  else if (!given('subject') && !given('template_id')) say('subject', 'is required for email');
  if (given('template_id')) return;
  if (!given('html') && !given('body')) say('html', 'is required unless body or template_id is given');
  const contents = ['html', 'body'].filter(given);
  if (contents.every((name) => isBlank(body[name]))) {
    for (const name of contents) say(name, 'must not be empty');
  }
}

/**
 * What draftMessage would say of the fields that have nothing wrong so far: where something else is wrong it is not
 * asked, and a client would be told of one mistake after another.
 */
function tellOfTheRest(body: Body, wrong: ReadonlySet<unknown>, say: Say): void {
  const isSms = body.channel === 'sms';
  if (!isSms && body.channel !== 'email') return;
  for (const name of isSms ? ['to'] : ['to', 'from', 'from_email', 'reply_to']) {
    const address = body[name];
    if (typeof address !== 'string' || wrong.has(name)) continue;
    const parsed = isSms ? parsePhone(address) : parseEmailAddress(address);
    if ('error' in parsed) say(name, parsed.error);
  }
}

/** Rules between fields; told together with those of each field. */
const betweenFields = z.superRefine<unknown>((value, ctx) => {
  if (typeof value !== 'object' || value === null) return;
  const body = value as Body;
  const say: Say = (field, message) => ctx.addIssue({ code: 'custom', path: [field], message });
  if (body.channel === 'sms') smsRules(body, say);
  if (body.channel === 'email') emailRules(body, say);
  if (body.variables !== undefined && body.template_id === undefined) say('variables', 'needs a template_id');
  const { issues } = ctx;
  if (issues.length > 0) tellOfTheRest(body, new Set(issues.map(({ path }) => path?.[0])), say);
});
betweenFields._zod.def.when = () => true;

const headersDescription =
  `Extra headers of the email, at most ${MAX_HEADERS}. Reserved: From, To, Cc, Bcc, Sender, Reply-To, Subject, Date, ` +
  'Message-ID, Return-Path, Received, DKIM-Signature, MIME-Version, Content-*, Feedback-ID and X-Carillon-*.';
const tagsDescription =
  `Words of your own that messages and events repeat, at most ${MAX_TAGS}; email only. Reserved: account_id, ` +
  'brand_id, message_id, campaign_id, flow_id and all that begin with carillon.';

const oneLine = /^[^\p{Cc}\u2028\u2029]*$/u;
const noBreaks = 'must not contain line breaks or control characters';

/** POST /messages (interface section 4.3). */
export const sendMessageBody = z
  .strictObject({
    channel: z.enum(['email', 'sms']),
    to: z.string().min(1).max(1_000).meta({
      description: 'One recipient: an email address, with or without a name, or a phone number in E.164.',
    }),
    subject: z.string().max(998).regex(oneLine, noBreaks).optional(),
    html: content.optional(),
    body: content.optional().meta({ description: 'Plain text; made from `html` where only that is given.' }),
    template_id: z.int().positive().optional(),
    variables: z.record(z.string(), z.unknown()).optional().meta({ description: 'Fills the template.' }),
    from: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'A verified sender identity of the brand, with or without a name.' }),
    from_email: z.string().min(1).max(1_000).optional().meta({ description: 'The same as `from`.' }),
    reply_to: z.string().min(1).max(1_000).optional().meta({ description: 'One address. Email only.' }),
    headers: z
      .record(z.string().max(998), z.string().max(10_000))
      .check(bounded(MAX_HEADERS, 'headers'))
      .optional()
      .meta({ description: headersDescription }),
    tags: z
      .record(z.string().min(1).max(64), z.string().max(256))
      .check(bounded(MAX_TAGS, 'tags'))
      .optional()
      .meta({ description: tagsDescription }),
    tracking: z.strictObject({ opens: z.boolean().optional(), clicks: z.boolean().optional() }).optional(),
  })
  .check(betweenFields)
  .meta({
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

/** Where PostgreSQL reads less than ISO 8601 has: a year 0, offsets of 16 hours and more. */
const UNREADABLE_TIME = /^0000|[+-](?:1[6-9]|2\d):?\d\d$/;

const filterTime = z.iso
  .datetime({ offset: true })
  .max(64)
  .refine(
    (text) => !UNREADABLE_TIME.test(text),
    'must be of the years 0001 to 9999, its offset below 16 hours',
  );

/** Filters of GET /messages; all exact but the two times. */
export const listMessagesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum([...messageStatuses, 'sending']).optional(),
  channel: z.enum(['email', 'sms']).optional(),
  to: z.string().max(1_000).optional().meta({ description: 'The recipient, however it was written.' }),
  idempotency_key: z.string().max(128).optional(),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});

export type ListMessagesQuery = z.output<typeof listMessagesQuery>;

export const messageParams = z.strictObject({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .transform(Number)
    .meta({ type: 'integer', pattern: undefined }),
});

const time = z.iso.datetime().nullable();
const strings = z.record(z.string(), z.string());

/** A message as every list shows it. */
export const messageResource = z
  .object({
    id: z.int(),
    account_id: z.int(),
    brand_id: z.int(),
    channel: z.enum(['email', 'sms']),
    status: z.enum([...messageStatuses, 'sending']),
    to: z.string().nullable(),
    from: z.string().nullable(),
    reply_to: z.string().nullable(),
    subject: z.string().nullable(),
    template_id: z.int().nullable(),
    contact_id: z.int().nullable(),
    campaign_id: z.int().nullable(),
    flow_id: z.int().nullable(),
    tags: strings,
    headers: strings,
    tracking: z.object({ opens: z.boolean().nullable(), clicks: z.boolean().nullable() }),
    idempotency_key: z.string().nullable(),
    provider: z.string().nullable(),
    provider_message_id: z.string().nullable(),
    segments: z.int().nullable(),
    test: z.boolean(),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    bounce: z
      .object({ type: z.enum(['hard', 'soft']), subtype: z.string(), diagnostic: z.string() })
      .nullable(),
    hold: z.object({ reason: z.string(), until: time }).nullable(),
    queued_at: time,
    sent_at: time,
    delivered_at: time,
    opened_at: time,
    clicked_at: time,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Message' });

/** One message: its content as well, and what became of each attempt. */
export const messageDetail = messageResource
  .extend({
    html: z.string().nullable(),
    text: z.string().nullable(),
    events: z.array(
      z.object({
        type: z.enum(['sent', 'delivered', 'bounced', 'complained', 'deferred', 'failed', 'unknown']),
        attempt: z.int(),
        occurred_at: z.iso.datetime(),
        data: z.record(z.string(), z.unknown()),
      }),
    ),
  })
  .meta({ id: 'MessageDetail' });

export const messageReadOnlyFields = Object.keys(messageDetail.shape).filter(
  (name) => !(name in sendMessageBody.shape),
);
