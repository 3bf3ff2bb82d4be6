/** A lane shows and steers one loop of a sender process. This file imports nothing. */
export type LaneKind = 'send' | 'webhook';

/** The mode that an operator sets. `paused` and `draining` take nothing new; `draining` finishes what is claimed. */
export type LaneMode = 'running' | 'paused' | 'draining';

/** Shown in a lane's heartbeat details and current details: plain JSON, without addresses or bodies. */
export interface LaneReport {
  host: string;
  pid: number;
  processId: number;
  mode: LaneMode;
  ratePerSecond: number;
  handledTotal: number;
  inFlight: number;
  backlog: Record<string, number>;
  /** When the first of the scheduled messages is to be sent. Absent if there is none, and from earlier versions. */
  nextScheduledAt?: string;
  providers: Record<
    string,
    { state: 'closed' | 'open' | 'half_open'; reason: string | null; retryAt: string | null }
  >;
}

/** What a lane's workflow starts with, and carries into its next run. */
export interface LaneInput {
  schema: 1;
  n: number;
  /** The mode that a signal asked of the previous run, which could not write it into the lane's row. */
  wanted?: LaneMode;
}

/** The lane that is attached to a process. */
export interface LaneAttachment {
  kind: LaneKind;
  n: number;
}

export const laneWorkflowTypes = { send: 'sendLane', webhook: 'webhookLane' } as const;

/** @param n counted from 1 for each kind */
export function laneWorkflowId(kind: LaneKind, n: number): string {
  return `${kind}-lane/${n}`;
}

/** Signals. The first four come from an operator, by Temporal's UI or command line, without arguments. */
export const laneSignals = {
  /** Take nothing new, and give claims back. */
  pause: 'pause',
  resume: 'resume',
  /** Take nothing new, and finish what is claimed. */
  drain: 'drain',
  /** Detach, and attach again to any free process. */
  restart: 'restart',
  /** From the attached process: the loop's report, after a change that matters to an operator. */
  reported: 'reported',
  /** From `ensureLanes`: end, because there are fewer processes than lanes. */
  retire: 'retire',
} as const;

/** Queries. */
export const laneQueries = { report: 'report', state: 'state' } as const;

/** Activities of the `worker` role, on the task queue `orchestration`: they read and write the lane's row. */
export interface LaneModeActivities {
  /** @returns the mode in which the operator left the lane */
  openLane(lane: LaneAttachment): Promise<LaneMode>;
  recordLaneMode(lane: LaneAttachment, mode: LaneMode): Promise<void>;
  forgetLane(lane: LaneAttachment): Promise<void>;
}

/** The activity of the `sender` role, on the task queue `delivery`. */
export interface LaneActivities {
  /**
   * Attaches the lane to the process's loop of its kind for up to fifty minutes. It passes the mode on to the loop, and
   * reports by heartbeats and by the signal `reported`.
   * @returns the last report
   */
  attachLane(lane: LaneAttachment): Promise<LaneReport>;
}
