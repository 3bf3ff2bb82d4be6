/** Removes what the copies of letters share after a recipient was erased. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { batchTask } from '../../../platform/housekeeping/task.ts';

/**
 * SQL: deletes the contents and files of letters, once none of their copies waits to be sent. Until then, they are
 * marked for {@link lettersToClear}. Their stored files are looked at next: others may have the same.
 * @param chosen a select of the ids of letters
 */
const clearSql = (chosen: string) => `
  with locked as materialized (
    select l.id, l.message_ids, exists (select 1 from send_queue q where q.message_id = any(l.message_ids)) as waits
    from letters l where l.id in (${chosen}) order by l.id for update
  ), marked as (
    update letters l set clear_when_ended = true from locked where l.id = locked.id and locked.waits
      and not l.clear_when_ended
  ), removed as (
    delete from letters l using locked where l.id = locked.id and not locked.waits returning l.id
  ), named as (
    delete from letter_addresses a using locked where a.letter_id = locked.id and not locked.waits
  ), captured as (
    -- Each copy has all recipients in its header.
    delete from captured_messages c using locked where c.message_id = any(locked.message_ids)
  ), files as (
    delete from message_attachments a using locked where a.message_id = locked.id and not locked.waits
    returning a.account_id, a.sha256, a.stored
  ), unused as materialized (
    select f.account_id, f.sha256 from attachment_files f
    where (f.account_id, f.sha256) in (select account_id, sha256 from files where stored)
    order by f.account_id, f.sha256 for no key update
  ), due as (
    update attachment_files f set kept_until = now() from unused u
    where f.account_id = u.account_id and f.sha256 = u.sha256
  )
  select id from removed`;

/**
 * Removes the contents and files of the letters of messages that are cleared, or has them removed when the last copy has
 * ended.
 * @param messageIds of one range of ids or few
 */
export async function clearLettersOf(trx: Queryable, messageIds: readonly number[]): Promise<void> {
  if (messageIds.length === 0) return;
  await trx.query(
    clearSql(`select m.letter_id from messages m
      where m.id = any($1) and m.id between $2 and $3 and m.letter_id is not null`),
    [messageIds, Math.min(...messageIds), Math.max(...messageIds)],
  );
}

/** Removes the contents and files of letters with an erased recipient whose last copy has ended. */
export const lettersToClear = batchTask(
  'letters_to_clear',
  clearSql(`select w.id from letters w
      where w.clear_when_ended and $1::timestamptz is not null
        and not exists (select 1 from send_queue q where q.message_id = any(w.message_ids))
      order by w.id limit $2`),
);
