/**
 * Applies changes of flows in pages. A page and its cursor are one transaction, so a crash repeats at most one page.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, isConnectionError, type Queryable } from '../../../platform/db/queryable.ts';

/** Backoff of a change after a failed page, in ms. It doubles with each failure in a row. */
const RETRY_MS = 10_000;
const MAX_RETRY_MS = 3_600_000;

/** Columns that both tables of changes have. */
interface PagedChange {
  id: number;
  flow_id: number;
  change: string;
  failures: number;
}

/** How to apply the changes of a table. */
interface PagedChanges<Change extends PagedChange> {
  table: 'flow_changes' | 'flow_message_changes';
  /** Locks the next change. Other processes skip it. */
  take: (trx: Queryable, asOf: Date) => Promise<Change | undefined>;
  /** Applies a page of it. @returns the last id of the page; null if it was the last page */
  make: (trx: Queryable, change: Change) => Promise<number | null>;
}

/** Stores the cursor of the change, and queues it behind those of other flows. */
async function advance(
  trx: Queryable,
  table: string,
  { id }: PagedChange,
  { last, asOf }: { last: number | null; asOf: Date },
): Promise<void> {
  if (last === null) await trx.query(`delete from ${table} where id = $1`, [id]);
  else {
    await trx.query(`update ${table} set cursor = $2, due_at = $3, failures = 0 where id = $1`, [
      id,
      last,
      asOf,
    ]);
  }
}

async function postpone(
  pool: pg.Pool,
  table: string,
  { id, failures }: PagedChange,
  asOf: Date,
): Promise<void> {
  const waitMs = Math.min(RETRY_MS * 2 ** Math.min(failures, 10), MAX_RETRY_MS);
  await pool.query(`update ${table} set due_at = $2, failures = failures + 1 where id = $1`, [
    id,
    new Date(asOf.getTime() + waitMs),
  ]);
}

/**
 * Applies one page of a change. Several processes may do so at once. A failed page is logged and tried again later.
 * @returns whether there was something to do
 */
export async function makePage<Change extends PagedChange>(
  { pool, log }: { pool: pg.Pool; log: Logger },
  { table, take, make }: PagedChanges<Change>,
  asOf: Date,
): Promise<boolean> {
  const taken: { change?: Change } = {};
  try {
    await inTransaction(pool, async (trx) => {
      const change = await take(trx, asOf);
      if (!change) return;
      taken.change = change;
      await advance(trx, table, change, { last: await make(trx, change), asOf });
    });
  } catch (error) {
    const { change } = taken;
    if (!change || isConnectionError(error)) throw error;
    await postpone(pool, table, change, asOf);
    const fields = { flow_id: change.flow_id, change: change.change };
    log.warn({ err: error, ...fields }, 'flow change failed; will retry');
  }
  return taken.change !== undefined;
}
