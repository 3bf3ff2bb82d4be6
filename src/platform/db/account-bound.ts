import { invalid } from '../../errors.ts';
import type { AccountScope } from './model.ts';
import type { Queryable } from './queryable.ts';

/** How much an account may store of one kind of resource. */
export interface AccountBound {
  /** The table, with `account_id`; also the name of the field in the error. */
  table: string;
  /** SQL over a row `r`: which rows count. There should be an index on `account_id` for them. */
  where: string;
  /**
   * SQL, if fewer rows count than those of `where`: what finds these rows `r` of the account `$1`, to follow `from`.
   * Rows that an account cannot delete must not count, because it could never be below the bound again.
   */
  counted?: readonly string[];
  /** What the rows that count are called in the error, with a space before it. */
  noun?: string;
  /** The columns whose sizes are added up. Large values count as they are stored, that is compressed. */
  columns: readonly string[];
  maxRows: number;
  maxBytes: number;
}

const MEGABYTE = 1024 * 1024;

/** What an account stores, or more than that. */
interface Stored {
  count: number;
  bytes: number;
}

const bytesSql = ({ columns }: AccountBound) =>
  // The size of a large value is known without reading it.
  columns.map((column) => `coalesce(pg_column_size(r.${column}), 0)`).join(' + ');

/** The transaction knows what an account stores, because it has the lock: nothing but itself can add to it. */
const settingOf = ({ table }: AccountBound) => `carillon.stored_${table}`;

/** @returns what is stored with a row that was written since the last check; null if nothing was checked yet */
async function readKnown(
  trx: Queryable,
  { accountId }: AccountScope,
  bound: AccountBound,
  rowId: number,
): Promise<Stored | null> {
  const { rows } = await trx.query<{ known: string | null; bytes: number | null }>(
    `select current_setting('${settingOf(bound)}', true) as known,
       (select ${bytesSql(bound)} from ${bound.table} r where r.id = $1)::bigint as bytes`,
    [rowId],
  );
  const [account, count, bytes] = (rows[0]?.known ?? '').split(' ').map(Number);
  if (account !== accountId || count === undefined || bytes === undefined) return null;
  return { count: count + 1, bytes: bytes + (rows[0]?.bytes ?? 0) };
}

/** Counts no further than the bound, and adds up sizes only if the table is larger than the account's may be. */
async function readStored(trx: Queryable, { accountId }: AccountScope, bound: AccountBound): Promise<Stored> {
  const { table, where, maxRows, maxBytes } = bound;
  const all = [`${table} r where r.account_id = $1 and ${where}`];
  const counted = bound.counted ?? all;
  const count = async (sources: readonly string[]) => {
    const each = sources.map((source) => `(select from ${source} limit ${maxRows + 1})`);
    const { rows } = await trx.query<Stored>(
      `select count(*) as count, pg_total_relation_size('${table}') as bytes from (${each.join(' union all ')}) found`,
      [accountId],
    );
    return rows[0] as Stored;
  };
  let stored = await count(all);
  if (stored.count > maxRows && bound.counted) stored = await count(counted);
  if (stored.bytes <= maxBytes) return stored;
  const sizes = counted.map((source) => `select ${bytesSql(bound)} as bytes from ${source}`);
  const { rows } = await trx.query<{ bytes: number }>(
    `select coalesce(sum(bytes), 0)::bigint as bytes from (${sizes.join(' union all ')}) found`,
    [accountId],
  );
  return { count: stored.count, bytes: rows[0]?.bytes ?? 0 };
}

/**
 * Checks what an account stores after a transaction has written. Transactions of an account that check the same bound
 * wait for each other, so that together they cannot exceed it.
 * @param change `added` also checks the number of rows; an account with more rows can still change those
 * @param rowId the only row written since the transaction last checked this bound: then not all rows are read again
 * @throws AppError validation_error if it is too much
 */
export async function requireWithinBound(
  trx: Queryable,
  scope: AccountScope,
  bound: AccountBound,
  change: 'added' | 'grown',
  rowId?: number,
): Promise<void> {
  const { table, noun = '', maxRows, maxBytes } = bound;
  const isOver = ({ count, bytes }: Stored) => (change === 'added' && count > maxRows) || bytes > maxBytes;
  let stored = rowId === undefined ? null : await readKnown(trx, scope, bound, rowId);
  if (!stored || isOver(stored)) {
    await trx.query(`select pg_advisory_xact_lock(hashtextextended('bound of ${table} ' || $1::text, 0))`, [
      scope.accountId,
    ]);
    stored = await readStored(trx, scope, bound);
  }
  if (change === 'added' && stored.count > maxRows) {
    throw invalid({ [table]: [`are limited to ${maxRows}${noun} for each account; delete some first`] });
  }
  if (stored.bytes > maxBytes) {
    const message = `are limited to ${maxBytes / MEGABYTE} MB${noun && ` of${noun}`} for each account; delete or shorten some first`;
    throw invalid({ [table]: [message] });
  }
  if (rowId === undefined) return;
  await trx.query('select set_config($1, $2, true)', [
    settingOf(bound),
    [scope.accountId, stored.count, stored.bytes].join(' '),
  ]);
}
