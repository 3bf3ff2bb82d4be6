/** One bulk action, from its start to its end. This file imports nothing. */
export const runBulkActionType = 'runBulkAction';

export interface RunBulkActionInput {
  schema: 1;
  bulkActionId: number;
}

export function bulkActionWorkflowId(bulkActionId: number): string {
  return `bulk/${bulkActionId}`;
}

/** Signals, without arguments. */
export const bulkActionSignals = {
  /** Read the row again, because a client has canceled the action. */
  wake: 'wake',
} as const;

/** What a bulk action does, as the current details show it. */
export interface BulkActionProgress {
  /**
   * `waiting`: for other actions of the account. `yielding`: until the worker has cleared contacts that were deleted
   * before.
   */
  phase: 'waiting' | 'counting' | 'running' | 'yielding' | 'done';
  /** The status of the row, as clients see it. */
  status?: string;
  totalCount: number | null;
  processedCount: number;
  changedCount: number;
  failedCount: number;
}

export interface BulkActionActivities {
  /**
   * Does the next piece of the action, about ten seconds of work at most. It reads the row and continues from there.
   * @returns what to do next
   */
  advanceBulkAction(bulkActionId: number): Promise<BulkActionProgress>;
  /** Marks an action as failed after a final failure of the other activity. */
  failBulkAction(bulkActionId: number): Promise<void>;
}
