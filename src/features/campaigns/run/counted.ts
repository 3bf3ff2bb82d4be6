import type { CampaignCounts } from '../campaign-counts.ts';

export const NO_RECIPIENTS: CampaignCounts = {
  audience: 0,
  sent: 0,
  failed: 0,
  skipped: 0,
  unknown: 0,
  canceled: 0,
  remaining: 0,
};

/** Returns the counts for the events of a campaign. */
export function eventCounts(counts: CampaignCounts = NO_RECIPIENTS) {
  return {
    sent_count: counts.sent,
    failed_count: counts.failed,
    skipped_count: counts.skipped,
    audience_count: counts.audience,
    unknown_count: counts.unknown,
    canceled_count: counts.canceled,
  };
}
