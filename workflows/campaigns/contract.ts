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
  /** From Carillon: the row has changed; read it again. */
  wake: 'wake',
  /** From an operator, like the requests of the API with these names. Ignored if the state does not allow it. */
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

export type OperatorSignal = 'pause' | 'resume' | 'cancel';

/** Queries. */
export const campaignQueries = { state: 'state' } as const;

/** Counts of recipients. `audience` is the sum of the others. */
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
  /** The status of the row, as clients see it. */
  status: 'draft' | 'active' | 'paused' | 'completed';
  phase: 'draft' | 'waiting' | 'snapshot' | 'sending' | 'done';
  /** Name and audience, such as `Campaign 42 'Spring sale' → list 7`. */
  title: string;
  /** The last contact examined for the snapshot. `maxContactId`: the last contact of all. */
  cursor: number;
  maxContactId: number | null;
  counts: CampaignTally;
  /**
   * Why nothing is sent now, such as `schedule`, `allowance` or, while it is paused, `resume`; null if it is being
   * sent.
   */
  waitingFor: string | null;
  /** The end of the wait, in ISO 8601, if it is known. */
  until: string | null;
  /** When the next recipients that no limit holds are due. Left out if that is unknown, or minutes away. */
  freeAt?: string;
  outcome: string | null;
}

/** What an activity has found, and the next step. */
export interface CampaignStep {
  /**
   * `wait`: for a signal, or until `until`. `snapshot`: write recipients. `watch`: watch while they are sent to.
   * `finish`: nothing is left to send. `done`: the row needs no workflow.
   */
  next: 'wait' | 'snapshot' | 'watch' | 'finish' | 'done';
  state: CampaignState;
}

/** Longest wait before the row is read again, in ms, although every change of it is signaled. */
const MAX_WAIT_MS = 55 * 60_000;
/** The same while it is sent: whatever makes its blocks due sends a signal, but senders may start without one. */
const MAX_SENDING_WAIT_MS = 600_000;
/** Wait until the next look, in ms, if something is overdue. */
const OVERDUE_MS = 60_000;
/** How long senders get after a limit releases messages, in ms, so that one look finds them sent. */
const AFTER_ALLOWANCE_MS = 3_000;
/**
 * Reasons that senders check repeatedly, so that `until` is not the end of the wait. The next block that is not held
 * may end it.
 */
const rechecked: readonly (string | null)[] = ['account_paused', 'domain_unverified', 'provider'];

/**
 * How long the workflow waits for a signal before it reads the row again, in ms. Each look adds up to 17 events to its
 * history, which amounts to at most 2,000 a day.
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
  /** Reads the row, and begins the snapshot if it is due. */
  lookAtCampaign(campaignId: number, asOf: string): Promise<CampaignStep>;
  /** Does what an operator's signal asks for, if the state allows it. */
  changeCampaign(campaignId: number, change: OperatorSignal, asOf: string): Promise<void>;
  /** Writes recipients for up to `stayMs`, and checks the stop thresholds during that time. */
  snapshotCampaign(campaignId: number, asOf: string, stayMs: number): Promise<CampaignStep>;
  /** Watches a campaign that is being sent for up to `stayMs`: thresholds, throttle, A/B test, end. */
  watchCampaign(campaignId: number, asOf: string, stayMs: number): Promise<CampaignStep>;
  /** Cancels remaining messages, or completes the campaign. */
  finishCampaign(campaignId: number, asOf: string): Promise<CampaignStep>;
}
