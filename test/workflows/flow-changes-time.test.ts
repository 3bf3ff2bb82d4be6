// Runs follow changes of their flow: goals, cancellations, archives, pauses, new versions and lost workflows.
import { expect, it } from '@jest/globals';
import type { Step } from '../../src/features/flows/steps/index.ts';
import { flowRunSource } from '../../src/features/flows/workflow.ts';
import type { FlowRunState } from '../../workflows/flows/contract.ts';
import {
  DAY,
  DAY_MS,
  FlowRunStage,
  mark,
  MINUTE_MS,
  type StagedWait,
  waitForEvent,
} from '../support/flow-run-stage.ts';
import { insertFlowVersion, pathOf, runRow } from '../support/flow-runs.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const LIMIT_MS = 180_000;

let stage: FlowRunStage;

beforeAll(async () => {
  stage = await FlowRunStage.create();
}, 120_000);
beforeEach(() => stage.reset());
afterAll(() => stage.close());

/** A flow that waits at its first step, and what its run then waits for. */
const waits: [StagedWait, () => Step][] = [
  ['time', () => ({ type: 'wait', id: 1, duration: 2 * DAY })],
  ['event', () => waitForEvent(1, 2 * DAY)],
  [
    'webhook',
    () => ({ type: 'webhook', id: 1, url: stage.receiver.url('/hook', '127.0.0.1'), method: 'POST' }),
  ],
];

describe.each(waits)('a run that waits for %s', (waitsFor, step) => {
  it(
    'ends at its goal',
    async () => {
      stage.fail();
      const run = await stage.begin({ steps: [step(), mark(9)], goal: 'left' });
      await stage.reaches(run, waitsFor);
      await stage.track(run, 'left');
      expect(await stage.finish(run)).toBe('exited goal');
      expect(await pathOf(stage.pool, run.id)).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'ends when its flow is archived',
    async () => {
      stage.fail();
      const run = await stage.begin({ steps: [step(), mark(9)] });
      await stage.reaches(run, waitsFor);
      await stage.archive(run);
      expect(await stage.finish(run)).toBe('canceled archived');
    },
    LIMIT_MS,
  );

  it(
    'ends when an operator cancels it',
    async () => {
      stage.fail();
      const run = await stage.begin({ steps: [step(), mark(9)] });
      await stage.reaches(run, waitsFor);
      await run.handle.signal('cancel');
      expect(await stage.finish(run)).toBe('canceled canceled');
    },
    LIMIT_MS,
  );

  it(
    'is held while its flow is paused, and continues after the resume',
    async () => {
      const run = await stage.begin({ steps: [{ type: 'wait', id: 8, duration: 60 }, step(), mark(9)] });
      await stage.reaches(run, 'time');
      await stage.pause(run);
      await stage.env.sleep(2 * MINUTE_MS);
      await stage.reaches(run, 'resume');
      expect((await run.handle.query<FlowRunState>('state')).sentence).toContain('is held');
      await stage.resume(run);
      expect(await stage.finish(run)).toBe('completed end');
      expect((await pathOf(stage.pool, run.id)).at(-1)).toBe('9 done');
    },
    LIMIT_MS,
  );
});

describe('a paused flow', () => {
  it(
    'lets waits continue, and holds the steps after them',
    async () => {
      const run = await stage.begin({ steps: [{ type: 'wait', id: 1, duration: 2 * DAY }, mark(2)] });
      await stage.reaches(run, 'time');
      await stage.pause(run);
      await run.handle.signal('wake');
      await stage.reaches(run, 'time');
      await stage.env.sleep(DAY_MS);
      await stage.reaches(run, 'time');
      await stage.env.sleep(2 * DAY_MS);
      await stage.reaches(run, 'resume');
      expect(await pathOf(stage.pool, run.id)).toEqual([]);
      await stage.resume(run);
      await stage.finish(run);
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 done']);
    },
    LIMIT_MS,
  );

  it(
    'ends overdue runs at its resume, if the client wants that',
    async () => {
      const overdue = await stage.begin({ steps: [{ type: 'wait', id: 1, duration: DAY }, mark(2)] });
      const waiting = await stage.start(overdue.flow);
      await stage.pool.query('update flow_versions set steps = $2 where id = $1', [
        overdue.flow.versionId,
        JSON.stringify([{ type: 'wait', id: 1, duration: DAY }, mark(2)]),
      ]);
      await Promise.all([stage.reaches(overdue, 'time'), stage.reaches(waiting, 'time')]);
      await stage.pool.query(`update flow_runs set due_at = now() + interval '10 years' where id = $1`, [
        waiting.id,
      ]);
      await stage.pause(overdue);
      await stage.pool.query(`update flow_runs set waits_for = 'resume', due_at = null where id = $1`, [
        overdue.id,
      ]);
      await stage.resume(overdue, 'exit');
      expect(await stage.finish(overdue)).toBe('exited overdue');
      expect(await runRow(stage.pool, waiting.id)).toMatchObject({ state: 'active' });
      expect(await stage.finish(waiting)).toBe('completed end');
    },
    LIMIT_MS,
  );

  it(
    'ends its runs when it is archived',
    async () => {
      const run = await stage.begin({ steps: [mark(1)], status: 'paused' });
      await stage.reaches(run, 'resume');
      await stage.archive(run);
      expect(await stage.finish(run)).toBe('canceled archived');
    },
    LIMIT_MS,
  );
});

describe('a version of a flow', () => {
  it(
    'is followed to the end by runs that began with it, however many times the flow is edited',
    async () => {
      const run = await stage.begin({ steps: [{ type: 'wait', id: 1, duration: DAY }, mark(2)] });
      await stage.reaches(run, 'time');
      for (let n = 0; n < 100; n += 1) {
        await insertFlowVersion(stage.pool, run.flow.id, {
          steps: [{ type: 'wait', id: 1, duration: DAY }, mark(n + 10)],
        });
      }
      await stage.finish(run);
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 done']);
    },
    LIMIT_MS,
  );

  it(
    'takes over active runs whose step survives',
    async () => {
      const wait: Step = { type: 'wait', id: 1, duration: DAY };
      const run = await stage.begin({ steps: [mark(3), wait, mark(2)] });
      const left = await stage.begin({ steps: [{ type: 'wait', id: 7, duration: DAY }] });
      await Promise.all([stage.reaches(run, 'time'), stage.reaches(left, 'time')]);
      for (const { flow } of [run, left]) {
        const versionId = await insertFlowVersion(stage.pool, flow.id, {
          steps: [wait, mark(3), mark(4)],
          goal: 'left',
        });
        await stage.pool.query(
          `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
         select account_id, brand_id, id, 'move', 1000000, jsonb_build_object('version_id', $2::bigint)
         from flows where id = $1`,
          [flow.id, versionId],
        );
      }
      await stage.applyChanges(run);
      expect(await stage.finish(run)).toBe('completed end');
      // It did step 3 before.
      expect(await pathOf(stage.pool, run.id)).toEqual(['3 done', '1 done', '3 skipped', '4 done']);
      expect(await stage.finish(left)).toBe('completed end');
      expect(await pathOf(stage.pool, left.id)).toEqual(['7 done']);
    },
    LIMIT_MS,
  );
});

describe('a run whose workflow is lost', () => {
  it(
    'continues from its row',
    async () => {
      const run = await stage.begin({ steps: [mark(1), { type: 'wait', id: 2, duration: DAY }, mark(3)] });
      await stage.reaches(run, 'time');
      await run.handle.terminate('the engine lost its database');
      await flowRunSource.expectNow(stage.pool, new Date(0), 1_000);
      const lost = (await flowRunSource.overdue(stage.pool, new Date(), 100)).find(
        ({ rowId }) => rowId === run.id,
      );
      expect(lost?.start.workflowId).toBe(run.handle.workflowId);
      if (!lost) throw new Error('the run is not missed');
      const handle = await stage.startWorkflow(lost.start);
      expect(await stage.finish({ ...run, handle })).toBe('completed end');
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 done', '3 done']);
    },
    LIMIT_MS,
  );
});
