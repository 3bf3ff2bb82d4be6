import type { Queryable } from '../db/queryable.ts';
import type { WorkflowStart } from '../temporal/contract.ts';

/** A row that needs a workflow, and how to start the workflow from the row alone. */
export interface ExpectedWorkflow {
  rowId: number;
  start: WorkflowStart;
}

/**
 * A kind of row that needs a workflow until it is final. The row's `engine_expected_by` is the time by which its
 * workflow must have been active. The workflow sets it to a later time with each step, and clears it with the last.
 */
export interface WorkflowSource {
  /** Shown in logs, such as `webhook`. */
  name: string;
  /** Finds rows that are not final and whose `engine_expected_by` has passed, longest overdue first. */
  overdue(client: Queryable, asOf: Date, limit: number): Promise<ExpectedWorkflow[]>;
  /** Postpones the next check of these rows to `until`: their workflows run or were just started. */
  postpone(client: Queryable, rowIds: number[], until: Date): Promise<void>;
  /**
   * Makes up to `limit` rows overdue at `asOf` that are neither final nor overdue, because the engine lost its data.
   * @returns how many; 0 if none is left
   */
  expectNow(client: Queryable, asOf: Date, limit: number): Promise<number>;
}
