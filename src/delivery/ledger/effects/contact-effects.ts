/** What messages change about contacts: counts for each channel, and the engagement that segments filter by. */
import { byChannelSql, isChannelSql } from '../../terms/channels/index.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** The values of `contact_engagement.kind`. */
const engagementKinds = { sent: 0, opened: 1, clicked: 2 } as const;

/**
 * SQL: the contact of the message `m`. It is looked up when an outcome is recorded: at accept, the look-up would add a
 * tenth to the cost of a message. Each kind of address has a unique index.
 */
export const contactOfMessageSql = `coalesce(m.contact_id, ${byChannelSql(
  'm.channel',
  ({ contact }) =>
    `(select c.id from contacts c where c.brand_id = m.brand_id and c.${contact.key} = m.to_key)`,
  '\n        ',
)})`;

/** SQL: the same for an email. */
export const contactOfEmailSql = `coalesce(m.contact_id, (
        select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key))`;

/** SQL over `updated`: how a message counts for its contact. */
interface ContactOutcomes {
  /** The statement has set `sent_at`. */
  sentNow: string;
  /** The message failed or bounced, for the first time. */
  failedNow: string;
}

/**
 * SQL: locks contacts in the order of their ids, so that they are not deleted before the foreign keys are checked. A
 * contact that another transaction has locked is being deleted, so its rows are left out.
 * @param ids SQL: an array
 */
const lockedContactsSql = (ids: string): string =>
  `select id from contacts where id = any(${ids}) order by id for key share skip locked`;

/**
 * SQL: whether `locked_contacts` has the contact. `is true` makes it a hashed subplan. Senders' statements join by
 * nested loops only, and a join of the two inputs would visit each pair.
 * @param id SQL
 */
const isLockedSql = (id: string): string => `(${id} in (select id from locked_contacts)) is true`;

/** The CTE of {@link contactCtes} that locks rows last. */
export const CONTACT_COUNTS = 'contact_counts';

/**
 * SQL: counts the messages in `updated` that have a contact, and stores which emails were sent. Statements for accounts
 * without contacts leave it out: even empty, these parts cost as much as a message does.
 */
export function contactCtes({ sentNow, failedNow }: ContactOutcomes): string {
  return `, contacted as materialized (
    select u.id as message_id, u.brand_id, u.contact_id, u.channel, u.sent_at, ${sentNow} as sent_now,
      ${failedNow} as failed_now
    from updated u where u.contact_id is not null and not u.test
  ), locked_contacts as materialized (${lockedContactsSql('array(select contact_id from contacted)')}
  ), engaged as (
    insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
    select brand_id, contact_id, message_id, ${engagementKinds.sent}, sent_at
    from contacted where sent_now and ${isChannelSql('channel', ({ isTracked }) => isTracked)} and ${isLockedSql('contact_id')}
  ), ${CONTACT_COUNTS} as (
    insert into contact_channel_counts as c (contact_id, channel, sent_count, fail_count)
    select contact_id, channel, count(*) filter (where sent_now), count(*) filter (where failed_now)
    from contacted where (sent_now or failed_now) and ${isLockedSql('contact_id')} group by contact_id, channel order by contact_id, channel
    on conflict (contact_id, channel) do update set
      sent_count = c.sent_count + excluded.sent_count, fail_count = c.fail_count + excluded.fail_count
    returning 1
  )`;
}

/** SQL: the contacts of an array, in its order; null for those that are being deleted. @param contacts SQL: the array */
export const sentContactsSql = (contacts: string): string => `
    select case when contact_id in (${lockedContactsSql(contacts)}) then contact_id end
    from unnest(${contacts}) with ordinality as u (contact_id, n) order by n`;

/**
 * SQL: two statements that count emails that were just sent, as {@link contactCtes} does.
 * @param ids SQL: an array with the emails
 * @param brands SQL: the brand of each
 * @param contacts SQL: its contact, or null, from {@link sentContactsSql}
 */
export const countSentContactsSql = (ids: string, brands: string, contacts: string): string => `
    insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
    select brand_id, contact_id, id, ${engagementKinds.sent}, now()
    from unnest(${ids}, ${brands}, ${contacts}) as u (id, brand_id, contact_id) where contact_id is not null;
    insert into contact_channel_counts as c (contact_id, channel, sent_count, fail_count)
    select contact_id, 'email', count(*), 0
    from unnest(${contacts}) as u (contact_id) where contact_id is not null group by 1 order by 1
    on conflict (contact_id, channel) do update set sent_count = c.sent_count + excluded.sent_count;`;

/** A contact opened a message or clicked a link in it. */
export interface Interaction {
  messageId: number;
  brandId: number;
  contactId: number;
  occurredAt: Date;
  /** Null: the message was opened or clicked before, so only the time of the contact's last interaction changes. */
  kind: 'opened' | 'clicked' | null;
}

/** Minimum interval between two writes of a contact's last interaction. */
const ACTIVITY_INTERVAL = `interval '1 minute'`;

const interactionsSql = `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, "brandId" bigint, "contactId" bigint, "occurredAt" timestamptz, kind smallint)
  ), locked_contacts as materialized (${lockedContactsSql('$2')}
  ), engaged as (
    insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
    select "brandId", "contactId", "messageId", kind, "occurredAt"
    from input where kind is not null and ${isLockedSql('"contactId"')}
  )
  insert into contact_activity as a (contact_id, last_interacted_at)
  select "contactId", max("occurredAt") from input where ${isLockedSql('"contactId"')}
  group by "contactId" order by "contactId"
  on conflict (contact_id) do update set last_interacted_at = excluded.last_interacted_at
    where a.last_interacted_at < excluded.last_interacted_at - ${ACTIVITY_INTERVAL}`;

/**
 * Stores what contacts did. Contacts that were deleted meanwhile are left out.
 * @param client inside the caller's transaction, which has locked the messages
 */
export async function recordInteractions(
  client: Queryable,
  interactions: readonly Interaction[],
): Promise<void> {
  if (interactions.length === 0) return;
  const input = interactions.map((each) => ({ ...each, kind: each.kind && engagementKinds[each.kind] }));
  await client.query({
    name: 'record_interactions',
    text: interactionsSql,
    values: [JSON.stringify(input), [...new Set(interactions.map(({ contactId }) => contactId))]],
  });
}
