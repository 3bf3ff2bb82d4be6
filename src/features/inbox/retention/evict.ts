/** Makes room for mail: deletes the oldest mail in quarantine. No other mail is ever deleted for this. */
import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
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

const countSql = `
  update inbox_storage set evicted_count = evicted_count + $2, last_evicted_at = now(),
    evicted_bytes = evicted_bytes + (select coalesce(sum(size), 0) from inbox_removed_files where key = any($3))
  where account_id = $1`;

interface Evicted {
  mails: number;
  /** Keys of the files of these mails, some of which others may use. */
  files: string[];
}

/** Deletes one batch of mail, and counts it. */
async function evictBatch(pool: pg.Pool, accountId: number, bytes: number): Promise<Evicted> {
  return inTransaction(pool, async (trx) => {
    // Otherwise two processes that need room would evict twice as much.
    await trx.query('select pg_advisory_xact_lock($1, $2)', [EVICTION_LOCKS, accountId % MAX_LOCK]);
    const { rows } = await trx.query<{ mails: number; raw_keys: string[]; files: string[][] }>({
      name: 'evict_quarantine',
      text: evictSql,
      values: [accountId, bytes],
    });
    const [{ mails, raw_keys: rawKeys, files: attachments }] = rows as [(typeof rows)[number]];
    const files = [...rawKeys, ...attachments.flat()];
    if (mails > 0) await trx.query(countSql, [accountId, mails, files]);
    return { mails, files };
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
 * Deletes the oldest mail in quarantine of an account with its files, until that many bytes are free or none is left.
 * Counts what is deleted, and reports it to the operator.
 * @returns bytes freed
 */
export async function evict(
  { pool, store, log }: EvictionDeps,
  accountId: number,
  bytes: number,
): Promise<number> {
  let freed = 0;
  let mails = 0;
  try {
    while (freed < bytes) {
      const batch = await evictBatch(pool, accountId, bytes - freed);
      if (batch.mails === 0) break;
      mails += batch.mails;
      freed += await removeListedFiles({ pool, store }, accountId, batch.files);
    }
  } finally {
    if (mails > 0)
      log.warn({ account_id: accountId, mails, bytes: freed }, 'mail in quarantine was evicted to make room');
  }
  return freed;
}
