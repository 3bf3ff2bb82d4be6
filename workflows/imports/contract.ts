/** One import, from its start to its end. This file imports nothing. */
export const runImportType = 'runImport';

export interface RunImportInput {
  schema: 1;
  importId: number;
  accountId: number;
}

export function importWorkflowId(importId: number): string {
  return `import/${importId}`;
}

/** Signals, without arguments. */
export const importSignals = {
  /** Look at the row again: it was canceled. */
  wake: 'wake',
} as const;

/** Queries. */
export const importQueries = { state: 'state' } as const;

/** What the import does, as the query and the current details show it. */
export interface ImportState {
  /** `waiting`: for other imports of the account. `inspecting`: recognizes and counts. */
  phase: 'waiting' | 'inspecting' | 'importing' | 'clearing' | 'done';
  /** Of the row, as a client sees it. Activities of earlier versions did not return it. */
  status?: string;
  totalRows: number | null;
  createdCount: number;
  updatedCount: number;
  unchangedCount: number;
  duplicateCount: number;
  failedCount: number;
}

export interface ImportActivities {
  /**
   * Does the next piece of the import, at most about ten seconds of work: reads the row and goes on from there.
   * @returns what is to be done next
   */
  advanceImport(importId: number): Promise<ImportState>;
}
