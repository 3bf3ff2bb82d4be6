/** Makes room for mail: deletes the oldest mail in quarantine. No other mail is ever deleted for this. */
import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { usedBytes } from '../receive/mails.ts';
import { removeListedFiles } from './remove-files.ts';
import { IN_QUARANTINE, MAKES_ROOM } from './shares.ts';

export interface EvictionDeps {
  pool: pg.Pool;
  store: Pick<BlobStore, 'remove'>;
  log: Logger;
}

/** Key space of the advisory locks of accounts whose mail is evicted. Any fixed number that no other lock uses. */
const EVICTION_LOCKS = 1_409_029;
const MAX_LOCK = 2 ** 31 - 1;
const MAILS_AT_ONCE = 200;
const FILES_AT_ONCE = 200;

/**
 * `$1`: the account, `$2`: the bytes to free. A mail that is being released or deleted is left out. What a mail frees is
 * known only afterwards, because other mails may use its files.
 */
const evictSql = `
  with candidates as materialized (
    select id, inbox_id, raw_key,
      greatest(stored_bytes, case when raw_key is not null then raw_size else 0 end)::bigint as bytes,
      array(select a.storage_key from conversation_attachments a
        where a.conversation_message_id = m.id and a.storage_key is not null) as files
    from conversation_messages m where m.account_id = $1 and ${IN_QUARANTINE} and ${MAKES_ROOM}
    order by id limit ${MAILS_AT_ONCE} for update skip locked
  ), victims as (
    select * from (select c.*, sum(bytes) over (order by id) - bytes as freed_before from candidates c) c
    where freed_before < $2
  ), gone as (
    delete from conversation_messages m using victims v where m.id = v.id
    returning v.inbox_id, v.raw_key, v.files
  ), of_inboxes as materialized (
    select inbox_id, count(*) as mails from gone group by inbox_id order by inbox_id
  ), noted as (
    update inboxes i set evicted_count = i.evicted_count + o.mails, last_evicted_at = now()
    from of_inboxes o where i.id = o.inbox_id
  )
  select count(*)::int as mails, coalesce(array_agg(raw_key) filter (where raw_key is not null), '{}') as raw_keys,
    coalesce(json_agg(files), '[]') as files from gone`;

/** What the account stores without the files that are about to be removed, and the keys of some of these. */
const usedSql = `
  select s.bytes - coalesce((select sum(size) from inbox_removed_files where account_id = $1), 0)::bigint as bytes,
    array(select key from inbox_removed_files where account_id = $1 limit ${FILES_AT_ONCE}) as leaving
  from inbox_storage s where s.account_id = $1`;

const countSql = `
  update inbox_storage set evicted_count = evicted_count + $2, last_evicted_at = now(),
    evicted_bytes = evicted_bytes + (select coalesce(sum(size), 0) from inbox_removed_files where key = any($3))
  where account_id = $1`;

/** How much an account may store, in bytes, so that there is room. */
export interface Room {
  most: number;
  /** If it stores more, this much more is freed, so that not each mail has to make room for itself. Asked late. */
  spare: () => number;
}

interface Evicted {
  /** There was room already, apart from files to remove. */
  hasRoom: boolean;
  mails: number;
  /** Keys of files that can be removed, some of which other mails may use. */
  files: string[];
}

/** Deletes one batch of mail, and counts it. Deletes none if removing files of deleted mail is enough. */
async function evictBatch(pool: pg.Pool, accountId: number, { most, spare }: Room): Promise<Evicted> {
  return inTransaction(pool, async (trx) => {
    // Otherwise each process that needs room, and each mail, would evict for itself.
    await trx.query('select pg_advisory_xact_lock($1, $2)', [EVICTION_LOCKS, accountId % MAX_LOCK]);
    const used = await trx.query<{ bytes: number; leaving: string[] }>({
      name: 'find_evictable_bytes',
      text: usedSql,
      values: [accountId],
    });
    const { bytes = 0, leaving = [] } = used.rows[0] ?? {};
    if (bytes <= most) return { hasRoom: true, mails: 0, files: leaving };
    const { rows } = await trx.query<{ mails: number; raw_keys: string[]; files: string[][] }>({
      name: 'evict_quarantine',
      text: evictSql,
      values: [accountId, bytes - most + spare()],
    });
    const [{ mails, raw_keys: rawKeys, files: attachments }] = rows as [(typeof rows)[number]];
    const files = [...rawKeys, ...attachments.flat()];
    if (mails > 0) await trx.query(countSql, [accountId, mails, files]);
    return { hasRoom: false, mails, files };
  });
}

/** Whether an account has mail in quarantine, which can make room. */
export async function hasEvictable(db: Queryable, accountId: number): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'has_evictable_mail',
    text: `select from conversation_messages m where m.account_id = $1 and ${IN_QUARANTINE} and ${MAKES_ROOM}
      limit 1`,
    values: [accountId],
  });
  return rowCount === 1;
}

/**
 * Deletes the oldest mail in quarantine of an account with its files, until there is room or none is left. Counts what is
 * deleted, and reports it to the operator.
 * @returns whether there was room, which others may have taken since
 */
export async function evict(
  { pool, store, log }: EvictionDeps,
  accountId: number,
  room: Room,
): Promise<boolean> {
  let freed = 0;
  let mails = 0;
  try {
    while ((await usedBytes(pool, accountId)) > room.most) {
      const batch = await evictBatch(pool, accountId, room);
      if (!batch.hasRoom && batch.mails === 0) return false;
      mails += batch.mails;
      freed += await removeListedFiles({ pool, store }, accountId, batch.files);
    }
  } finally {
    if (mails > 0)
      log.warn({ account_id: accountId, mails, bytes: freed }, 'mail in quarantine was evicted to make room');
  }
  return true;
}
