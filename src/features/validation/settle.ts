import type { Queryable } from '../../platform/db/queryable.ts';
import { charge } from './funds.ts';
import { type OperationRow, readOperation, settleRow } from './model.ts';
import type { OperationStatus } from './schema.ts';

/**
 * Ends an operation and settles it: charges the results that are not charged yet, and ends the reservation. It locks
 * first the row, then the month and the wallet. Pages of results lock the row, too, so none is written until the
 * operation is settled. They keep the row's counts up to date, so the items, of which there may be a million, are not
 * read.
 * @param trx inside a transaction
 * @returns the operation as it is now; null if it had already ended, or does not exist
 */
export async function endOperation(
  trx: Queryable,
  id: number,
  status: Extract<OperationStatus, 'completed' | 'canceled' | 'failed'>,
): Promise<OperationRow | null> {
  const row = await readOperation(trx, id, { lock: true });
  if (row?.status !== 'pending' && row?.status !== 'running') return null;
  const millicents = (row.priced_count - row.charged_count) * row.price_millicents;
  if (millicents > 0 && row.price_month !== null) {
    const { account_id: accountId, run, price_month: month } = row;
    await charge(trx, { accountId, operationId: id, run, month, millicents });
  }
  await settleRow(trx, id, status);
  return readOperation(trx, id);
}
