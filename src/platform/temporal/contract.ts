/**
 * What the rest of the code says to the workflow engine. This file imports nothing, so that features, services and
 * workflows may use it.
 */

/**
 * Where work waits for a process. `orchestration` carries workflows and short activities; `flows` carries the workflows of
 * runs of flows, thousands of which may be started at once, so that they delay no other workflow; `bulk` carries long or
 * many activities, so that they never delay the short ones; `calls` carries the requests of flows to endpoints of clients,
 * which may not answer. The `worker` role serves these. `delivery` carries only the lanes' activities and is served by
 * `sender`.
 */
export const taskQueues = {
  orchestration: 'orchestration',
  flows: 'flows',
  bulk: 'bulk',
  calls: 'calls',
  delivery: 'delivery',
} as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];

/** What an operator may filter workflows by. All are Keywords; their values are ids, never personal data. */
export const searchAttributeNames = [
  'AccountId',
  'BrandId',
  'CampaignId',
  'FlowId',
  'WebhookId',
  'ContactId',
] as const;

export type SearchAttributeName = (typeof searchAttributeNames)[number];

/** Ids as they are in the database; sent to the engine as strings. */
export type SearchAttributeValues = Partial<Record<SearchAttributeName, number | string>>;

/** A workflow to run. */
export interface WorkflowStart {
  /** The name under which `workflows/index.ts` exports it. */
  workflowType: string;
  /** From the feature's contract: a pure function of a row's id. */
  workflowId: string;
  /** Where the workflow itself runs; `orchestration` by default. */
  taskQueue?: TaskQueue;
  /** The workflow's arguments: ids, never a body, an address or a secret. */
  input?: unknown[];
  searchAttributes?: SearchAttributeValues;
  /** One line for an operator, such as `Webhook 7 of brand 3`. */
  summary?: string;
  /** Several lines of Markdown for an operator. */
  details?: string;
}

/** What an activity gives to a long piece of work. */
export interface Attendance {
  /** Reports that the work goes on. @param details what the engine shows from now on, instead of what it showed */
  progress: (details?: unknown) => void;
  /** Aborted when the work should end: the process is about to stop, or the activity was canceled. */
  stopping: AbortSignal;
  /** Which try of the activity it is, from 1 on. */
  attempt: number;
}

export interface WorkflowSignal {
  workflowId: string;
  /** The signal's name, from the feature's contract. */
  signal: string;
  /** The signal's arguments: ids, never a body, an address or a secret. */
  signalInput?: unknown[];
}

/**
 * A request to the engine. `start` does nothing if the workflow already runs; `signal` is dropped if the workflow is
 * gone. Each may arrive more than once and out of order, so a workflow reads its row again whenever it is woken.
 */
export type OutboxEntry =
  | ({ kind: 'start' } & WorkflowStart)
  | ({ kind: 'signal_with_start' } & WorkflowStart & WorkflowSignal)
  | ({ kind: 'signal' } & WorkflowSignal);
