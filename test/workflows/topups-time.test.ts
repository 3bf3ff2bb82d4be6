// The top-up workflow ends with the payment, never repeats an uncertain request, and gives up after its limits.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createTopUpRun } from '../../src/features/wallet/index.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  runTopUpType,
  topUpSignals,
  topUpWorkflowId,
  type TopUpActivities,
  type TopUpStep,
} from '../../workflows/topups/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { type FakeStripe, type PayAnswer, startFakeStripe } from '../support/fake-stripe.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let stripe: FakeStripe;
let tenants = 0;
/** When the activities were called, by the workflow's clock, and whether an operator forced a look. */
let looks: { at: number; force: boolean }[] = [];

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db, stripe] = await Promise.all([
    createTimeSkippingEnvironment(),
    createTestDatabase(),
    startFakeStripe(),
  ]);
}, 120_000);
afterAll(async () => {
  await env.teardown();
  await stripe.close();
  await db.drop();
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  db.database.pool.query<Row>(text, values).then(({ rows }) => rows);

function activities(): TopUpActivities {
  const run = createTopUpRun({
    pool: db.database.pool,
    payments: stripe.service,
    from: 'system@mail.test',
    log: pino({ level: 'silent' }),
  });
  return {
    requestTopUp: (id, asOf) => run.request(id, new Date(asOf)),
    lookAtTopUp: (id, asOf, force) => {
      looks.push({ at: Date.parse(asOf), force });
      return run.look(id, new Date(asOf), force);
    },
    giveUpTopUp: (id) => run.giveUp(id),
  };
}

async function insertTopUp(): Promise<number> {
  tenants += 1;
  const { accountId } = await createTestTenant(db.database, `Time ${tenants}`);
  const [row] = await query<{ id: number }>(
    `insert into topups (account_id, amount_cents, currency, customer, payment_method)
     values ($1, 2500, 'EUR', $2, 'pm_1') returning id`,
    [accountId, `cus_${tenants}`],
  );
  return row?.id ?? 0;
}

const statusOf = async (id: number) =>
  (
    await query<{ status: string; failure: string | null }>(
      'select status, failure from topups where id = $1',
      [id],
    )
  )[0];

/** Runs the workflow of a new top-up to its end. @returns its row, and how long it took by the engine's clock */
async function runTopUp(
  answer: PayAnswer,
  meanwhile: (id: number) => Promise<unknown> = () => Promise.resolve(),
) {
  looks = [];
  stripe.answer = answer;
  stripe.paid.length = 0;
  const id = await insertTopUp();
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'orchestration',
    workflowBundle: await sharedWorkflowBundle(),
    activities: activities(),
  });
  return worker.runUntil(async () => {
    const handle = await env.client.workflow.start(runTopUpType, {
      workflowId: topUpWorkflowId(id),
      taskQueue: 'orchestration',
      args: [{ schema: 1, topUpId: id }],
    });
    await meanwhile(id);
    const { status } = (await handle.result()) as TopUpStep;
    const { startTime, closeTime } = await handle.describe();
    const hours = ((closeTime?.getTime() ?? 0) - startTime.getTime()) / 3_600_000;
    const row = await statusOf(id);
    expect(status).toBe(row?.status);
    return { row, hours, requests: stripe.paid.length };
  });
}

describe('the workflow of a top-up', () => {
  it('ends at once if the payment succeeds', async () => {
    const { row, hours, requests } = await runTopUp('succeeded');
    expect([row?.status, requests, looks]).toEqual(['succeeded', 1, []]);
    expect(hours).toBeLessThan(1);
  });

  it('looks up an unknown outcome after 24 hours, and never sends the request again', async () => {
    const { row, hours, requests } = await runTopUp('break');
    expect([row?.status, requests, looks.length]).toEqual(['succeeded', 1, 1]);
    expect(hours).toBeGreaterThanOrEqual(24);
    expect(hours).toBeLessThan(25);
  });

  it('gives up about an hour after the first request that did not arrive', async () => {
    const { row, hours, requests } = await runTopUp('throttled');
    expect([row, requests]).toEqual([{ status: 'failed', failure: 'unavailable' }, 5]);
    expect(hours).toBeGreaterThanOrEqual(1);
    expect(hours).toBeLessThan(2);
  });

  it('looks once a day at a payment that is not decided, and gives up after 30 days', async () => {
    const { row, hours } = await runTopUp('processing');
    expect(row).toEqual({ status: 'failed', failure: 'no_payment' });
    expect(looks).toHaveLength(30);
    expect(hours / 24).toBeGreaterThanOrEqual(30);
  });

  it('looks at once if an operator asks for it', async () => {
    const { row, requests } = await runTopUp('break', async (id) => {
      await until(async () => stripe.intents.some(({ customer }) => customer === `cus_${tenants}`));
      await env.client.workflow.getHandle(topUpWorkflowId(id)).signal(topUpSignals.look);
    });
    expect([row?.status, requests, looks.at(-1)?.force]).toEqual(['succeeded', 1, true]);
  });
});
