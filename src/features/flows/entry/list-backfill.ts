import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';

/** Number of list members that one statement adds. */
const PAGE = 1_000;

interface Fill {
  flow_id: number;
  list_id: number;
  cursor: number;
}

/** SQL: adds the entries of one page. Members added after the activation have, or had, an entry with the same cause. */
const pageSql = `
  with page as (
    select m.contact_id, m.created_at from list_members m
    where m.list_id = $3 and m.contact_id > $4
      and m.created_at <= (select d.created_at from flow_fills d where d.flow_id = $1)
    order by m.contact_id limit $2
  ), added as (
    insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause)
    select f.account_id, f.brand_id, f.id, p.contact_id, 'l' || (extract(epoch from p.created_at) * 1000000)::bigint
    from page p join flows f on f.id = $1 order by p.contact_id
    on conflict do nothing
  )
  select count(*)::int as n, max(contact_id) as last from page`;

const takesMembersSql = `f.status = 'active' and f.approval_state in ('not_required', 'approved')
  and f.contact_list_id = d.list_id`;

/** SQL: open transactions that have added or removed members of lists. */
const changingSql = `
  select l.virtualtransaction from pg_locks l
  where l.locktype = 'relation' and l.relation = 'list_members'::regclass and l.mode = 'RowExclusiveLock' and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`;

/**
 * Records for each new backfill which transactions are open. They may have added members without seeing that the flow
 * is active; all later ones see it.
 */
async function noteNewFills(db: Queryable): Promise<void> {
  await db.query(
    `update flow_fills set waits_for = array(${changingSql}), created_at = clock_timestamp()
     where flow_id in (
       select d.flow_id from flow_fills d join flows f on f.id = d.flow_id
       where d.waits_for is null and ${takesMembersSql} for update of d skip locked)`,
  );
}

/** Finds the next backfill whose recorded transactions have all ended. */
async function findFill(trx: Queryable): Promise<Fill | null> {
  const { rows } = await trx.query<Fill>(
    `select d.flow_id, d.list_id, d.cursor from flow_fills d join flows f on f.id = d.flow_id
     where ${takesMembersSql} and d.waits_for is not null and not d.waits_for && array(${changingSql})
     order by d.flow_id limit 1 for update of d skip locked`,
  );
  return rows[0] ?? null;
}

/**
 * Lets one page of a list's current members enter an active flow. A page and its cursor are written in one transaction.
 * @returns whether there may be more to do
 */
export async function fillFlow(pool: pg.Pool): Promise<boolean> {
  const { rows: waiting } = await pool.query('select 1 from flow_fills limit 1');
  if (waiting.length === 0) return false;
  await noteNewFills(pool);
  return inTransaction(pool, async (trx) => {
    const fill = await findFill(trx);
    if (!fill) return false;
    const { rows } = await trx.query<{ n: number; last: number }>(pageSql, [
      fill.flow_id,
      PAGE,
      fill.list_id,
      fill.cursor,
    ]);
    const { n = 0, last = 0 } = rows[0] ?? {};
    if (n < PAGE) await trx.query('delete from flow_fills where flow_id = $1', [fill.flow_id]);
    else await trx.query('update flow_fills set cursor = $2 where flow_id = $1', [fill.flow_id, last]);
    return true;
  });
}
