/** The writing of one export. This file imports nothing. */
export const runExportType = 'runExport';

/** What the workflow starts with, and carries into its next run. */
export interface RunExportInput {
  schema: 1;
  exportId: number;
}

export function exportWorkflowId(exportId: number): string {
  return `export/${exportId}`;
}

/** Signals, without arguments. */
export const exportSignals = {
  /** Read the row again, because a client has canceled the export. */
  wake: 'wake',
} as const;

/** The progress of an export, as the current details show it. */
export interface ExportProgress {
  /** `waiting`: the account has reached its number of concurrent exports. */
  state: 'waiting' | 'counting' | 'writing' | 'final';
  /** The status of the row, as clients see it. Activities of earlier versions do not return it. */
  status?: string;
  processedRows: number;
  totalRows: number | null;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. Each activity reads the row first, and may run twice. */
export interface ExportActivities {
  /** Starts the export if the account may run another one. */
  beginExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Counts rows for about ten seconds, or until all are counted and the columns are chosen. */
  planExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Writes parts for about ten seconds, or until the export is complete. */
  writeExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Marks an export as failed after a final failure of another activity. */
  failExport(exportId: number): Promise<void>;
}
