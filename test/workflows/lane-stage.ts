import { createLaneModeActivities } from '../../activities/lanes.ts';
import type { Client } from '@temporalio/client';
import pino from 'pino';
import { loadConfig, type Config } from '../../src/config.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { registerProcess, type LiveProcess } from '../../src/platform/processes/process.ts';
import { callEngine, openEngine } from '../../src/platform/temporal/connection.ts';
import { keepWorking } from '../../src/platform/temporal/worker.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import type { LaneState } from '../../workflows/lanes/workflow.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle, useEngine } from '../support/engine.ts';
import { attachLoops, createTestLoop, type TestLoop } from './test-loop.ts';
import { until } from './until.ts';

const log = pino({ level: 'silent' });

/** A sender of this process, with a loop of each kind. */
export interface TestSender {
  id: number;
  send: TestLoop;
  webhook: TestLoop;
  stop(): Promise<void>;
}

/** The workflows of lanes in the shared engine, and the senders that they attach to. */
export interface LaneStage {
  db: TestDatabase;
  config: Config;
  client: Client;
  startSender(settings?: Partial<Config>): Promise<TestSender>;
  stateOf(n: number, kind?: 'send' | 'webhook'): Promise<LaneState>;
  /** Signals a lane of the kind `send`. */
  signal(n: number, name: string): Promise<void>;
  /** The process in a lane's row. */
  laneProcess(n: number, kind?: 'send' | 'webhook'): Promise<number | null>;
  /** Waits until a lane shows the report of a process. */
  attachedTo(n: number, processId: number, kind?: 'send' | 'webhook', limitMs?: number): Promise<unknown>;
  /** Ends the senders and all lanes. Call it after each test. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a worker for the workflows of lanes. */
export async function startLaneStage(): Promise<LaneStage> {
  const test = await useEngine();
  const db = await createTestDatabase({ poolMax: 10 });
  const config = loadConfig({
    TEMPORAL_ADDRESS: test.address,
    TEMPORAL_NAMESPACE: test.namespace,
    DATABASE_URL: db.url,
    SHUTDOWN_GRACE_SECONDS: '1',
  });
  const engine = openEngine(config);
  const { client } = engine;
  const activities = createLaneModeActivities({ database: db.database });
  const workers = keepWorking({
    config,
    log,
    tasks: async () => [
      { taskQueue: 'orchestration', workflowBundle: await sharedWorkflowBundle(), activities },
    ],
  });
  const senders: TestSender[] = [];
  const stateOf: LaneStage['stateOf'] = (n, kind = 'send') =>
    callEngine(client, () => client.workflow.getHandle(laneWorkflowId(kind, n)).query<LaneState>('state'));

  return {
    db,
    config,
    client,
    stateOf,
    async startSender(settings = {}) {
      const live: LiveProcess = await registerProcess({ url: db.url }, 'sender', upkeep.processWork);
      const id = live.id() ?? 0;
      const send = createTestLoop('send', id);
      const webhook = createTestLoop('webhook', id);
      const attachment = await attachLoops({
        config: { ...config, ...settings },
        database: db.database,
        loops: [send, webhook],
        log,
      });
      const sender = {
        id,
        send,
        webhook,
        async stop() {
          senders.splice(senders.indexOf(sender), 1);
          await attachment.stop();
          await live.close();
        },
      };
      senders.push(sender);
      return sender;
    },
    signal: (n, name) => client.workflow.getHandle(laneWorkflowId('send', n)).signal(name),
    async laneProcess(n, kind = 'send') {
      const { rows } = await db.database.pool.query<{ process_id: number | null }>(
        'select process_id from lanes where kind = $1 and n = $2',
        [kind, n],
      );
      return rows[0]?.process_id ?? null;
    },
    attachedTo: (n, processId, kind = 'send', limitMs = 40_000) =>
      until(async () => (await stateOf(n, kind)).report?.processId === processId, limitMs),
    async clear() {
      for (const sender of [...senders]) await sender.stop();
      for await (const { workflowId, status } of client.workflow.list()) {
        if (status.name === 'RUNNING') await client.workflow.getHandle(workflowId).terminate();
      }
      await db.database.pool.query('delete from lanes');
      await db.database.pool.query('delete from processes');
    },
    async stop() {
      await workers.stop();
      await engine.close();
      await db.drop();
    },
  };
}
