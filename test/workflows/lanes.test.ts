// A lane attaches to one sender, steers its loop by signals, and moves to another only if that sender is gone.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Client } from '@temporalio/client';
import pino from 'pino';
import { createLaneModeActivities } from '../../activities/lanes.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { ensureLanes } from '../../src/platform/lanes/ensure.ts';
import { isLockSql } from '../../src/platform/processes/liveness-lock.ts';
import { registerProcess, type LiveProcess } from '../../src/platform/processes/process.ts';
import { callEngine, openEngine, type Engine } from '../../src/platform/temporal/connection.ts';
import { keepWorking, type KeptWorkers } from '../../src/platform/temporal/worker.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import type { LaneState } from '../../workflows/lanes/workflow.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle, useEngine } from '../support/engine.ts';
import { attachLoops, createTestLoop, type TestLoop } from './test-loop.ts';
import { until } from './until.ts';

// The engine notices a dead process after ten seconds, and may then offer the lane to the dead process once more.
jest.setTimeout(120_000);

const log = pino({ level: 'silent' });

interface TestSender {
  id: number;
  send: TestLoop;
  webhook: TestLoop;
  stop(): Promise<void>;
}

let db: TestDatabase;
let config: Config;
let engine: Engine;
let client: Client;
let workers: KeptWorkers;
const senders: TestSender[] = [];
const children: ChildProcess[] = [];

async function startSender(settings: Partial<Config> = {}): Promise<TestSender> {
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
}

/** Starts a sender in a process that can be killed. */
async function startSenderProcess(): Promise<{ id: number; child: ChildProcess }> {
  const script = fileURLToPath(new URL('./sender-process.ts', import.meta.url));
  const settings = [config.TEMPORAL_ADDRESS ?? '', config.TEMPORAL_NAMESPACE, db.url];
  const child = spawn(process.execPath, ['--no-warnings', script, ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { id: Number(line.toString()), child };
}

function stateOf(n: number, kind: 'send' | 'webhook' = 'send'): Promise<LaneState> {
  return callEngine(client, () =>
    client.workflow.getHandle(laneWorkflowId(kind, n)).query<LaneState>('state'),
  );
}

function signal(n: number, name: string): Promise<void> {
  return client.workflow.getHandle(laneWorkflowId('send', n)).signal(name);
}

async function laneProcess(n: number, kind = 'send'): Promise<number | null> {
  const { rows } = await db.database.pool.query<{ process_id: number | null }>(
    'select process_id from lanes where kind = $1 and n = $2',
    [kind, n],
  );
  return rows[0]?.process_id ?? null;
}

function attachedTo(n: number, processId: number, kind: 'send' | 'webhook' = 'send', limitMs = 40_000) {
  return until(async () => (await stateOf(n, kind)).report?.processId === processId, limitMs);
}

beforeAll(async () => {
  const test = await useEngine();
  db = await createTestDatabase({ poolMax: 10 });
  config = loadConfig({
    TEMPORAL_ADDRESS: test.address,
    TEMPORAL_NAMESPACE: test.namespace,
    DATABASE_URL: db.url,
    SHUTDOWN_GRACE_SECONDS: '1',
  });
  engine = openEngine(config);
  client = engine.client;
  const activities = createLaneModeActivities({ database: db.database });
  workers = keepWorking({
    config,
    log,
    tasks: async () => [
      { taskQueue: 'orchestration', workflowBundle: await sharedWorkflowBundle(), activities },
    ],
  });
}, 120_000);

afterEach(async () => {
  for (const sender of [...senders]) await sender.stop();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for await (const { workflowId, status } of client.workflow.list()) {
    if (status.name === 'RUNNING') await client.workflow.getHandle(workflowId).terminate();
  }
  await db.database.pool.query('delete from lanes');
  await db.database.pool.query('delete from processes');
});

afterAll(async () => {
  await workers.stop();
  await engine.close();
  await db.drop();
});

describe('a lane', () => {
  it('shows its process, and steers its loop by signals', async () => {
    const sender = await startSender();
    await attachedTo(1, sender.id);
    await attachedTo(1, sender.id, 'webhook');
    expect(await laneProcess(1)).toBe(sender.id);

    await signal(1, 'pause');
    await until(() => sender.send.report().mode === 'paused');
    expect(sender.webhook.report().mode).toBe('running');
    await until(async () => (await stateOf(1)).mode === 'paused');
    await signal(1, 'drain');
    await until(() => sender.send.report().mode === 'draining');
    await signal(1, 'resume');
    await until(() => sender.send.report().mode === 'running');
  });

  it('describes to the operator where it is and what it waits for', async () => {
    const sender = await startSender();
    await attachedTo(1, sender.id);
    sender.send.set({
      providers: {
        smtp: { state: 'open', reason: 'connection refused', retryAt: '2030-01-01T00:00:00.000Z' },
      },
    });
    const handle = client.workflow.getHandle(laneWorkflowId('send', 1));
    const details = await until(async () => {
      const text = await handle
        .query<string>('__temporal_workflow_metadata')
        .then((it) => JSON.stringify(it));
      return text.includes('connection refused') && text;
    });
    expect(details).toContain('host-1');
    expect(details).toContain('transactional 7');
    const { staticSummary, staticDetails } = await handle.describe().then(async (it) => ({
      staticSummary: await it.staticSummary(),
      staticDetails: await it.staticDetails(),
    }));
    expect(staticSummary).toBe('Sends messages, lane 1');
    expect(staticDetails).toContain('**pause**');
  });

  it('does not attach to a process that shows another lane of its kind', async () => {
    const first = await startSender();
    const second = await startSender();
    await ensureLanes(client, db.database, { force: true });
    for (const kind of ['send', 'webhook'] as const) {
      const processes = await until(async () => {
        const found = [await laneProcess(1, kind), await laneProcess(2, kind)];
        const states = [await stateOf(1, kind), await stateOf(2, kind)];
        return states.every((state, index) => state.report?.processId === found[index]) && found;
      }, 60_000);
      expect([...processes].sort()).toEqual([first.id, second.id].sort());
    }
  });

  it('leaves a stopping process at once, and does not change its loop', async () => {
    const first = await startSender();
    await attachedTo(1, first.id);
    const before = first.send.modes.length;
    await first.stop();
    const second = await startSender();
    await attachedTo(1, second.id);
    expect(first.send.modes.length).toBe(before);
  });

  it('attaches again on the signal restart, and keeps its mode', async () => {
    const sender = await startSender();
    await attachedTo(1, sender.id);
    await signal(1, 'pause');
    await until(() => sender.send.report().mode === 'paused');
    await signal(1, 'restart');
    await until(async () => {
      const history = await client.workflow.getHandle(laneWorkflowId('send', 1)).fetchHistory();
      return history.events?.some((event) => event.activityTaskCanceledEventAttributes);
    });
    await attachedTo(1, sender.id);
    expect(sender.send.report().mode).toBe('paused');
  });

  it('stays paused if its sender restarts while the engine is unavailable', async () => {
    const sender = await startSender();
    await attachedTo(1, sender.id);
    await signal(1, 'pause');
    await until(async () => (await stateOf(1)).mode === 'paused');
    await sender.stop();
    const again = await startSender({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(again.send.modes).toEqual(['paused']);
    expect(again.webhook.modes).toEqual(['running']);
  });

  it('ends after two minutes with fewer senders than lanes, not sooner', async () => {
    const first = await startSender();
    const second = await startSender();
    await ensureLanes(client, db.database, { force: true });
    // For 15 s, a process accepts only the lane that it took over at its start.
    await until(async () => (await stateOf(2)).report !== null, 45_000);
    await second.stop();
    await ensureLanes(client, db.database, { force: true });
    expect((await stateOf(2)).retiring).toBe(false);
    await db.database.pool.query(`update lanes set surplus_since = now() - interval '3 minutes' where n = 2`);
    await ensureLanes(client, db.database, { force: true });
    await until(async () => {
      const { status } = await client.workflow.getHandle(laneWorkflowId('send', 2)).describe();
      return status.name === 'COMPLETED';
    }, 60_000);
    await attachedTo(1, first.id, 'send', 30_000);
    const { rows } = await db.database.pool.query(`select n from lanes where kind = 'send'`);
    expect(rows).toEqual([{ n: 1 }]);
  }, 120_000);

  it('moves to another sender after its own is killed', async () => {
    const killed = await startSenderProcess();
    await attachedTo(1, killed.id);
    killed.child.kill('SIGKILL');
    const other = await startSender();
    // 10 s for the heartbeat and 2 s for the retry, repeated if the engine offers the lane to the dead process again.
    await attachedTo(1, other.id, 'send', 75_000);
  }, 120_000);

  it('goes to the process that replaces a killed one, even before the database notices the death', async () => {
    const killed = await startSenderProcess();
    await attachedTo(1, killed.id);
    await signal(1, 'pause');
    await until(async () => (await stateOf(1)).mode === 'paused');
    const { rows } = await db.database.pool.query<{ backend: number }>(
      `select l.pid as backend from pg_locks l where ${isLockSql('$1')}`,
      [killed.id],
    );
    const backend = rows[0]?.backend ?? 0;
    process.kill(backend, 'SIGSTOP');
    killed.child.kill('SIGKILL');
    setTimeout(() => process.kill(backend, 'SIGCONT'), 1_000);
    const other = await startSender();
    expect(await laneProcess(1)).toBe(other.id);
    expect(other.send.modes).toEqual(['paused']);
    expect(await laneProcess(2)).toBeNull();
  });

  it('waits for its process to restart, even if another lane is free', async () => {
    const first = await startSender();
    await attachedTo(1, first.id);
    await signal(1, 'pause');
    await until(() => first.send.report().mode === 'paused');
    await first.stop();
    await db.database.pool.query(`insert into lanes (kind, n) values ('send', 2)`);
    const again = await startSender();
    await ensureLanes(client, db.database, { force: true });
    await attachedTo(1, again.id);
    expect(again.send.modes).not.toContain('running');
  });
});
