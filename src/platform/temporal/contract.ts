/**
 * Where work waits for a process that takes it. This file imports nothing, so that workflows may use it.
 * `orchestration`: workflows and short activities; `bulk`: long or many activities, so that they never hold up
 * the short ones; both are served by the `worker` role. `delivery`: only the lanes' activities, by `sender`.
 */
export const taskQueues = { orchestration: 'orchestration', bulk: 'bulk', delivery: 'delivery' } as const;

export type TaskQueue = (typeof taskQueues)[keyof typeof taskQueues];

/**
 * What an operator may filter workflows by; all are Keywords, and their values are ids, never a personal datum.
 * This file imports nothing, so that services and workflows may name them.
 */
export const searchAttributeNames = [
  'AccountId',
  'BrandId',
  'CampaignId',
  'FlowId',
  'WebhookId',
  'ContactId',
] as const;

export type SearchAttributeName = (typeof searchAttributeNames)[number];

/** Ids as they are in the database; written as strings. */
export type SearchAttributeValues = Partial<Record<SearchAttributeName, number | string>>;
