import type { Client } from '@temporalio/client';
import type { Database } from '../../src/db/database.ts';
import { webhookWorkflowId } from '../../workflows/webhooks/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { addWebhook, deliveriesOf, publishSent, startWebhookLoop } from '../support/webhooks.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import { until } from '../workflows/until.ts';
import type { TestLoop } from '../workflows/test-loop.ts';

/** Of webhooks, in seconds: short, for recording takes its time. */
export const RECORDED_SCHEDULE = [1, 2];

/** What a scenario runs on: a worker and one sender, whose loops send nothing. */
export interface Stage {
  client: Client;
  database: Database;
  send: TestLoop;
  webhook: TestLoop;
}

/** A life of one workflow, recorded under `name`. */
export interface Scenario {
  /** Of the file in `histories/`. Add new ones beside the old: old histories must still replay. */
  name: string;
  /** @returns the id of the workflow to record, when it has done what is worth recording */
  run(stage: Stage): Promise<string>;
}

async function lane(stage: Stage, kind: 'send' | 'webhook', signals: string[]): Promise<string> {
  const workflowId = laneWorkflowId(kind, 1);
  const handle = stage.client.workflow.getHandle(workflowId);
  const attached = () => until(async () => (await handle.query('report')) !== null, 30_000);
  await attached();
  for (const signal of signals) {
    const before = (await handle.describe()).historyLength;
    await handle.signal(signal);
    await until(async () => (await handle.describe()).historyLength >= before + 4);
    if (signal !== 'retire') await attached();
  }
  return workflowId;
}

export const scenarios: Scenario[] = [
  {
    name: 'housekeeping-1',
    async run({ client }) {
      const workflowId = 'housekeeping-recorded';
      await client.workflow.execute('housekeeping', { workflowId, taskQueue: 'orchestration' });
      return workflowId;
    },
  },
  {
    name: 'send-lane-1',
    run: (stage) => lane(stage, 'send', ['pause', 'resume', 'drain', 'restart', 'resume']),
  },
  {
    name: 'webhook-lane-1',
    async run(stage) {
      const workflowId = await lane(stage, 'webhook', ['pause', 'retire']);
      await stage.client.workflow.getHandle(workflowId).result();
      return workflowId;
    },
  },
  {
    name: 'webhook-recovery-1',
    async run({ database }) {
      const tenant = await createTestTenant(database, 'Recorded');
      const { id } = await addWebhook(database, tenant, 'http://127.0.0.1:1/nobody-listens');
      const loop = await startWebhookLoop(database, { schedule: RECORDED_SCHEDULE });
      await publishSent(database, tenant, [1, 2]);
      await until(
        async () => (await deliveriesOf(database, id)).every(({ status }) => status === 'failed'),
        60_000,
      );
      await loop.stop();
      return webhookWorkflowId(id);
    },
  },
];
