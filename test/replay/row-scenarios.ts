import type { WorkflowHandle } from '@temporalio/client';
import { bulkActionStart } from '../../src/features/bulk-actions/workflow.ts';
import { exportStart } from '../../src/features/exports/workflow.ts';
import { importOptions } from '../../src/features/imports/schema.ts';
import { importStart } from '../../src/features/imports/workflow.ts';
import type { WorkflowStart } from '../../src/platform/temporal/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { until } from '../workflows/until.ts';
import type { Scenario, Stage } from './scenarios.ts';

/** Starts a workflow that a signal reaches before its first task. */
function startWoken({ client }: Stage, start: WorkflowStart): Promise<WorkflowHandle> {
  return client.workflow.signalWithStart(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
    signal: 'wake',
  });
}

const hasEvents = (handle: WorkflowHandle, events: number) =>
  until(async () => (await handle.describe()).historyLength >= events, 30_000);

/** An export that looks twice at once, waits for two others, and is canceled. */
async function wokenExport(stage: Stage): Promise<string> {
  const { pool } = stage.database;
  const { accountId, brandId } = await createTestTenant(stage.database, 'Woken export');
  const insert = async (status: string) => {
    const { rows } = await pool.query<{ id: number }>(
      `insert into exports (account_id, brand_id, resource, status, started_at)
       values ($1, $2, 'suppressions', $3, now()) returning id`,
      [accountId, brandId, status],
    );
    return rows[0]?.id ?? 0;
  };
  await insert('processing');
  await insert('processing');
  const id = await insert('queued');
  const start = exportStart({ id, accountId, brandId, resource: 'suppressions' });
  const handle = await startWoken(stage, start);
  await hasEvents(handle, 15);
  await pool.query(`update exports set status = 'canceled' where id = $1`, [id]);
  await handle.signal('wake');
  await handle.result();
  return start.workflowId;
}

/** An import that waits for two others although a signal came first, and whose file is gone when it is looked through. */
async function wokenImport(stage: Stage): Promise<string> {
  const { pool } = stage.database;
  const { accountId, brandId } = await createTestTenant(stage.database, 'Woken import');
  const insert = async (status: string) => {
    const { rows } = await pool.query<{ id: number }>(
      `insert into imports (account_id, brand_id, resource, filename, options, status, started_at)
       values ($1, $2, 'contacts', 'contacts.csv', $3, $4, now()) returning id`,
      [accountId, brandId, importOptions.parse({}), status],
    );
    return rows[0]?.id ?? 0;
  };
  const others = [await insert('processing'), await insert('processing')];
  const id = await insert('queued');
  const start = importStart({ id, accountId, brandId, resource: 'contacts' });
  const handle = await startWoken(stage, start);
  await hasEvents(handle, 11);
  await pool.query(`update imports set status = 'completed', finished_at = now() where id = any($1)`, [
    others,
  ]);
  await handle.signal('wake');
  await handle.result();
  return start.workflowId;
}

/** A bulk action that looks twice at once, waits for an earlier one, and then unsubscribes contacts. */
async function wokenBulkAction(stage: Stage): Promise<string> {
  const { pool } = stage.database;
  const tenant = await createTestTenant(stage.database, 'Woken bulk action');
  await insertContacts(pool, tenant, 3);
  const insert = async (status: string) => {
    const { rows } = await pool.query<{ id: number }>(
      `insert into bulk_actions (account_id, brand_id, action, filter, pinned, dry_run, status)
       values ($1, $2, 'unsubscribe', '{"all": true}', '{"sets":[],"segments":{},"listIds":[]}', false, $3)
       returning id`,
      [tenant.accountId, tenant.brandId, status],
    );
    return rows[0]?.id ?? 0;
  };
  const earlier = await insert('running');
  const { accountId, brandId } = tenant;
  const start = bulkActionStart({ id: await insert('queued'), accountId, brandId, action: 'unsubscribe' });
  const handle = await startWoken(stage, start);
  await hasEvents(handle, 11);
  await pool.query(`update bulk_actions set status = 'completed', finished_at = now() where id = $1`, [
    earlier,
  ]);
  await handle.signal('wake');
  await handle.result();
  return start.workflowId;
}

/** Workflows that step through a row, and whose first task finds a signal. */
export const rowScenarios: Scenario[] = [
  { name: 'run-export-2', run: wokenExport },
  { name: 'run-import-2', run: wokenImport },
  { name: 'run-bulk-action-1', run: wokenBulkAction },
];
