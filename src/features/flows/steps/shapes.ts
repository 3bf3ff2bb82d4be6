/** What clients write into a step, by its type. Branches are read apart, see `read-steps.ts`. */
import { z } from 'zod';
import { readTarget } from '../../../platform/egress/target.ts';
import { oneLine } from '../../../platform/input/one-line.ts';
import { MAX_ID } from '../../../platform/db/paging.ts';
import { describeAs } from '../../../platform/openapi/describe-as.ts';
import { isTimeZone } from '../../brands/schema.ts';
import { dataProblem } from '../../contacts/service.ts';
import { eventData, eventName } from '../../contact-events/schema.ts';
import { filterShape, timeColumns } from '../../segments/service.ts';
import { templateAttributes } from '../../templates/schema.ts';

/** The longest wait: 366 days. */
export const MAX_WAIT_SECONDS = 31_622_400;
/** The largest id of a step. */
export const MAX_STEP_ID = 1_000_000;
const MAX_FILTERS = 50;
const MAX_BRANCHES = 10;
const MAX_URL = 2_048;
const MAX_HEADERS = 20;
const MAX_HEADER_VALUE = 1_000;
const MAX_WEBHOOK_BYTES = 32 * 1024;
const MAX_WEBHOOK_LEVELS = 20;
/** Names of nested objects in `data.<path>`. */
const MAX_PATH_NAMES = 10;
const MAX_FIELD = 300;

const stepId = z.int().min(1).max(MAX_STEP_ID);
const id = z.int().min(1).max(MAX_ID);
const seconds = z.int().min(1).max(MAX_WAIT_SECONDS);
/** They are parsed with the names that they may use at their place. */
const filters = describeAs(z.array(z.unknown()).max(MAX_FILTERS), () =>
  z.array(filterShape).max(MAX_FILTERS),
);

/** Steps as the description of the API shows them. */
export function describeSteps(): z.ZodType {
  return z.array(flowStepInput);
}
/** It is read apart. */
const branch = describeAs(z.unknown(), () => describeSteps().nullable()).optional();

function shape<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  const ownId = stepId.optional().meta({ description: 'Of a step that the flow has; left out: a new step.' });
  return z.strictObject({ type: z.literal(type), id: ownId, ...fields });
}

const { template_id, subject, preheader, body, from_name, from_email, reply_to } = templateAttributes.shape;

const email = shape('email', { template_id, subject, preheader, body, from_name, from_email, reply_to });
const sms = shape('sms', { template_id, body });

export const localTimeShape = z
  .strictObject({
    time: z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day such as 09:00'),
    weekdays: z
      .array(z.int().min(1).max(7))
      .min(1)
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'must name each day once')
      .optional(),
    timezone: z
      .string()
      .refine((name) => name === 'contact' || isTimeZone(name), {
        message: 'must be contact, or the name of an IANA time zone, such as Europe/Berlin',
      })
      .optional(),
  })
  .meta({ id: 'LocalTime' });

function isTimeField(field: string): boolean {
  if ((timeColumns as readonly string[]).includes(field)) return true;
  const [first, ...names] = field.split('.');
  return (
    first === 'data' &&
    names.length > 0 &&
    names.length <= MAX_PATH_NAMES &&
    names.every((name) => name !== '')
  );
}

export const fieldTimeShape = z
  .strictObject({
    field: z
      .string()
      .max(MAX_FIELD)
      .refine(isTimeField, `must be data.<path>, or one of ${timeColumns.join(', ')}`),
    offset_seconds: z.int().min(-MAX_WAIT_SECONDS).max(MAX_WAIT_SECONDS).optional(),
    if_past: z.enum(['continue', 'exit']).optional(),
  })
  .meta({ id: 'FieldTime' });

const wait = shape('wait', {
  duration: seconds.optional(),
  /** It is parsed by the shape that its fields show. */
  until: describeAs(z.record(z.string(), z.unknown()), () =>
    z.union([localTimeShape, fieldTimeShape]),
  ).optional(),
}).superRefine(({ duration, until }, context) => {
  if ((duration === undefined) !== (until === undefined)) return;
  const message = duration === undefined ? 'is required, or until' : 'must be left out: until is given';
  context.addIssue({ code: 'custom', path: ['duration'], message });
});

const condition = shape('condition', {
  filters: describeAs(z.array(z.unknown()).min(1).max(MAX_FILTERS), () =>
    z.array(filterShape).min(1).max(MAX_FILTERS),
  ),
  yes: branch,
  no: branch,
});

const sinceStep = z.strictObject({ step: stepId }).meta({ id: 'SinceStep' });

const waitForEvent = shape('wait_for_event', {
  event_name: eventName,
  filters: filters.optional(),
  duration: seconds,
  include_since: z
    .union([z.literal('entry'), sinceStep], {
      error: ({ input }) => (input === undefined ? undefined : 'must be "entry", or an object with step'),
    })
    .optional(),
  yes: branch,
  no: branch,
});

const event = shape('event', {
  event_name: eventName,
  forward_event_data: z.boolean().optional(),
  data: eventData.optional(),
});

const updateContact = shape('update_contact', {
  data: z.record(z.string(), z.unknown()).superRefine((data, context) => {
    const message = Object.keys(data).length === 0 ? 'must not be empty' : dataProblem(data);
    if (message !== null) context.addIssue({ code: 'custom', message });
  }),
});

const addToList = shape('add_to_list', { list_id: id });
const removeFromList = shape('remove_from_list', { list_id: id });

/** Of HTTP (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that describe the connection or the signature, which the service writes. */
const RESERVED_HEADER =
  /^(host|connection|keep-alive|content-(length|type|encoding)|transfer-encoding|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|sec-.*|webhook-.*|carillon-.*)$/i;

const headers = z.record(z.string(), oneLine(MAX_HEADER_VALUE)).superRefine((given, context) => {
  const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const names = Object.keys(given);
  if (names.length > MAX_HEADERS) return report([], `must have at most ${MAX_HEADERS} names`);
  const seen = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) report([name], 'has a name that is not allowed');
    else if (RESERVED_HEADER.test(name)) report([name], 'is a header that the service writes');
    else if (seen.has(lower)) report([name], 'must be given once');
    if (hasLiquid(given[name])) report([name], NO_LIQUID);
    seen.add(lower);
  }
});

const NO_LIQUID = 'must not have Liquid: it is not rendered in webhook steps';
const hasLiquid = (text: unknown) => typeof text === 'string' && /\{[{%]/.test(text);

const url = z
  .string()
  .min(1)
  .max(MAX_URL)
  .superRefine((text, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message });
    if (hasLiquid(text)) return report(NO_LIQUID);
    const target = readTarget(text);
    if ('reason' in target) report(target.message);
    else if (target.protocol !== 'https:') report('must begin with https://');
  });

/** Finds Liquid in texts and names. @returns the path of the first; null: there is none; `deep`: it is nested too deeply */
function findLiquid(value: unknown, path: string[], level: number): string[] | 'deep' | null {
  if (typeof value !== 'object' || value === null) return hasLiquid(value) ? path : null;
  if (level > MAX_WEBHOOK_LEVELS) return 'deep';
  for (const [name, inner] of Object.entries(value)) {
    const found = hasLiquid(name) ? [...path, name] : findLiquid(inner, [...path, name], level + 1);
    if (found !== null) return found;
  }
  return null;
}

const webhookBody = z.unknown().superRefine((given, context) => {
  if (given === undefined) return;
  const found = findLiquid(given, [], 1);
  if (found === 'deep') {
    const message = `must not be nested deeper than ${MAX_WEBHOOK_LEVELS} levels`;
    context.addIssue({ code: 'custom', message });
  } else if (found) {
    context.addIssue({ code: 'custom', path: found, message: NO_LIQUID });
  } else if (Buffer.byteLength(JSON.stringify(given)) > MAX_WEBHOOK_BYTES) {
    context.addIssue({ code: 'custom', message: 'must have at most 32 KB of JSON' });
  }
});

const webhook = shape('webhook', {
  url,
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  headers: headers.optional(),
  body: webhookBody.optional(),
}).superRefine(({ method, body }, context) => {
  if (method !== 'GET' || body === undefined || body === null) return;
  context.addIssue({ code: 'custom', path: ['body'], message: 'must be left out: a GET has none' });
});

const split = shape('split', {
  branches: z
    .array(z.strictObject({ weight: z.int().min(0).max(100), steps: branch }).meta({ id: 'SplitBranch' }))
    .min(2)
    .max(MAX_BRANCHES)
    .superRefine((branches, context) => {
      const sum = branches.reduce((total, { weight }) => total + weight, 0);
      if (sum === 100) return;
      context.addIssue({ code: 'custom', message: `have weights that add up to ${sum} instead of 100` });
    }),
});

/** Reasons with which the service itself ends runs, so that a report tells them from those of the client. */
const OWN_REASONS = [
  ...['end', 'goal', 'unsubscribed', 'suppressed', 'contact_deleted', 'exit_filters', 'archived', 'canceled'],
  ...['overdue', 'error', 'step_removed', 'date_passed', 'date_missing'],
];

const exit = shape('exit', {
  reason: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/)
    .refine((reason) => !OWN_REASONS.includes(reason), 'is a reason of the service itself')
    .optional(),
});

export const stepShapes = {
  email: email.meta({ id: 'EmailStep' }),
  sms: sms.meta({ id: 'SmsStep' }),
  wait: wait.meta({ id: 'WaitStep' }),
  condition: condition.meta({ id: 'ConditionStep' }),
  wait_for_event: waitForEvent.meta({ id: 'WaitForEventStep' }),
  event: event.meta({ id: 'EventStep' }),
  update_contact: updateContact.meta({ id: 'UpdateContactStep' }),
  add_to_list: addToList.meta({ id: 'AddToListStep' }),
  remove_from_list: removeFromList.meta({ id: 'RemoveFromListStep' }),
  webhook: webhook.meta({ id: 'WebhookStep' }),
  split: split.meta({ id: 'SplitStep' }),
  exit: exit.meta({ id: 'ExitStep' }),
} as const;

const { email: first, ...others } = stepShapes;
const flowStepInput = z
  .discriminatedUnion('type', [first, ...Object.values(others)])
  .meta({ id: 'FlowStepInput', description: 'A step of a flow, as clients write it.' });

export type StepType = keyof typeof stepShapes;
export const stepTypes = Object.keys(stepShapes) as [StepType, ...StepType[]];
