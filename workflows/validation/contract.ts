/** One validation operation, from its start to its end. This file imports nothing. */
export const runValidationType = 'runValidation';

export interface RunValidationInput {
  schema: 1;
  operationId: number;
}

export function validationWorkflowId(operationId: number): string {
  return `validation/${operationId}`;
}

/** Signals, without arguments. */
export const validationSignals = {
  /** Read the row again, because the operation was canceled or resumed. */
  wake: 'wake',
} as const;

/** Queries. */
export const validationQueries = { state: 'state' } as const;

/** What the operation does, as the query and the current details show it. */
export interface ValidationState {
  /**
   * `waiting`: for another operation of the account. `collecting`: collects its candidates. `checking`: checks them.
   * `retrying`: waits for mail servers that asked for another attempt.
   */
  phase: 'waiting' | 'collecting' | 'checking' | 'retrying' | 'done';
  /** The status of the row, as clients see it. Activities of earlier versions do not return it. */
  status?: string;
  /** When the next address is checked again, in ISO 8601; null if none waits. */
  retryAt: string | null;
  candidateCount: number;
  checkedCount: number;
}

export interface ValidationActivities {
  /**
   * Does the next piece of the operation, about two minutes of work at most. It reads the row and continues from there.
   * @param asOf the workflow's time, in ISO 8601; addresses that are due by then are checked again
   * @returns what to do next
   */
  advanceValidation(operationId: number, asOf: string): Promise<ValidationState>;
}
