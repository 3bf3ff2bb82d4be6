// Workflows run in our thread as in the library's, and one that hangs neither stops nor loses the others.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { WorkflowWorker } from '../../../src/platform/temporal/workflow-threads.ts';
import { useEngine } from '../../support/engine.ts';
import { until } from '../../workflows/until.ts';

const TASK_QUEUE = 'turns';
const lines: string[] = [];
const logged = (text: string) => lines.filter((line) => line.includes(text)).length;

class ImpatientWorker extends WorkflowWorker {
  protected static override hungMs = 1_000;
}

let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  const logger = new DefaultLogger(
    'WARN',
    ({ message, meta }) => void lines.push(`${message} ${String(meta?.runId)}`),
  );
  const telemetryOptions = { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } } as const;
  Runtime.install({ logger, telemetryOptions, shutdownSignals: [] });
  const workflowsPath = fileURLToPath(new URL('../../support/workflows/turns.ts', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
  const { address, namespace } = await useEngine();
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  client = new Client({ connection, namespace });
  const worker = await ImpatientWorker.create({
    connection: native,
    namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle,
  });
  const running = worker.run();
  stop = async () => {
    worker.shutdown();
    await running;
    await native.close();
    await connection.close();
  };
}, 60_000);

afterAll(() => stop());

const start = (type: string) =>
  client.workflow.start(type, { taskQueue: TASK_QUEUE, workflowId: randomUUID() });

it('runs workflows, answers their queries and passes on what they log', async () => {
  const handle = await start('waits');
  await until(() => Promise.resolve(logged('waiting') === 1));
  expect(await handle.query('state')).toBe('waiting');
  await handle.signal('go');
  expect(await handle.result()).toBe('gone');
  expect(await handle.query('state')).toBe('gone');
});

it('goes on with the other workflows after one has hung', async () => {
  const before = await start('waits');
  await until(() => Promise.resolve(logged('waiting') === 2));
  const hung = await start('spins');
  const named = `does not end its turn: all workflows go on in another thread ${hung.firstExecutionRunId}`;
  await until(() => Promise.resolve(logged(named) > 0));
  await before.signal('go');
  expect(await before.result()).toBe('gone');
  const after = await start('waits');
  await after.signal('go');
  expect(await after.result()).toBe('gone');
  expect((await hung.describe()).status.name).toBe('RUNNING');
  await hung.terminate();
}, 60_000);
