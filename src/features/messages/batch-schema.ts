/** The body and the answer of POST /messages/batch, and what each of its messages is. */
import { z } from 'zod';
import { type AppError, invalid, type ValidationErrors } from '../../errors.ts';
import { parseWith } from '../../platform/input/validation.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { acceptedMessage, messageFields, type SendMessageBody, sendMessageBody } from './schema.ts';

export const MAX_BATCH = 1_000;
/** An assistant's call has a response of at most 2 MB. */
const MAX_OF_ASSISTANTS = 100;
/** As in the header `Idempotency-Key`. */
const KEY_PATTERN = /^[\x20-\x7e]{1,128}$/;

const fieldsOfEach = ['to', 'cc', 'bcc', 'idempotency_key'] as const;
const ofEach = z.never({ error: 'belongs to each message' }).optional();
const { to: _to, cc: _cc, bcc: _bcc, ...commonFields } = messageFields;
const common = z.strictObject(commonFields).partial();
const defaults = z.strictObject({
  ...common.shape,
  ...Object.fromEntries(fieldsOfEach.map((name) => [name, ofEach])),
});

/** Fields of messages, which are checked, but stay as they are: each message is parsed with them. */
const defaultFields = z.record(z.string(), z.unknown()).check(({ value, issues }) => {
  const parsed = parseWith(defaults, value, 'field');
  const errors = Object.entries(parsed.ok ? {} : parsed.errors);
  for (const [field, messages] of errors)
    for (const message of messages) issues.push({ code: 'custom', input: value, path: [field], message });
});

const key = z.string().regex(KEY_PATTERN, 'must have 1 to 128 printable ASCII characters').optional().meta({
  description:
    'The idempotency key of this message, as `Idempotency-Key` of `POST /messages`, with which it shares its keys.',
});

const batchMessage = z
  .strictObject({ ...messageFields, idempotency_key: key })
  .partial()
  .meta({
    // After EmailMessage in the alphabet: some generators name what both contain after the first.
    id: 'MessageOfBatch',
    description: 'The fields of `POST /messages`. Those that are missing are taken from `default`.',
  });

const fields = z.strictObject({
  default: defaultFields.optional(),
  messages: z.array(z.unknown()).min(1).max(MAX_BATCH),
});

/** POST /messages/batch. */
export const sendBatchBody = describeAs(fields, () =>
  z.strictObject({
    default: common.optional().meta({
      description:
        'Fields that messages have in common. A field of a message replaces it; `headers`, `tags`, `variables` and ' +
        '`tracking` are merged by their names.',
    }),
    messages: z.array(batchMessage).min(1).max(MAX_BATCH),
  }),
).meta({
  examples: [
    {
      default: { channel: 'email', subject: 'Your receipt', tags: { kind: 'receipt' } },
      messages: [
        { to: 'ada@example.com', body: 'Thank you, Ada.', idempotency_key: 'receipt-1042' },
        { to: 'grace@example.com', body: 'Thank you, Grace.', idempotency_key: 'receipt-1043' },
      ],
    },
  ],
});

export type SendBatchBody = z.output<typeof sendBatchBody>;

export const sendBatchQuery = z.strictObject({
  atomic: z.enum(['true', 'false']).default('false').meta({
    description: '`true`: all messages are accepted, or none.',
  }),
});

const errorResource = z.object({
  code: z.string(),
  message: z.string(),
  validation_errors: z.record(z.string(), z.array(z.string())),
});

const resultIds = { created: 'CreatedMessage', replayed: 'ReplayedMessage' } as const;

const resultOf = <Status extends keyof typeof resultIds>(status: Status) =>
  z
    .object({
      status: z.literal(status),
      message: acceptedMessage.nullable().meta({ description: 'Null: it was removed since.' }),
    })
    .meta({ id: resultIds[status] });

const refusedResult = z
  .object({ status: z.literal('refused'), error: errorResource })
  .meta({ id: 'RefusedMessage' });

export const batchResource = z
  .object({
    created: z.int().meta({ description: 'Number of messages that this batch has created.' }),
    replayed: z
      .int()
      .meta({ description: 'Number of messages that earlier requests with their keys created.' }),
    refused: z.int(),
    results: z
      .array(z.discriminatedUnion('status', [resultOf('created'), resultOf('replayed'), refusedResult]))
      .meta({ description: 'What became of each message, in their order.' }),
  })
  .meta({ id: 'MessageBatch' });

export type BatchResource = z.input<typeof batchResource>;
export type BatchError = z.input<typeof errorResource>;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without the headers that the message has, in whatever letter case. */
function otherHeaders(given: Fields, ofMessage: Fields): Fields {
  const names = new Set(Object.keys(ofMessage).map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name.toLowerCase())));
}

/** The fields of a message with those that it has from `default`. */
function mergedWith(given: Fields, message: Fields): Fields {
  const { from, from_email: fromEmail, ...others } = given;
  const hasSender = message.from !== undefined || message.from_email !== undefined;
  const merged: Record<string, unknown> = {
    ...others,
    ...(hasSender ? {} : { from, from_email: fromEmail }),
    ...message,
  };
  for (const name of ['headers', 'tags', 'variables', 'tracking']) {
    const [one, other] = [given[name], message[name]];
    if (!isObject(one) || !isObject(other)) continue;
    merged[name] = { ...(name === 'headers' ? otherHeaders(one, other) : one), ...other };
  }
  return merged;
}

/** A message of a batch that passed the checks of its fields. */
export interface BatchItem {
  /** Its place among the messages, from 0. */
  place: number;
  body: SendMessageBody;
  /** Its own idempotency key. */
  key: string | null;
  /** The same for messages that have the files of `default`. */
  attachments: unknown;
}

const NOT_FOR_ASSISTANTS = 'cannot be given by an assistant';

/** @returns why the message is refused, if it is */
export function readItem(
  { default: given = {} }: SendBatchBody,
  message: unknown,
  place: number,
  isAssistant: boolean,
): BatchItem | AppError {
  const { idempotency_key: keyGiven, ...own } = isObject(message) ? message : {};
  const merged = isObject(message) ? mergedWith(given, own) : message;
  const parsedKey = parseWith(
    z.strictObject({ idempotency_key: key }),
    { idempotency_key: keyGiven },
    'field',
  );
  const parsed = parseWith(sendMessageBody, merged, 'field');
  const attachments = isObject(merged) ? merged.attachments : undefined;
  const errors = {
    ...(parsed.ok ? {} : parsed.errors),
    ...(parsedKey.ok ? {} : parsedKey.errors),
    ...(isAssistant && attachments !== undefined ? { attachments: [NOT_FOR_ASSISTANTS] } : {}),
  };
  if (!parsed.ok || Object.keys(errors).length > 0) return invalid(errors);
  const itemKey = typeof keyGiven === 'string' ? keyGiven : null;
  return { place, body: parsed.value as SendMessageBody, key: itemKey, attachments };
}

/** @throws AppError that names the messages with a key that an earlier one has; validation_error for an assistant */
export function checkBatch({ messages }: SendBatchBody, isAssistant: boolean): void {
  if (isAssistant && messages.length > MAX_OF_ASSISTANTS)
    throw invalid({ messages: [`must have at most ${MAX_OF_ASSISTANTS} items in a call of an assistant`] });
  const places = new Map<string, number>();
  const errors: ValidationErrors = Object.fromEntries(
    messages.flatMap((message, place) => {
      const found = isObject(message) ? message.idempotency_key : undefined;
      if (typeof found !== 'string') return [];
      const first = places.get(found);
      if (first !== undefined)
        return [[`messages.${place}.idempotency_key`, [`is the key of messages.${first}, too`]]];
      places.set(found, place);
      return [];
    }),
  );
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
