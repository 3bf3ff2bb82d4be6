import { batchTask, daysBefore } from '../platform/housekeeping/task.ts';
import { holdsLockSql, ownsNothingSql } from '../platform/processes/process.ts';

const IDEMPOTENCY_DAYS = 7;
const ALLOWANCE_DAYS = 2;
const SILENT_PROCESS_DAYS = 1;

/** A key answers a repeated POST for 7 days. One that is locked is being taken anew. */
export const idempotencyKeys = batchTask(
  'idempotency_keys',
  `delete from idempotency_keys where ctid = any (array(
     select ctid from idempotency_keys where created_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, IDEMPOTENCY_DAYS),
);

/** Bodies go after the retention, but never while their message may still be handed over. */
export const messageContents = batchTask(
  'message_contents',
  `delete from message_contents where ctid = any (array(
     select c.ctid from message_contents c
     where c.created_at < $1 and not exists (select 1 from send_queue q where q.message_id = c.message_id)
     limit $2))`,
  (deps, asOf) => daysBefore(asOf, deps.config.MESSAGE_CONTENT_RETENTION_DAYS),
);

/** A suppression with an end, after it. */
export const expiredSuppressions = batchTask(
  'expired_suppressions',
  `update suppressions set released_at = $1 where id = any (array(
     select id from suppressions where released_at is null and expires_at <= $1 limit $2))
   and released_at is null`,
);

/** Well past the window that the allowance looks back over: older buckets count nothing. A locked one goes next time. */
export const allowanceBuckets = batchTask(
  'allowance_buckets',
  `delete from allowance_buckets where ctid = any (array(
     select ctid from allowance_buckets where bucket < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, ALLOWANCE_DAYS),
);

/**
 * Rows of processes that died while no reaper ran. One that still owns claims or handovers stays for the reaper,
 * which settles them.
 */
export const deadProcesses = batchTask(
  'dead_processes',
  `delete from processes where id = any (array(
     select p.id from processes p
     where p.seen_at < $1 and not ${holdsLockSql('p.id')} and ${ownsNothingSql('p.id')}
     limit $2))`,
  (_deps, asOf) => daysBefore(asOf, SILENT_PROCESS_DAYS),
);
