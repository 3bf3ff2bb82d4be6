/** Random flows, and random events of the contact who passes through them. */
import fc from 'fast-check';
import { allSteps, type Step } from '../../../../src/features/flows/steps/index.ts';
import type { Filters } from '../../../../src/features/flows/steps/step.ts';

/** An event of the contact that the flow does not track itself. */
export interface OutsideEvent {
  name: string;
  /** Milliseconds after the entry. */
  after: number;
  data: Record<string, unknown>;
}

export interface Scenario {
  steps: Step[];
  exitFilters: Filters;
  enteredAt: Date;
  /** A zone whose clocks never change, so that the reference can compute with its offset. */
  timezone: string;
  data: Record<string, unknown>;
  lists: number[];
  trigger: Record<string, unknown>;
  events: OutsideEvent[];
  /** Of webhook steps: the status that they answer. */
  statuses: number[];
  /** What becomes of messages. */
  sends: 'sent' | 'no_address' | 'unsubscribed';
  /** Whether messages wait from 22:00 to 08:00 UTC. */
  quiet: boolean;
}

/** Zones without daylight saving, with their offset in minutes. */
export const fixedZones: Record<string, number> = {
  UTC: 0,
  'Asia/Kolkata': 330,
  'Etc/GMT+5': -300,
  'Pacific/Kiritimati': 840,
};

const EVENTS = ['bought', 'seen', 'left'];
const small = fc.constantFrom(0, 1, 2);
const object = fc.record({ a: small, b: small }, { requiredKeys: [] });

const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('data.a', 'data.b', 'trigger.a', 'trigger.b') },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }).map((step) => `step.${step}.status`) },
);
const valueFilter = (names: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.record({
      name: names,
      predicate: fc.constantFrom('eq', 'not_eq', 'gteq'),
      value: fc.constantFrom(0, 1, 2, 200),
    }),
    fc.record({ name: names, predicate: fc.constantFrom('present', 'blank') }),
  );
const listFilter = fc.record({
  name: fc.constant('list'),
  predicate: fc.constantFrom('in', 'not_in'),
  value: fc.uniqueArray(fc.constantFrom(1, 2, 3), { minLength: 1, maxLength: 2 }),
});
function filtersOf(names: fc.Arbitrary<string>): fc.Arbitrary<unknown[]> {
  const leaf = fc.oneof({ weight: 4, arbitrary: valueFilter(names) }, { weight: 1, arbitrary: listFilter });
  const group = fc.record({
    name: fc.constant('any'),
    predicate: fc.constant('or'),
    value: fc.array(leaf, { minLength: 1, maxLength: 2 }),
  });
  return fc.array(fc.oneof({ weight: 4, arbitrary: leaf }, { weight: 1, arbitrary: group }), {
    minLength: 1,
    maxLength: 2,
  });
}
const filters = filtersOf(name);
const waitFilters = filtersOf(fc.oneof(name, fc.constantFrom('received.a', 'received.b')));

const duration = fc.oneof(
  fc.constantFrom(1, 60, 3_600, 86_400),
  fc.integer({ min: 1, max: 40 }).map((hours) => hours * 3_600),
);
const localTime = fc.record(
  {
    time: fc.constantFrom('00:00', '09:00', '12:30', '23:59'),
    weekdays: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 3 }),
    timezone: fc.constantFrom('contact', 'Asia/Kolkata', 'UTC'),
  },
  { requiredKeys: ['time'] },
);
const fieldTime = fc.record(
  {
    field: fc.constantFrom('data.due', 'data.a', 'data.missing'),
    offset_seconds: fc.constantFrom(-86_400, 0, 3_600),
    if_past: fc.constantFrom('continue' as const, 'exit' as const),
    if_unreadable: fc.constantFrom('continue' as const, 'exit' as const),
  },
  { requiredKeys: ['field'] },
);

/** Ids are given afterwards; ids that steps name are any numbers, too. */
const id = 0;
const leafStep: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>({ type: 'email', id, template_id: 1 }, { type: 'sms', id, template_id: 1 }),
  duration.map((seconds): Step => ({ type: 'wait', id, duration: seconds })),
  fc.oneof(localTime, fieldTime).map((until): Step => ({ type: 'wait', id, until })),
  fc
    .record({ event_name: fc.constantFrom(...EVENTS), forward_event_data: fc.boolean(), data: object })
    .map((given): Step => ({ type: 'event', id, ...given })),
  fc
    .record({ a: fc.option(small), b: fc.option(small) }, { requiredKeys: [] })
    .map((data): Step => ({ type: 'update_contact', id, data })),
  fc
    .tuple(fc.constantFrom('add_to_list' as const, 'remove_from_list' as const), fc.constantFrom(1, 2, 3))
    .map(([type, list]): Step => ({ type, id, list_id: list })),
  fc.constant<Step>({ type: 'webhook', id, url: 'https://example.com/', method: 'POST' }),
);
const exitStep = fc.constantFrom<Step>({ type: 'exit', id }, { type: 'exit', id, reason: 'converted' });

const { steps } = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie('step'), { maxLength: 5, depthIdentifier: 'flow' }),
  step: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'flow' },
    { weight: 6, arbitrary: leafStep },
    { weight: 1, arbitrary: exitStep },
    {
      weight: 2,
      arbitrary: fc
        .record({ filters, yes: tie('steps'), no: tie('steps') })
        .map((given): Step => ({ type: 'condition', id, ...given })),
    },
    {
      weight: 3,
      arbitrary: fc
        .record(
          {
            event_name: fc.constantFrom(...EVENTS),
            duration,
            filters: waitFilters,
            include_since: fc.oneof(
              fc.constant('entry' as const),
              fc.integer({ min: 1, max: 12 }).map((step) => ({ step })),
            ),
            yes: tie('steps'),
            no: tie('steps'),
          },
          { requiredKeys: ['event_name', 'duration', 'yes', 'no'] },
        )
        .map((given): Step => ({ type: 'wait_for_event', id, ...given })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom([50, 50], [0, 100], [10, 20, 70]), tie('steps'), tie('steps'))
        .map(([weights, one, other]): Step => ({
          type: 'split',
          id,
          branches: weights.map((weight, n) => ({ weight, steps: n === 0 ? one : n === 1 ? other : [] })),
        })),
    },
  ),
}));

/** Gives all steps an id. A branch may be the same object twice, so the steps are copied before. */
function numbered(given: Step[]): Step[] {
  const copied = structuredClone(JSON.parse(JSON.stringify(given)) as Step[]);
  for (const [n, step] of allSteps(copied).entries()) step.id = n + 1;
  return copied;
}

const HOUR = 3_600_000;
const enteredAt = fc
  .integer({ min: 0, max: 14 * 24 * 60 })
  .map((minutes) => new Date(Date.UTC(2026, 2, 20, 0, 0, 0, 250) + minutes * 60_000));

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(steps, { minLength: 1, maxLength: 3 }).map((parts) => numbered(parts.flat())),
  exitFilters: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: filters }),
  enteredAt,
  timezone: fc.constantFrom(...Object.keys(fixedZones)),
  data: fc.record(
    { a: small, b: small, due: fc.constantFrom('2026-03-25', '2026-04-02T10:00:00Z', 'never', 5) },
    { requiredKeys: [] },
  ),
  lists: fc.subarray([1, 2, 3]),
  trigger: object,
  events: fc
    .array(
      fc.record({
        name: fc.constantFrom(...EVENTS),
        after: fc.integer({ min: -2 * HOUR, max: 200 * HOUR }),
        data: object,
      }),
      {
        maxLength: 8,
      },
    )
    .map((events) => [...events].sort((one, other) => one.after - other.after)),
  statuses: fc.array(fc.constantFrom(200, 500), { minLength: 3, maxLength: 3 }),
  sends: fc.constantFrom('sent', 'sent', 'sent', 'no_address', 'unsubscribed'),
  quiet: fc.boolean(),
});

/** Where the contact is in a split. */
export const percentileIn = (step: number) => (step * 37) % 100;

/** When messages may be sent again; null: now. */
export function quietEnd({ quiet }: Scenario, at: Date): Date | null {
  const hour = at.getUTCHours();
  if (!quiet || (hour >= 8 && hour < 22)) return null;
  const end = new Date(at);
  end.setUTCHours(hour >= 22 ? 32 : 8, 0, 0, 0);
  return end;
}
