/** Rows of `topups`. */
import { fn, type ModelObject } from 'objection';
import { TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

class TopUpModel extends TenantModel {
  static override readonly tableName = 'topups';
  static override readonly columns = [
    'id',
    'key',
    'account_id',
    'amount_cents',
    'currency',
    'customer',
    'payment_method',
    'status',
    'asked_at',
    'payment_id',
  ];
  declare key: string;
  declare account_id: number;
  declare amount_cents: number;
  declare currency: string;
  declare customer: string;
  declare payment_method: string;
  declare status: 'pending' | 'succeeded' | 'failed';
  declare asked_at: Date | null;
  declare payment_id: string | null;
  declare failure: string | null;
  declare engine_expected_by: Date | null;
  declare finished_at: Date | null;
}

/** A row of `topups`. */
export type TopUpRow = Omit<ModelObject<TopUpModel>, 'failure' | 'engine_expected_by' | 'finished_at'>;

const pending = (db: Queryable, id: number) => TopUpModel.on(db).where({ id, status: 'pending' });

/** Reads a top-up of any account, for its workflow. */
export async function findTopUp(db: Queryable, id: number): Promise<TopUpRow | undefined> {
  const [row] = await TopUpModel.on(db).where('id', id).select(TopUpModel.columns);
  return row;
}

/** Locks a top-up, as the payment service names it or its payment, until the transaction ends. */
export async function lockTopUp(
  trx: Queryable,
  by: { payment_id: string } | { key: string },
): Promise<TopUpRow | undefined> {
  const [row] = await TopUpModel.on(trx).where(by).forUpdate().select(TopUpModel.columns);
  return row;
}

/** Stores when the workflow of a pending top-up must report next. */
export async function expectTopUp(db: Queryable, id: number, expectedBy: Date): Promise<void> {
  await pending(db, id).patch({ engine_expected_by: expectedBy });
}

/**
 * Marks the request as sent before it leaves.
 * @returns undefined if it was already sent, or the top-up has ended
 */
export async function markSent(db: Queryable, id: number, asOf: Date): Promise<TopUpRow | undefined> {
  const [row] = await pending(db, id)
    .whereNull('asked_at')
    .patch({ asked_at: asOf })
    .returning(TopUpModel.columns);
  return row;
}

/** Stores why a pending top-up has no payment yet. @param unsent whether the request did not leave either */
export async function storeFailure(
  db: Queryable,
  id: number,
  { failure, unsent }: { failure: string; unsent: boolean },
): Promise<void> {
  await pending(db, id)
    .whereNull('payment_id')
    .patch({ failure, ...(unsent && { asked_at: null }) });
}

/** Ends a pending top-up without a payment. @returns its account; undefined if it has already ended */
export async function failPending(trx: Queryable, id: number, failure: string): Promise<number | undefined> {
  const [row] = await pending(trx, id)
    .patch({ status: 'failed', failure, finished_at: fn.now(), engine_expected_by: null })
    .returning('account_id');
  return row?.account_id;
}

/** Ends a locked top-up with its payment. */
export async function succeed(trx: Queryable, id: number, paymentId: string): Promise<void> {
  await TopUpModel.on(trx).where('id', id).patch({
    status: 'succeeded',
    payment_id: paymentId,
    failure: null,
    finished_at: fn.now(),
    engine_expected_by: null,
  });
}

/** Stores the payment of a locked top-up, which may still be under way. */
export async function storePayment(trx: Queryable, id: number, paymentId: string): Promise<void> {
  await TopUpModel.on(trx).where('id', id).patch({ payment_id: paymentId });
}
