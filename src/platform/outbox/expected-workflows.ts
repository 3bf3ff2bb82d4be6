import type { Queryable } from '../db/queryable.ts';
import type { WorkflowStart } from '../temporal/contract.ts';

/** A row that needs a workflow, and how to start that workflow from nothing but the row. */
export interface ExpectedWorkflow {
  rowId: number;
  start: WorkflowStart;
}

/**
 * A kind of row that needs a workflow while it is not final. The row's `engine_expected_by` says by when its
 * workflow must have been at work; a workflow moves it on with what it does, and clears it with its last step.
 */
export interface WorkflowSource {
  /** Shown in logs, such as `webhook`. */
  name: string;
  /** Rows that are not final and whose `engine_expected_by` has passed, longest overdue first. */
  overdue(client: Queryable, asOf: Date, limit: number): Promise<ExpectedWorkflow[]>;
  /** The workflows of these rows run, or were just started: look again at `until`, unless the row says later. */
  postpone(client: Queryable, rowIds: number[], until: Date): Promise<void>;
  /**
   * The engine forgot everything: make up to `limit` rows that are not final and not yet overdue overdue at `asOf`.
   * @returns how many; 0 when there is none left
   */
  expectNow(client: Queryable, asOf: Date, limit: number): Promise<number>;
}
