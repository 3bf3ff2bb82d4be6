/**
 * The run of one contact through a flow, the cohorts in which many runs share a clock, and the audience of a flow. This
 * file imports nothing.
 */
export const flowRunType = 'flowRun';
export const flowCohortType = 'flowCohort';
export const flowAudienceType = 'flowAudience';

export interface FlowRunInput {
  schema: 1;
  runId: number;
  accountId: number;
  /** Given if the workflow continues as new before a long wait; its history then begins with the wait. */
  asleep?: { until: string | null; state: FlowRunState };
}

export interface FlowCohortInput {
  schema: 1;
  cohortId: number;
  accountId: number;
  /** Given if the workflow continues as new before a long wait; its history then begins with the wait. */
  asleep?: { until: string | null; state: FlowCohortState };
}

export interface FlowAudienceInput {
  schema: 1;
  flowId: number;
  accountId: number;
}

export function flowRunWorkflowId(flowId: number, contactId: number, cause: string): string {
  return `flow-run/${flowId}/${contactId}/${cause}`;
}

/** @param n the number of the cohort in its flow */
export function flowCohortWorkflowId(flowId: number, n: number): string {
  return `flow-cohort/${flowId}/${n}`;
}

export function flowAudienceWorkflowId(flowId: number): string {
  return `flow-audience/${flowId}`;
}

export const flowRunSignals = {
  /** From Carillon: read the row again. Earlier versions passed the id of the event that arrived. */
  wake: 'wake',
  /** From an operator: end the run, like `POST /flow_runs/{id}/cancel`. */
  cancel: 'cancel',
} as const;

export const flowCohortSignals = {
  /** From Carillon: a run was added, or may be due earlier. */
  wake: 'wake',
  /** From an operator: end all runs of the cohort. */
  cancel: 'cancel',
} as const;

export const flowAudienceSignals = { wake: 'wake' } as const;

export const flowRunQueries = { state: 'state' } as const;
export const flowCohortQueries = { state: 'state' } as const;

/** What a run does and waits for, as the query and the current details show it. No personal data. */
export interface FlowRunState {
  state: 'active' | 'completed' | 'exited' | 'canceled';
  /** Why the run ended; null while it is active. */
  reason: string | null;
  /** A sentence, such as `waits until Tuesday 09:00 for order_placed, then step 4`. */
  sentence: string;
  stepId: number | null;
  /** Number of steps taken. */
  steps: number;
}

/** The state after a transaction of the run, and what to do next. */
export type FlowRunAdvance = { state: FlowRunState } & (
  | {
      /** Wait for a signal, or until `until` in ISO 8601; null to wait only for a signal. */
      next: 'wait';
      until: string | null;
    }
  | { /** Further steps are due at once: the transaction did as many as fit. */ next: 'again' }
  | {
      /** Make the request of the webhook step, then advance. */
      next: 'call';
      stepId: number;
    }
  | { next: 'done' }
);

export type FlowRunStep =
  | FlowRunAdvance
  | {
      /** Nothing was done. Call again at `until`, in ISO 8601. `sentence` is the reason, for an operator. */
      next: 'later';
      until: string;
      sentence: string;
    };

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface FlowRunActivities {
  /**
   * Takes the due steps in one transaction, up to the next wait or webhook call.
   * @param accountId of the run, because accounts share the worker fairly
   */
  advanceRun(runId: number, asOf: string, accountId: number): Promise<FlowRunStep>;
  /**
   * Makes the request of the webhook step and stores the response, unless that is done. It throws, and is retried,
   * while the endpoint fails; the last attempt stores the failure instead.
   */
  callWebhook(runId: number, stepId: number, asOf: string): Promise<void>;
  /** Ends the run on behalf of an operator, if it is active. */
  cancelRun(runId: number, asOf: string): Promise<void>;
}

/** Active runs of a cohort that are at the same step and wait for the same. No personal data. */
export interface FlowCohortGroup {
  /** The step that they are at; null: before the first. */
  stepId: number | null;
  /** `time`, `event`, `webhook`, `quiet_hours` or `resume`; `retry`: the step failed; null: the step is due. */
  waitsFor: string | null;
  /** The event that they wait for; null: none. */
  eventName: string | null;
  count: number;
  /** When the first of them is due, in ISO 8601; null if no time is set. */
  next: string | null;
}

/** The runs of a cohort, as the query and the current details show them. */
export interface FlowCohortState {
  /** Such as `flow 12: 1,000 runs; 412 wait until 09:00, 380 wait for order_placed, 208 have ended; next at 09:00`. */
  sentence: string;
  runs: number;
  ended: number;
  /** The largest groups of the others. */
  groups: FlowCohortGroup[];
}

export interface FlowCohortStep {
  /** `wait`: until `until` or a signal; `again`: more runs are due; `done`: all have ended, and no run is added. */
  next: 'wait' | 'again' | 'done';
  /** ISO 8601; null to wait only for a signal. */
  until: string | null;
  /** Whether requests of webhook steps are due; see `callCohort`. */
  callsDue: boolean;
  state: FlowCohortState;
}

/** Nothing was changed, because others go first. */
export interface FlowCohortLater {
  next: 'later';
  /** When to try again, in ISO 8601. */
  until: string;
  /** The reason, for an operator. */
  sentence: string;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface FlowCohortActivities {
  /** Takes the due steps of the cohort's runs, many of them in each transaction, for up to `stayMs`. */
  advanceCohort(cohortId: number, asOf: string, stayMs: number): Promise<FlowCohortStep | FlowCohortLater>;
  /** Makes the requests of webhook steps that are due, and stores the responses. Failed ones become due later. */
  callCohort(cohortId: number, asOf: string): Promise<void>;
  /** Ends all active runs on behalf of an operator. */
  cancelCohort(cohortId: number, asOf: string): Promise<void>;
}

export interface FlowAudienceStep {
  /** `done`: the flow no longer needs an audience. */
  next: 'wait' | 'again' | 'done';
  /** When the contacts are compared again, in ISO 8601. */
  until: string | null;
  /** What was found, for an operator. */
  sentence: string;
}

export interface FlowAudienceActivities {
  /** Finds contacts who have begun to match the segment of the flow, for up to `stayMs`. */
  matchAudience(flowId: number, asOf: string, stayMs: number): Promise<FlowAudienceStep>;
}
