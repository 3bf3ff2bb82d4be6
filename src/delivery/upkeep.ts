import { batchTask, daysBefore } from '../platform/housekeeping/task.ts';
import type { Upkeep } from '../platform/housekeeping/upkeep.ts';
import { recoverDeadSender } from './send/dead-process.ts';

/** The allowance counts the last 24 hours. */
const ALLOWANCE_DAYS = 2;

/** Deletes message bodies after the retention, but never while their message may still be handed over. */
const messageContents = batchTask(
  'message_contents',
  `delete from message_contents where ctid = any (array(
     select c.ctid from message_contents c
     where c.created_at < $1 and not exists (select 1 from send_queue q where q.message_id = c.message_id)
     limit $2))`,
  (deps, asOf) => daysBefore(asOf, deps.config.MESSAGE_CONTENT_RETENTION_DAYS),
);

/** Releases suppressions whose end has passed. */
const expiredSuppressions = batchTask(
  'expired_suppressions',
  `update suppressions set released_at = $1 where id = any (array(
     select id from suppressions where released_at is null and expires_at <= $1 limit $2))
   and released_at is null`,
);

/** Deletes buckets of the allowance that are much older than the period it counts. A locked bucket goes the next time. */
const allowanceBuckets = batchTask(
  'allowance_buckets',
  `delete from allowance_buckets where ctid = any (array(
     select ctid from allowance_buckets where bucket < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, ALLOWANCE_DAYS),
);

export const deliveryUpkeep: Upkeep = {
  tasks: [messageContents, expiredSuppressions, allowanceBuckets],
  processWork: [
    {
      ownedSql: (id) =>
        `(exists (select 1 from send_queue where owner = ${id}) or exists (select 1 from handovers where owner = ${id}))`,
      recover: recoverDeadSender,
      wakes: 'send',
    },
  ],
};
