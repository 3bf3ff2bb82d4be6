// A worker that is killed during a top-up never pays twice, and each payment is credited once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { setTopUps } from '../../src/features/wallet/service.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { topUpSignals, topUpWorkflowId } from '../../workflows/topups/contract.ts';
import { walletOf } from '../features/wallet/money.ts';
import { createTestTenant, TEST_SECRET, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type TestEngine, useEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeStripe, startFakeStripe, STRIPE_KEY } from '../support/fake-stripe.ts';
import { type Program, runProgram } from '../support/programs.ts';

const LIMIT_MS = 120_000;

let db: TestDatabase;
let engine: TestEngine;
let connection: Connection;
let stripe: FakeStripe;
let home: string;
let worker: Program | null = null;
let tenant: TestTenant;
let tenants = 0;

beforeAll(async () => {
  [db, engine, stripe] = await Promise.all([
    createTestDatabase(),
    useEngine(),
    startFakeStripe({ plain: true }),
  ]);
  connection = await Connection.connect({ address: engine.address });
  home = mkdtempSync(join(tmpdir(), 'carillon-topups-'));
}, 180_000);
afterAll(async () => {
  await connection.close();
  await stripe.close();
  await db.drop();
  rmSync(home, { recursive: true, force: true });
}, 60_000);
beforeEach(async () => {
  stripe.answer = 'succeeded';
  stripe.beforeResponse = () => undefined;
  stripe.paid.length = 0;
  tenants += 1;
  tenant = await createTestTenant(db.database, `Killed ${tenants}`);
});
afterEach(async () => {
  await kill();
}, 60_000);

async function startWorker(): Promise<void> {
  worker = runProgram('src/main.ts', ['start', 'worker'], {
    DATABASE_URL: db.url,
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: engine.namespace,
    APP_SECRET: TEST_SECRET,
    CARILLON_HOME: home,
    EGRESS_ALLOW: '127.0.0.0/8',
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:9',
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
    STRIPE_SECRET_KEY: STRIPE_KEY,
    STRIPE_API_URL: stripe.baseUrl,
  });
  await worker.ready();
}

async function kill(): Promise<void> {
  worker?.child.kill('SIGKILL');
  await worker?.ended;
  worker = null;
}

const turnOn = () =>
  inTransaction(db.database.pool, (trx) =>
    setTopUps(
      trx,
      tenant.accountId,
      {
        enabled: true,
        amountCents: 2_500,
        belowCents: 500,
        customer: `cus_${tenants}`,
        paymentMethod: 'pm_1',
      },
      'ann',
    ),
  );

interface Row {
  id: number;
  status: string;
  asked_at: Date | null;
}
const topUps = async () =>
  (
    await db.database.pool.query<Row>('select id, status, asked_at from topups where account_id = $1', [
      tenant.accountId,
    ])
  ).rows;

const expectCreditedOnce = () =>
  eventually(async () => {
    expect(await topUps()).toMatchObject([{ status: 'succeeded' }]);
    expect((await walletOf(db.database.pool, tenant.accountId)).entries).toMatchObject([
      { kind: 'top_up', millicents: 2_500_000 },
    ]);
    expect(stripe.paid).toHaveLength(1);
  }, LIMIT_MS);

/** An operator does not wait for the 24 hours. */
async function lookNow(): Promise<void> {
  const client = new Client({ connection, namespace: engine.namespace });
  const [topUp] = await topUps();
  await eventually(
    () => client.workflow.getHandle(topUpWorkflowId(topUp?.id ?? 0)).signal(topUpSignals.look),
    LIMIT_MS,
  );
}

describe('a worker that is killed during a top-up', () => {
  it('after the row and before the request leaves the payment to the next worker', async () => {
    // The row and the request to the engine commit together; no worker has taken them yet.
    const { startDueTopUps } = await import('../../src/features/wallet/top-ups.ts');
    await turnOn();
    expect(await startDueTopUps(db.database.pool, 'USD')).toBe(1);
    await startWorker();
    await expectCreditedOnce();
  }, 200_000);

  it('between the payment and its response sends no second request, and finds the payment', async () => {
    stripe.beforeResponse = kill;
    await startWorker();
    await turnOn();
    await eventually(() => expect(worker).toBeNull(), LIMIT_MS);
    expect((await walletOf(db.database.pool, tenant.accountId)).entries).toEqual([]);
    stripe.beforeResponse = () => undefined;
    await startWorker();
    await lookNow();
    await expectCreditedOnce();
  }, 300_000);

  it('between the response and the credit loses nothing, and credits once', async () => {
    // The credit waits for the row until the worker is gone.
    const blocker = await db.database.pool.connect();
    try {
      stripe.beforeResponse = async () => {
        await blocker.query('begin');
        await blocker.query('select 1 from topups where account_id = $1 for update', [tenant.accountId]);
      };
      await startWorker();
      await turnOn();
      await eventually(async () => {
        const { rowCount } = await db.database.pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like '%from topups%for update'`,
        );
        expect(rowCount).toBe(1);
      }, LIMIT_MS);
      await kill();
      await blocker.query('rollback');
    } finally {
      blocker.release();
    }
    stripe.beforeResponse = () => undefined;
    await startWorker();
    await lookNow();
    await expectCreditedOnce();
  }, 300_000);

  it('after the row was marked and before the request leaves makes no payment, and sends none later', async () => {
    await turnOn();
    const { startDueTopUps } = await import('../../src/features/wallet/top-ups.ts');
    await startDueTopUps(db.database.pool, 'USD');
    await db.database.pool.query(`update topups set asked_at = now() where account_id = $1`, [
      tenant.accountId,
    ]);
    await startWorker();
    await lookNow();
    const client = new Client({ connection, namespace: engine.namespace });
    const [topUp] = await topUps();
    const handle = client.workflow.getHandle(topUpWorkflowId(topUp?.id ?? 0));
    await eventually(
      async () => expect((await handle.describe()).historyLength).toBeGreaterThan(12),
      LIMIT_MS,
    );
    expect(stripe.paid).toEqual([]);
    expect(await topUps()).toMatchObject([{ status: 'pending' }]);
  }, 200_000);
});
