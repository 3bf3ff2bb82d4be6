/** Hourly tasks that end what is kept only for some time. They leave files to `remove-files.ts`. */
import {
  batchTask,
  daysBefore,
  type HousekeepingTask,
  inBatches,
} from '../../../platform/housekeeping/task.ts';

const QUARANTINE_DAYS = 90;
/** A mail that is delivered twice within this time arrives once. */
const DIGEST_DAYS = 30;
/** A mail to several inboxes was read for all of them by then. */
const SHARED_DAYS = 30;
/** The hour in which what accounts store is counted, in UTC. */
const COUNTING_HOUR = 3;

/** Raw mail, as it arrived. What was read from it stays. */
export const oldRawMail = batchTask(
  'inbox_raw_mail',
  `with old as (
     select id, account_id, raw_key, raw_size from conversation_messages
     where raw_key is not null and received_at < $1 order by received_at limit $2 for update skip locked
   ), removed as (
     insert into inbox_removed_files (key, account_id, size) select raw_key, account_id, raw_size from old
     on conflict do nothing
   )
   update conversation_messages m set raw_key = null,
     stored_bytes = case when m.stored_bytes is not null then greatest(0, m.stored_bytes - m.raw_size) end
   from old where m.id = old.id`,
  ({ config }, asOf) => daysBefore(asOf, config.INBOX_RAW_RETENTION_DAYS),
);

/**
 * What earlier versions have not stored with mail and answers, also those that still run during an upgrade. The key of a
 * recipient whose message is gone is empty, so that the answer is not found again.
 */
const fillSql = `
  with unfilled as (
    select id from conversation_messages
    where (direction = 'inbound' and stored_bytes is null) or (direction = 'outbound' and recipient is null)
    order by id limit $1 for update skip locked
  )
  update conversation_messages m set
    stored_bytes = case when m.direction = 'inbound' then
      (case when m.raw_key is null then 0 else m.raw_size end) + (
        select coalesce(sum(a.size), 0) from conversation_attachments a
        where a.conversation_message_id = m.id and a.storage_key is not null) end,
    recipient = case when m.direction = 'inbound' then m.recipient else
      coalesce((select s.to_key from messages s where s.id = m.message_id), '') end
  from unfilled u where m.id = u.id`;

export const unfilledMail: HousekeepingTask = {
  name: 'inbox_unfilled_mail',
  run: (deps, _asOf, progress) => inBatches(deps, fillSql, [], progress),
};

/** Mail in quarantine that was not released. A mail that was released arrives soon. */
export const oldQuarantine = batchTask(
  'inbox_quarantine',
  `delete from conversation_messages where id = any (array(
     select id from conversation_messages
     where quarantine is not null and quarantine ->> 'released_at' is null and arrived_at is null
       and received_at < $1 limit $2))
   and quarantine ->> 'released_at' is null and arrived_at is null`,
  (_deps, asOf) => daysBefore(asOf, QUARANTINE_DAYS),
);

export const oldDigests = batchTask(
  'inbox_digests',
  `delete from inbox_digests where ctid = any (array(
     select ctid from inbox_digests where received_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, DIGEST_DAYS),
);

/** Shared files whose uses were not counted down, because an inbox or a brand was deleted with all its mail. */
export const unusedSharedFiles = batchTask(
  'inbox_shared_files',
  `delete from inbox_shared_files where key = any (array(
     select key from inbox_shared_files s where created_at < $1
       and not exists (select from inbound_mails where raw_key = s.key)
       and not exists (select from conversation_messages where raw_key = s.key)
       and not exists (select from conversation_attachments where storage_key = s.key)
     limit $2))`,
  (_deps, asOf) => daysBefore(asOf, SHARED_DAYS),
);

/**
 * Files that several mails use count once. One statement sees what is stored and what was counted at one moment, so their difference is an error. It is added, so
 * that what is counted meanwhile stays.
 */
const countSql = `
  with stored as (
    select account_id, sum(bytes)::bigint as bytes from (
      select account_id, max(size)::bigint as bytes from (
        select account_id, raw_key as key, size from inbound_mails
        union all
        select account_id, raw_key, raw_size from conversation_messages where raw_key is not null
        union all
        select account_id, storage_key, size from conversation_attachments where storage_key is not null
        union all
        select account_id, key, size from inbox_removed_files) uses
      group by account_id, key) files
    group by account_id
  ), wrong as (
    select c.account_id, coalesce(s.bytes, 0) - c.bytes as bytes
    from inbox_storage c left join stored s on s.account_id = c.account_id
    where coalesce(s.bytes, 0) <> c.bytes
  )
  update inbox_storage c set bytes = greatest(0, c.bytes + wrong.bytes)
  from wrong where c.account_id = wrong.account_id`;

/** Each night, corrects what accounts store if it was counted wrongly. */
export const storedBytes: HousekeepingTask = {
  name: 'inbox_storage',
  async run({ database, log }, asOf) {
    if (asOf.getUTCHours() !== COUNTING_HOUR) return 0;
    const { rowCount } = await database.pool.query(countSql);
    if (rowCount) log.warn({ accounts: rowCount }, 'corrected the bytes of mail that accounts store');
    return rowCount ?? 0;
  },
};
