import { onClient } from '../../../platform/db/queryable.ts';
import {
  batchTask,
  daysBefore,
  type HousekeepingTask,
  inBatches,
} from '../../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../../platform/housekeeping/upkeep.ts';
import { recountSpan } from '../blocks/tallies.ts';
import { lettersToClear } from './clear-letters.ts';
import { firstMessageId, messageRanges, messageTables } from './message-ranges.ts';
import { recoverDeadSender } from './dead-process.ts';

/** How many days buckets of the allowance are kept. The allowance counts the last 24 hours. */
const ALLOWANCE_DAYS = 2;

/**
 * Deletes buckets of the allowance that are much older than the period it counts. Locked buckets are deleted next time.
 */
const allowanceBuckets = batchTask(
  'allowance_buckets',
  `delete from allowance_buckets where ctid = any (array(
     select ctid from allowance_buckets where bucket < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, ALLOWANCE_DAYS),
);

const UNKNOWN_CHARGE_DAYS = 1;

/**
 * Deletes the stored charges of unknown messages that are now known to have been sent, or that no longer exist. Other
 * messages may still prove not to have been sent, even after their month was posted.
 */
const unknownCharges = batchTask(
  'unknown_charges',
  `delete from unknown_charges where message_id = any (array(
     select u.message_id from unknown_charges u left join messages m on m.id = u.message_id
     where m.id is null or m.sent_at < $1 and m.unsent_at is null limit $2))`,
  (_deps, asOf) => daysBefore(asOf, UNKNOWN_CHARGE_DAYS),
);

/** Deletes blocks whose messages retention has dropped. The outcomes stay in the totals of their campaign. */
const oldBlocks: HousekeepingTask = {
  name: 'campaign_blocks',
  async run(deps, _asOf, progress) {
    const first = await onClient(deps.database.pool, firstMessageId);
    return inBatches(
      deps,
      `delete from campaign_blocks where (campaign_id, n) in (
         select b.campaign_id, b.n from campaigns c join campaign_blocks b on b.campaign_id = c.id
         where c.status = 'completed' and b.closed_at is not null and b.last_id < $1 limit $2)`,
      [first],
      progress,
    );
  },
};

const OPERATOR_MAIL_DAYS = 30;

const operatorMails = batchTask(
  'operator_mails',
  `delete from operator_mails where id = any (array(select id from operator_mails where received_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, OPERATOR_MAIL_DAYS),
);

/** Recounts blocks whose messages have changed: bounces and other late facts also arrive after a campaign has ended. */
const campaignCounts: HousekeepingTask = {
  name: 'campaign_counts',
  run: ({ database: { pool } }, _asOf, progress) => recountSpan(pool, progress),
};

export const deliveryUpkeep: Upkeep = {
  partitions: messageTables,
  tasks: [
    operatorMails,
    campaignCounts,
    messageRanges,
    oldBlocks,
    allowanceBuckets,
    unknownCharges,
    lettersToClear,
  ],
  processWork: [
    {
      ownedSql: (id) =>
        `(exists (select 1 from send_queue where owner = ${id}) or exists (select 1 from handovers where owner = ${id})
          or exists (select 1 from campaign_blocks where owner = ${id}))`,
      recover: recoverDeadSender,
      wakes: 'send',
    },
  ],
  sealed: [
    {
      table: 'dkim_keys',
      column: 'private_key_sealed',
      row: `domain || '/' || selector`,
      accountId: 'account_id',
    },
    { table: 'providers', column: 'settings_sealed', row: 'id' },
    { table: 'providers', column: 'callback_token_sealed', row: 'id' },
  ],
};
