import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';
import { findOrphanedHistories, removeHistory } from './deliveries/history.ts';

const WEBHOOKS = 100;
const BATCH_ROWS = 1_000;

/** Removes what a DELETE left of a very long history, and deliveries written while their webhook was removed. */
export const webhookHistories: HousekeepingTask = {
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
