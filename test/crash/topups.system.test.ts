// A worker that is killed during a top-up never pays twice, and each payment is credited once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type pg from 'pg';
import { setTopUps } from '../../src/features/wallet/index.ts';
import { startDueTopUps } from '../../src/features/wallet/top-ups.ts';
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

interface Row {
  id: number;
  status: string;
  asked_at: Date | null;
}

/** A tenant with a worker in its own process, a database and a namespace. */
class Stage {
  readonly stripe: FakeStripe;
  readonly tenant: TestTenant;
  readonly pool: pg.Pool;
  readonly #db: TestDatabase;
  readonly #engine: TestEngine;
  readonly #client: Client;
  readonly #home = mkdtempSync(join(tmpdir(), 'carillon-topups-'));
  #worker: Program | null = null;

  private constructor(
    db: TestDatabase,
    engine: TestEngine,
    stripe: FakeStripe,
    connection: Connection,
    tenant: TestTenant,
  ) {
    this.#db = db;
    this.#engine = engine;
    this.stripe = stripe;
    this.#client = new Client({ connection, namespace: engine.namespace });
    this.tenant = tenant;
    this.pool = db.database.pool;
  }

  static async open(): Promise<Stage> {
    const [db, engine, stripe] = await Promise.all([
      createTestDatabase(),
      useEngine(),
      startFakeStripe({ plain: true }),
    ]);
    const connection = await Connection.connect({ address: engine.address });
    return new Stage(db, engine, stripe, connection, await createTestTenant(db.database, 'Killed'));
  }

  async close(): Promise<void> {
    await this.killWorker();
    await this.#client.connection.close();
    await this.stripe.close();
    await this.#db.drop();
    rmSync(this.#home, { recursive: true, force: true });
  }

  get hasWorker(): boolean {
    return this.#worker !== null;
  }

  async startWorker(): Promise<void> {
    this.#worker = runProgram('src/main.ts', ['start', 'worker'], {
      DATABASE_URL: this.#db.url,
      TEMPORAL_ADDRESS: this.#engine.address,
      TEMPORAL_NAMESPACE: this.#engine.namespace,
      APP_SECRET: TEST_SECRET,
      CARILLON_HOME: this.#home,
      EGRESS_ALLOW: '127.0.0.0/8',
      EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:9',
      OPS_PORT: '0',
      LOG_LEVEL: 'warn',
      STRIPE_SECRET_KEY: STRIPE_KEY,
      STRIPE_API_URL: this.stripe.baseUrl,
    });
    await this.#worker.ready();
  }

  async killWorker(): Promise<void> {
    this.#worker?.child.kill('SIGKILL');
    await this.#worker?.ended;
    this.#worker = null;
  }

  turnOn(): Promise<unknown> {
    const settings = {
      enabled: true,
      amountCents: 2_500,
      belowCents: 500,
      customer: 'cus_1',
      paymentMethod: 'pm_1',
    };
    return inTransaction(this.pool, (trx) => setTopUps(trx, this.tenant.accountId, settings, 'ann'));
  }

  async topUps(): Promise<Row[]> {
    const { rows } = await this.pool.query<Row>(
      'select id, status, asked_at from topups where account_id = $1',
      [this.tenant.accountId],
    );
    return rows;
  }

  /** The workflow of the tenant's top-up. */
  async workflow(): Promise<WorkflowHandle> {
    const [topUp] = await this.topUps();
    return this.#client.workflow.getHandle(topUpWorkflowId(topUp?.id ?? 0));
  }

  /** An operator does not wait for the 24 hours. */
  async lookNow(): Promise<void> {
    const workflow = await this.workflow();
    await eventually(() => workflow.signal(topUpSignals.look), LIMIT_MS);
  }

  expectCreditedOnce(): Promise<void> {
    return eventually(async () => {
      expect(await this.topUps()).toMatchObject([{ status: 'succeeded' }]);
      expect((await walletOf(this.pool, this.tenant.accountId)).entries).toMatchObject([
        { kind: 'top_up', millicents: 2_500_000 },
      ]);
      expect(this.stripe.paid).toHaveLength(1);
    }, LIMIT_MS);
  }
}

/** Each test has a stage of its own: they wait until the engine gives the work of a killed worker to the next one. */
async function onStage(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await Stage.open();
  try {
    await check(stage);
  } finally {
    await stage.close();
  }
}

describe('a worker that is killed during a top-up', () => {
  it.concurrent(
    'after the row and before the request leaves the payment to the next worker',
    () =>
      onStage(async (stage) => {
        // The row and the request to the engine commit together; no worker has taken them yet.
        await stage.turnOn();
        expect(await startDueTopUps(stage.pool, 'USD')).toBe(1);
        await stage.startWorker();
        await stage.expectCreditedOnce();
      }),
    200_000,
  );

  it.concurrent(
    'between the payment and its response sends no second request, and finds the payment',
    () =>
      onStage(async (stage) => {
        stage.stripe.beforeResponse = () => stage.killWorker();
        await stage.startWorker();
        await stage.turnOn();
        await eventually(() => expect(stage.hasWorker).toBe(false), LIMIT_MS);
        expect((await walletOf(stage.pool, stage.tenant.accountId)).entries).toEqual([]);
        stage.stripe.beforeResponse = () => undefined;
        await stage.startWorker();
        await stage.lookNow();
        await stage.expectCreditedOnce();
      }),
    300_000,
  );

  it.concurrent(
    'between the response and the credit loses nothing, and credits once',
    () =>
      onStage(async (stage) => {
        // The credit waits for the row until the worker is gone.
        const blocker = await stage.pool.connect();
        try {
          stage.stripe.beforeResponse = async () => {
            await blocker.query('begin');
            await blocker.query('select 1 from topups where account_id = $1 for update', [
              stage.tenant.accountId,
            ]);
          };
          await stage.startWorker();
          await stage.turnOn();
          await eventually(async () => {
            const { rowCount } = await stage.pool.query(
              `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like '%from "topups"%for update'`,
            );
            expect(rowCount).toBe(1);
          }, LIMIT_MS);
          await stage.killWorker();
          await blocker.query('rollback');
        } finally {
          blocker.release();
        }
        stage.stripe.beforeResponse = () => undefined;
        await stage.startWorker();
        await stage.lookNow();
        await stage.expectCreditedOnce();
      }),
    300_000,
  );

  it.concurrent(
    'after the row was marked and before the request leaves makes no payment, and sends none later',
    () =>
      onStage(async (stage) => {
        await stage.turnOn();
        await startDueTopUps(stage.pool, 'USD');
        await stage.pool.query(`update topups set asked_at = now() where account_id = $1`, [
          stage.tenant.accountId,
        ]);
        await stage.startWorker();
        await stage.lookNow();
        const workflow = await stage.workflow();
        await eventually(
          async () => expect((await workflow.describe()).historyLength).toBeGreaterThan(12),
          LIMIT_MS,
        );
        expect(stage.stripe.paid).toEqual([]);
        expect(await stage.topUps()).toMatchObject([{ status: 'pending' }]);
      }),
    200_000,
  );
});
