import { channelFacts } from '../../delivery/terms/channels/index.ts';
import {
  acceptedHashes,
  endOptOut,
  findOptOuts,
  recordOptOut,
} from '../../delivery/ledger/consent/opt-outs.ts';
import { AppError, invalid, notFound, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { addToLists, replaceLists, requireLists } from '../lists/service.ts';
import { type ChannelChange, type ChannelChanges, Problems, readChannels } from './change.ts';
import { type ChannelState, channelStateOf, nextState, noChannel } from './channel-state.ts';
import { changeSubscription, type ConsentDeps, withConsent } from './consent.ts';
import { saysNo, withRefusals } from './copies.ts';
import { dataProblem, patchData } from './data.ts';
import {
  type AddressesToLock,
  type ContactRow,
  type ContactValues,
  type StoredContact,
  findByAddress,
  findContacts,
  insertContact,
  keepFormerAddress,
  lockAddresses,
  lockContact,
  noteSubscription,
  updateContact,
} from './model.ts';
import { presentContact } from './presenter.ts';
import {
  type ChangeContactBody,
  type ChannelKind,
  channelKinds,
  channelOfKind,
  type Contact,
  type CreateContactBody,
  MAX_CHANNEL_DATA_BYTES,
} from './schema.ts';

export interface WrittenContact {
  contact: Contact;
  created: boolean;
  /** Whether the request unsubscribes a channel: then the response waits for the recipient fence. */
  unsubscribed: boolean;
}

const unsubscribes = (changes: ChannelChanges) =>
  channelKinds.some((kind) => changes[kind]?.subscribed === false && !changes[kind].remove);

interface Writing {
  trx: Queryable;
  deps: ConsentDeps;
  tenant: BrandScope;
  at: Date;
  /** When each address of the request unsubscribed, if already looked up. */
  optedOutAt?: Record<ChannelKind, Date | null>;
}

type Body = CreateContactBody | ChangeContactBody;

/** @param row the contact that the request changes; null: a new one */
function fieldsOf(body: Body, row: StoredContact | null, at: Date): ContactValues {
  const { first_name, last_name, source, country_code, enrichment_status: status } = body;
  const enriched_at = status && (status === 'enriched' ? (row?.enriched_at ?? at) : null);
  const given = Object.entries({ first_name, last_name, source, country_code, enriched_at });
  const values: ContactValues = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  if (body.data === undefined) return values;
  const data = patchData(row?.data ?? {}, body.data);
  const problem = dataProblem(data);
  if (problem !== null) throw invalid({ data: [problem] });
  return { ...values, data: JSON.stringify(data) };
}

async function findOptOut(
  { trx, deps, tenant, optedOutAt: known }: Writing,
  kind: ChannelKind,
  key: string,
): Promise<Date | null> {
  if (known) return known[kind];
  const { keyring, plusAddresses } = deps;
  const of = { brandId: tenant.brandId, channel: channelOfKind[kind], plusAddresses, addresses: [key] };
  return (await findOptOuts(trx, keyring, of)).get(key) ?? null;
}

/** Brings the opt-out ledger in line with a channel that has a new address. */
async function syncLedger(
  { trx, deps, tenant }: Writing,
  kind: ChannelKind,
  address: string,
  subscribed: boolean,
): Promise<void> {
  const { keyring, plusAddresses } = deps;
  const ledger = { brandId: tenant.brandId, channel: channelOfKind[kind], address, plusAddresses };
  if (subscribed) await endOptOut(trx, keyring, ledger);
  else {
    const { accountId } = tenant;
    await recordOptOut(trx, keyring, { ...ledger, accountId, source: 'manual', messageId: null });
  }
}

function channelValues(kind: ChannelKind, state: ChannelState, at: Date): ContactValues {
  return {
    [kind]: state.address,
    [channelFacts[channelOfKind[kind]].contact.key]: state.key,
    [`${kind}_subscribed`]: state.subscribed,
    [`${kind}_verified`]: state.verified,
    [`${kind}_opt_in_at`]: state.optInAt,
    [`${kind}_opt_in_source`]: state.optInSource,
    [`${kind}_opt_out_at`]: state.optOutAt,
    [`${kind}_data`]: state.data === null ? null : JSON.stringify(state.data),
    [`${kind}_created_at`]: state.createdAt,
    [`${kind}_updated_at`]: state.key === null ? null : at,
  };
}

interface Planned {
  kind: ChannelKind;
  change: ChannelChange;
  before: ChannelState;
  after: ChannelState;
}

async function plan(
  writing: Writing,
  row: StoredContact | null,
  changes: ChannelChanges,
): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const kind of channelKinds) {
    const change = changes[kind];
    if (!change) continue;
    const before = row ? channelStateOf(row, kind) : noChannel;
    if (before.key === null && change.address === null && !change.remove) {
      throw invalid({ channels_attributes: [`need a value for ${kind}: the contact has no such channel`] });
    }
    const key = change.address?.key ?? null;
    const isNew = key !== null && key !== before.key;
    const history = { at: writing.at, optedOutAt: isNew ? await findOptOut(writing, kind, key) : null };
    const after = nextState(before, change, history);
    const problem = after.data === null ? null : dataProblem(after.data, MAX_CHANNEL_DATA_BYTES);
    if (change.data !== null && problem !== null) throw invalid({ [change.dataField]: [problem] });
    planned.push({ kind, change, before, after });
  }
  return planned;
}

/** Writes what follows from a change of a channel, after the contact's row: former address, ledger and history. */
async function follow(writing: Writing, id: number, { kind, change, before, after }: Planned): Promise<void> {
  const { trx, deps, tenant } = writing;
  const channel = channelOfKind[kind];
  const isMoved = before.key !== after.key;
  if (isMoved && before.key !== null) await keepFormerAddress(trx, id, before.key);
  if (after.address === null) return;
  if (!isMoved) {
    if (change.subscribed === null) return;
    await changeSubscription(trx, deps, {
      ...tenant,
      channel,
      subscribed: change.subscribed,
      source: 'manual',
      of: { contactId: id },
    });
    return;
  }
  if (change.subscribed === true || !after.subscribed) {
    await syncLedger(writing, kind, after.address, after.subscribed);
  }
  if (before.key !== null && before.subscribed !== after.subscribed) {
    await noteSubscription(trx, { contactId: id, channel, subscribed: after.subscribed, source: 'manual' });
  }
}

function requireAddress(row: StoredContact, planned: Planned[]): void {
  const left = channelKinds.some((kind) => {
    const change = planned.find((each) => each.kind === kind);
    return (change ? change.after : channelStateOf(row, kind)).key !== null;
  });
  if (!left)
    throw invalid({ channels_attributes: ['must leave the contact an email address or a phone number'] });
}

/** @throws AppError conflict */
async function requireFree(writing: Writing, id: number, changes: ChannelChanges): Promise<void> {
  const { trx, tenant } = writing;
  const found = await findByAddress(trx, tenant.brandId, keysOf(changes));
  const other = found.find((each) => each.id !== id);
  if (!other) return;
  const kind = channelKinds.find((each) => {
    const key = changes[each]?.address?.key;
    return key !== undefined && key === channelStateOf(other, each).key;
  });
  throw new AppError('conflict', `the ${kind ?? 'address'} belongs to the contact ${other.id}`);
}

const keysOf = (changes: ChannelChanges) => ({
  emailKey: changes.email?.address?.key ?? null,
  phone: changes.phone?.address?.key ?? null,
});

async function change(
  writing: Writing,
  row: StoredContact,
  body: Body,
  changes: ChannelChanges,
): Promise<void> {
  const planned = await plan(writing, row, changes);
  requireAddress(row, planned);
  const values = fieldsOf(body, row, writing.at);
  for (const { kind, before, after } of planned) {
    if (before !== after) Object.assign(values, channelValues(kind, after, writing.at));
  }
  await updateContact(writing.trx, row.id, values, writing.at);
  for (const each of planned) await follow(writing, row.id, each);
}

/** The addresses of a request, in the forms in which contacts and the ledger store them. */
function addressesOf(
  { deps, tenant }: Omit<Writing, 'optedOutAt'>,
  changes: ChannelChanges,
): AddressesToLock {
  const hashesOf = (kind: ChannelKind) => {
    const key = changes[kind]?.address?.key;
    if (key === undefined) return [];
    const of = { brandId: tenant.brandId, channel: channelOfKind[kind], plusAddresses: deps.plusAddresses };
    return acceptedHashes(deps.keyring, { ...of, address: key });
  };
  return { ...keysOf(changes), emailHashes: hashesOf('email'), phoneHashes: hashesOf('phone') };
}

/** @returns the new contact; null if another transaction has just given one of the addresses to a contact */
async function insertWithChannels(
  writing: Writing,
  body: CreateContactBody,
  changes: ChannelChanges,
): Promise<ContactRow | null> {
  const planned = await plan(writing, null, changes);
  const values = fieldsOf(body, null, writing.at);
  for (const { kind, after } of planned) Object.assign(values, channelValues(kind, after, writing.at));
  const row = await insertContact(writing.trx, writing.tenant, values, writing.at);
  if (row) for (const each of planned) await follow(writing, row.id, each);
  return row;
}

async function presentWritten({ trx, tenant }: Writing, id: number): Promise<Contact> {
  const [row] = await findContacts(trx, tenant.brandId, [id]);
  if (!row) throw notFound('contact');
  return presentContact(row);
}

/**
 * An email identifies a contact, whose phone number may change. A phone number does not, because several people may
 * share it: a contact that was found by its phone keeps its email, which only a PATCH replaces.
 * @throws AppError conflict
 */
function requireSameEmail(row: StoredContact, changes: ChannelChanges): void {
  const given = changes.email?.address?.key ?? null;
  if (given === null || row.email_key === null || given === row.email_key) return;
  throw new AppError('conflict', `the contact ${row.id} has another email; change it with PATCH`);
}

/** The changes of a request to the channels, in all its fields. @throws AppError validation_error */
function allChanges(
  body: Body,
  row: StoredContact | null,
  given: ChannelChanges,
  isComplete: boolean,
): ChannelChanges {
  const problems = new Problems();
  const changes = withRefusals(body, row, given, { isComplete, problems });
  problems.throwIfAny();
  return changes;
}

/** Whether a request unsubscribes a channel of the contact that is subscribed now. */
async function isRefused(
  trx: Queryable,
  { brandId }: BrandScope,
  id: number,
  body: ChangeContactBody,
): Promise<boolean> {
  const [row] = await findContacts(trx, brandId, [id]);
  if (!row) throw notFound('contact');
  return unsubscribes(allChanges(body, row, readChannels(body, row), true));
}

/**
 * Copies of contacts that are unsubscribed already are common, and change no subscription: they take no exclusive lock.
 * @throws AppError conflict if another request has subscribed the contact since it was looked up
 */
function requireLockFor(changes: ChannelChanges, isAlone: boolean): void {
  if (isAlone || !unsubscribes(changes)) return;
  throw new AppError('conflict', 'another request has just subscribed the contact; try again');
}

const noAddress = (body: Body): ValidationErrors =>
  body.channels?.some(({ value }) => value)
    ? { channels: ['is read-only: give the addresses as email and phone, or in channels_attributes'] }
    : { email: ['or phone is required'] };

/**
 * Creates a contact, or updates the one that has the address.
 * @param trx the caller's transaction. After its commit, wait for the recipient fence if `unsubscribed`.
 * @throws AppError validation_error; conflict if the email belongs to one contact and the phone to another, or if the
 *   contact with the phone has another email
 */
export async function createContact(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: BrandScope,
  body: CreateContactBody,
): Promise<WrittenContact> {
  const given = readChannels(body, null);
  if (!given.email && !given.phone) throw invalid(noAddress(body));
  await requireLists(trx, tenant.brandId, body.list_ids ?? []);
  const [known] = saysNo(body) ? await findByAddress(trx, tenant.brandId, keysOf(given)) : [];
  const unsubscribed = unsubscribes(allChanges(body, known ?? null, given, false));
  const written = await withConsent(trx, tenant, unsubscribed ? 'alone' : 'shared', async () => {
    const base = { trx, deps, tenant, at: new Date() };
    const { contacts, optedOutAt } = await lockAddresses(trx, tenant.brandId, addressesOf(base, given));
    const writing = { ...base, optedOutAt };
    const [row, other] = contacts;
    const changes = allChanges(body, row ?? null, given, false);
    requireLockFor(changes, unsubscribed);
    if (other) {
      throw new AppError(
        'conflict',
        `the email belongs to one contact and the phone to another: ${ids(contacts)}`,
      );
    }
    if (row) {
      requireSameEmail(row, changes);
      await change(writing, row, body, changes);
      await addToLists(trx, [row.id], body.list_ids ?? []);
      return { contact: await presentWritten(writing, row.id), created: false };
    }
    const made = await insertWithChannels(writing, body, changes);
    if (!made) return null;
    const added = await addToLists(trx, [made.id], body.list_ids ?? []);
    const list_ids = added.map(({ list_id }) => list_id).sort((a, b) => a - b);
    return { contact: presentContact({ ...made, list_ids }), created: true };
  });
  return { ...written, unsubscribed };
}

const ids = (rows: readonly StoredContact[]) => rows.map(({ id }) => id).join(' and ');

/**
 * Changes a contact.
 * @param trx the caller's transaction. After its commit, wait for the recipient fence if `unsubscribed`.
 * @throws AppError validation_error; not_found; conflict if an address belongs to another contact
 */
export async function changeContact(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: BrandScope,
  id: number,
  body: ChangeContactBody,
): Promise<WrittenContact> {
  await requireLists(trx, tenant.brandId, body.list_ids ?? []);
  const isOptOut =
    (body.channels_attributes?.some((item) => item.subscribed === false) ?? false) ||
    (saysNo(body) && (await isRefused(trx, tenant, id, body)));
  const contact = await withConsent(trx, tenant, isOptOut ? 'alone' : 'shared', async () => {
    const writing = { trx, deps, tenant, at: new Date() };
    const row = await lockContact(trx, tenant.brandId, id);
    if (!row) throw notFound('contact');
    const changes = allChanges(body, row, readChannels(body, row), true);
    requireLockFor(changes, isOptOut);
    await requireFree(writing, id, changes);
    await change(writing, row, body, changes);
    if (body.list_ids) await replaceLists(trx, id, body.list_ids);
    return presentWritten(writing, id);
  });
  return { contact, created: false, unsubscribed: isOptOut };
}
