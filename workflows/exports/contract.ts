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
  /** Read the row again: a client has canceled the export. */
  wake: 'wake',
} as const;

/** How far an export is, as the current details show it. */
export interface ExportProgress {
  /** `waiting`: the account has as many exports under way as it may. */
  state: 'waiting' | 'counting' | 'writing' | 'final';
  /** Of the row, as a client sees it. Activities of earlier versions did not return it. */
  status?: string;
  processedRows: number;
  totalRows: number | null;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. Each activity reads the row first, and may run twice. */
export interface ExportActivities {
  /** Starts the export if the account may have one more under way. */
  beginExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Counts rows for about ten seconds, or until all are counted and the columns chosen. */
  planExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Writes parts for about ten seconds, or until the export is complete. */
  writeExport(exportId: number, asOf: string): Promise<ExportProgress>;
  /** Ends an export whose other activities fail for good. */
  failExport(exportId: number): Promise<void>;
}
