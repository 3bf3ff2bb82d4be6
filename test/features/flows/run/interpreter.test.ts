// The flow interpreter follows branches and waits exactly, and asks before each step whether to end.
import { describe, expect, it } from '@jest/globals';
import {
  advanceSteps,
  findStep,
  firstRecord,
  type Halt,
  MAX_STEPS_AT_ONCE,
  nextOf,
  type RunRecord,
} from '../../../../src/features/flows/run/interpreter.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { type Script, type ScriptedWorld, scriptedWorld } from './scripted-context.ts';

const NOON = '2026-03-10T12:00:00.000Z';
const email = (id: number): Step => ({ type: 'email', id, template_id: id });
const waitFor: Step = {
  type: 'wait_for_event',
  id: 1,
  event_name: 'bought',
  duration: 3_600,
  filters: [{}],
  yes: [email(2)],
  no: [email(3)],
};
const END = '2026-03-10T13:00:00.000Z';

async function advance(
  steps: readonly Step[],
  record: RunRecord,
  script: Partial<Script> = {},
): Promise<Halt & { world: ScriptedWorld }> {
  const world = scriptedWorld({ asOf: NOON, ...script });
  return { ...(await advanceSteps(steps, record, world)), world };
}
const begin = (steps: readonly Step[], script?: Partial<Script>) =>
  advance(steps, firstRecord(new Date(NOON)), script);

/** A run that waits at its step since noon. */
const waiting = (stepId: number, wait: RunRecord['wait']): RunRecord => ({
  ...firstRecord(new Date(NOON)),
  begun: true,
  stepId,
  wait,
});
const event = (until = END) => waiting(1, { for: 'event', eventName: 'bought', until });

describe('a run', () => {
  it('without steps is completed', async () => {
    expect(await begin([])).toMatchObject({ halt: 'end', state: 'completed', reason: 'end' });
  });

  it('does at most 50 steps at a time, and then the others', async () => {
    const steps = Array.from({ length: 120 }, (_, n) => email(n + 1));
    let halt: Halt & { world: ScriptedWorld } = await begin(steps);
    const counts = [halt.world.path.length];
    while (halt.halt === 'again') {
      halt = await advance(steps, halt.record);
      counts.push(halt.world.path.length);
    }
    expect(counts).toEqual([MAX_STEPS_AT_ONCE, MAX_STEPS_AT_ONCE, 20]);
    expect(halt).toMatchObject({ halt: 'end', record: { steps: 120 } });
  });

  it('ends if its step is gone', async () => {
    expect(await advance([email(1)], waiting(9, null))).toMatchObject({
      halt: 'end',
      reason: 'step_removed',
    });
  });

  it('goes on behind a branch, also behind an empty one', async () => {
    const inner: Step = { type: 'condition', id: 2, filters: [], yes: [], no: [] };
    const outer: Step = { type: 'condition', id: 1, filters: [], yes: [inner], no: [email(4)] };
    const halt = await begin([outer, email(3)]);
    expect(halt.world.path).toEqual(['1 yes', '2 yes', '3 sent']);
    expect(nextOf([outer, email(3)], 2)?.id).toBe(3);
    expect(nextOf([outer, email(3)], 4)?.id).toBe(3);
    expect(nextOf([outer, email(3)], 3)).toBeNull();
    expect(findStep([outer], 4)?.id).toBe(4);
    expect(findStep([outer], 5)).toBeNull();
  });

  it('asks before each step whether it must end, but not while it waits', async () => {
    const halt = await begin([email(1)], { mustExit: 'exit_filters' });
    expect(halt).toMatchObject({ halt: 'end', state: 'exited', reason: 'exit_filters', world: { path: [] } });
    expect(await advance([waitFor], event(), { mustExit: 'exit_filters' })).toMatchObject({ halt: 'wait' });
  });
});

describe('a wait', () => {
  const days: Step = { type: 'wait', id: 1, duration: 86_400 };
  const until = (rest: object) => ({ type: 'wait', id: 1, until: rest }) as Step;
  const field = (rest: object = {}) => until({ field: 'data.due', ...rest });

  it('ends at its time and not before', async () => {
    const halt = await begin([days]);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { until: '2026-03-11T12:00:00.000Z' } } });
    const early = await advance([days], halt.record, { asOf: '2026-03-11T11:59:59.999Z' });
    expect([early.halt, early.record]).toEqual(['wait', halt.record]);
    const due = await advance([days], halt.record, { asOf: '2026-03-11T12:00:00Z' });
    expect(due).toMatchObject({ halt: 'end', world: { path: ['1 done'] } });
  });

  it('takes the zone of the contact unless another is given', async () => {
    const times = [until({ time: '09:00' }), until({ time: '09:00', timezone: 'contact' })];
    for (const step of times) {
      expect(await begin([step], { timezone: 'Asia/Tokyo' })).toMatchObject({
        record: { wait: { until: '2026-03-11T00:00:00.000Z' } },
      });
    }
    const berlin = until({ time: '09:00', timezone: 'Europe/Berlin', weekdays: [5] });
    expect(await begin([berlin])).toMatchObject({ record: { wait: { until: '2026-03-13T08:00:00.000Z' } } });
  });

  it('goes on at once if its date is missing or has passed, or ends the run if it shall', async () => {
    const cases = [
      [null, {}, '1 missing', 'end'],
      [NOON, {}, '1 passed', 'end'],
      ['2026-03-11T00:00:00Z', { offset_seconds: -86_400 }, '1 passed', 'end'],
      [null, { if_past: 'exit' }, '1 missing', 'date_missing'],
      [NOON, { if_past: 'exit' }, '1 passed', 'date_passed'],
    ] as const;
    for (const [time, rest, path, reason] of cases) {
      const halt = await begin([field(rest)], { time });
      expect([halt.world.path, halt]).toEqual([[path], expect.objectContaining({ halt: 'end', reason })]);
    }
  });

  it('goes on until the date if that was put off meanwhile', async () => {
    const first = await begin([field({ offset_seconds: 60 })], { time: '2026-03-11T00:00:00Z' });
    expect(first).toMatchObject({ record: { wait: { until: '2026-03-11T00:01:00.000Z' } } });
    const asOf = '2026-03-11T00:01:00Z';
    const later = await advance([field()], first.record, { asOf, time: '2026-03-20T00:00:00Z' });
    expect(later).toMatchObject({ halt: 'wait', record: { wait: { until: '2026-03-20T00:00:00.000Z' } } });
    const removed = await advance([field({ if_past: 'exit' })], first.record, { asOf, time: null });
    expect(removed).toMatchObject({ halt: 'end', state: 'completed', world: { path: ['1 done'] } });
  });
});

describe('a step that sends', () => {
  it('waits for the end of quiet hours, as often as there are some', async () => {
    const halt = await begin([email(1)], { quietUntil: '2026-03-11T07:00:00Z' });
    expect(halt).toMatchObject({
      halt: 'wait',
      record: { wait: { for: 'quiet_hours' } },
      world: { calls: [] },
    });
    const again = { asOf: '2026-03-11T07:00:00Z', quietUntil: '2026-03-11T08:00:00Z' };
    expect(await advance([email(1)], halt.record, again)).toMatchObject({ halt: 'wait' });
    const sent = await advance([email(1)], halt.record, { asOf: again.asOf });
    expect(sent.world.calls).toEqual(['send 1']);
  });

  it('is asked after quiet hours whether the run must end', async () => {
    const record = waiting(1, { for: 'quiet_hours', until: NOON });
    const halt = await advance([email(1)], record, { mustExit: 'exit_filters' });
    expect(halt).toMatchObject({ halt: 'end', reason: 'exit_filters', world: { calls: [] } });
  });

  it('goes on if it is skipped, and ends the run if the contact is unsubscribed', async () => {
    const skipped = await begin([email(1), email(2)], { send: { outcome: 'skipped' } });
    expect(skipped).toMatchObject({ state: 'completed', world: { path: ['1 skipped', '2 skipped'] } });
    const ended = await begin([email(1), email(2)], { send: { exit: 'unsubscribed' } });
    expect(ended).toMatchObject({ state: 'exited', reason: 'unsubscribed', world: { path: ['1 skipped'] } });
  });
});

describe('a wait for an event', () => {
  it('registers, and waits', async () => {
    const halt = await begin([waitFor]);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { for: 'event', until: END } } });
    expect(halt.world.calls).toEqual(['await 1']);
  });

  it('takes an earlier event that counts', async () => {
    const halt = await begin([waitFor], { earlier: ['2026-03-09T00:00:00Z', NOON], refused: [0] });
    expect(halt.world.path).toEqual(['1 yes', '2 sent']);
    expect(halt.world.calls).toEqual(['await 1', 'end 1', 'send 2']);
  });

  it('takes the first event that its filters accept', async () => {
    const arrivals = ['2026-03-10T12:10:00Z', '2026-03-10T12:20:00Z'];
    const asOf = '2026-03-10T12:20:01Z';
    expect((await advance([waitFor], event(), { asOf, arrivals, refused: [0] })).world.path[0]).toBe('1 yes');
    const refused = await advance([waitFor], event(), { asOf, arrivals, refused: [0, 1] });
    expect(refused).toMatchObject({ halt: 'wait', record: { wait: { until: END } } });
  });

  it('prefers an event from before its end to the time-out, however late it looks', async () => {
    const late = { asOf: '2026-04-01T00:00:00Z' };
    const inTime = await advance([waitFor], event(), { ...late, arrivals: [END] });
    expect(inTime.world.path).toEqual(['1 yes', '2 sent']);
    const after = await advance([waitFor], event(), { ...late, arrivals: ['2026-03-10T13:00:00.001Z'] });
    expect(after.world.path).toEqual(['1 timeout', '3 sent']);
    expect(after.world.calls[0]).toBe('end 1');
  });

  it('takes the branch no at its end', async () => {
    expect((await advance([waitFor], event(), { asOf: END })).world.path).toEqual(['1 timeout', '3 sent']);
  });

  it('registers again if a new version waits for another event', async () => {
    const halt = await advance([{ ...waitFor, event_name: 'seen' }], event(), { arrivals: [NOON] });
    expect(halt.world.calls).toEqual(['await 1']);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { eventName: 'seen' } } });
  });
});

describe('a webhook', () => {
  const hook: Step = { type: 'webhook', id: 1, url: 'https://example.com', method: 'POST' };

  it('is called outside, until it has an answer', async () => {
    const halt = await begin([hook, email(2)]);
    expect(halt).toMatchObject({ halt: 'call', stepId: 1, record: { stepId: 1, wait: { for: 'webhook' } } });
    expect(await advance([hook, email(2)], halt.record)).toMatchObject({ halt: 'call', stepId: 1 });
    const answered = await advance([hook, email(2)], halt.record, { answers: { outcome: 'failed' } });
    expect(answered.world.path).toEqual(['1 failed', '2 sent']);
  });
});

describe('a split', () => {
  const split = (...weights: number[]): Step => ({
    type: 'split',
    id: 1,
    branches: weights.map((weight, n) => ({ weight, steps: [email(n + 2)] })),
  });

  it.each([
    [0, '1 branch 1'],
    [29.99, '1 branch 1'],
    [30, '1 branch 3'],
    [99.999, '1 branch 3'],
  ])('gives each branch its part of the contacts: %d', async (percentile, outcome) => {
    const halt = await begin([split(30, 0, 70)], { percentile });
    expect(halt.world.path[0]).toBe(outcome);
  });
});

describe('an exit', () => {
  it('ends the run in all branches, with its reason', async () => {
    const inner: Step = { type: 'exit', id: 2, reason: 'converted' };
    const outer: Step = { type: 'condition', id: 1, filters: [], yes: [inner], no: [] };
    const halt = await begin([outer, email(3)]);
    expect(halt).toMatchObject({
      state: 'exited',
      reason: 'converted',
      world: { path: ['1 yes', '2 exit'] },
    });
    expect(await begin([{ type: 'exit', id: 1 }])).toMatchObject({ reason: 'exit' });
  });
});
