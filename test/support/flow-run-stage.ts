/** Runs of flows with their real workflow, activities and database, in a time-skipping engine. */
import { expect } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type pg from 'pg';
import pino from 'pino';
import { createFlowActivities } from '../../activities/flows.ts';
import { loadConfig } from '../../src/config.ts';
import { createTrackedEventConsumers } from '../../src/features/events.ts';
import { changePage } from '../../src/features/flows/run/changes.ts';
import type { Step } from '../../src/features/flows/steps/index.ts';
import type { WaitForEventStep } from '../../src/features/flows/steps/wait-for-event.ts';
import { archiveFlow, pauseFlow, resumeFlow } from '../../src/features/flows/transitions.ts';
import { createFlowVersionReader } from '../../src/features/flows/versions.ts';
import { flowRunStart } from '../../src/features/flows/workflow.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { appendToOutbox } from '../../src/platform/outbox/append.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import type { WorkflowStart } from '../../src/platform/temporal/contract.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import type { FlowRunState } from '../../workflows/flows/contract.ts';
import { TEST_SECRET } from './api.ts';
import { insertContacts } from './contacts.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { sharedWorkflowBundle } from './engine.ts';
import { eventually } from './eventually.ts';
import {
  createTestTracker,
  type FlowSpec,
  insertFlow,
  insertRun,
  runRow,
  type TestFlow,
} from './flow-runs.ts';
import { type Receiver, startReceiver } from './https-receiver.ts';
import { insertAccount, type QueuedAccount } from './queued.ts';
import { createTimeSkippingEnvironment } from './time-skipping.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** In seconds, like in steps. */
export const DAY = 86_400;

const log = pino({ level: 'silent' });
const waker = { wake: () => undefined };

/** A step that leaves its id in the path of a run. */
export const mark = (id: number): Step => ({ type: 'update_contact', id, data: { [`step${id}`]: true } });

/** A step that waits for the event `paid`. The steps of its branches have the next two ids. */
export const waitForEvent = (id: number, duration: number): WaitForEventStep => ({
  ...{ type: 'wait_for_event', id, event_name: 'paid', duration },
  ...{ yes: [mark(id + 1)], no: [mark(id + 2)] },
});

export interface StagedRun {
  id: number;
  flow: TestFlow;
  /** When it began, by the engine's clock. */
  begun: Date;
  handle: WorkflowHandle;
}

/** What a run of these tests is waiting for. */
export type StagedWait = 'time' | 'event' | 'webhook' | 'quiet_hours' | 'resume';

async function startWorkers(env: TestWorkflowEnvironment, db: TestDatabase): Promise<() => Promise<void>> {
  installRuntime(log);
  const activities = createFlowActivities({
    config: loadConfig({
      APP_SECRET: TEST_SECRET,
      DATABASE_URL: db.url,
      MAIL_DOMAIN: 'mail.test',
      EGRESS_ALLOW: '127.0.0.0/8',
    }),
    database: db.database,
    ...{ waker, log },
    keyring: createKeyring(TEST_SECRET),
    resolver: createResolver([]),
    trackedEventConsumers: createTrackedEventConsumers({ waker }),
  });
  const options = { connection: env.nativeConnection, activities };
  const workflowBundle = await sharedWorkflowBundle();
  const workers = [
    await Worker.create({ ...options, taskQueue: 'flows', workflowBundle, enableNonLocalActivities: false }),
    await Worker.create({ ...options, taskQueue: 'cohorts', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
    await Worker.create({ ...options, taskQueue: 'calls' }),
  ];
  const running = Promise.all(workers.map((worker) => worker.run()));
  return async () => {
    for (const worker of workers) worker.shutdown();
    await running;
  };
}

/** One engine with a database and an HTTP server, for the tests of a file. */
export class FlowRunStage {
  account!: QueuedAccount;
  contactId = 0;
  private causes = 0;

  readonly env: TestWorkflowEnvironment;
  readonly db: TestDatabase;
  readonly receiver: Receiver;
  private readonly stopWorkers: () => Promise<void>;

  private constructor(
    { env, db, receiver }: Pick<FlowRunStage, 'env' | 'db' | 'receiver'>,
    stopWorkers: () => Promise<void>,
  ) {
    this.env = env;
    this.db = db;
    this.receiver = receiver;
    this.stopWorkers = stopWorkers;
  }

  static async create(): Promise<FlowRunStage> {
    installRuntime(log);
    const [env, db, receiver] = await Promise.all([
      createTimeSkippingEnvironment(),
      createTestDatabase({ poolMax: 10 }),
      startReceiver({ plain: true }),
    ]);
    return new FlowRunStage({ env, db, receiver }, await startWorkers(env, db));
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.env.teardown();
    await this.receiver.close();
    await this.db.drop();
  }

  /** Gives the next test a new account with one contact, and an endpoint that responds. */
  async reset(): Promise<void> {
    this.account = await insertAccount(this.db.database);
    [this.contactId = 0] = await insertContacts(this.pool, this.account, 1);
    this.receiver.requests = [];
    this.answer();
  }

  get pool(): pg.Pool {
    return this.db.database.pool;
  }

  now = async () => new Date(await this.env.currentTimeMs());

  /** Makes the endpoint of webhook steps respond. */
  answer(): void {
    this.receiver.answer = (_request, response) => void response.end('{"plan":"pro"}');
  }

  /** Makes the endpoint of webhook steps fail. */
  fail(status = 503): void {
    this.receiver.answer = (_request, response) => void response.writeHead(status).end();
  }

  startWorkflow({ workflowType, workflowId, taskQueue = 'orchestration', input = [] }: WorkflowStart) {
    return this.env.client.workflow.start(workflowType, {
      ...{ workflowId, taskQueue },
      args: [...input],
    });
  }

  /** Lets the contact enter a flow. */
  async start(flow: TestFlow): Promise<StagedRun> {
    const { account, contactId, pool } = this;
    const begun = await this.now();
    const cause = `m${(this.causes += 1)}`;
    const id = await insertRun(pool, account, flow, contactId, { asOf: begun, cause });
    const start = flowRunStart({ id, ...account, flow_id: flow.id, contact_id: contactId, cause });
    await appendToOutbox(pool, { kind: 'start', ...start }, 2);
    return { id, flow, begun, handle: await this.startWorkflow(start) };
  }

  begin = async (spec: FlowSpec) => this.start(await insertFlow(this.pool, this.account, spec));

  /** Whether the workflow of a run is sleeping, or waiting between two attempts of its webhook step. */
  private async isAtRest({ handle: { workflowId } }: StagedRun, waitsFor: StagedWait): Promise<boolean> {
    // After the start of a long wait, the workflow has continued as new.
    const latest = this.env.client.workflow.getHandle(workflowId);
    if (waitsFor === 'webhook') {
      const { pendingActivities } = (await latest.describe()).raw;
      return pendingActivities?.length === 1 && (pendingActivities[0]?.attempt ?? 0) > 1;
    }
    const { events } = await latest.fetchHistory();
    return Boolean(events?.at(-1)?.timerStartedEventAttributes);
  }

  /**
   * Waits until a run is waiting, according to both its row and its workflow. The test server never skips time again
   * after a workflow with a pending task is terminated, so do nothing to a workflow before.
   */
  async reaches(run: StagedRun, waitsFor: StagedWait): Promise<void> {
    await eventually(async () => {
      expect((await runRow(this.pool, run.id))?.waits_for).toBe(waitsFor);
      expect(await this.isAtRest(run, waitsFor)).toBe(true);
    }, 90_000);
  }

  /** Delivers an event like the outbox dispatcher does. */
  async track({ handle }: StagedRun, event: string): Promise<void> {
    await createTestTracker(this.pool, this.account)([{ contactId: this.contactId, event }]);
    await handle.signal('wake');
  }

  /** Applies the changes of all runs, and wakes the workflow of the run like the dispatcher does. */
  async applyChanges({ handle }: StagedRun): Promise<void> {
    const deps = { pool: this.pool, versions: createFlowVersionReader(this.pool), waker, log };
    // The database's clock may be a fraction of a millisecond ahead of this process.
    while (await changePage(deps, new Date(Date.now() + MINUTE_MS)));
    await handle.signal('wake');
  }

  async pause({ flow }: StagedRun): Promise<void> {
    await inTransaction(this.pool, (trx) => pauseFlow(trx, flow));
  }

  async resume(run: StagedRun, overdue?: 'run' | 'exit'): Promise<void> {
    await inTransaction(this.pool, (trx) => resumeFlow(trx, run.flow, overdue ? { overdue } : {}));
    await this.applyChanges(run);
  }

  async archive(run: StagedRun): Promise<void> {
    await inTransaction(this.pool, (trx) => archiveFlow(trx, run.flow));
    await this.applyChanges(run);
  }

  /** When the run left each step, in seconds since its entry. */
  async timesOf({ id, begun }: StagedRun): Promise<Record<number, number>> {
    const { rows } = await this.pool.query<{ step_id: number; left_at: Date }>(
      'select step_id, left_at from flow_run_steps where run_id = $1',
      [id],
    );
    return Object.fromEntries(
      rows.map(({ step_id: step, left_at: at }) => [step, (at.getTime() - begun.getTime()) / 1_000]),
    );
  }

  /** Skips time until a run ends. @returns its state and reason */
  async finish({ id, handle }: StagedRun): Promise<string> {
    const result = (await handle.result()) as FlowRunState;
    const row = await runRow(this.pool, id);
    expect(result).toMatchObject({ state: row?.state, reason: row?.reason });
    expect(row).toMatchObject({ waits_for: null, due_at: null, step_id: null, engine_expected_by: null });
    return `${row?.state} ${row?.reason}`;
  }
}
