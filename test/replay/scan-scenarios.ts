import { scanStart } from '../../src/features/inbox/scan/workflow.ts';
import { scanQueries, scanSignals, type ScanState } from '../../workflows/inbox/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { insertInbox } from '../support/inboxes.ts';
import { insertMailToScan } from '../support/mail-scans.ts';
import { until } from '../workflows/until.ts';
import type { Scenario, Stage } from './scenarios.ts';

const FAILURE = 'out of memory ERROR';

/** Starts the scan of a mail that was received some seconds ago. */
async function startScan({ client, database, files }: Stage, name: string, ageSeconds: number) {
  const tenant = await createTestTenant(database, name);
  const inboxId = await insertInbox(database, tenant, 'support@scanned.example');
  const receivedAt = new Date(Date.now() - ageSeconds * 1_000);
  const mail = { inboxId, attachments: ['one'], receivedAt };
  const { id } = await insertMailToScan(database, files.store, tenant, mail);
  const start = scanStart({ id, ...tenant, received_at: receivedAt });
  const handle = await client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  const isSo = (condition: (state: ScanState) => boolean) =>
    until(async () => condition(await handle.query<ScanState>(scanQueries.state)), 60_000);
  return { workflowId: start.workflowId, handle, isSo };
}

export const scanScenarios: Scenario[] = [
  {
    name: 'inbox-scan-1',
    async run(stage) {
      const { workflowId, handle } = await startScan(stage, 'Scanned', 0);
      await handle.result();
      return workflowId;
    },
  },
  {
    // The scanner fails, the mail arrives unscanned, and an operator has it scanned.
    name: 'inbox-scan-2',
    async run(stage) {
      stage.clamd.verdict = () => FAILURE;
      const { workflowId, handle, isSo } = await startScan(stage, 'Scanned late', 590);
      await isSo(({ phase }) => phase === 'waiting');
      await isSo(({ reported }) => reported);
      stage.clamd.verdict = () => 'stream: OK';
      await handle.signal(scanSignals.wake);
      await handle.result();
      return workflowId;
    },
  },
];
