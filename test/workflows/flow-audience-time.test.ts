// The audience workflow lets matching contacts enter each minute or when woken, and keeps its history short.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createFlowAudience } from '../../src/features/flows/entry/audience.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  flowAudienceSignals,
  flowAudienceType,
  flowAudienceWorkflowId,
  type FlowAudienceActivities,
} from '../../workflows/flows/contract.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { entriesOf, insertActiveFlow } from '../support/flow-entries.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let account: QueuedAccount;
/** The workflow's time of each look. */
let looks: string[];

const pool = () => db.database.pool;
const stay = { forMs: 30_000, signal: new AbortController().signal };

function activities(): FlowAudienceActivities {
  const audience = createFlowAudience({
    pool: pool(),
    heavyReads: { run: (_read, work) => work(pool()), close: () => Promise.resolve() },
    waker: { wake: () => undefined },
  });
  return {
    matchAudience(flowId, asOf) {
      looks.push(asOf);
      return audience.match(flowId, new Date(asOf), stay);
    },
  };
}

async function withWorkers<T>(replaced: Partial<FlowAudienceActivities>, work: () => Promise<T>): Promise<T> {
  const options = { connection: env.nativeConnection, activities: { ...activities(), ...replaced } };
  const workers = [
    await Worker.create({
      ...{ ...options, taskQueue: 'orchestration' },
      workflowBundle: await sharedWorkflowBundle(),
    }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  try {
    return await work();
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
}

const start = (flowId: number) =>
  env.client.workflow.start(flowAudienceType, {
    workflowId: flowAudienceWorkflowId(flowId),
    taskQueue: 'orchestration',
    args: [{ schema: 1, flowId, accountId: account.accountId }],
  });

async function flowFor(filters: readonly unknown[]): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'Segment', $3) returning id`,
    [account.accountId, account.brandId, JSON.stringify(filters)],
  );
  return insertActiveFlow(pool(), account, { segmentId: rows[0]?.id ?? 0 });
}

const pause = (flowId: number) => pool().query(`update flows set status = 'paused' where id = $1`, [flowId]);

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase()]);
}, 120_000);
beforeEach(async () => {
  looks = [];
  account = await insertAccount(db.database);
});
afterAll(async () => {
  await env.teardown();
  await db.drop();
});

describe('the workflow of an audience', () => {
  it('looks every minute, and lets contacts enter who match because time has passed', async () => {
    const [id] = await insertContacts(pool(), account, 1);
    const flowId = await flowFor([
      { name: 'created_at', predicate: 'older_than', value: { count: 30, unit: 'minutes' } },
    ]);
    await withWorkers({}, async () => {
      const handle = await start(flowId);
      await env.sleep('15 minutes');
      expect(looks.length).toBeGreaterThanOrEqual(14);
      expect(await entriesOf(pool(), flowId)).toEqual([]);
      await env.sleep('26 minutes');
      expect((await entriesOf(pool(), flowId)).map((entry) => entry.contact_id)).toEqual([id]);
      await pause(flowId);
      await handle.result();
    });
  }, 60_000);

  it('looks at once when it is woken, and ends when the flow is paused', async () => {
    const flowId = await flowFor([]);
    await withWorkers({}, async () => {
      const handle = await start(flowId);
      await env.sleep('10 seconds');
      expect(looks).toHaveLength(1);
      await pause(flowId);
      await handle.signal(flowAudienceSignals.wake);
      await handle.result();
      expect(looks).toHaveLength(2);
    });
  }, 60_000);

  it('continues as new after a hundred looks, so that its history stays short', async () => {
    const flowId = await flowFor([]);
    await withWorkers({}, async () => {
      const handle = await start(flowId);
      await env.sleep('2 hours');
      const latest = await env.client.workflow.getHandle(flowAudienceWorkflowId(flowId)).describe();
      expect(latest.runId).not.toBe(handle.firstExecutionRunId);
      expect(latest.historyLength).toBeLessThan(1_000);
      await pause(flowId);
      await env.client.workflow.getHandle(flowAudienceWorkflowId(flowId)).signal(flowAudienceSignals.wake);
      await handle.result();
    });
  }, 120_000);

  it('continues after a failed activity', async () => {
    const flowId = await flowFor([]);
    let tries = 0;
    const real = activities();
    const matchAudience: FlowAudienceActivities['matchAudience'] = async (...given) => {
      tries += 1;
      if (tries < 3) throw new Error('connect ECONNREFUSED');
      return real.matchAudience(...given);
    };
    await pause(flowId);
    await withWorkers({ matchAudience }, async () => (await start(flowId)).result());
    expect(tries).toBe(3);
  }, 60_000);
});
