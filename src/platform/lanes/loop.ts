/** What an operator asks of a lane: `draining` finishes what is claimed and takes nothing new, as `paused` does. */
export type LaneMode = 'running' | 'paused' | 'draining';

/** Shown in a lane's heartbeat details and current details; plain JSON, never an address or a body. */
export interface LaneReport {
  host: string;
  pid: number;
  processId: number;
  mode: LaneMode;
  ratePerSecond: number;
  handledTotal: number;
  inFlight: number;
  backlog: Record<string, number>;
  providers: Record<
    string,
    { state: 'closed' | 'open' | 'half_open'; reason: string | null; retryAt: string | null }
  >;
}

/** A process's loop, as its lane's activity sees it. The loop belongs to the process and outlives the activity. */
export interface LaneLoop {
  readonly kind: 'send' | 'webhook';
  setMode(mode: LaneMode): void;
  report(): LaneReport;
}
