import type { Schemas } from './client.ts';

type Status = Schemas['Message']['status'];

/** The type ensures that none is missing. */
const STATUSES: Record<Status, true> = {
  scheduled: true,
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

/** Those of the recipients of a campaign, which are queued until the provider has them and have no time of their own. */
export const recipientStatuses: readonly Schemas['CampaignRecipient']['status'][] = messageStatuses.filter(
  (status) => status !== 'sending' && status !== 'scheduled',
);

const WAITING: ReadonlySet<Status> = new Set(['scheduled', 'queued', 'held']);

/** Whether a message leaves by itself later, and can be canceled until then. */
export const isWaiting = (status: Status): boolean => WAITING.has(status);
