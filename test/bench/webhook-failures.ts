import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { startEngine } from '../../src/local/engine/server.ts';
import { createGuard } from '../../src/local/machine/guard.ts';
import { webhookWorkflowId } from '../../workflows/webhooks/contract.ts';
import { toolCache } from '../support/tools.ts';
import { startSubscriber } from './https-subscriber.ts';
import { rounded } from './machine.ts';
import { startRole } from './programs.ts';
import type { Stage } from './stage.ts';
import { publish, subscribe } from './subscribers.ts';

const EVENTS = 2_000;
/** Two retries a second apart, then one after an hour. */
const SCHEDULE = '1,1,3600';
const ATTEMPTS_PER_EVENT = 3;

/**
 * Counts the history events over all runs of a workflow. The list of executions lacks the length of a running one, so
 * each is described.
 */
async function historyEvents(address: string, workflowId: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const service = connection.workflowService;
    const { executions } = await service.listWorkflowExecutions({
      namespace: 'default',
      query: `WorkflowId = "${workflowId}"`,
    });
    const runs = await Promise.all(
      executions.map(({ execution }) =>
        service.describeWorkflowExecution({ namespace: 'default', execution: execution ?? null }),
      ),
    );
    return runs.reduce((sum, run) => sum + Number(run.workflowExecutionInfo?.historyLength ?? 0), 0);
  } finally {
    await connection.close();
  }
}

async function untilFailed(stage: Stage, attempts: number): Promise<number> {
  const end = performance.now() + 240_000;
  for (;;) {
    const { rows } = await stage.database.pool.query<{ made: number }>(
      'select coalesce(sum(attempt_count), 0)::int as made from webhook_deliveries',
    );
    const made = rows[0]?.made ?? 0;
    if (made >= attempts) return made;
    if (performance.now() > end) throw new Error(`only ${made} of ${attempts} attempts were made`);
    await sleep(250);
  }
}

/**
 * Measures the load that an endpoint which always responds with 500 puts on the engine, with worker and engine running.
 */
export async function failingUnderLoad(stage: Stage, settings: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-bench-engine-'));
  const guard = createGuard();
  const program = await findEngineProgram({ cache: await toolCache(), progress: () => undefined });
  const engine = await startEngine({ program, folder, port: 0, uiPort: null, guard });
  const subscriber = await startSubscriber();
  const env = { ...settings, TEMPORAL_ADDRESS: engine.address, WEBHOOK_RETRY_SCHEDULE: SCHEDULE };
  const roles = [startRole('worker', env), startRole('sender', env)];
  try {
    const brands = await subscribe(stage, [`https://127.0.0.1:${subscriber.port}/fail`]);
    await publish(stage, brands, EVENTS);
    const attempts = await untilFailed(stage, EVENTS * ATTEMPTS_PER_EVENT);
    await sleep(3_000);
    const events = await historyEvents(engine.address, webhookWorkflowId(brands[0]?.webhookIds[0] ?? 0));
    return {
      failed_attempts: attempts,
      engine_events: events,
      engine_events_per_failed_attempt: rounded(events / attempts, 3),
    };
  } finally {
    for (const role of roles) await role.stop();
    await subscriber.close();
    await engine.stop();
    await guard.close();
    await rm(folder, { recursive: true, force: true });
  }
}
