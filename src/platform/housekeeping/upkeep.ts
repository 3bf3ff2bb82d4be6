import type { PartitionedTable } from '../db/partitions.ts';
import type { WorkflowSource } from '../outbox/expected-workflows.ts';
import type { ProcessWork } from '../processes/process.ts';
import type { SealedColumn } from '../secrets/sealed-columns.ts';
import type { HousekeepingTask } from './task.ts';

/**
 * What the platform does for a feature's tables. Each feature declares its own in `upkeep.ts`, and `features/upkeep.ts`
 * lists them. Every process loads these files, so they must not import models.
 */
export interface Upkeep {
  /** Tables partitioned by time or by ranges of ids. A table comes before those whose conditions read its rows. */
  partitions?: readonly PartitionedTable[];
  /** Hourly tasks, in the order to run them. */
  tasks?: readonly HousekeepingTask[];
  /** Work that a process may own and that the reaper recovers. */
  processWork?: readonly ProcessWork[];
  /** Rows that need a workflow, which the reconciler starts if the engine has none. */
  expectedWorkflows?: readonly WorkflowSource[];
  /** Columns of sealed values, which `carillon secret reseal` seals again. */
  sealed?: readonly SealedColumn[];
}

/** Joins the lists of all features, in their order. */
export function gatherUpkeep(parts: readonly Upkeep[]): Required<Upkeep> {
  return {
    partitions: parts.flatMap((part) => part.partitions ?? []),
    tasks: parts.flatMap((part) => part.tasks ?? []),
    processWork: parts.flatMap((part) => part.processWork ?? []),
    expectedWorkflows: parts.flatMap((part) => part.expectedWorkflows ?? []),
    sealed: parts.flatMap((part) => part.sealed ?? []),
  };
}
