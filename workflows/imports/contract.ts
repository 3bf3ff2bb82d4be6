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
  /** Read the row again, because the import was canceled. */
  wake: 'wake',
} as const;

/** Queries. */
export const importQueries = { state: 'state' } as const;

/** What the import does, as the query and the current details show it. */
export interface ImportState {
  /** `waiting`: for other imports of the account. `inspecting`: recognizes the format and counts rows. */
  phase: 'waiting' | 'inspecting' | 'importing' | 'clearing' | 'done';
  /** The status of the row, as clients see it. Activities of earlier versions do not return it. */
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
   * Does the next piece of the import, about ten seconds of work at most. It reads the row and continues from there.
   * @returns what to do next
   */
  advanceImport(importId: number): Promise<ImportState>;
}
