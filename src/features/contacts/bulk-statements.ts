import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Match, Pending, Work } from './bulk-work.ts';
import type { NewChannels } from './new-channels.ts';
import { MAX_DATA_BYTES } from './schema.ts';

/** Leaves null out of the JSON, which is half a megabyte for a chunk of an import. */
const withoutNull = <T>(value: T | null): T | undefined => value ?? undefined;

/**
 * Returns the row as the statements read it.
 * @param isNew which channels the contact gets
 * @param replacesPhone whether the number replaces another, which keeps its subscription whatever the row says
 */
export function toRow(
  channels: NewChannels,
  { contact, index }: Pending,
  isNew: { email: boolean; phone: boolean },
  replacesPhone = false,
) {
  const { email, phone, subscribed, optedInAt } = contact;
  const ofEmail = channels.state('email', isNew.email ? email?.key : null, subscribed.email);
  const says = replacesPhone ? null : subscribed.phone;
  const ofPhone = channels.state('sms', isNew.phone ? phone : null, says);
  return {
    n: index,
    first_name: withoutNull(contact.firstName),
    last_name: withoutNull(contact.lastName),
    country_code: withoutNull(contact.countryCode),
    source: withoutNull(contact.source),
    data: withoutNull(contact.data),
    email: email?.address,
    email_key: email?.key,
    email_subscribed: ofEmail.subscribed,
    email_opt_in_at: withoutNull(optedInAt.email),
    email_opt_out_at: withoutNull(ofEmail.optOutAt),
    phone: withoutNull(phone),
    phone_subscribed: ofPhone.subscribed,
    phone_opt_in_at: withoutNull(optedInAt.phone),
    phone_opt_out_at: withoutNull(ofPhone.optOutAt),
  };
}

const ROW_TYPE = `(n int, id bigint, first_name text, last_name text, country_code text, source text, data jsonb,
  email text, email_key text, email_subscribed boolean, email_opt_in_at timestamptz, email_opt_out_at timestamptz,
  phone text, phone_subscribed boolean, phone_opt_in_at timestamptz, phone_opt_out_at timestamptz)`;

interface Inserted {
  id: number;
  email_key: string | null;
  phone: string | null;
}

const INSERT = `
  insert into contacts (account_id, brand_id, first_name, last_name, source, country_code, data,
    email, email_key, email_subscribed, email_opt_in_at, email_opt_in_source, email_opt_out_at, email_created_at,
    email_updated_at, phone, phone_subscribed, phone_opt_in_at, phone_opt_in_source, phone_opt_out_at,
    phone_created_at, phone_updated_at, import_id)
  select $1, $2, r.first_name, r.last_name, coalesce(r.source, $3), r.country_code, coalesce(r.data, '{}'),
    r.email, r.email_key, r.email_subscribed, case when r.email_subscribed then coalesce(r.email_opt_in_at, now()) end,
    case when r.email_subscribed then $3 end, r.email_opt_out_at, case when r.email is not null then now() end,
    case when r.email is not null then now() end,
    r.phone, r.phone_subscribed, case when r.phone_subscribed then coalesce(r.phone_opt_in_at, now()) end,
    case when r.phone_subscribed then $3 end, r.phone_opt_out_at, case when r.phone is not null then now() end,
    case when r.phone is not null then now() end, $5
  from json_to_recordset($4) as r ${ROW_TYPE}
  order by r.email_key, r.phone`;

const UNIQUE_VIOLATION = '23505';

/** Runs the insert. @returns null, without effect, if one of the addresses is that of a contact */
async function insertFreshRows<Row extends pg.QueryResultRow>(
  trx: Queryable,
  values: unknown[],
  returned: string,
): Promise<Row[] | null> {
  await trx.query('savepoint fresh');
  try {
    const { rows } = await trx.query<Row>(`${INSERT} returning ${returned}`, values);
    await trx.query('release savepoint fresh');
    return rows;
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await trx.query('rollback to savepoint fresh');
    return null;
  }
}

/**
 * Inserts contacts that do not exist.
 * @returns their ids in any order; null, without effect, if one of their addresses is that of a contact
 */
export async function insertNewRows(trx: Queryable, values: unknown[]): Promise<number[] | null> {
  const inserted = await insertFreshRows<{ id: number }>(trx, values, 'id');
  return inserted && inserted.map(({ id }) => id);
}

/**
 * Inserts contacts that did not exist a moment ago. `on conflict` searches every unique index for each row, so it is
 * used only if a plain insert fails because another transaction created one of the contacts in the meantime.
 * @returns the contacts that were inserted
 */
export async function insertRows(trx: Queryable, values: unknown[]): Promise<Inserted[]> {
  const columns = 'id, email_key, phone';
  const inserted = await insertFreshRows<Inserted>(trx, values, columns);
  if (inserted) return inserted;
  const text = `${INSERT} on conflict do nothing returning ${columns}`;
  return (await trx.query<Inserted>(text, values)).rows;
}

/**
 * SQL over `c` and `r`: the keys of the row's data whose values differ from the contact's. Values are compared as text:
 * a file has the text 5 if the contact has the number 5, which then stays a number.
 */
const CHANGED_DATA = `coalesce((
      select jsonb_object_agg(e.key, e.value) from jsonb_each(r.data) e
      where (c.data ->> e.key) is distinct from (r.data ->> e.key)), '{}')`;

/** Finds the contacts that would have too much data. Only those near the limit, which are few, are read. */
export async function findOverflows({ trx }: Work, matches: readonly Match[]): Promise<Set<number>> {
  const near = matches.filter(({ contact: { data }, known }) => {
    return data && known.data_bytes + Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES;
  });
  if (near.length === 0) return new Set();
  const { rows } = await trx.query<{ id: number }>(
    `select c.id from json_to_recordset($1) as r (id bigint, data jsonb) join contacts c on c.id = r.id
     where octet_length((c.data || ${CHANGED_DATA})::text) > $2`,
    [
      JSON.stringify(near.map(({ known, contact }) => ({ id: known.id, data: contact.data }))),
      MAX_DATA_BYTES,
    ],
  );
  return new Set(rows.map(({ id }) => id));
}

const differs = (column: string) => `(r.${column} is not null and r.${column} is distinct from c.${column})`;
const addsEmail = '(r.email_key is not null and c.email_key is null)';
const addsPhone = '(r.phone is not null and c.phone is null)';
const changesPhone = '(r.phone is not null and r.phone is distinct from c.phone)';

const FORMER = `, former as (
    insert into contact_former_addresses (contact_id, address_key)
    select c.id, c.phone from given r join contacts c on c.id = r.id
    where r.phone is not null and c.phone is not null and r.phone <> c.phone order by c.id
    on conflict do nothing
  )`;

/** @param replacesPhone whether a contact may get another phone number */
export const updateSql = (replacesPhone: boolean) => `
  with given as materialized (select * from json_to_recordset($1) as r ${ROW_TYPE})${replacesPhone ? FORMER : ''}
  update contacts c set
    first_name = coalesce(r.first_name, c.first_name), last_name = coalesce(r.last_name, c.last_name),
    country_code = coalesce(r.country_code, c.country_code), source = coalesce(r.source, c.source),
    data = case when r.data is null then c.data else c.data || ${CHANGED_DATA} end,
    email = case when ${addsEmail} then r.email else c.email end, email_key = coalesce(c.email_key, r.email_key),
    email_subscribed = case when ${addsEmail} then r.email_subscribed else c.email_subscribed end,
    email_opt_in_at = case when ${addsEmail} and r.email_subscribed then coalesce(r.email_opt_in_at, now())
      else c.email_opt_in_at end,
    email_opt_in_source = case when ${addsEmail} and r.email_subscribed then $2 else c.email_opt_in_source end,
    email_opt_out_at = case when ${addsEmail} then r.email_opt_out_at else c.email_opt_out_at end,
    email_created_at = case when ${addsEmail} then now() else c.email_created_at end,
    email_updated_at = case when ${addsEmail} then now() else c.email_updated_at end,
    phone = coalesce(r.phone, c.phone),
    -- A number that replaces another is subscribed if both the old one and the new one may be.
    phone_subscribed = case when ${addsPhone} then r.phone_subscribed
      when ${changesPhone} then c.phone_subscribed and r.phone_opt_out_at is null else c.phone_subscribed end,
    phone_verified = case when ${changesPhone} then false else c.phone_verified end,
    phone_opt_in_at = case when ${addsPhone} and r.phone_subscribed then coalesce(r.phone_opt_in_at, now())
      else c.phone_opt_in_at end,
    phone_opt_in_source = case when ${addsPhone} and r.phone_subscribed then $2 else c.phone_opt_in_source end,
    phone_opt_out_at = case when ${changesPhone} then coalesce(r.phone_opt_out_at, c.phone_opt_out_at)
      else c.phone_opt_out_at end,
    phone_created_at = case when ${changesPhone} then now() else c.phone_created_at end,
    phone_updated_at = case when ${changesPhone} then now() else c.phone_updated_at end,
    updated_at = now()
  from given r
  where c.id = r.id and (${['first_name', 'last_name', 'country_code', 'source', 'phone'].map(differs).join(' or ')}
    or ${addsEmail} or (r.data is not null and not c.data @> r.data and ${CHANGED_DATA} <> '{}'))
  returning r.n`;
