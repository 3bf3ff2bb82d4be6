import type pg from 'pg';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { type Audience, candidatesOf, type PinnedFilters, reusableJoin } from './audience.ts';
import { type OperationRow, readOperation } from './model.ts';

/** Number of contacts that one page reads. */
const PAGE = 10_000;
const MIN_PAGE = 100;

interface PinnedAudience {
  audience: Audience;
  pinned: PinnedFilters | null;
}

async function readAudience(trx: Queryable, row: OperationRow): Promise<PinnedAudience> {
  const { rows } = await trx.query<{ ids: number[]; pinned: PinnedFilters | null }>(
    `select audience_ids as ids,
       case when filters is not null then jsonb_build_object('filters', filters, 'segments', segments) end as pinned
     from validation_operations where id = $1`,
    [row.id],
  );
  const { ids, pinned } = rows[0] as (typeof rows)[number];
  return { audience: { kind: row.audience_kind, ids }, pinned };
}

/** The last contact of a page; null if the page reads all that are left. */
async function endOfPage(
  trx: Queryable,
  { brand_id: brandId, cursor_id: cursor, max_contact_id: highest }: OperationRow,
  { kind, ids }: Audience,
  size: number,
): Promise<number | null> {
  // Other audiences have at most 10,000 contacts, or a list of their own.
  if (kind === 'contact_ids' || kind === 'contact_channel_ids') return null;
  const source =
    kind === 'list_id'
      ? 'select contact_id as id from list_members where list_id = $1'
      : 'select id from contacts where brand_id = $1';
  const column = kind === 'list_id' ? 'contact_id' : 'id';
  const { rows } = await trx.query<{ last: number | null; count: number }>(
    `select max(id) as last, count(*) as count
     from (${source} and ${column} > $2 and ${column} <= $3 order by ${column} limit $4) page`,
    [kind === 'list_id' ? ids[0] : brandId, cursor, highest, size],
  );
  const { last, count } = rows[0] as (typeof rows)[number];
  return count < size ? null : last;
}

/** Inserts the candidates of a page, in total no more than were counted at the start. */
async function takeCandidates(
  trx: Queryable,
  row: OperationRow,
  { audience, pinned }: PinnedAudience,
  upTo: number,
): Promise<{ taken: number; chargeable: number }> {
  const source = await candidatesOf(trx, { brandId: row.brand_id, paged: true }, audience, pinned, row.as_of);
  const first = source.values.length + 2;
  const { rows } = await trx.query<{ taken: number; chargeable: number }>(
    `with candidates as (
       select c.id, c.email, c.email_key, v.contact_id is null as is_new
       from (select c.id, c.email, c.email_key from ${source.sql} and c.id > $${first} and c.id <= $${first + 1}
         order by c.id limit $${first + 2}) c
       ${reusableJoin(`$${first + 3}::timestamptz`)}
     ), taken as (
       insert into validation_items (operation_id, contact_id, email, email_key, chargeable)
       select $${first + 4}, id, email, email_key,
         is_new and row_number() over (partition by is_new order by id) <= $${first + 5}::bigint
       from candidates order by id
       returning chargeable
     )
     select count(*) as taken, count(*) filter (where chargeable) as chargeable from taken`,
    [
      row.brand_id,
      ...source.values,
      row.cursor_id,
      upTo,
      row.candidate_count - row.taken_count,
      row.as_of,
      row.id,
      row.chargeable_count - row.taken_chargeable_count,
    ],
  );
  return rows[0] as (typeof rows)[number];
}

/**
 * Takes a page of a running operation's candidates: contacts up to the highest id at the start, in the order of their
 * ids, in total at most as many as were counted. Items beyond those that were reserved for are free. The removal of a
 * contact waits for the lock of the operation, so lock it before reading contacts.
 * @param attempt number of the try; later tries read fewer contacts
 * @returns whether there may be more
 */
export function collectPage(pool: pg.Pool, operationId: number, attempt: number): Promise<boolean> {
  const size = Math.max(MIN_PAGE, Math.floor(PAGE / 4 ** (attempt - 1)));
  return inTransaction(pool, async (trx) => {
    const row = await readOperation(trx, operationId, { lock: true });
    if (row?.status !== 'running' || row.snapshot_complete) return false;
    const of = await readAudience(trx, row);
    const last = await endOfPage(trx, row, of.audience, size);
    const { taken, chargeable } = await takeCandidates(trx, row, of, last ?? row.max_contact_id);
    const isComplete = last === null || row.taken_count + taken >= row.candidate_count;
    await trx.query(
      `update validation_operations set cursor_id = $2, taken_count = taken_count + $3,
         taken_chargeable_count = taken_chargeable_count + $4, snapshot_complete = $5,
         candidate_count = case when $5 then taken_count + $3 else candidate_count end
       where id = $1`,
      [operationId, last ?? row.max_contact_id, taken, chargeable, isComplete],
    );
    return !isComplete;
  });
}
