/** One campaign, from its send to its end. This file imports nothing. */
export const campaignType = 'campaign';

export interface CampaignInput {
  schema: 1;
  campaignId: number;
  accountId: number;
}

export const campaignWorkflowPrefix = 'campaign/';

export function campaignWorkflowId(campaignId: number): string {
  return `${campaignWorkflowPrefix}${campaignId}`;
}

/** Signals, without arguments. */
export const campaignSignals = {
  /** From Carillon: read the row again, it was changed. */
  wake: 'wake',
  /** From an operator, like the requests of the API with these names. What the row does not allow is ignored. */
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

export type OperatorSignal = 'pause' | 'resume' | 'cancel';

/** Queries. */
export const campaignQueries = { state: 'state' } as const;

/** Counts of recipients. The others add up to `audience`. */
export interface CampaignTally {
  audience: number;
  sent: number;
  failed: number;
  skipped: number;
  unknown: number;
  canceled: number;
  remaining: number;
}

/** What the campaign does and waits for, as the query and the current details show it. */
export interface CampaignState {
  /** Of the row, as a client sees it. */
  status: 'draft' | 'active' | 'paused' | 'completed';
  phase: 'draft' | 'waiting' | 'snapshot' | 'sending' | 'done';
  /** Name and audience, such as `Campaign 42 'Spring sale' → list 7`. */
  title: string;
  /** Contacts who are looked at for the snapshot: the last, and the highest of all. */
  cursor: number;
  maxContactId: number | null;
  counts: CampaignTally;
  /** Why nothing is sent now, such as `schedule`, `allowance` or, while it is paused, `resume`; null: it is being sent. */
  waitingFor: string | null;
  /** Until when, in ISO 8601, if that is known. */
  until: string | null;
  /** When the next recipients are due whom no limit holds. Left out: that is not known, or not for minutes. */
  freeAt?: string;
  outcome: string | null;
}

/** What an activity has found, and what follows. */
export interface CampaignStep {
  /**
   * `wait`: for a signal, or until `until`. `snapshot`: write recipients. `watch`: stay while they are sent to.
   * `finish`: nothing is sent any more. `done`: the row needs no workflow.
   */
  next: 'wait' | 'snapshot' | 'watch' | 'finish' | 'done';
  state: CampaignState;
}

/** A row is read again at least this often, although every change of it is signaled. */
const MAX_WAIT_MS = 55 * 60_000;
/** The same while it is sent: what makes its blocks due sends a signal, but senders may also begin by themselves. */
const MAX_SENDING_WAIT_MS = 600_000;
/** What should have come by now is looked for again after this time. */
const OVERDUE_MS = 60_000;
/** Senders have this long to send what a limit lets go at some time, so that one look finds it done. */
const AFTER_ALLOWANCE_MS = 3_000;
/**
 * Senders look again and again at blocks that wait for one of these, so that `until` is not the end of the wait. The next
 * block that is not held may be.
 */
const rechecked: readonly (string | null)[] = ['account_paused', 'domain_unverified', 'provider'];

/**
 * How long the workflow waits for a signal before it reads the row again, in milliseconds. Each time adds up to 17 events
 * to its history, of which it has at most 2,000 a day.
 */
export function campaignWaitMs(
  state: Pick<CampaignState, 'status' | 'phase' | 'waitingFor' | 'until' | 'freeAt'>,
  nowMs: number,
): number {
  const { status, phase, waitingFor } = state;
  const isSent = status === 'active' && (phase === 'snapshot' || phase === 'sending');
  const longest = isSent ? MAX_SENDING_WAIT_MS : MAX_WAIT_MS;
  const until = rechecked.includes(waitingFor) ? (state.freeAt ?? null) : state.until;
  if (until === null) return longest;
  const waitMs = Date.parse(until) - nowMs;
  if (waitMs <= 0) return OVERDUE_MS;
  return Math.min(longest, waitMs + (waitingFor === 'allowance' ? AFTER_ALLOWANCE_MS : 0));
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface CampaignActivities {
  /** Reads the row, and begins the snapshot if it is time. */
  lookAtCampaign(campaignId: number, asOf: string): Promise<CampaignStep>;
  /** Does what an operator has asked for by a signal, if the row allows it. */
  changeCampaign(campaignId: number, change: OperatorSignal, asOf: string): Promise<void>;
  /** Writes recipients, for up to `stayMs`, and watches the stop thresholds meanwhile. */
  snapshotCampaign(campaignId: number, asOf: string, stayMs: number): Promise<CampaignStep>;
  /** Watches a campaign that is sent, for up to `stayMs`: thresholds, throttle, A/B test, end. */
  watchCampaign(campaignId: number, asOf: string, stayMs: number): Promise<CampaignStep>;
  /** Cancels a page of what was not sent, or completes the campaign. */
  finishCampaign(campaignId: number, asOf: string): Promise<CampaignStep>;
}
