/**
 * Describes POST /messages for OpenAPI: an email or an SMS, with the rules between their fields, which `schema.ts` and
 * `draft.ts` check. It leaves out what JSON Schema cannot express: which senders, templates and header names are
 * allowed, and the grammar of addresses.
 */
import { z } from 'zod';

// Patterns have anchors, and the rules between fields are conditions, because some client generators cannot read the
// other ways to say the same.
const NOT_BLANK = { pattern: '^[\\s\\S]*\\S[\\s\\S]*$' };
const E164 = { pattern: '^\\+[1-9][0-9]{6,14}$' };
/** Ten segments of 153 characters. */
const MAX_SMS_LENGTH = 1_530;

/** One line of text that is not blank. */
export const SUBJECT_PATTERN =
  '^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*[^\\x00-\\x20\\x7f-\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]' +
  '[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$';

export const emailOnlyFields = [
  'subject',
  'html',
  'from',
  'from_email',
  'cc',
  'bcc',
  'reply_to',
  'in_reply_to',
  'references',
  'attachments',
  'headers',
  'tags',
  'tracking',
];

const variablesNeedTemplate = { dependentRequired: { variables: ['template_id'] } };

type Shape = Record<'body' | 'template_id' | 'variables' | 'scheduled_at', z.ZodType> & z.ZodRawShape;

/** Schema of an email or an SMS in the OpenAPI description. @param shape the fields that the request parser knows */
export function describeMessage(shape: Shape): z.ZodType {
  const { body, template_id, variables, scheduled_at } = shape;
  const email = z.strictObject({ ...shape, channel: z.literal('email') }).meta({
    id: 'EmailMessage',
    description: 'Needs a `subject` and a content, `html` or `body`, unless a template has them.',
    ...variablesNeedTemplate,
    if: { required: ['template_id'] },
    else: {
      required: ['subject'],
      anyOf: [
        { required: ['html'], properties: { html: NOT_BLANK } },
        { required: ['body'], properties: { body: NOT_BLANK } },
      ],
    },
  });
  const sms = z
    .strictObject({
      channel: z.literal('sms'),
      to: z.string().meta({ ...E164, description: 'The recipient: a phone number in E.164.' }),
      body: body.meta({ ...NOT_BLANK, maxLength: MAX_SMS_LENGTH, description: 'The text.' }),
      template_id,
      variables,
      scheduled_at,
    })
    .meta({
      id: 'SmsMessage',
      description: 'Needs a `body`, unless a template has it.',
      ...variablesNeedTemplate,
      if: { required: ['template_id'] },
      else: { required: ['body'] },
    });
  return z.discriminatedUnion('channel', [email, sms]);
}
