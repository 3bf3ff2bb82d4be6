/** A lane: one process's sending, seen and steered as a workflow. This file imports nothing. */
export type LaneKind = 'send' | 'webhook';

/** What a lane's workflow starts with, and carries into its next run. */
export interface LaneInput {
  schema: 1;
  n: number;
}

/** What the activity is asked to attach, in the process that takes it. */
export interface LaneAttachment {
  kind: LaneKind;
  n: number;
}

export const laneWorkflowTypes = { send: 'sendLane', webhook: 'webhookLane' } as const;

/** @param n counted from 1 in each kind */
export function laneWorkflowId(kind: LaneKind, n: number): string {
  return `${kind}-lane/${n}`;
}

/** Signals; the first four are an operator's, from Temporal's UI or command line, without arguments. */
export const laneSignals = {
  /** Take nothing new; what is claimed goes back. */
  pause: 'pause',
  resume: 'resume',
  /** Take nothing new; what is claimed is finished. */
  drain: 'drain',
  /** Detach and attach again, in whichever process is free. */
  restart: 'restart',
  /** From the attached process: what its loop does, when something an operator cares about has changed. */
  reported: 'reported',
  /** From `ensureLanes`: there are fewer processes than lanes; end. */
  retire: 'retire',
} as const;

/** Queries. */
export const laneQueries = { report: 'report', state: 'state' } as const;
