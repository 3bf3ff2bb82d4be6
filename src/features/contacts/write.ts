import { acceptedHashes } from '../../delivery/ledger/consent/opt-outs.ts';
import { AppError, invalid, notFound, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { addToLists, replaceLists, requireLists } from '../lists/service.ts';
import { type ChannelChanges, Problems, readChannels } from './change.ts';
import { channelStateOf } from './channel-state.ts';
import { type ConsentDeps, withConsent } from './consent.ts';
import { saysNo, withRefusals } from './copies.ts';
import {
  type AddressesToLock,
  type ContactRow,
  type StoredContact,
  findByAddress,
  findContacts,
  insertContact,
  lockAddresses,
  lockContact,
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
} from './schema.ts';
import {
  type Planned,
  type Writing,
  type Body,
  plan,
  fieldsOf,
  channelValues,
  follow,
} from './planned-changes.ts';

export interface WrittenContact {
  contact: Contact;
  created: boolean;
  /** Whether the request unsubscribes a channel: then the response waits for the recipient fence. */
  unsubscribed: boolean;
}

const unsubscribes = (changes: ChannelChanges) =>
  channelKinds.some((kind) => changes[kind]?.subscribed === false && !changes[kind].remove);

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
