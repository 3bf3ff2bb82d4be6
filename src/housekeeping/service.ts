import { messageDailyCounts } from './daily-counts.ts';
import { orphanedFiles } from './orphaned-files.ts';
import { partitions } from './partitions.ts';
import {
  allowanceBuckets,
  deadProcesses,
  expiredSuppressions,
  idempotencyKeys,
  messageContents,
} from './retention.ts';
import type { HousekeepingTask } from './task.ts';
import { webhookHistories } from './webhook-histories.ts';

export type { HousekeepingDependencies, HousekeepingTask } from './task.ts';

/** In the order they run, hourly, by the `housekeeping` workflow. */
export const housekeepingTasks: HousekeepingTask[] = [
  idempotencyKeys,
  messageContents,
  expiredSuppressions,
  allowanceBuckets,
  messageDailyCounts,
  deadProcesses,
  webhookHistories,
  orphanedFiles,
  partitions,
];
