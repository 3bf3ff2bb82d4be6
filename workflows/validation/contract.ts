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
  /** Look at the row again: it was canceled, or resumes. */
  wake: 'wake',
} as const;

/** Queries. */
export const validationQueries = { state: 'state' } as const;

/** What the operation does, as the query and the current details show it. */
export interface ValidationState {
  /**
   * `waiting`: for another operation of the account. `collecting`: takes the candidates. `checking`: checks them.
   * `retrying`: waits for mail servers that asked for another attempt.
   */
  phase: 'waiting' | 'collecting' | 'checking' | 'retrying' | 'done';
  /** Of the row, as a client sees it. Activities of earlier versions did not return it. */
  status?: string;
  /** ISO 8601: when the next address is checked once more; null: none waits. */
  retryAt: string | null;
  candidateCount: number;
  checkedCount: number;
}

export interface ValidationActivities {
  /**
   * Does the next piece of the operation, at most about two minutes of work: reads the row and goes on from there.
   * @param asOf the workflow's time, ISO 8601; addresses that are due by then are checked once more
   * @returns what is to be done next
   */
  advanceValidation(operationId: number, asOf: string): Promise<ValidationState>;
}
