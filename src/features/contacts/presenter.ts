import type { ContactRow } from './model.ts';
import type { Contact, ContactChannel } from './schema.ts';

/** The id of a contact's email channel. That of its phone channel is one more. */
export const emailChannelId = (contactId: number): number => contactId * 2;
export const phoneChannelId = (contactId: number): number => contactId * 2 + 1;

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;

function presentEmail(row: ContactRow): ContactChannel[] {
  if (row.email === null) return [];
  return [
    {
      id: emailChannelId(row.id),
      contact_id: row.id,
      kind: 'email',
      value: row.email,
      subscribed: row.email_subscribed,
      verified: row.email_verified,
      opt_in_at: iso(row.email_opt_in_at),
      opt_out_at: iso(row.email_opt_out_at),
      sent_count: row.email_sent_count,
      fail_count: row.email_fail_count,
      data: row.email_data ?? {},
      created_at: (row.email_created_at ?? row.created_at).toISOString(),
      updated_at: (row.email_updated_at ?? row.updated_at).toISOString(),
    },
  ];
}

function presentPhone(row: ContactRow): ContactChannel[] {
  if (row.phone === null) return [];
  return [
    {
      id: phoneChannelId(row.id),
      contact_id: row.id,
      kind: 'phone',
      value: row.phone,
      subscribed: row.phone_subscribed,
      verified: row.phone_verified,
      opt_in_at: iso(row.phone_opt_in_at),
      opt_out_at: iso(row.phone_opt_out_at),
      sent_count: row.phone_sent_count,
      fail_count: row.phone_fail_count,
      data: row.phone_data ?? {},
      created_at: (row.phone_created_at ?? row.created_at).toISOString(),
      updated_at: (row.phone_updated_at ?? row.updated_at).toISOString(),
    },
  ];
}

function verificationStatusOf(row: ContactRow): Contact['verification_status'] {
  if (row.suppressed) return 'suppressed';
  return row.email_verified || row.phone_verified ? 'verified' : 'unverified';
}

export function presentContact(row: ContactRow): Contact {
  return {
    id: row.id,
    uuid: row.uuid,
    first_name: row.first_name,
    last_name: row.last_name,
    source: row.source,
    country_code: row.country_code,
    data: row.data,
    subscribed_phone: row.phone !== null && row.phone_subscribed,
    subscribed_email: row.email !== null && row.email_subscribed,
    verification_status: verificationStatusOf(row),
    enrichment_status: row.enriched_at === null ? 'not_enriched' : 'enriched',
    list_ids: row.list_ids,
    last_interacted_at: iso(row.last_interacted_at),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    channels: [...presentEmail(row), ...presentPhone(row)],
  };
}
