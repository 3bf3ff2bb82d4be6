import type pg from 'pg';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { type ImportRecord, lockImports } from './model.ts';
import { importWake, type RunningImport } from './workflow.ts';

/** Maximum number of imports of one account that run at the same time. The others wait. */
const MAX_RUNNING = 2;

/**
 * Begins an import unless it has to wait: too many of the account's imports run, or older ones wait for the free slots.
 * @returns whether it may run
 */
export async function beginImport(
  pool: pg.Pool,
  { id, account_id: accountId }: ImportRecord,
): Promise<boolean> {
  const { rowCount } = await inTransaction(pool, async (trx) => {
    await lockImports(trx, accountId);
    return trx.query(
      `update imports i set status = 'processing', started_at = now(), engine_expected_by = now() + interval '2 minutes'
       where id = $1 and status = 'queued' and $3 > (
         select count(*) from imports o
         where o.account_id = $2 and (o.status = 'processing' or (o.status = 'queued' and o.id < i.id)))`,
      [id, accountId, MAX_RUNNING],
    );
  });
  return rowCount === 1;
}

/**
 * Wakes the imports of the account that have waited longest, because an import ends. Otherwise they look for its slot
 * only every 15 seconds. Wake `outbox` after the commit.
 */
export async function wakeWaiting(trx: Queryable, accountId: number): Promise<void> {
  const { rows } = await trx.query<RunningImport>(
    `select id, account_id as "accountId", brand_id as "brandId", resource from imports
     where account_id = $1 and status = 'queued' order by id limit $2`,
    [accountId, MAX_RUNNING],
  );
  await appendToOutbox(trx, rows.map(importWake));
}
