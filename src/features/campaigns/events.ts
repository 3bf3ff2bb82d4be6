import { z } from 'zod';
import { countField, defineEvent, idField, testField, timeField } from '../../platform/events/define.ts';

const campaignFields = {
  campaign_id: idField,
  name: z.string(),
  audience_count: countField,
  sent_count: countField,
  failed_count: countField,
  skipped_count: countField,
  unknown_count: countField,
  canceled_count: countField,
};
const stopField = z.object({
  reason: z.string(),
  rate: z.number().nullable(),
  threshold: z.number().nullable(),
  at: timeField,
});

const sampleCampaign = {
  campaign_id: null,
  name: 'Spring sale',
  test: true as const,
  unknown_count: 0,
  canceled_count: 0,
};

/** Why a campaign reached no recipient. */
export const failureReasons = ['empty_audience', 'all_skipped', 'all_failed'] as const;

export const campaignEvents = {
  completed: defineEvent('campaign.completed', {
    sentWhen: 'A campaign was sent to its whole audience.',
    data: z.object({ ...campaignFields, test: testField }),
    sample: () => ({
      ...sampleCampaign,
      audience_count: 12_700,
      sent_count: 12_480,
      failed_count: 14,
      skipped_count: 206,
    }),
  }),
  failed: defineEvent('campaign.failed', {
    sentWhen: 'A campaign ended before any of its messages was sent.',
    data: z.object({ ...campaignFields, reason: z.enum(failureReasons), test: testField }),
    sample: () => ({
      ...sampleCampaign,
      audience_count: 12_700,
      sent_count: 0,
      failed_count: 0,
      skipped_count: 12_700,
      reason: 'all_skipped' as const,
    }),
  }),
  stopped: defineEvent('campaign.stopped', {
    sentWhen: 'A campaign was paused because of too many bounces or complaints.',
    data: z.object({ ...campaignFields, stop: stopField, test: testField }),
    sample: (at) => ({
      ...sampleCampaign,
      audience_count: 12_700,
      sent_count: 2_000,
      failed_count: 132,
      skipped_count: 31,
      stop: { reason: 'bounce_rate', rate: 0.062, threshold: 0.05, at: at.toISOString() },
    }),
  }),
};
