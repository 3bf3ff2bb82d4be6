import {
  allowanceBuckets,
  deadProcesses,
  expiredSuppressions,
  idempotencyKeys,
  messageContents,
} from '../delivery/upkeep.ts';
import type { HousekeepingTask } from '../platform/housekeeping/task.ts';
import { partitions } from '../platform/housekeeping/tasks.ts';
import type { WorkflowSource } from '../platform/outbox/expected-workflows.ts';
import { messageDailyCounts } from './messages/upkeep.ts';
import { orphanedFiles } from './uploads/upkeep.ts';
import { webhookHistories } from './webhooks/upkeep.ts';
import { webhookSource } from './webhooks/workflow.ts';

/** Every kind of row that needs a workflow; a room adds one line. */
export const workflowSources: WorkflowSource[] = [webhookSource];

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
