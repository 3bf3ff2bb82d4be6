import { z } from 'zod';

/**
 * The catalogue of webhook events (interface §6.3, §6.4): each type with the schema of its `data`.
 * A room that tells of something new adds it here and publishes it through `publishEvents`.
 */
const id = z.int().nullable().meta({ description: 'Null in test events.' });
const when = z.iso.datetime();
const count = z.int().min(0);
const test = z.literal(true).optional().meta({ description: 'Only in events of POST /webhooks/{id}/test.' });

const emailFields = {
  message_id: id,
  to: z.string().nullable().meta({ description: 'Null once the contact was deleted.' }),
  subject: z.string().nullable(),
  idempotency_key: z.string().optional().meta({ description: 'Absent where none was sent.' }),
  tags: z.record(z.string(), z.string()),
  test,
};

const bounce = z.object({
  type: z.enum(['hard', 'soft']),
  subtype: z.string(),
  diagnostic: z.string().nullable(),
});
const failure = z.object({ code: z.string(), message: z.string() });
const attachment = z.object({
  id: z.int().nullable(),
  filename: z.string(),
  content_type: z.string(),
  size: count,
  scanned: z.boolean(),
});

const emailData = {
  'email.sent': z.object({ ...emailFields, provider: z.string().nullable() }),
  'email.delivered': z.object({ ...emailFields, smtp_response: z.string().nullable() }),
  'email.bounced': z.object({ ...emailFields, bounce }),
  'email.complained': z.object(emailFields),
  'email.opened': z.object({ ...emailFields, user_agent: z.string().nullable() }),
  'email.clicked': z.object({ ...emailFields, url: z.string(), user_agent: z.string().nullable() }),
  'email.failed': z.object({ ...emailFields, failure }),
  'email.received': z.object({
    message_id: id,
    idempotency_key: z.string().optional(),
    tags: z.record(z.string(), z.string()),
    from: z.string(),
    to: z.string(),
    subject: z.string().nullable(),
    text: z.string().nullable(),
    html: z.string().nullable(),
    truncated: z.boolean(),
    auto_submitted: z.boolean(),
    attachments: z.array(attachment),
    conversation_id: id,
    conversation_message_id: id,
    test,
  }),
};

const campaignCounts = { sent_count: count, failed_count: count, skipped_count: count };
const stop = z.object({ reason: z.string(), rate: z.number(), threshold: z.number() });
const limit = z.object({ allowance: count, used: count, resets_at: when, test });
const importCounts = {
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
    z.object({ record_type: z.string(), name: z.string(), value: z.string(), valid: z.string() }),
  ),
  test,
});

const accountData = {
  'campaign.completed': z.object({ campaign_id: id, name: z.string(), ...campaignCounts, test }),
  'campaign.failed': z.object({ campaign_id: id, name: z.string(), ...campaignCounts, test }),
  'campaign.stopped': z.object({ campaign_id: id, name: z.string(), ...campaignCounts, stop, test }),
  'flow.paused': z.object({ flow_id: id, name: z.string(), stop, test }),
  'sending.paused': z.object({ account_id: id, reason: z.string(), test }),
  'sending.limit_approaching': limit,
  'sending.limit_reached': limit,
  'import.completed': z.object({ import_id: id, filename: z.string(), ...importCounts, test }),
  'import.failed': z.object({
    import_id: id,
    filename: z.string(),
    reason: z.string(),
    ...importCounts,
    test,
  }),
  'domain.verified': domain,
  'domain.verification_lost': domain,
  'domain.dns_degraded': domain,
  'webhook.disabled': z.object({ webhook_id: id, url: z.string(), failing_since: when, test }),
};

/** The schema of each event's `data`. */
export const eventData = { ...emailData, ...accountData };

export type EventType = keyof typeof eventData;

export const eventTypes = Object.keys(eventData) as [EventType, ...EventType[]];
