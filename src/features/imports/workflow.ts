import {
  importSignals,
  importWorkflowId,
  runImportType,
  type RunImportInput,
} from '../../../workflows/imports/contract.ts';
import type { WorkflowSource } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** An import that needs its workflow. */
export interface RunningImport {
  id: number;
  accountId: number;
  brandId: number;
  resource: string;
}

/** Describes the workflow `import/<id>`, so that it can be started from the row alone. */
export function importStart({ id, accountId, brandId, resource }: RunningImport): WorkflowStart {
  const input: RunImportInput = { schema: 1, importId: id, accountId };
  return {
    workflowType: runImportType,
    workflowId: importWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Import ${id} of ${resource} into brand ${brandId}`,
    details: `Import ${id} (account ${accountId}, brand ${brandId}): looks through the file, imports its rows in chunks, and removes the file. Each chunk commits with its counts and its place in the file, so it may be interrupted at any moment.`,
  };
}

/** Signals the workflow that its row changed. Starts the workflow if it is not running. */
export function importWake(running: RunningImport): OutboxEntry {
  return { kind: 'signal_with_start', ...importStart(running), signal: importSignals.wake };
}

/** Every import needs its workflow `import/<id>` until it has ended and its file is gone. */
export const importSource: WorkflowSource = {
  name: 'import',
  async overdue(client, asOf, limit) {
    const { rows } = await client.query<RunningImport>(
      `select id, account_id as "accountId", brand_id as "brandId", resource from imports
       where engine_expected_by <= $1 order by engine_expected_by limit $2`,
      [asOf, limit],
    );
    return rows.map((row) => ({ rowId: row.id, start: importStart(row) }));
  },
  async postpone(client, rowIds, until) {
    await client.query(
      'update imports set engine_expected_by = $2 where id = any($1::bigint[]) and engine_expected_by < $2',
      [rowIds, until],
    );
  },
  async expectNow(client, asOf, limit) {
    const { rowCount } = await client.query(
      `update imports set engine_expected_by = $1 where id = any (array(
         select id from imports where engine_expected_by > $1 limit $2))`,
      [asOf, limit],
    );
    return rowCount ?? 0;
  },
};
