import type { WorkflowSource } from '../outbox/source.ts';
import { recoveryStart, type RecoveredWebhook } from './recovery-start.ts';

/** Webhooks that are armed need their workflow `webhook/<id>`. */
export const webhookSource: WorkflowSource = {
  name: 'webhook',
  async overdue(client, asOf, limit) {
    const { rows } = await client.query<RecoveredWebhook>(
      `select id, account_id as "accountId", brand_id as "brandId" from webhooks
       where recovery_armed and engine_expected_by <= $1 order by engine_expected_by limit $2`,
      [asOf, limit],
    );
    return rows.map((row) => ({ rowId: row.id, start: recoveryStart(row) }));
  },
  async postpone(client, rowIds, until) {
    await client.query(
      `update webhooks set engine_expected_by = $2
       where id = any($1::bigint[]) and recovery_armed and engine_expected_by < $2`,
      [rowIds, until],
    );
  },
  async expectNow(client, asOf, limit) {
    const { rowCount } = await client.query(
      `update webhooks set engine_expected_by = $1 where id = any (array(
         select id from webhooks where recovery_armed and engine_expected_by > $1 limit $2))`,
      [asOf, limit],
    );
    return rowCount ?? 0;
  },
};
