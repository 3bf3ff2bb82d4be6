import { invalid } from '../../errors.ts';
import type { AccountScope } from './model.ts';
import type { Queryable } from './queryable.ts';

/** How much an account may store of one kind of resource. */
export interface AccountBound {
  /** The table, with `account_id`; also the name of the field in the error. */
  table: string;
  /** SQL: which rows count. There should be an index on `account_id` for them. */
  where: string;
  /** The columns whose sizes are added up. Large values count as they are stored, that is compressed. */
  columns: readonly string[];
  maxRows: number;
  maxBytes: number;
}

const MEGABYTE = 1024 * 1024;

/**
 * Checks what an account stores after a transaction has written. Transactions of an account that check the same bound
 * wait for each other, so that together they cannot exceed it.
 * @param change `added` also checks the number of rows; an account with more rows can still change those
 * @throws AppError validation_error if it is too much
 */
export async function requireWithinBound(
  trx: Queryable,
  { accountId }: AccountScope,
  { table, where, columns, maxRows, maxBytes }: AccountBound,
  change: 'added' | 'grown',
): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('bound of ${table} ' || $1::text, 0))`, [
    accountId,
  ]);
  // The size of a large value is known without reading it.
  const bytes = columns.map((column) => `coalesce(pg_column_size(${column}), 0)`).join(' + ');
  const { rows } = await trx.query<{ count: number; bytes: number }>(
    `select count(*)::bigint as count, coalesce(sum(${bytes}), 0)::bigint as bytes
     from ${table} where account_id = $1 and ${where}`,
    [accountId],
  );
  const stored = rows[0] ?? { count: 0, bytes: 0 };
  if (change === 'added' && stored.count > maxRows) {
    throw invalid({ [table]: [`are limited to ${maxRows} for each account; delete some first`] });
  }
  if (stored.bytes > maxBytes) {
    const message = `are limited to ${maxBytes / MEGABYTE} MB for each account; delete or shorten some first`;
    throw invalid({ [table]: [message] });
  }
}
