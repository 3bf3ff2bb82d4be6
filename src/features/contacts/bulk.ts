import { findOptOuts, optOutHashes, recordHashedOptOut } from '../../delivery/opt-outs.ts';
import type { Channel } from '../../delivery/message.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ConsentDeps, lockConsent } from './consent.ts';
import { MAX_DATA_BYTES } from './schema.ts';

/** A contact to create or to change. Null: nothing is known, and what the contact has stays. */
export interface BulkContact {
  email: { address: string; key: string } | null;
  /** In E.164 form. */
  phone: string | null;
  firstName: string | null;
  lastName: string | null;
  countryCode: string | null;
  source: string | null;
  /** Whether a new channel is subscribed; null: as the options say. */
  subscribed: { email: boolean | null; phone: boolean | null };
  data: Record<string, unknown> | null;
}

/** Whether the row opts a new channel out. */
export const optsOut = ({ subscribed }: Pick<BulkContact, 'subscribed'>): boolean =>
  subscribed.email === false || subscribed.phone === false;

export interface BulkOptions {
  /** Whether contacts that exist change. */
  updateExisting: boolean;
  /** Whether new channels are subscribed. Channels in the opt-out ledger never are. */
  subscribe: boolean;
  /** What created the contacts: source of those that name none, and of the opt-ins. */
  source: string;
}

export type BulkOutcome =
  { status: 'created' | 'updated' | 'unchanged'; id: number } | { status: 'failed'; problem: BulkProblem };

/**
 * `phone_conflict`: the phone number is another contact's. `email_conflict`: the phone number is that of a contact with
 * another email address. `data_too_large`: with what the contact has.
 */
export type BulkProblem = 'phone_conflict' | 'email_conflict' | 'data_too_large';

/** Others may create or delete the same contacts meanwhile. More than once is hardly possible. */
const MAX_ROUNDS = 10;

interface Known {
  id: number;
  email_key: string | null;
  phone: string | null;
  phone_subscribed: boolean;
  data_bytes: number;
}

interface Pending {
  contact: BulkContact;
  index: number;
}

interface Match extends Pending {
  known: Known;
}

interface Work {
  trx: Queryable;
  deps: ConsentDeps;
  scope: BrandScope;
  options: BulkOptions;
  outcomes: BulkOutcome[];
}

/** Finds the contacts with these addresses; locks them in the order of ids if they may change. */
async function findKnown({ trx, scope, options }: Work, pending: readonly Pending[]): Promise<Known[]> {
  const { rows } = await trx.query<Known>(
    `select id, email_key, phone, phone_subscribed, octet_length(data::text) as data_bytes from contacts
     where id = any(array(
       select id from contacts where brand_id = $1 and email_key = any($2)
       union select id from contacts where brand_id = $1 and phone = any($3)))
     order by id ${options.updateExisting ? 'for no key update' : ''}`,
    [
      scope.brandId,
      pending.flatMap(({ contact }) => contact.email?.key ?? []),
      pending.flatMap(({ contact }) => contact.phone ?? []),
    ],
  );
  return rows;
}

interface Plan {
  matches: Match[];
  fresh: Pending[];
  /** Rows about a contact that an earlier row of this round is about. */
  later: Pending[];
}

/** Decides for each row which contact it is about. Rows of one contact are done in their order, one in each round. */
function plan({ outcomes }: Work, pending: readonly Pending[], known: readonly Known[]): Plan {
  const byEmail = new Map(known.map((row) => [row.email_key, row]));
  const byPhone = new Map(known.map((row) => [row.phone, row]));
  const taken = new Set<number>();
  const found: Plan = { matches: [], fresh: [], later: [] };
  for (const each of pending) {
    const { email, phone } = each.contact;
    const ofEmail = email ? byEmail.get(email.key) : undefined;
    const ofPhone = phone === null ? undefined : byPhone.get(phone);
    const match = ofEmail ?? ofPhone;
    if (!match) found.fresh.push(each);
    else if (taken.has(match.id) || (ofPhone && taken.has(ofPhone.id))) found.later.push(each);
    else if (ofEmail && ofPhone && ofEmail.id !== ofPhone.id) {
      outcomes[each.index] = { status: 'failed', problem: 'phone_conflict' };
    } else if (!ofEmail && email && match.email_key !== null) {
      outcomes[each.index] = { status: 'failed', problem: 'email_conflict' };
    } else {
      taken.add(match.id);
      found.matches.push({ ...each, known: match });
    }
  }
  return found;
}

/** When each of the addresses unsubscribed from the brand. */
async function optOutsOf({ trx, deps, scope }: Work, channel: Channel, addresses: readonly string[]) {
  const { brandId } = scope;
  // Brands without opt-outs are spared an HMAC for each address.
  const { rows } = await trx.query<{ found: boolean }>(
    `select exists (select 1 from opt_outs where brand_id = $1 and channel = $2 and ended_at is null) as found`,
    [brandId, channel],
  );
  if (!rows[0]?.found) return new Map<string, Date>();
  const { plusAddresses } = deps;
  return findOptOuts(trx, deps.keyring, { brandId, channel, plusAddresses, addresses });
}

interface ChannelState {
  subscribed: boolean;
  optOutAt: Date | null;
}

/** The subscription of a new channel, and the opt-outs to record because the row says so. */
class NewChannels {
  private readonly work: Work;
  private readonly optOuts: Record<Channel, Map<string, Date>>;
  private readonly toRecord: Record<Channel, string[]> = { email: [], sms: [] };

  private constructor(work: Work, optOuts: Record<Channel, Map<string, Date>>) {
    this.work = work;
    this.optOuts = optOuts;
  }

  static async read(work: Work, rows: readonly Pending[]): Promise<NewChannels> {
    const emails = rows.flatMap(({ contact }) => contact.email?.key ?? []);
    const phones = rows.flatMap(({ contact }) => contact.phone ?? []);
    const email = await optOutsOf(work, 'email', emails);
    return new NewChannels(work, { email, sms: await optOutsOf(work, 'sms', phones) });
  }

  /** @param subscribed as the row says */
  state(channel: Channel, key: string | null | undefined, subscribed: boolean | null): ChannelState {
    if (!key) return { subscribed: false, optOutAt: null };
    const optOutAt = this.optOuts[channel].get(key);
    if (optOutAt) return { subscribed: false, optOutAt };
    if (subscribed === false) return { subscribed: false, optOutAt: new Date() };
    return { subscribed: subscribed ?? this.work.options.subscribe, optOutAt: null };
  }

  /** Notes that a channel was created. */
  created({ email, phone, subscribed }: Pick<BulkContact, 'email' | 'phone' | 'subscribed'>): void {
    if (email && subscribed.email === false && !this.optOuts.email.has(email.key))
      this.toRecord.email.push(email.key);
    if (phone !== null && subscribed.phone === false && !this.optOuts.sms.has(phone))
      this.toRecord.sms.push(phone);
  }

  /** Records the opt-outs of the channels that were created. */
  async record(): Promise<void> {
    const { trx, deps, scope } = this.work;
    const { accountId, brandId } = scope;
    for (const channel of ['email', 'sms'] as const) {
      const { plusAddresses } = deps;
      const hashes = this.toRecord[channel].flatMap((address) =>
        optOutHashes(deps.keyring, { brandId, channel, address, plusAddresses }),
      );
      if (hashes.length === 0) continue;
      const optOut = { accountId, brandId, channel, source: 'manual', messageId: null } as const;
      await recordHashedOptOut(trx, hashes, optOut);
    }
  }
}

function toRow(
  channels: NewChannels,
  { contact, index }: Pending,
  isNew: { email: boolean; phone: boolean },
  replacesPhone = false,
) {
  const { email, phone, subscribed } = contact;
  const ofEmail = channels.state('email', isNew.email ? email?.key : null, subscribed.email);
  const says = replacesPhone ? null : subscribed.phone;
  const ofPhone = channels.state('sms', isNew.phone ? phone : null, says);
  return {
    n: index,
    first_name: contact.firstName,
    last_name: contact.lastName,
    country_code: contact.countryCode,
    source: contact.source,
    data: contact.data,
    email: email?.address ?? null,
    email_key: email?.key ?? null,
    email_subscribed: ofEmail.subscribed,
    email_opt_out_at: ofEmail.optOutAt,
    phone,
    phone_subscribed: ofPhone.subscribed,
    phone_opt_out_at: ofPhone.optOutAt,
  };
}

const ROW_TYPE = `(n int, id bigint, first_name text, last_name text, country_code text, source text, data jsonb,
  email text, email_key text, email_subscribed boolean, email_opt_out_at timestamptz,
  phone text, phone_subscribed boolean, phone_opt_out_at timestamptz)`;

interface Inserted {
  id: number;
  email_key: string | null;
  phone: string | null;
}

const INSERT = `
  insert into contacts (account_id, brand_id, first_name, last_name, source, country_code, data,
    email, email_key, email_subscribed, email_opt_in_at, email_opt_in_source, email_opt_out_at, email_created_at,
    email_updated_at, phone, phone_subscribed, phone_opt_in_at, phone_opt_in_source, phone_opt_out_at,
    phone_created_at, phone_updated_at)
  select $1, $2, r.first_name, r.last_name, coalesce(r.source, $3), r.country_code, coalesce(r.data, '{}'),
    r.email, r.email_key, r.email_subscribed, case when r.email_subscribed then now() end,
    case when r.email_subscribed then $3 end, r.email_opt_out_at, case when r.email is not null then now() end,
    case when r.email is not null then now() end,
    r.phone, r.phone_subscribed, case when r.phone_subscribed then now() end,
    case when r.phone_subscribed then $3 end, r.phone_opt_out_at, case when r.phone is not null then now() end,
    case when r.phone is not null then now() end
  from json_to_recordset($4) as r ${ROW_TYPE}
  order by r.email_key, r.phone`;

const UNIQUE_VIOLATION = '23505';

/**
 * Inserts contacts that did not exist a moment ago. Looking for conflicts takes a look into every unique index for each
 * row, so it happens only if one of the contacts was created in that moment.
 * @returns those that were inserted
 */
async function insertRows(trx: Queryable, values: unknown[]): Promise<Inserted[]> {
  await trx.query('savepoint fresh');
  try {
    const text = `${INSERT} returning id, email_key, phone`;
    const { rows } = await trx.query<Inserted>(text, values);
    await trx.query('release savepoint fresh');
    return rows;
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await trx.query('rollback to savepoint fresh');
    const text = `${INSERT} on conflict do nothing returning id, email_key, phone`;
    return (await trx.query<Inserted>(text, values)).rows;
  }
}

/** Creates contacts in the order of their addresses. @returns those that others have created meanwhile */
async function insertFresh(work: Work, fresh: readonly Pending[]): Promise<Pending[]> {
  if (fresh.length === 0) return [];
  const { trx, scope, options, outcomes } = work;
  const channels = await NewChannels.read(work, fresh);
  const given = fresh.map((each) => toRow(channels, each, { email: true, phone: true }));
  const rows = await insertRows(trx, [scope.accountId, scope.brandId, options.source, JSON.stringify(given)]);
  const ids = new Map(rows.map((row) => [row.email_key ?? row.phone, row.id]));
  const lost: Pending[] = [];
  for (const each of fresh) {
    const id = ids.get(each.contact.email?.key ?? each.contact.phone);
    if (id === undefined) lost.push(each);
    else {
      outcomes[each.index] = { status: 'created', id };
      channels.created(each.contact);
    }
  }
  await channels.record();
  return lost;
}

/** Which of the contacts would have too much data. Nearly none needs a look at what they have. */
async function findOverflows({ trx }: Work, matches: readonly Match[]): Promise<Set<number>> {
  const near = matches.filter(({ contact: { data }, known }) => {
    return data && known.data_bytes + Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES;
  });
  if (near.length === 0) return new Set();
  const { rows } = await trx.query<{ id: number }>(
    `select c.id from json_to_recordset($1) as r (id bigint, data jsonb) join contacts c on c.id = r.id
     where octet_length((c.data || r.data)::text) > $2`,
    [
      JSON.stringify(near.map(({ known, contact }) => ({ id: known.id, data: contact.data }))),
      MAX_DATA_BYTES,
    ],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Changes contacts where a row differs from them. Subscriptions of channels that exist stay as they are. */
async function updateMatches(work: Work, matches: readonly Match[]): Promise<void> {
  const { trx, outcomes, options } = work;
  for (const { index, known } of matches) outcomes[index] = { status: 'unchanged', id: known.id };
  if (matches.length === 0 || !options.updateExisting) return;
  const overflows = await findOverflows(work, matches);
  const fitting = matches.filter(({ index, known }) => {
    if (overflows.has(known.id)) outcomes[index] = { status: 'failed', problem: 'data_too_large' };
    return !overflows.has(known.id);
  });
  const withChannel = fitting.filter(
    ({ contact, known }) =>
      (contact.email && !known.email_key) || (contact.phone !== null && contact.phone !== known.phone),
  );
  const channels = await NewChannels.read(work, withChannel);
  const given = fitting.map((match) => {
    const isNew = { email: match.known.email_key === null, phone: match.contact.phone !== match.known.phone };
    return { ...toRow(channels, match, isNew, match.known.phone !== null), id: match.known.id };
  });
  // In the order in which they lie in the table.
  given.sort((one, other) => one.id - other.id);
  const replacesPhone = fitting.some(
    ({ contact, known }) => contact.phone !== null && known.phone !== null && contact.phone !== known.phone,
  );
  const { rows } = await trx.query<{ n: number }>(updateSql(replacesPhone), [
    JSON.stringify(given),
    options.source,
  ]);
  for (const { n } of rows)
    outcomes[n] = { ...(outcomes[n] as BulkOutcome & { id: number }), status: 'updated' };
  for (const { contact, known } of withChannel) {
    channels.created({
      email: known.email_key === null ? contact.email : null,
      phone: known.phone === null ? contact.phone : null,
      subscribed: contact.subscribed,
    });
    // A number that replaces another keeps the subscription, whatever the row says.
    const replaces = known.phone !== null && contact.phone !== known.phone;
    if (replaces && !known.phone_subscribed) {
      channels.created({ email: null, phone: contact.phone, subscribed: { email: null, phone: false } });
    }
  }
  await channels.record();
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
const updateSql = (replacesPhone: boolean) => `
  with given as materialized (select * from json_to_recordset($1) as r ${ROW_TYPE})${replacesPhone ? FORMER : ''}
  update contacts c set
    first_name = coalesce(r.first_name, c.first_name), last_name = coalesce(r.last_name, c.last_name),
    country_code = coalesce(r.country_code, c.country_code), source = coalesce(r.source, c.source),
    data = case when r.data is null then c.data else c.data || r.data end,
    email = case when ${addsEmail} then r.email else c.email end, email_key = coalesce(c.email_key, r.email_key),
    email_subscribed = case when ${addsEmail} then r.email_subscribed else c.email_subscribed end,
    email_opt_in_at = case when ${addsEmail} and r.email_subscribed then now() else c.email_opt_in_at end,
    email_opt_in_source = case when ${addsEmail} and r.email_subscribed then $2 else c.email_opt_in_source end,
    email_opt_out_at = case when ${addsEmail} then r.email_opt_out_at else c.email_opt_out_at end,
    email_created_at = case when ${addsEmail} then now() else c.email_created_at end,
    email_updated_at = case when ${addsEmail} then now() else c.email_updated_at end,
    phone = coalesce(r.phone, c.phone),
    -- A number that replaces another is subscribed if both the old one and the new one may be.
    phone_subscribed = case when ${addsPhone} then r.phone_subscribed
      when ${changesPhone} then c.phone_subscribed and r.phone_opt_out_at is null else c.phone_subscribed end,
    phone_verified = case when ${changesPhone} then false else c.phone_verified end,
    phone_opt_in_at = case when ${addsPhone} and r.phone_subscribed then now() else c.phone_opt_in_at end,
    phone_opt_in_source = case when ${addsPhone} and r.phone_subscribed then $2 else c.phone_opt_in_source end,
    phone_opt_out_at = case when ${changesPhone} then coalesce(r.phone_opt_out_at, c.phone_opt_out_at)
      else c.phone_opt_out_at end,
    phone_created_at = case when ${changesPhone} then now() else c.phone_created_at end,
    phone_updated_at = case when ${changesPhone} then now() else c.phone_updated_at end,
    updated_at = now()
  from given r
  where c.id = r.id and (${['first_name', 'last_name', 'country_code', 'source', 'phone'].map(differs).join(' or ')}
    or ${addsEmail} or (r.data is not null and (c.data || r.data) <> c.data))
  returning r.n`;

/**
 * Creates and changes many contacts of a brand in a few statements. A row is about the contact with its email address,
 * or else the one with its phone number.
 * @param trx the caller's transaction, in which no contact is locked yet
 * @param contacts each address is in at most one of them
 * @returns what became of each, in their order
 */
export async function bulkUpsertContacts(
  trx: Queryable,
  deps: ConsentDeps,
  scope: BrandScope,
  contacts: readonly BulkContact[],
  options: BulkOptions,
): Promise<BulkOutcome[]> {
  const work: Work = { trx, deps, scope, options, outcomes: [] };
  await lockConsent(trx, scope.brandId, contacts.some(optsOut) ? 'alone' : 'shared');
  let pending: Pending[] = contacts.map((contact, index) => ({ contact, index }));
  for (let round = 0; pending.length > 0; round += 1) {
    if (round === MAX_ROUNDS) throw new Error('contacts are created and deleted at the same time');
    const { matches, fresh, later } = plan(work, pending, await findKnown(work, pending));
    await updateMatches(work, matches);
    const lost = await insertFresh(work, fresh);
    pending = [...later, ...lost].sort((one, other) => one.index - other.index);
  }
  return work.outcomes;
}
