import type { Queryable } from '../../platform/db/queryable.ts';
import { charge } from './funds.ts';
import { countItems, type OperationRow, readOperation } from './model.ts';
import type { OperationStatus } from './schema.ts';

async function countCharged(trx: Queryable, id: number): Promise<number> {
  const { rows } = await trx.query<{ count: number }>(
    'select count(*) as count from validation_items where operation_id = $1 and charged',
    [id],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Ends an operation and settles it: charges the results that are not charged yet, and ends the reservation. The row is
 * locked first, then the month and the wallet; pages of results lock the row, too, so that none is written meanwhile.
 * @param trx inside a transaction
 * @returns the operation as it is now; null if it had ended before, or does not exist
 */
export async function endOperation(
  trx: Queryable,
  id: number,
  status: Extract<OperationStatus, 'completed' | 'canceled' | 'failed'>,
): Promise<OperationRow | null> {
  const row = await readOperation(trx, id, { lock: true });
  if (row?.status !== 'pending' && row?.status !== 'running') return null;
  const counts = (await countItems(trx, [id])).get(id);
  const charged = await countCharged(trx, id);
  const millicents = (charged - row.charged_count) * row.price_millicents;
  if (millicents > 0 && row.price_month !== null) {
    const { account_id: accountId, run, price_month: month } = row;
    await charge(trx, { accountId, operationId: id, run, month, millicents });
  }
  await trx.query(
    `update validation_operations set status = $2, finished_at = now(), engine_expected_by = null,
       reserved_millicents = 0, charged_count = $3, deliverable_count = $4, undeliverable_count = $5,
       risky_count = $6, unknown_count = $7
     where id = $1`,
    [id, status, charged, counts?.deliverable, counts?.undeliverable, counts?.risky, counts?.unknown],
  );
  return readOperation(trx, id);
}
