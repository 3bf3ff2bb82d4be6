import { z } from 'zod';
import { eventData, eventName } from '../../contact-events/schema.ts';
import type { ArrivedEvent, AwaitedEvent, StepDecision, RunContext } from '../run/interpreter.ts';
import {
  MAX_WAIT_SECONDS,
  presentedFields,
  seconds,
  stepFilters,
  stepId,
  stepRef,
  stepShape,
} from './shapes.ts';
import { type Filters, isForEvent, type StepVisit, type StepType } from './step.ts';
import { type YesNo, yesNo } from './yes-no.ts';

export interface WaitForEventStep extends YesNo, AwaitedEvent {
  type: 'wait_for_event';
  /** Filters on the contact and, as `received.<path>`, on the event that arrives. */
  filters?: Filters;
  /** Seconds until the run takes the branch `no`. */
  duration: number;
}

const sinceStep = z.strictObject({ step: z.union([stepId, stepRef]) }).meta({ id: 'SinceStepInput' });

const shape = stepShape('wait_for_event', {
  event_name: eventName,
  filters: stepFilters(0).optional(),
  duration: seconds,
  include_since: z
    .union([z.literal('entry'), sinceStep], {
      error: ({ input }) => (input === undefined ? undefined : 'must be "entry", or an object with step'),
    })
    .optional(),
});

const presentedSince = z.object({ step: z.int() }).meta({ id: 'SinceStep' });

/** Finds the first event in time that matches the filters of the wait. */
async function firstMatch(
  step: WaitForEventStep,
  events: readonly ArrivedEvent[],
  until: Date,
  context: RunContext,
): Promise<ArrivedEvent | null> {
  for (const event of events) {
    if (event.occurredAt > until) continue;
    if (!step.filters?.length || (await context.matches(step.filters, event))) return event;
  }
  return null;
}

/**
 * The first matching event that occurred before the end of the wait decides, even if the run reads it later. An event
 * whose transaction began before the end but gets the contact's lock only after the run has read is too late.
 */
async function run(
  step: WaitForEventStep,
  { next, wait: waited, context }: StepVisit,
): Promise<StepDecision> {
  const wait = isForEvent(waited, step.event_name) ? waited : null;
  const until = wait ? new Date(wait.until) : new Date(context.asOf.getTime() + 1_000 * step.duration);
  const events = wait ? await context.arrivals(step) : await context.awaitEvent(step);
  const event = await firstMatch(step, events, until, context);
  if (!event && until > context.asOf) {
    return { wait: { for: 'event', eventName: step.event_name, until: until.toISOString() } };
  }
  await context.endAwait(step);
  return event
    ? { result: { outcome: 'yes', eventId: event.id }, next: step.yes[0] ?? next }
    : { result: { outcome: 'timeout' }, next: step.no[0] ?? next };
}

/** Waits for an event of the contact: takes one branch when a matching event arrives, the other after a time-out. */
export const waitForEvent: StepType<WaitForEventStep> = {
  type: 'wait_for_event',
  shape,
  branches: yesNo,
  references: ({ filters, include_since: since }) => ({
    ...(filters && { filters }),
    received: true,
    ...(typeof since === 'object' && {
      before: {
        step: since.step,
        field: 'include_since.step',
        withId: (step: number) => ({ include_since: { step } }),
      },
    }),
  }),

  presented: {
    event_name: presentedFields.eventName,
    filters: presentedFields.filters,
    duration: presentedFields.duration,
    include_since: z.union([z.literal('entry'), presentedSince]),
  },
  present: ({ filters = [] }) => ({ filters }),

  awaits: (step) => step.event_name,
  run,

  assumptions: {
    yesNo: true,
    fields: {
      after_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).optional(),
      data: eventData.optional(),
    },
    description: '`"yes"` or `"no"`, or the event that arrives, as `{"after_seconds": 3600, "data": {…}}`',
  },
};
