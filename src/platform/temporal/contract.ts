/**
 * The requests that the rest of the code makes to the workflow engine. This file imports nothing, so that features,
 * services and workflows may use it.
 */

/**
 * The task queues. `orchestration` is for workflows and short activities. `flows` is for the workflows of flow runs:
 * thousands may start at once, and must not delay other workflows. `cohorts` is for the workflows of cohorts of runs and
 * their activities: earlier versions do not serve it. `bulk` is for long or numerous activities, which
 * must not delay the short ones. `calls` is for the requests of flows to clients' endpoints, which may not answer. The
 * `worker` role serves these. `delivery` is only for the lanes' activities, and `sender` serves it.
 */
export const taskQueues = {
  orchestration: 'orchestration',
  flows: 'flows',
  cohorts: 'cohorts',
  bulk: 'bulk',
  calls: 'calls',
  delivery: 'delivery',
} as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];

/** The attributes that operators filter workflows by. All are Keywords; their values are ids, never personal data. */
export const searchAttributeNames = [
  'AccountId',
  'BrandId',
  'CampaignId',
  'FlowId',
  'WebhookId',
  'ContactId',
] as const;

export type SearchAttributeName = (typeof searchAttributeNames)[number];

/** Ids from the database. They are sent to the engine as strings. */
export type SearchAttributeValues = Partial<Record<SearchAttributeName, number | string>>;

/** A workflow to run. */
export interface WorkflowStart {
  /** The name under which `workflows/index.ts` exports it. */
  workflowType: string;
  /** Comes from the feature's contract, as a pure function of a row's id. */
  workflowId: string;
  /** The queue in which the workflow itself runs; `orchestration` by default. */
  taskQueue?: TaskQueue;
  /** The workflow's arguments: ids, never a body, an address or a secret. */
  input?: unknown[];
  searchAttributes?: SearchAttributeValues;
  /** One line for an operator, such as `Webhook 7 of brand 3`. */
  summary?: string;
  /** Several lines of Markdown for an operator. */
  details?: string;
}

/** What an activity passes to a long task. */
export interface Attendance {
  /** Reports that the task is making progress. @param details replaces what the engine shows */
  progress: (details?: unknown) => void;
  /** Aborted when the task should end, because the process is about to stop or the activity was canceled. */
  stopping: AbortSignal;
  /** Number of this attempt of the activity; starts at 1. */
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
 * A request to the engine. `start` does nothing if the workflow is already running; `signal` is dropped if the workflow
 * has ended. Requests may arrive more than once and out of order, so a workflow reads its row again whenever it is
 * woken.
 */
export type OutboxEntry =
  | ({ kind: 'start' } & WorkflowStart)
  | ({ kind: 'signal_with_start' } & WorkflowStart & WorkflowSignal)
  | ({ kind: 'signal' } & WorkflowSignal);
