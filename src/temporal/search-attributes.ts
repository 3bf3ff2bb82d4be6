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
