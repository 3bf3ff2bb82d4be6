import { isIP } from 'node:net';
import { z } from 'zod';
import { ADDRESS_PATTERN, parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';

/** The largest `data` of an event, in bytes of JSON. */
export const MAX_DATA_BYTES = 32 * 1024;
/** Maximum depth of nested objects and arrays in `data`. `data` itself is level 1. */
export const MAX_DATA_LEVELS = 20;
/** Maximum number of events in one batch. */
export const MAX_BATCH = 500;
/** Maximum lengths of texts, in UTF-16 code units. */
export const MAX_UTM_LENGTH = 255;
const MAX_TEXT_LENGTH = 255;
const MAX_URL_LENGTH = 2_048;
const MAX_USER_AGENT_LENGTH = 1_000;
const MAX_ADDRESS_LENGTH = 1_000;
const MAX_IP_LENGTH = 45;
/** Clocks differ, so an event may have happened a little later than now. */
const MAX_AHEAD_MS = 60_000;
const MAX_AGE_YEARS = 10;

const EVENT_NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** The same as for the header `Idempotency-Key`. */
const KEY = /^[\x20-\x7e]{1,128}$/;

/** Events that Carillon itself tracks. Filters, triggers and waits may name them; only Carillon tracks them. */
const RESERVED_NAMES = ['email_received'] as const;
export type ReservedEventName = (typeof RESERVED_NAMES)[number];

export const isReservedEventName = (name: string): boolean =>
  (RESERVED_NAMES as readonly string[]).includes(name);

/** Whether an event has texts of a stranger's mail. @param item an event as clients see it */
export const isCausedByMail = (item: unknown): boolean =>
  (item as { caused_by_mail?: unknown } | null)?.caused_by_mail === true;

/** The name of an event (interface section 4.4). */
export const eventName = z
  .string()
  .regex(
    EVENT_NAME,
    'must have 1 to 64 lower-case letters, digits and underscores, and begin with a letter, such as order_placed',
  );
/** The name of an event that a client or a flow tracks. */
export const trackableEventName = eventName
  .refine((name) => !isReservedEventName(name), 'is reserved: Carillon tracks this event itself')
  .meta({ not: { enum: [...RESERVED_NAMES] } });
const id = z.int().positive().max(MAX_ID);
const text = z.string().max(MAX_TEXT_LENGTH);
const utm = z.string().max(MAX_UTM_LENGTH);

/**
 * Finds what cannot be stored as JSON: too many levels, and numbers that are too large.
 * @returns null if there is none
 */
function unkeepable(value: unknown, level: number): string | null {
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'must not contain a number larger than 1.8e308';
  if (typeof value !== 'object' || value === null) return null;
  if (level > MAX_DATA_LEVELS) return `must not be nested deeper than ${MAX_DATA_LEVELS} levels`;
  for (const inner of Object.values(value)) {
    const problem = unkeepable(inner, level + 1);
    if (problem) return problem;
  }
  return null;
}

/** `data` of an event. */
export const eventData = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message });
    const problem = unkeepable(value, 1);
    if (problem) report(problem);
    else if (Buffer.byteLength(JSON.stringify(value)) > MAX_DATA_BYTES)
      report('must have at most 32 KB of JSON');
  })
  .meta({ description: 'Your own payload: at most 32 KB (32,768 bytes) of JSON, at most 20 levels deep.' });

const email = z
  .string()
  .max(MAX_ADDRESS_LENGTH)
  .superRefine((address, context) => {
    const parsed = parseEmailAddress(address);
    if ('error' in parsed) context.addIssue({ code: 'custom', message: parsed.error });
  })
  .meta({ pattern: ADDRESS_PATTERN, description: 'The address of a contact of the brand.' });

function occurredProblem(at: Date): string | null {
  const now = new Date();
  if (Number.isNaN(at.getTime())) return 'must be an ISO 8601 date-time';
  if (at.getTime() > now.getTime() + MAX_AHEAD_MS) return 'must not be in the future';
  const oldest = new Date(now).setUTCFullYear(now.getUTCFullYear() - MAX_AGE_YEARS);
  return at.getTime() < oldest ? `must be in the last ${MAX_AGE_YEARS} years` : null;
}

const occurredAt = z.iso
  .datetime({ offset: true })
  .max(64)
  .superRefine((value, context) => {
    const problem = occurredProblem(new Date(value));
    if (problem) context.addIssue({ code: 'custom', message: problem });
  });

const url = z
  .string()
  .max(MAX_URL_LENGTH)
  .refine((value) => URL.canParse(value), 'must be a URL');

/** POST /events (interface section 4.4). */
export const trackEventBody = z
  .strictObject({
    event: trackableEventName,
    contact_id: id.optional(),
    contact_email: email.optional(),
    idempotency_key: z.string().regex(KEY, 'must have 1 to 128 printable ASCII characters').optional().meta({
      description: 'The same as the header `Idempotency-Key`. If both are given, they must be equal.',
    }),
    amount: z.number().optional(),
    resource_uid: text.optional(),
    resource_name: text.optional(),
    resource_url: url.optional().meta({ format: 'uri' }),
    test: z.boolean().default(false).meta({
      description: 'Test events start no flow and match no segment. Events of test keys are test events.',
    }),
    data: eventData.optional(),
    utm_source: utm.optional(),
    utm_medium: utm.optional(),
    utm_term: utm.optional(),
    utm_content: utm.optional(),
    utm_campaign: utm.optional(),
    ip: z
      .string()
      .max(MAX_IP_LENGTH)
      .refine((value) => isIP(value) !== 0 && !value.includes('%'), 'must be an IP address')
      .optional()
      .meta({ description: 'The IP address of the contact.' }),
    user_agent: z
      .string()
      .max(MAX_USER_AGENT_LENGTH)
      .optional()
      .meta({ description: 'The `User-Agent` of the contact. Browser, OS and device type come from it.' }),
    referrer: z.string().max(MAX_URL_LENGTH).optional(),
    occurred_at: occurredAt.optional().meta({
      description:
        'When the event happened, if in the past: at most 10 years ago. Such an event starts no flow. The default is now.',
    }),
  })
  .superRefine((body, context) => {
    if (body.contact_id !== undefined || body.contact_email !== undefined) return;
    context.addIssue({ code: 'custom', path: ['contact_id'], message: 'or contact_email is required' });
  })
  .meta({ id: 'TrackEvent', if: { required: ['contact_id'] }, else: { required: ['contact_email'] } });
export type TrackEventBody = z.output<typeof trackEventBody>;

/** Fields that are ignored, so that a client can send an event back as it received it. */
export const eventReadOnlyFields = [
  'id',
  'account_id',
  'user_id',
  'chain_depth',
  'generated',
  'caused_by_mail',
  'browser',
  'os',
  'device_type',
  'created_at',
  'updated_at',
];

/** An event of a batch that needs no further parsing. */
export class ParsedEvent {
  readonly body: TrackEventBody;

  constructor(body: TrackEventBody) {
    this.body = body;
  }
}

/** An invalid event does not fail the others: it is left as it was sent. */
const anyEvent = z.union([trackEventBody.transform((body) => new ParsedEvent(body)), z.unknown()]);

export const trackBatchBody = z.strictObject({
  events: z
    .array(describeAs(anyEvent, () => trackEventBody))
    .min(1)
    .max(MAX_BATCH),
});

export const eventParams = z.strictObject({ id: idParam });

const time = filterTime.transform((value) => new Date(value));

/** The filters of GET /events. */
export const listEventsQuery = z.strictObject({
  ...pageQuery,
  event: eventName.optional(),
  contact_id: idParam.optional(),
  contact_email: z.string().max(MAX_ADDRESS_LENGTH).optional(),
  test: z.enum(['true', 'false']).optional(),
  created_after: time.optional(),
  created_before: time.optional(),
});
export type ListEventsQuery = z.output<typeof listEventsQuery>;

const when = z.iso.datetime();
const nullableText = z.string().nullable();

/** Of an event. */
export const causedByMail = z.boolean().meta({
  description:
    'Whether mail that an inbox received caused it, itself or through flows: `data` may then have texts of a stranger.',
});

/** A tracked event (interface section 2). */
export const eventResource = z
  .object({
    id: z.int(),
    account_id: z.int(),
    contact_id: z.int(),
    user_id: z
      .int()
      .nullable()
      .meta({ description: 'The user who tracked it. Null if an API key, a flow or Carillon did.' }),
    chain_depth: z.int().meta({
      description: 'The number of flow runs that led to it, one after another. 0 if no flow tracked it.',
    }),
    event: z.string(),
    amount: z.number().nullable(),
    data: z.record(z.string(), z.unknown()),
    idempotency_key: nullableText,
    resource_uid: nullableText,
    resource_name: nullableText,
    resource_url: nullableText,
    test: z.boolean(),
    generated: z.boolean().meta({ description: 'Whether a flow or Carillon itself tracked it.' }),
    caused_by_mail: causedByMail,
    ip: nullableText,
    user_agent: nullableText,
    browser: nullableText,
    os: nullableText,
    device_type: nullableText,
    referrer: nullableText,
    utm_source: nullableText,
    utm_medium: nullableText,
    utm_term: nullableText,
    utm_content: nullableText,
    utm_campaign: nullableText,
    created_at: when.meta({ description: 'When the event happened: `occurred_at` if the request has it.' }),
    updated_at: when.meta({ description: 'When the event was accepted.' }),
  })
  .meta({ id: 'TrackedEvent' });
export type EventResource = z.infer<typeof eventResource>;

export const batchStatuses = ['created', 'existing', 'invalid'] as const;

export const batchResults = z.object({
  results: z.array(
    z.object({
      index: z.int().meta({ description: 'The index of the event in the request, from 0.' }),
      status: z.enum(batchStatuses).meta({ description: '`existing`: an earlier event has its key.' }),
      id: z.int().nullable().meta({ description: 'The id of the event. Null if it is `invalid`.' }),
      errors: z
        .record(z.string(), z.array(z.string()))
        .meta({ description: 'What is wrong with an `invalid` event, by field.' }),
    }),
  ),
});
export type BatchResult = z.infer<typeof batchResults>['results'][number];
