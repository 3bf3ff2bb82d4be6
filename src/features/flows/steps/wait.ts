import { z } from 'zod';
import { describeAs } from '../../../platform/openapi/describe-as.ts';
import { shapeOf } from '../../../platform/input/times.ts';
import { isTimeZone } from '../../../platform/input/time-zones.ts';
import { keysOfName, timeColumns } from '../../segments/index.ts';
import type { StepDecision, RunContext, Unreadable } from '../run/interpreter.ts';
import { isLocalTime, nextLocalTime } from '../run/times.ts';
import { MAX_WAIT_SECONDS, presentedFields, seconds, stepShape } from './shapes.ts';
import type { Step } from './index.ts';
import type { StepVisit, StepType } from './step.ts';

/** Until a local time, on any or certain days. */
export interface LocalTime {
  /** `HH:MM`. */
  time: string;
  /** 1 is Monday, 7 is Sunday. Left out, any day will do. */
  weekdays?: readonly number[];
  /** An IANA name, or `contact`: the time zone of the contact, else of its country, else of the brand, else UTC. */
  timezone?: string;
}

/** Until a date in the contact's data. */
export interface FieldTime {
  /** `data.<path>`, or a column that contains a time. */
  field: string;
  offset_seconds?: number;
  /** What happens if the time is missing or has passed; `continue` by default. */
  if_past?: 'continue' | 'exit';
  /** What happens if the contact has a value that is not a time; `exit` by default, also in flows stored without it. */
  if_unreadable?: 'continue' | 'exit';
}

export type WaitStep =
  { type: 'wait'; id: number; duration: number } | { type: 'wait'; id: number; until: LocalTime | FieldTime };

/** Maximum number of names in `data.<path>`. */
const MAX_PATH_NAMES = 10;
const MAX_FIELD = 300;

const localTimeShape = z
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
  const [first, ...names] = keysOfName(field) ?? [];
  return (
    first === 'data' &&
    names.length > 0 &&
    names.length <= MAX_PATH_NAMES &&
    names.every((name) => name !== '')
  );
}

const fieldTimeShape = z
  .strictObject({
    field: z
      .string()
      .max(MAX_FIELD)
      .refine(isTimeField, `must be data.<path>, or one of ${timeColumns.join(', ')}`),
    offset_seconds: z.int().min(-MAX_WAIT_SECONDS).max(MAX_WAIT_SECONDS).optional(),
    if_past: z.enum(['continue', 'exit']).optional().meta({
      description: 'What the run does if there is no time, or it has passed. `continue` by default.',
    }),
    if_unreadable: z.enum(['continue', 'exit']).optional().meta({
      description: 'What the run does if the value is not a time, such as `12-04-2022`. `exit` by default.',
    }),
  })
  .meta({ id: 'FieldTime' });

const shape = stepShape('wait', {
  duration: seconds.optional(),
  until: describeAs(z.record(z.string(), z.unknown()), () =>
    z.union([localTimeShape, fieldTimeShape]),
  ).optional(),
}).superRefine(({ duration, until }, context) => {
  if ((duration === undefined) !== (until === undefined)) return;
  const message =
    duration === undefined ? 'is required, or until' : 'must be left out, because until is given';
  context.addIssue({ code: 'custom', path: ['duration'], message });
});

/** When a wait that begins now ends; null if there is no wait. */
async function endOfWait(step: WaitStep, context: RunContext): Promise<Date | UnreadableField | null> {
  if ('duration' in step) return new Date(context.asOf.getTime() + 1_000 * step.duration);
  const { until } = step;
  if (!isLocalTime(until)) return timeOfField(until, context);
  const timezone = until.timezone ?? 'contact';
  return nextLocalTime(context.asOf, until, timezone === 'contact' ? await context.timezone() : timezone);
}

interface UnreadableField extends Unreadable {
  until: FieldTime;
}

/** Null if the time is missing. */
async function timeOfField(until: FieldTime, context: RunContext): Promise<Date | UnreadableField | null> {
  const time = await context.timeOf(until.field);
  if (time === null) return null;
  if (!(time instanceof Date)) return { ...time, until };
  return new Date(time.getTime() + 1_000 * (until.offset_seconds ?? 0));
}

/** Leaves a wait whose time cannot be read. */
function leaveUnreadable({ unreadable, until }: UnreadableField, next: Step | null): StepDecision {
  const { field, if_unreadable: then } = until;
  const detail = { reason: 'not_a_time', field, shape: shapeOf(unreadable) };
  const result = { outcome: 'unreadable', detail };
  return then === 'continue' ? { result, next } : { result, next, exit: 'date_unreadable' };
}

const fieldOf = (step: WaitStep): FieldTime | null =>
  'until' in step && !isLocalTime(step.until) ? step.until : null;

/** Ends a wait at its time, unless its date has been postponed in the meantime. */
async function end(step: WaitStep, { next, context }: StepVisit, until: string): Promise<StepDecision> {
  const field = fieldOf(step);
  const moved = field && (await timeOfField(field, context));
  if (moved && !(moved instanceof Date)) return leaveUnreadable(moved, next);
  if (moved && moved > context.asOf) return { wait: { for: 'time', until: moved.toISOString() } };
  return { result: { outcome: 'done', detail: { until } }, next };
}

async function run(step: WaitStep, visit: StepVisit): Promise<StepDecision> {
  const { next, wait, context } = visit;
  if (wait?.for === 'time') {
    return new Date(wait.until) > context.asOf ? { wait } : end(step, visit, wait.until);
  }
  const until = await endOfWait(step, context);
  if (until && !(until instanceof Date)) return leaveUnreadable(until, next);
  if (until && until > context.asOf) return { wait: { for: 'time', until: until.toISOString() } };
  const outcome = until ? 'passed' : 'missing';
  const result = { outcome, ...(until && { detail: { until: until.toISOString() } }) };
  return fieldOf(step)?.if_past === 'exit' ? { result, next, exit: `date_${outcome}` } : { result, next };
}

/** Waits for some time, until a local time, or until a date of the contact. */
export const wait: StepType<WaitStep> = {
  type: 'wait',
  shape,
  fieldToRead(given) {
    const until: unknown = 'until' in given ? given.until : null;
    if (typeof until !== 'object' || until === null) return null;
    return { field: 'until', value: until, shape: 'field' in until ? fieldTimeShape : localTimeShape };
  },
  presented: { duration: presentedFields.duration, until: presentedFields.jsonObject },
  run,
};
