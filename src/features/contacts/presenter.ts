import type { ContactRow } from './model.ts';
import { type ChannelKind, channelKinds, type Contact, type ContactChannel } from './schema.ts';

/** The id of a contact's channel: twice that of the contact, and one more for the phone. */
export const channelId = (kind: ChannelKind, contactId: number): number =>
  2 * contactId + channelKinds.indexOf(kind);

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;

/** @returns nothing if the contact has no address of this kind */
function presentChannel(row: ContactRow, kind: ChannelKind): ContactChannel[] {
  const value = row[kind];
  if (value === null) return [];
  return [
    {
      id: channelId(kind, row.id),
      contact_id: row.id,
      kind,
      value,
      subscribed: row[`${kind}_subscribed`],
      verified: row[`${kind}_verified`],
      opt_in_at: iso(row[`${kind}_opt_in_at`]),
      opt_out_at: iso(row[`${kind}_opt_out_at`]),
      sent_count: row[`${kind}_sent_count`],
      fail_count: row[`${kind}_fail_count`],
      data: row[`${kind}_data`] ?? {},
      created_at: (row[`${kind}_created_at`] ?? row.created_at).toISOString(),
      updated_at: (row[`${kind}_updated_at`] ?? row.updated_at).toISOString(),
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
    channels: channelKinds.flatMap((kind) => presentChannel(row, kind)),
  };
}
