import type { PartitionedTable } from '../../platform/db/partitions.ts';
import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { findOrphanedHistories, removeHistory } from './deliveries/history.ts';
import { releaseWebhookClaims } from './loop/claim.ts';
import { webhookSource } from './workflow.ts';

const WEBHOOKS = 100;
const BATCH_ROWS = 1_000;

/** A day's deliveries, attempts and events are kept until all of its deliveries have ended. */
const neededSql = `(
  exists (select 1 from webhook_queue where created_at >= $1 and created_at < $2)
  or exists (select 1 from webhook_deliveries
             where created_at >= $1 and created_at < $2 and next_attempt_at is not null))`;

/** Deliveries come first: the condition reads them. */
const partitions: PartitionedTable[] = [
  { name: 'webhook_deliveries', keptDays: 7, storage: 'with (fillfactor = 85)', neededSql },
  { name: 'webhook_attempts', keptDays: 7, neededSql },
  { name: 'events', keptDays: 30, neededSql },
];

/** Removes what a DELETE left of a very long history, and deliveries written while their webhook was being removed. */
const webhookHistories: HousekeepingTask = {
  name: 'webhook_histories',
  async run({ database: { pool } }, _asOf, progress) {
    let total = 0;
    for (const webhookId of await findOrphanedHistories(pool, WEBHOOKS)) {
      let removed: number;
      do {
        removed = await removeHistory(pool, webhookId, BATCH_ROWS);
        total += removed;
        progress();
      } while (removed === BATCH_ROWS);
    }
    return total;
  },
};

export const webhooksUpkeep: Upkeep = {
  partitions,
  tasks: [webhookHistories],
  processWork: [
    {
      ownedSql: (id) => `exists (select 1 from webhook_queue where owner = ${id})`,
      recover: releaseWebhookClaims,
      wakes: 'webhook',
    },
  ],
  expectedWorkflows: [webhookSource],
  sealed: [
    { table: 'webhooks', column: 'secret_sealed', row: 'id', accountId: 'account_id' },
    {
      table: 'webhooks',
      column: 'previous_secret_sealed',
      row: 'id',
      accountId: 'account_id',
      sealedAs: 'secret_sealed',
    },
  ],
};
