import { type CampaignCounts, NO_RECIPIENTS } from '../campaign-counts.ts';

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
