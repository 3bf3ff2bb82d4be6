/** The scan of one mail for viruses. This file imports nothing. */
export const scanMailType = 'scanMail';

export interface ScanMailInput {
  schema: 1;
  conversationMessageId: number;
  /** In ISO 8601. Ten minutes later, the mail arrives even if it has not been scanned. */
  receivedAt: string;
}

export function inboxScanWorkflowId(conversationMessageId: number): string {
  return `inbox-scan/${conversationMessageId}`;
}

/** Signals, without arguments. */
export const scanSignals = {
  /** From an operator: scan now. */
  wake: 'wake',
} as const;

/** Queries. */
export const scanQueries = { state: 'state' } as const;

/** What a scan does, as the query and the current details show it. */
export interface ScanState {
  /** `scanning`: the first attempt is not over. `waiting`: for the scanner. `done`: has a result for each file. */
  phase: 'scanning' | 'waiting' | 'done';
  /** Why the scanner could not scan. */
  problem: string | null;
  /** When it scans again, in ISO 8601; null unless it waits. */
  retryAt: string | null;
  /** Files of the mail, and those that have a result; the mail itself is one of them. */
  files: number;
  finished: number;
  /** Whether the mail was reported without waiting any longer. */
  reported: boolean;
}

/** What one attempt has found. */
export interface ScanProgress {
  phase: 'waiting' | 'done';
  problem: string | null;
  files: number;
  finished: number;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface ScanActivities {
  /**
   * Scans the files that have no result yet, and stores each result. After the last, the mail arrives, unless a virus
   * was found. If the scanner is unavailable for seven days, the files stay unscanned.
   */
  scanMail(conversationMessageId: number, asOf: string): Promise<ScanProgress>;
  /** Lets the mail arrive, with files that have not been scanned. */
  reportUnscanned(conversationMessageId: number): Promise<void>;
}
