// Cohorts that sleep, or wait for their turn, need nothing but their timers, and then take their runs on.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createFlowCohortActivities } from '../../activities/flow-cohorts.ts';
import { taskQueues } from '../../src/platform/temporal/contract.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import { flowCohortStart } from '../../src/features/flows/workflow.ts';
import type { FlowCohortActivities } from '../../workflows/flows/contract.ts';
import { testAdvanceDeps } from '../features/flows/cohorts/advance-deps.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { insertCohort } from '../support/flow-cohorts.ts';
import { DAY, DAY_MS } from '../support/flow-run-stage.ts';
import { insertFlow } from '../support/flow-runs.ts';
import { insertAccount } from '../support/queued.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

const COHORTS = process.env.CRASH_FULL === '1' ? 1_000 : 40;
const LIMIT_MS = 300_000;

let env: TestWorkflowEnvironment;
let db: TestDatabase;
/** Number of stays. */
let stays = 0;
/** Until then, no cohort has its turn. */
let turnAt = '';

const pool = () => db.database.pool;

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase({ poolMax: 10 })]);
}, 120_000);
afterAll(async () => {
  await env.teardown();
  await db.drop();
});

async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const cohorts = createFlowCohortActivities(testAdvanceDeps(pool()));
  const advanceCohort: FlowCohortActivities['advanceCohort'] = (...args) => {
    stays += 1;
    const later = { next: 'later', until: turnAt, sentence: 'waits for its turn' } as const;
    return args[1] < turnAt ? Promise.resolve(later) : cohorts.advanceCohort(...args);
  };
  const worker = await Worker.create({
    ...{ connection: env.nativeConnection, taskQueue: taskQueues.cohorts },
    ...{ activities: { ...cohorts, advanceCohort }, workflowBundle: await sharedWorkflowBundle() },
  });
  const running = worker.run();
  try {
    return await work();
  } finally {
    worker.shutdown();
    await running;
  }
}

/** Starts the workflows of cohorts whose runs wait for three days. @returns their ids */
async function startCohorts(count = COHORTS): Promise<string[]> {
  const account = await insertAccount(db.database);
  const flow = await insertFlow(pool(), account, { steps: [{ type: 'wait', id: 1, duration: 3 * DAY }] });
  const contacts = await insertContacts(pool(), account, 2);
  const asOf = new Date(await env.currentTimeMs());
  const ids: string[] = [];
  for (let place = 0; place < count; place += 1) {
    const { id, n } = await insertCohort(pool(), account, flow, contacts, { asOf });
    const { workflowType, workflowId, input = [] } = flowCohortStart({ ...account, id, n, flow_id: flow.id });
    await env.client.workflow.start(workflowType, {
      ...{ workflowId, taskQueue: taskQueues.cohorts, args: [...input] },
    });
    ids.push(workflowId);
  }
  return ids;
}

/** The workflow's present run, and what its history has. */
async function stateOf(workflowId: string): Promise<string> {
  const latest = env.client.workflow.getHandle(workflowId);
  const { runId, historyLength, status } = await latest.describe();
  return `${workflowId} ${runId} ${historyLength} ${status.name}`;
}

const statesOf = (ids: readonly string[]) => Promise.all(ids.map(stateOf));

describe(`${COHORTS} sleeping cohorts`, () => {
  it(
    'need nothing but timers',
    async () => {
      await withWorker(async () => {
        const ids = await startCohorts();
        const asleep = async () => {
          const histories = await Promise.all(
            ids.map((id) => env.client.workflow.getHandle(id).fetchHistory()),
          );
          return histories.every(({ events }) => events?.at(-1)?.timerStartedEventAttributes);
        };
        await until(asleep, LIMIT_MS / 2);
        const [before, staysBefore] = [await statesOf(ids), stays];
        await env.sleep(DAY_MS);
        expect(await statesOf(ids)).toEqual(before);
        expect(stays).toBe(staysBefore);

        await env.sleep(2.1 * DAY_MS);
        await until(async () => {
          const { rows } = await pool().query<{ n: number }>(
            `select count(*)::int as n from flow_runs where state = 'completed'`,
          );
          return rows[0]?.n === 2 * COHORTS;
        });
      });
    },
    LIMIT_MS,
  );
});

describe('a cohort that waits for its turn', () => {
  it(
    'comes back no earlier than at its turn, however often it is woken',
    async () => {
      await withWorker(async () => {
        turnAt = new Date((await env.currentTimeMs()) + 600_000).toISOString();
        stays = 0;
        const [id = ''] = await startCohorts(1);
        const cohort = env.client.workflow.getHandle(id);
        await until(async () => stays === 1);
        for (let n = 0; n < 3; n += 1) {
          await cohort.signal('wake');
          await env.sleep(10_000);
        }
        expect(stays).toBe(1);
        await env.sleep(600_000);
        expect(stays).toBe(2);
        await cohort.terminate();
      });
    },
    LIMIT_MS,
  );
});
