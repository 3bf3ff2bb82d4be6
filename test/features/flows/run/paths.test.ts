// The interpreter and the simulation follow the same path as a reference interpreter.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Answer,
  type SimulatedContact,
  type SimulatedState,
  simulateRun,
  type SimulationResult,
} from '../../../../src/features/flows/simulate/simulation.ts';
import { readDataTime } from '../../../../src/features/flows/run/contact-reads.ts';
import { allSteps } from '../../../../src/features/flows/steps/index.ts';
import { evaluate, runInMemory } from './memory-context.ts';
import { percentileIn, quietEnd, type Scenario, scenarios } from './random-flows.ts';
import { type ReferencePath, referencePath } from './reference.ts';

const RUNS = 600;
const SEED = Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31);
const options = { numRuns: RUNS, seed: SEED };

const endOf = ({ state, reason, at }: ReferencePath) => ({ state, reason, at });

it('follows the path of the reference interpreter', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const expected = referencePath(scenario);
      const { context, end } = await runInMemory(scenario);
      expect(context.path).toEqual(expected.path);
      expect({ state: end.state, reason: end.reason, at: context.asOf.toISOString() }).toEqual(
        endOf(expected),
      );
    }),
    options,
  );
});

it('takes the same path, with each effect once, however many times it is woken while it waits', async () => {
  const wakes = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(scenarios, wakes, async (scenario, parts) => {
      const quiet = await runInMemory(scenario);
      const woken = await runInMemory(scenario, { spurious: [...parts].sort((a, b) => a - b) });
      expect(woken.context.path).toEqual(quiet.context.path);
      expect(woken.context.effects).toEqual(quiet.context.effects);
    }),
    options,
  );
});

/** What a simulation assumes of the scenario: the events that decided, and the answers of webhooks. */
function answersOf({ steps, statuses }: Scenario, { path, taken }: ReferencePath): Map<number, Answer> {
  const answers = new Map<number, Answer>();
  for (const { id, type } of allSteps(steps)) {
    if (type === 'webhook') answers.set(id, { status: statuses[id % 3] });
    const event = taken.get(id);
    const entered = path.find(({ step_id: step }) => step === id)?.entered_at;
    if (type !== 'wait_for_event' || !event || event.own || entered === undefined) continue;
    const after = (event.at - Date.parse(entered)) / 1_000;
    answers.set(id, after < 0 ? 'yes' : { after_seconds: after, data: event.data });
  }
  return answers;
}

function factsOf(scenario: Scenario): SimulatedContact {
  const dataAt = ({ changes }: SimulatedState) => ({ ...scenario.data, ...changes.data });
  const listsAt = ({ changes }: SimulatedState) => {
    const lists = new Set(scenario.lists);
    for (const [id, isIn] of changes.lists) {
      if (isIn) lists.add(id);
      else lists.delete(id);
    }
    return lists;
  };
  const { sends } = scenario;
  return {
    percentile: percentileIn,
    matches: async (moment, filters, received) =>
      evaluate(filters, {
        asOf: moment.asOf,
        data: dataAt(moment),
        lists: listsAt(moment),
        trigger: scenario.trigger,
        received: received?.data,
        answers: new Map([...moment.steps].map(([id, { answer }]) => [id, answer])),
      }),
    timeOf: async (moment, field) => readDataTime(dataAt(moment)[field.slice('data.'.length) as 'due'], null),
    timezone: async () => scenario.timezone,
    quietUntil: async ({ asOf }) => quietEnd(scenario, asOf),
    send: async () => {
      if (sends === 'unsubscribed') return { exit: sends };
      return sends === 'sent' ? { outcome: 'sent' } : { outcome: 'skipped', detail: { reason: sends } };
    },
  };
}

const bare = ({ path }: SimulationResult) =>
  path.map(({ step_id, entered_at, left_at, outcome }) => ({ step_id, entered_at, left_at, outcome }));

it('is simulated along the same path if the simulation assumes what happens', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const expected = referencePath(scenario);
      const { steps, exitFilters, enteredAt, trigger } = scenario;
      const answers = { steps: answersOf(scenario, expected), goalAfterSeconds: null };
      const course = await simulateRun({ steps, exitFilters, goal: null }, factsOf(scenario), {
        at: enteredAt,
        answers,
        eventData: trigger,
      });
      expect(bare(course)).toEqual(expected.path);
      expect(course.ends).toEqual(endOf(expected));
    }),
    options,
  );
});

it('covers every type of step, and both ends of every wait', () => {
  const seen = new Set<string>();
  const sample = fc.sample(scenarios, { numRuns: RUNS, seed: 1 });
  for (const scenario of sample) {
    const types = new Map(allSteps(scenario.steps).map(({ id, type }) => [id, type]));
    for (const { step_id: id, outcome } of referencePath(scenario).path)
      seen.add(`${types.get(id)} ${outcome}`);
  }
  expect([...seen].sort()).toEqual(
    [
      ...[
        'email sent',
        'email skipped',
        'sms sent',
        'sms skipped',
        'wait done',
        'wait passed',
        'wait missing',
        'wait unreadable',
      ],
      ...['condition yes', 'condition no', 'wait_for_event yes', 'wait_for_event timeout', 'event done'],
      ...[
        'update_contact done',
        'add_to_list done',
        'remove_from_list done',
        'webhook done',
        'webhook failed',
        'exit exit',
      ],
      ...['split branch 1', 'split branch 2', 'split branch 3'],
    ].sort(),
  );
});
