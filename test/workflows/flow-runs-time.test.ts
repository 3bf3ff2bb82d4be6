// Waits of a flow run end at the right time or event, and webhook steps are retried under one id.
import { expect, it } from '@jest/globals';
import type { Step } from '../../src/features/flows/steps/index.ts';
import { appendToOutbox } from '../../src/platform/outbox/append.ts';
import type { FlowRunState } from '../../workflows/flows/contract.ts';
import {
  DAY,
  DAY_MS,
  FlowRunStage,
  HOUR_MS,
  mark,
  MINUTE_MS,
  type StagedRun,
  waitForEvent,
} from '../support/flow-run-stage.ts';
import { insertFlowVersion, pathOf, runRow } from '../support/flow-runs.ts';
import { writeFlow } from '../support/flow-sends.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const LIMIT_MS = 180_000;
const idOf = ({ handle: { workflowId } }: StagedRun) => ({ workflowId });

let stage: FlowRunStage;

beforeAll(async () => {
  stage = await FlowRunStage.create();
}, 120_000);
beforeEach(() => stage.reset());
afterAll(() => stage.close());

describe('the beginning of a run', () => {
  it(
    'makes room in the outbox for the next one',
    async () => {
      const run = await stage.begin({ steps: [waitForEvent(1, 600)] });
      await stage.reaches(run, 'event');
      const rows = async () =>
        (await stage.pool.query(`select 1 from outbox where kind = 'start' and priority = 2`)).rows.length;
      await until(async () => (await rows()) === 0);
      // Only the beginning does so: a later look at the row deletes nothing.
      await appendToOutbox(stage.pool, { kind: 'start', workflowType: 'flowRun', ...idOf(run) }, 2);
      await stage.track(run, 'paid');
      expect(await stage.finish(run)).toBe('completed end');
      expect(await rows()).toBe(1);
      await stage.pool.query('delete from outbox');
    },
    LIMIT_MS,
  );
});

describe('the waits of a run', () => {
  it(
    'last as long as the step says',
    async () => {
      const run = await stage.begin({
        steps: [
          mark(1),
          { type: 'wait', id: 2, duration: 90 },
          mark(3),
          { type: 'wait', id: 4, duration: 40 * DAY },
        ],
      });
      expect(await stage.finish(run)).toBe('completed end');
      const times = await stage.timesOf(run);
      expect(times[2]).toBeGreaterThanOrEqual(90);
      expect(times[2]).toBeLessThan(90 + 600);
      expect((times[4] ?? 0) - (times[3] ?? 0)).toBeGreaterThanOrEqual(40 * DAY);
      expect((times[4] ?? 0) - (times[3] ?? 0)).toBeLessThan(40 * DAY + 600);
    },
    LIMIT_MS,
  );

  it(
    'end at a local time, or at a date in the data of the contact',
    async () => {
      const date = new Date((await stage.env.currentTimeMs()) + 10 * DAY_MS);
      await stage.pool.query(
        'update contacts set data = jsonb_build_object($2::text, $3::text) where id = $1',
        [...[stage.contactId, 'renews_at', date.toISOString()]],
      );
      const run = await stage.begin({
        steps: [
          { type: 'wait', id: 1, until: { time: '09:00', timezone: 'Asia/Tokyo' } },
          { type: 'wait', id: 2, until: { field: 'data.renews_at', offset_seconds: -DAY } },
          { type: 'wait', id: 3, until: { field: 'data.missing' } },
        ],
      });
      expect(await stage.finish(run)).toBe('completed end');
      const times = await stage.timesOf(run);
      const first = new Date(run.begun.getTime() + 1_000 * (times[1] ?? 0));
      expect([first.getUTCHours(), first.getUTCMinutes()]).toEqual([0, 0]);
      const second = run.begun.getTime() + 1_000 * (times[2] ?? 0);
      expect(second).toBeGreaterThanOrEqual(date.getTime() - DAY_MS);
      expect(second).toBeLessThan(date.getTime() - DAY_MS + 10 * MINUTE_MS);
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 done', '3 missing']);
    },
    LIMIT_MS,
  );

  it(
    'end with the event or with the time-out, whichever comes first',
    async () => {
      const first = await stage.begin({ steps: [waitForEvent(1, 3 * DAY)] });
      await stage.reaches(first, 'event');
      await stage.track(first, 'paid');
      expect(await stage.finish(first)).toBe('completed end');
      expect(await pathOf(stage.pool, first.id)).toEqual(['1 yes', '2 done']);
      const second = await stage.begin({ steps: [waitForEvent(1, 3 * DAY)] });
      await stage.finish(second);
      expect(await pathOf(stage.pool, second.id)).toEqual(['1 timeout', '3 done']);
      expect((await stage.timesOf(second))[1]).toBeGreaterThanOrEqual(3 * DAY);
    },
    LIMIT_MS,
  );

  it(
    'keep the message of a step until the quiet hours are over',
    async () => {
      const at = await stage.now();
      const clock = (hours: number) => new Date(at.getTime() + hours * HOUR_MS).toISOString().slice(11, 16);
      const quiet = { start: clock(-1), end: clock(5), timezone: 'UTC' };
      await stage.pool.query('update brands set quiet_hours = $2 where id = $1', [
        stage.account.brandId,
        JSON.stringify(quiet),
      ]);
      const { flowId, steps } = await writeFlow(stage.db.database, stage.account);
      const versionId = await insertFlowVersion(stage.pool, flowId, { steps });
      const run = await stage.start({ id: flowId, versionId, goal: null });
      await stage.reaches(run, 'quiet_hours');
      expect(await stage.finish(run)).toBe('completed end');
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 sent']);
      const time = (await stage.timesOf(run))[1] ?? 0;
      expect(time).toBeGreaterThan(5 * 3_600 - 120);
      expect(time).toBeLessThan(5 * 3_600 + 600);
    },
    LIMIT_MS,
  );

  it(
    'leave a short history, however long they are',
    async () => {
      const run = await stage.begin({
        steps: [{ type: 'wait', id: 1, duration: 366 * DAY }, waitForEvent(2, 300 * DAY)],
      });
      await stage.reaches(run, 'time');
      await stage.env.sleep(200 * DAY_MS);
      const { historyLength } = await run.handle.describe();
      expect(historyLength).toBeLessThanOrEqual(6);
      const state = await run.handle.query<FlowRunState>('state');
      expect(state.sentence).toMatch(/^waits until \w+day \d+ \w+ \d{4} \d\d:\d\d UTC, then step 2$/);
      await stage.finish(run);
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 timeout', '4 done']);
    },
    LIMIT_MS,
  );
});

describe('a webhook step', () => {
  const webhook = (): Step => ({
    type: 'webhook',
    id: 1,
    url: stage.receiver.url('/hook', '127.0.0.1'),
    method: 'POST',
  });
  const isPro = { name: 'step.1.body.plan', predicate: 'eq', value: 'pro' };
  const steps = (): Step[] => [
    webhook(),
    { type: 'condition', id: 2, filters: [isPro], yes: [mark(3)], no: [mark(4)] },
  ];

  it(
    'is retried with growing pauses under one id, and conditions read its response',
    async () => {
      stage.receiver.answer = (_request, response) => {
        if (stage.receiver.requests.length < 3) response.writeHead(503).end();
        else response.end('{"plan":"pro"}');
      };
      const run = await stage.begin({ steps: steps() });
      await stage.finish(run);
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 yes', '3 done']);
      expect(new Set(stage.receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
        new Set([`flow_${run.id}_1_0`]),
      );
      const time = (await stage.timesOf(run))[1] ?? 0;
      expect(time).toBeGreaterThanOrEqual(6.5 * 60);
    },
    LIMIT_MS,
  );

  it(
    'has failed after its last attempt, or at once if it is refused',
    async () => {
      for (const [status, attempts] of [
        [503, 4],
        [404, 1],
      ] as const) {
        stage.receiver.requests = [];
        stage.fail(status);
        const run = await stage.begin({ steps: steps() });
        await stage.finish(run);
        expect(await pathOf(stage.pool, run.id)).toEqual(['1 failed', '2 no', '4 done']);
        expect(stage.receiver.requests).toHaveLength(attempts);
      }
    },
    LIMIT_MS,
  );

  it(
    'is given up when the goal is reached between two attempts',
    async () => {
      stage.fail();
      const run = await stage.begin({ steps: steps(), goal: 'paid' });
      await stage.reaches(run, 'webhook');
      await stage.track(run, 'paid');
      expect(await stage.finish(run)).toBe('exited goal');
    },
    LIMIT_MS,
  );

  it(
    'makes no request while the flow is paused',
    async () => {
      stage.fail();
      const run = await stage.begin({ steps: steps() });
      await stage.reaches(run, 'webhook');
      await stage.pause(run);
      await run.handle.signal('wake');
      await stage.reaches(run, 'resume');
      const asked = stage.receiver.requests.length;
      // No attempt is left. The server for tests neither skips time nor gives a result after a workflow that continued as
      // new gave one up, so this test looks at the row.
      const { raw } = await stage.env.client.workflow.getHandle(run.handle.workflowId).describe();
      expect(raw.pendingActivities).toEqual([]);
      expect(stage.receiver.requests).toHaveLength(asked);
      stage.answer();
      await stage.resume(run);
      await until(async () => (await runRow(stage.pool, run.id))?.state === 'completed');
      expect(await pathOf(stage.pool, run.id)).toEqual(['1 done', '2 yes', '3 done']);
    },
    LIMIT_MS,
  );
});
