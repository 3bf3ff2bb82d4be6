import { createHash } from 'node:crypto';
import type { Channel } from '../../delivery/terms/message.ts';
import { optedOutAtSql } from '../../delivery/ledger/consent/opt-outs.ts';
import { suppressedSql } from '../../delivery/ledger/consent/suppressions.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { PreparedStatement } from '../../platform/db/statements.ts';

/** A row of `contacts`. */
export interface StoredContact {
  id: number;
  account_id: number;
  brand_id: number;
  uuid: string;
  first_name: string | null;
  last_name: string | null;
  source: string | null;
  country_code: string | null;
  data: Record<string, unknown>;
  email: string | null;
  email_key: string | null;
  email_subscribed: boolean;
  email_verified: boolean;
  email_opt_in_at: Date | null;
  email_opt_in_source: string | null;
  email_opt_out_at: Date | null;
  email_data: Record<string, unknown> | null;
  email_created_at: Date | null;
  email_updated_at: Date | null;
  phone: string | null;
  phone_subscribed: boolean;
  phone_verified: boolean;
  phone_opt_in_at: Date | null;
  phone_opt_in_source: string | null;
  phone_opt_out_at: Date | null;
  phone_data: Record<string, unknown> | null;
  phone_created_at: Date | null;
  phone_updated_at: Date | null;
  enriched_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** A row of `contacts` with the columns of other tables that the resource shows. */
export interface ContactRow extends StoredContact {
  email_sent_count: number;
  email_fail_count: number;
  phone_sent_count: number;
  phone_fail_count: number;
  last_interacted_at: Date | null;
  list_ids: number[];
  suppressed: boolean;
}

/** SQL over `c`, a row of `contacts`: whether one of its addresses has an active suppression. */
export const contactSuppressedSql = suppressedSql({
  account: 'c.account_id',
  key: 'any(array[c.email_key, c.phone])',
});

const OWN_COLUMNS = `c.id, c.account_id, c.brand_id, c.uuid, c.first_name, c.last_name, c.source, c.country_code, c.data,
  c.email, c.email_key, c.email_subscribed, c.email_verified, c.email_opt_in_at, c.email_opt_in_source, c.email_opt_out_at, c.email_data,
  c.email_created_at, c.email_updated_at, c.phone, c.phone_subscribed, c.phone_verified, c.phone_opt_in_at,
  c.phone_opt_in_source, c.phone_opt_out_at, c.phone_data, c.phone_created_at, c.phone_updated_at, c.enriched_at, c.created_at, c.updated_at`;

const COLUMNS = `${OWN_COLUMNS},
  coalesce(ec.sent_count, 0) as email_sent_count, coalesce(ec.fail_count, 0) as email_fail_count,
  coalesce(pc.sent_count, 0) as phone_sent_count, coalesce(pc.fail_count, 0) as phone_fail_count,
  a.last_interacted_at, ${contactSuppressedSql} as suppressed,
  array(
    select m.list_id from list_members m join lists l on l.id = m.list_id and l.removed_at is null
    where m.contact_id = c.id order by m.list_id) as list_ids`;

/**
 * SQL: a select of {@link ContactRow}s.
 * @param source SQL: rows of `contacts`
 */
export const contactRowsSql = (source: string): string => `select ${COLUMNS} from ${source} c
  left join contact_activity a on a.contact_id = c.id
  left join contact_channel_counts ec on ec.contact_id = c.id and ec.channel = 'email'
  left join contact_channel_counts pc on pc.contact_id = c.id and pc.channel = 'sms'`;

/** @returns the contacts of the brand among `ids`, in no particular order */
export async function findContacts(
  db: Queryable,
  brandId: number,
  ids: readonly number[],
): Promise<ContactRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<ContactRow>(
    contactRowsSql('(select * from contacts where brand_id = $1 and id = any($2) offset 0)'),
    [brandId, ids],
  );
  return rows;
}

export interface ContactKeys {
  ids?: readonly number[];
  emailKeys?: readonly string[];
}

/** Finds which of the ids and addresses belong to contacts of the brand. */
export async function findIds(
  db: Queryable,
  brandId: number,
  { ids = [], emailKeys = [] }: ContactKeys,
): Promise<{ id: number; email_key: string | null }[]> {
  const { rows } = await db.query<{ id: number; email_key: string | null }>(
    `select id, email_key from contacts where brand_id = $1 and id = any($2)
     union
     select id, email_key from contacts where brand_id = $1 and email_key = any($3)`,
    [brandId, ids, emailKeys],
  );
  return rows;
}

/** Columns of `contacts` to write, by name. The names become SQL: they never come from a client. */
export type ContactValues = Record<string, unknown>;

export interface AddressKeys {
  emailKey: string | null;
  phone: string | null;
}

/**
 * SQL to follow `contacts c where`: the contact has one of the addresses. The brand is `$1`, the email `$2`, the phone
 * `$3`.
 */
const HAS_ADDRESS = `c.id = any(array(
  select id from contacts where brand_id = $1 and email_key = $2
  union select id from contacts where brand_id = $1 and phone = $3))`;

/** Finds the contacts that have one of two addresses: two at most, in the order of their ids. */
export async function findByAddress(
  db: Queryable,
  brandId: number,
  { emailKey, phone }: AddressKeys,
): Promise<StoredContact[]> {
  if (emailKey === null && phone === null) return [];
  const { rows } = await db.query<StoredContact>(
    `select ${OWN_COLUMNS} from contacts c where ${HAS_ADDRESS} order by c.id`,
    [brandId, emailKey, phone],
  );
  return rows;
}

/** Addresses, and the HMACs under which opt-outs of each may be stored. */
export interface AddressesToLock extends AddressKeys {
  emailHashes: readonly Buffer[];
  phoneHashes: readonly Buffer[];
}

export interface LockedAddresses {
  /** The contacts that have one of the addresses: two at most, in the order of their ids. */
  contacts: StoredContact[];
  /** When each address unsubscribed, according to the opt-out ledger. */
  optedOutAt: { email: Date | null; phone: Date | null };
}

type LockedRow = Omit<StoredContact, 'id'> & {
  /** Null: no contact has one of the addresses. */
  id: number | null;
  email_ledger_at: Date | null;
  phone_ledger_at: Date | null;
};

/**
 * Finds and locks the contacts that have one of two addresses, and looks the addresses up in the opt-out ledger.
 * @param trx a transaction that has the consent lock
 */
export async function lockAddresses(
  trx: Queryable,
  brandId: number,
  { emailKey, phone, emailHashes, phoneHashes }: AddressesToLock,
): Promise<LockedAddresses> {
  const { rows } = await trx.query<LockedRow>({
    name: 'lock_addresses',
    text: `
     with found as materialized (
       select ${OWN_COLUMNS} from contacts c where ${HAS_ADDRESS} order by c.id for no key update
     )
     select f.*, ledger.* from (select
       ${optedOutAtSql('$1', 'email', '$4::bytea[]')} as email_ledger_at,
       ${optedOutAtSql('$1', 'sms', '$5::bytea[]')} as phone_ledger_at) ledger
     left join found f on true order by f.id`,
    values: [brandId, emailKey, phone, emailHashes, phoneHashes],
  });
  // If the lock had to wait, the contact may have lost the address meanwhile.
  const contacts = rows.filter(
    (row): row is LockedRow & StoredContact =>
      row.id !== null &&
      ((emailKey !== null && row.email_key === emailKey) || (phone !== null && row.phone === phone)),
  );
  const [first] = rows;
  return {
    contacts,
    optedOutAt: { email: first?.email_ledger_at ?? null, phone: first?.phone_ledger_at ?? null },
  };
}

/** Finds a contact and locks it. */
export async function lockContact(
  trx: Queryable,
  brandId: number,
  id: number,
): Promise<StoredContact | null> {
  const { rows } = await trx.query<StoredContact>(
    `select ${OWN_COLUMNS} from contacts c where c.brand_id = $1 and c.id = $2 for no key update`,
    [brandId, id],
  );
  return rows[0] ?? null;
}

/** The columns of other tables for a contact that was just created. */
const NOTHING_YET = {
  email_sent_count: 0,
  email_fail_count: 0,
  phone_sent_count: 0,
  phone_fail_count: 0,
  last_interacted_at: null,
  list_ids: [],
} satisfies Partial<ContactRow>;

/** Statements by their columns. There are few sets of columns: optional fields, and one or two channels. */
const insertStatements = new Map<string, PreparedStatement>();

/**
 * Planning the statement takes longer than running it, so it is prepared. Its name depends on its columns alone, because
 * another process may use the same connection behind a pooler.
 */
function insertStatement(names: readonly string[]): PreparedStatement {
  const columns = names.join(', ');
  const known = insertStatements.get(columns);
  if (known) return known;
  const made = {
    name: `insert_contact_${createHash('sha256').update(columns).digest('hex').slice(0, 12)}`,
    text: `insert into contacts as c (${columns}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})
     on conflict do nothing returning ${OWN_COLUMNS}, ${contactSuppressedSql} as suppressed`,
  };
  insertStatements.set(columns, made);
  return made;
}

/** @returns the contact, which is in no list yet; null if a contact already has one of the addresses */
export async function insertContact(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  values: ContactValues,
  at: Date,
): Promise<ContactRow | null> {
  const all = { account_id: accountId, brand_id: brandId, created_at: at, updated_at: at, ...values };
  const { rows } = await trx.query<StoredContact & Pick<ContactRow, 'suppressed'>>({
    ...insertStatement(Object.keys(all)),
    values: Object.values(all),
  });
  return rows[0] ? { ...rows[0], ...NOTHING_YET } : null;
}

/** @param id of a contact that is locked */
export async function updateContact(
  trx: Queryable,
  id: number,
  values: ContactValues,
  at: Date,
): Promise<void> {
  const all = { updated_at: at, ...values };
  const set = Object.keys(all).map((name, index) => `${name} = $${index + 2}`);
  await trx.query(`update contacts set ${set.join(', ')} where id = $1`, [id, ...Object.values(all)]);
}

export async function keepFormerAddress(trx: Queryable, contactId: number, key: string): Promise<void> {
  await trx.query(
    `insert into contact_former_addresses (contact_id, address_key) values ($1, $2)
     on conflict (contact_id, address_key) do update set replaced_at = now()`,
    [contactId, key],
  );
}

export interface SubscriptionNote {
  contactId: number;
  channel: Channel;
  subscribed: boolean;
  source: string;
}

/** Adds a change of a subscription to the contact's history. */
export async function noteSubscription(trx: Queryable, note: SubscriptionNote): Promise<void> {
  await trx.query(
    'insert into contact_subscriptions (contact_id, channel, subscribed, source) values ($1, $2, $3, $4)',
    [note.contactId, note.channel, note.subscribed, note.source],
  );
}
