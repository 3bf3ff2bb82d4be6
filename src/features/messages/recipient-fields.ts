/** The fields of POST /messages that take one address or a list of them, and those that name answered messages. */
import { z } from 'zod';
import { ADDRESS_PATTERN, parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { type RecipientKind, recipientKinds } from '../../delivery/terms/letter.ts';
import type { ValidationErrors } from '../../errors.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';

/** Maximum number of recipients of a letter, in `to`, `cc` and `bcc` together. */
export const MAX_RECIPIENTS = 100;
const MAX_REPLY_TO = 10;
/** As many as answers to conversations name. */
const MAX_REFERENCES = 20;
const MAX_ADDRESS = 1_000;

export type OneOrMore = string | string[];

/** One text of a field, and its path, such as `cc.0`. */
export interface GivenText {
  path: string;
  text: string;
}

/** The texts of a field that may be one text or a list. */
export function textsIn(field: string, value: unknown): GivenText[] {
  if (typeof value === 'string') return [{ path: field, text: value }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((text: unknown, index) =>
    typeof text === 'string' ? [{ path: `${field}.${index}`, text }] : [],
  );
}

interface ListLimits {
  /** 0 or 1. */
  min: number;
  max: number;
  /** Completes "must be …". */
  words: string;
}

function checkTexts({ value, issues }: z.core.ParsePayload, { min, max, words }: ListLimits): void {
  // Almost all requests have one address.
  if (typeof value === 'string' && value !== '' && value.length <= MAX_ADDRESS) return;
  const report = (path: number[], message: string) =>
    void issues.push({ code: 'custom', input: value, path, message });
  if (value === undefined) return report([], 'is required');
  const isList = Array.isArray(value);
  if (!isList && typeof value !== 'string') return report([], `must be ${words}`);
  const texts: unknown[] = isList ? value : [value];
  if (texts.length < min) return report([], 'must not be empty');
  if (texts.length > max) return report([], `must have at most ${max} items`);
  for (const [index, text] of texts.entries()) {
    const path = isList ? [index] : [];
    if (typeof text !== 'string') report(path, 'must be a string');
    else if (text === '') report(path, 'must not be empty');
    else if (text.length > MAX_ADDRESS) report(path, `must have at most ${MAX_ADDRESS} characters`);
  }
}

const address = z.string().min(1).max(MAX_ADDRESS).meta({ pattern: ADDRESS_PATTERN });

const listOf = (max: number) => z.array(address).max(max).meta({ uniqueItems: true });

/** A field with one address or a list. A union would only say that neither form matches. */
function oneOrMore(max: number, min = 1) {
  const limits = { min, max, words: 'an address or a list of addresses' };
  const parsed = z
    .unknown()
    .check((payload) => checkTexts(payload, limits)) as unknown as z.ZodType<OneOrMore>;
  return describeAs(parsed, () =>
    z.union([address, min === 0 ? listOf(max) : listOf(max).min(1).meta({ uniqueItems: true })]),
  );
}

const others = (where: string) =>
  oneOrMore(MAX_RECIPIENTS, 0)
    .optional()
    .meta({ description: `A further recipient, or a list, who stand in ${where}. Email only.` });

/** What can be between angle brackets without folding or encoding (RFC 5322 §3.6.4). */
const MESSAGE_ID = /^ *(?:<[!-;=?-~]{1,250}>|[!-;=?-~]{1,250}) *$/;

const messageId = z
  .string()
  .max(300)
  .refine(
    (text) => MESSAGE_ID.test(text),
    'must be the Message-ID of an email, with or without angle brackets',
  )
  .meta({ pattern: '^ *<?[!-;=?-~]{1,250}>? *$' });

export const recipientFields = {
  to: oneOrMore(MAX_RECIPIENTS).meta({
    description:
      'The recipient: an email address, with or without a name, or a phone number in E.164. An email may have a list of up ' +
      `to ${MAX_RECIPIENTS} recipients, with those of \`cc\` and \`bcc\`: one letter, of which each gets a copy. A copy is a ` +
      'message with its own id, status and events.',
  }),
  cc: others('the header Cc'),
  bcc: others('no header'),
};

export const replyFields = {
  reply_to: oneOrMore(MAX_REPLY_TO)
    .optional()
    .meta({
      description:
        `One address, or a list of up to ${MAX_REPLY_TO}. Email only. The default is the \`email_reply_to\` of the account, if ` +
        'it is set.',
    }),
  in_reply_to: messageId.optional().meta({
    description:
      'The Message-ID of the email that this one answers. It becomes the header In-Reply-To. Email only.',
  }),
  references: z
    .array(messageId)
    .min(1)
    .max(MAX_REFERENCES)
    .optional()
    .meta({
      description:
        'The Message-IDs of the earlier emails of the conversation, the first one first. They become the header References. ' +
        'Email only.',
    }),
};

const bracketed = (id: string) => `<${id.trim().replace(/^<|>$/g, '')}>`;

/** The headers of an email that answers another. */
export function threadHeaders(given: {
  in_reply_to?: string | undefined;
  references?: string[] | undefined;
}): Record<string, string> {
  const { in_reply_to: answered, references } = given;
  return {
    ...(answered === undefined ? {} : { 'In-Reply-To': bracketed(answered) }),
    ...(references === undefined ? {} : { References: references.map(bracketed).join(' ') }),
  };
}

export interface LetterRecipient {
  kind: RecipientKind;
  /** As given, trimmed. */
  address: string;
  key: string;
}

export type RecipientsGiven = { [Kind in RecipientKind]?: unknown };

interface FoundRecipients {
  recipients: LetterRecipient[];
  errors: ValidationErrors;
}

/** The recipient of an ordinary email. */
function onlyRecipient(text: string): FoundRecipients {
  const parsed = parseEmailAddress(text);
  if ('error' in parsed) return { recipients: [], errors: { to: [parsed.error] } };
  return { recipients: [{ kind: 'to', address: text.trim(), key: parsed.key }], errors: {} };
}

/**
 * The recipients of an email, in the order `to`, `cc`, `bcc`. What is not an address is left out.
 * @returns also what is wrong, by the paths of the addresses
 */
export function recipientsOf(given: RecipientsGiven): FoundRecipients {
  const { to, cc, bcc } = given;
  if (typeof to === 'string' && cc === undefined && bcc === undefined) return onlyRecipient(to);
  const errors: ValidationErrors = {};
  const byKey = new Map<string, LetterRecipient & { path: string }>();
  const texts = recipientKinds.flatMap((kind) =>
    textsIn(kind, given[kind]).map((each) => ({ kind, ...each })),
  );
  for (const { kind, path, text } of texts) {
    const parsed = parseEmailAddress(text);
    const same = 'error' in parsed ? undefined : byKey.get(parsed.key);
    if ('error' in parsed) errors[path] = [parsed.error];
    else if (same) errors[path] = [`is given twice: ${same.path} has the same address`];
    else byKey.set(parsed.key, { kind, path, address: text.trim(), key: parsed.key });
  }
  if (texts.length > MAX_RECIPIENTS) {
    errors.to = [`must have at most ${MAX_RECIPIENTS} addresses, with those of cc and bcc`];
  }
  return { recipients: [...byKey.values()].map(({ path: _path, ...recipient }) => recipient), errors };
}
