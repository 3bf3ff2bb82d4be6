import {
  exportSignals,
  exportWorkflowId,
  runExportType,
  type RunExportInput,
} from '../../../workflows/exports/contract.ts';
import type { WorkflowSource } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** The export that a workflow writes. */
export interface StartedExport {
  id: number;
  accountId: number;
  brandId: number;
  resource: string;
}

/** Describes the workflow `export/<id>`, so that it can be started from the row alone. */
export function exportStart({ id, accountId, brandId, resource }: StartedExport): WorkflowStart {
  const input: RunExportInput = { schema: 1, exportId: id };
  return {
    workflowType: runExportType,
    workflowId: exportWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Export ${id} of brand ${brandId}: ${resource}`,
    details: `Writes the ${resource} of brand ${brandId} (account ${accountId}) to a CSV file in parts, and resumes after the last part that is complete.`,
  };
}

/** Makes the workflow read its row again. */
export function exportWake(id: number): OutboxEntry {
  return { kind: 'signal', workflowId: exportWorkflowId(id), signal: exportSignals.wake };
}

/** An export needs its workflow `export/<id>` until it has ended. */
export const exportSource: WorkflowSource = {
  name: 'export',
  async overdue(client, asOf, limit) {
    const { rows } = await client.query<StartedExport>(
      `select id, account_id as "accountId", brand_id as "brandId", resource from exports
       where engine_expected_by <= $1 order by engine_expected_by limit $2`,
      [asOf, limit],
    );
    return rows.map((row) => ({ rowId: row.id, start: exportStart(row) }));
  },
  async postpone(client, rowIds, until) {
    await client.query(
      'update exports set engine_expected_by = $2 where id = any($1::bigint[]) and engine_expected_by < $2',
      [rowIds, until],
    );
  },
  async expectNow(client, asOf, limit) {
    const { rowCount } = await client.query(
      `update exports set engine_expected_by = $1 where id = any (array(
         select id from exports where engine_expected_by > $1 limit $2))`,
      [asOf, limit],
    );
    return rowCount ?? 0;
  },
};
