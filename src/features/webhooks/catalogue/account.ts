import { z } from 'zod';
import { count, describeEvent, id, test, when } from '../../../platform/events/define.ts';

const HOUR_MS = 3_600_000;

const campaign = {
  campaign_id: id,
  name: z.string(),
  sent_count: count,
  failed_count: count,
  skipped_count: count,
};
const stop = z.object({ reason: z.string(), rate: z.number(), threshold: z.number() });
const limit = z.object({ allowance: count, used: count, resets_at: when, test });
const importFields = {
  import_id: id,
  filename: z.string(),
  total_rows: count,
  created_count: count,
  updated_count: count,
  unchanged_count: count,
  duplicate_count: count,
  failed_count: count,
};
const domain = z.object({
  domain_id: id,
  name: z.string(),
  records: z.array(
    z.object({
      record_type: z.string(),
      name: z.string(),
      value: z.string(),
      valid: z.string().meta({ description: '`true`, `false` or `unknown`.' }),
    }),
  ),
  test,
});

const campaignSample = { campaign_id: null, name: 'Spring sale', test: true } as const;
const bounceStop = { reason: 'bounce_rate', rate: 0.062, threshold: 0.05 };

const limitSample = (used: number) => (at: Date) => ({
  allowance: 50_000,
  used,
  resets_at: new Date(at.getTime() + 6 * HOUR_MS).toISOString(),
  test: true as const,
});

const domainSample = (valid: string) => () => ({
  domain_id: null,
  name: 'example.com',
  records: [
    {
      record_type: 'TXT',
      name: 'carillon._domainkey.example.com',
      value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A',
      valid,
    },
    { record_type: 'TXT', name: '_dmarc.example.com', value: 'v=DMARC1; p=none', valid: 'true' },
  ],
  test: true as const,
});

const campaignAndFlowEvents = {
  'campaign.completed': describeEvent({
    sentWhen: 'A campaign was sent to its whole audience.',
    data: z.object({ ...campaign, test }),
    sample: () => ({ ...campaignSample, sent_count: 12_480, failed_count: 14, skipped_count: 206 }),
  }),
  'campaign.failed': describeEvent({
    sentWhen: 'A campaign ended before it reached anybody.',
    data: z.object({ ...campaign, test }),
    sample: () => ({ ...campaignSample, sent_count: 0, failed_count: 0, skipped_count: 12_700 }),
  }),
  'campaign.stopped': describeEvent({
    sentWhen: 'A campaign was paused: too many bounces or complaints.',
    data: z.object({ ...campaign, stop, test }),
    sample: () => ({
      ...campaignSample,
      sent_count: 2_000,
      failed_count: 132,
      skipped_count: 31,
      stop: bounceStop,
    }),
  }),
  'flow.paused': describeEvent({
    sentWhen: 'A flow was paused: too many bounces or complaints.',
    data: z.object({ flow_id: id, name: z.string(), stop, test }),
    sample: () => ({ flow_id: null, name: 'Welcome', stop: bounceStop, test: true as const }),
  }),
};

/** They concern the whole account and reach the webhooks of every brand. */
const sendingEvents = {
  'sending.paused': describeEvent({
    sentWhen: 'All sending of the account was paused.',
    data: z.object({ account_id: id, reason: z.string(), test }),
    sample: () => ({ account_id: null, reason: 'complaint_rate', test: true as const }),
  }),
  'sending.limit_approaching': describeEvent({
    sentWhen: 'Most of the rolling 24-hour allowance is used.',
    data: limit,
    sample: limitSample(40_000),
  }),
  'sending.limit_reached': describeEvent({
    sentWhen: 'The whole rolling 24-hour allowance is used; messages wait for capacity.',
    data: limit,
    sample: limitSample(50_000),
  }),
};

const importEvents = {
  'import.completed': describeEvent({
    sentWhen: 'An import of contacts finished.',
    data: z.object({ ...importFields, test }),
    sample: () => ({
      import_id: null,
      filename: 'contacts.csv',
      total_rows: 1_000,
      created_count: 820,
      updated_count: 140,
      unchanged_count: 20,
      duplicate_count: 12,
      failed_count: 8,
      test: true as const,
    }),
  }),
  'import.failed': describeEvent({
    sentWhen: 'An import of contacts failed.',
    data: z.object({ ...importFields, reason: z.string(), test }),
    sample: () => ({
      import_id: null,
      filename: 'contacts.csv',
      reason: 'the file has no column of email addresses or phone numbers',
      total_rows: 0,
      created_count: 0,
      updated_count: 0,
      unchanged_count: 0,
      duplicate_count: 0,
      failed_count: 0,
      test: true as const,
    }),
  }),
};

const domainEvents = {
  'domain.verified': describeEvent({
    sentWhen: 'A sending domain passed verification.',
    data: domain,
    sample: domainSample('true'),
  }),
  'domain.verification_lost': describeEvent({
    sentWhen: 'A verified domain failed its DNS checks.',
    data: domain,
    sample: domainSample('false'),
  }),
  'domain.dns_degraded': describeEvent({
    sentWhen: 'The DNS records of a verified domain could not be confirmed.',
    data: domain,
    sample: domainSample('unknown'),
  }),
};

/** Of what else happens in an account (interface §6.4). */
export const accountEvents = {
  ...campaignAndFlowEvents,
  ...sendingEvents,
  ...importEvents,
  ...domainEvents,
  'webhook.disabled': describeEvent({
    sentWhen: 'A webhook was turned off after three days of failed deliveries.',
    data: z.object({ webhook_id: id, url: z.string(), failing_since: when, test }),
    sample: (at) => ({
      webhook_id: null,
      url: 'https://example.com/hooks/carillon',
      failing_since: new Date(at.getTime() - 72 * HOUR_MS).toISOString(),
      test: true as const,
    }),
  }),
};
