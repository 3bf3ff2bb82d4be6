/**
 * What the OpenAPI description says about the rules between the fields of POST /messages; `schema.ts` and `draft.ts`
 * check them. Rules that no JSON Schema can express are missing: which senders, templates and header names are
 * allowed, and the grammar of addresses.
 */
const NOT_BLANK = { pattern: '\\S' };
const ADDRESS = { pattern: '@' };
const E164 = { pattern: '^\\+[1-9][0-9]{6,14}$' };
/** Ten segments of 153 characters. */
const MAX_SMS_LENGTH = 1_530;

/** A text of one line that is not blank. */
export const SUBJECT_PATTERN =
  '^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*[^\\x00-\\x20\\x7f-\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]' +
  '[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$';

export const emailOnlyFields = [
  'subject',
  'html',
  'from',
  'from_email',
  'reply_to',
  'headers',
  'tags',
  'tracking',
];

const email = {
  title: 'Email',
  properties: { channel: { const: 'email' }, to: ADDRESS },
  anyOf: [
    { required: ['template_id'] },
    { required: ['subject', 'html'], properties: { html: NOT_BLANK } },
    { required: ['subject', 'body'], properties: { body: NOT_BLANK } },
  ],
};

const sms = {
  title: 'SMS',
  properties: {
    channel: { const: 'sms' },
    to: E164,
    body: { ...NOT_BLANK, maxLength: MAX_SMS_LENGTH },
    ...Object.fromEntries(emailOnlyFields.map((name) => [name, false])),
  },
  anyOf: [{ required: ['template_id'] }, { required: ['body'] }],
};

export const channelRules = { oneOf: [email, sms], dependentRequired: { variables: ['template_id'] } };
export const addressJson = { ...ADDRESS };
