import type { Schemas } from './client.ts';

type Status = Schemas['Message']['status'];

/** The type ensures that none is missing. */
const STATUSES: Record<Status, true> = {
  queued: true,
  held: true,
  sending: true,
  sent: true,
  delivered: true,
  bounced: true,
  complained: true,
  failed: true,
  unknown: true,
  skipped: true,
  canceled: true,
};

/** The states of a message, in the order in which they occur. */
export const messageStatuses = Object.keys(STATUSES) as readonly Status[];

/** Those of the recipients of a campaign, which are queued until the provider has them. */
export const recipientStatuses: readonly Schemas['CampaignRecipient']['status'][] = messageStatuses.filter(
  (status) => status !== 'sending',
);
