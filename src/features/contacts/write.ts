import type { Channel } from '../../delivery/message.ts';
import { endOptOut, findOptOuts, recordOptOut } from '../../delivery/opt-outs.ts';
import { AppError, invalid, notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { addToLists, replaceLists, requireLists } from '../lists/service.ts';
import { type ChannelChange, type ChannelChanges, readChannels } from './change.ts';
import { type ChannelState, channelStateOf, nextState, noChannel } from './channel-state.ts';
import { changeSubscription, type ConsentDeps, lockConsent } from './consent.ts';
import { type ContactData, dataProblem, patchData } from './data.ts';
import {
  type StoredContact,
  type ContactValues,
  findByAddress,
  findContacts,
  insertContact,
  keepFormerAddress,
  lockContact,
  noteSubscription,
  updateContact,
} from './model.ts';
import { presentContact } from './presenter.ts';
import type { ChangeContactBody, ChannelKind, Contact, CreateContactBody } from './schema.ts';

export interface WrittenContact {
  contact: Contact;
  created: boolean;
  /** Whether a channel was asked to be unsubscribed: the response waits for the recipient fence. */
  unsubscribed: boolean;
}

const kinds = ['email', 'phone'] as const;
const channelOf = { email: 'email', phone: 'sms' } as const satisfies Record<ChannelKind, Channel>;

/** More than one round is rare: another transaction added or removed one of the addresses at the same time. */
const MAX_ROUNDS = 5;
const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';

/** Runs `work` again if another transaction took one of the addresses first. */
async function withRetries<T>(trx: Queryable, work: () => Promise<T | null>): Promise<T> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await trx.query('savepoint writing_contact');
    try {
      const result = await work();
      if (result !== null) return result;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== UNIQUE_VIOLATION && code !== DEADLOCK) throw error;
    }
    await trx.query('rollback to savepoint writing_contact');
  }
  throw new AppError('unavailable', 'this contact is being changed by others; try again');
}

const unsubscribes = (changes: ChannelChanges) =>
  kinds.some((kind) => changes[kind]?.subscribed === false && !changes[kind].remove);

interface Writing {
  trx: Queryable;
  deps: ConsentDeps;
  tenant: BrandScope;
  at: Date;
}

type Body = CreateContactBody | ChangeContactBody;

function fieldsOf(body: Body, current: ContactData): ContactValues {
  const { first_name, last_name, source, country_code } = body;
  const given = Object.entries({ first_name, last_name, source, country_code });
  const values: ContactValues = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  if (body.data === undefined) return values;
  const data = patchData(current, body.data);
  const problem = dataProblem(data);
  if (problem !== null) throw invalid({ data: [problem] });
  return { ...values, data: JSON.stringify(data) };
}

async function optedOutAt(
  { trx, deps, tenant }: Writing,
  kind: ChannelKind,
  key: string,
): Promise<Date | null> {
  const { keyring, plusAddresses } = deps;
  const of = { brandId: tenant.brandId, channel: channelOf[kind], plusAddresses, addresses: [key] };
  return (await findOptOuts(trx, keyring, of)).get(key) ?? null;
}

/** Keeps the opt-out ledger in step with a channel that has a new address. */
async function syncLedger(
  { trx, deps, tenant }: Writing,
  kind: ChannelKind,
  address: string,
  subscribed: boolean,
): Promise<void> {
  const { keyring, plusAddresses } = deps;
  const ledger = { brandId: tenant.brandId, channel: channelOf[kind], address, plusAddresses };
  if (subscribed) await endOptOut(trx, keyring, ledger);
  else {
    const { accountId } = tenant;
    await recordOptOut(trx, keyring, { ...ledger, accountId, source: 'manual', messageId: null });
  }
}

function channelValues(kind: ChannelKind, state: ChannelState, at: Date): ContactValues {
  return {
    [kind]: state.address,
    ...(kind === 'email' ? { email_key: state.key } : {}),
    [`${kind}_subscribed`]: state.subscribed,
    [`${kind}_verified`]: state.verified,
    [`${kind}_opt_in_at`]: state.optInAt,
    [`${kind}_opt_in_source`]: state.optInSource,
    [`${kind}_opt_out_at`]: state.optOutAt,
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
  for (const kind of kinds) {
    const change = changes[kind];
    if (!change) continue;
    const before = row ? channelStateOf(row, kind) : noChannel;
    if (before.key === null && change.address === null && !change.remove) {
      throw invalid({ channels_attributes: [`the contact has no ${kind} channel: give its value`] });
    }
    const key = change.address?.key ?? null;
    const isNew = key !== null && key !== before.key;
    const facts = { at: writing.at, optedOutAt: isNew ? await optedOutAt(writing, kind, key) : null };
    planned.push({ kind, change, before, after: nextState(before, change, facts) });
  }
  return planned;
}

/** What follows from a change of channels, once the contact's row has it. */
async function follow(writing: Writing, id: number, { kind, change, before, after }: Planned): Promise<void> {
  const { trx, deps, tenant } = writing;
  const channel = channelOf[kind];
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
  const left = kinds.some((kind) => {
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
  const kind = kinds.find((each) => {
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
  const values = fieldsOf(body, row.data);
  for (const { kind, before, after } of planned) {
    if (before !== after) Object.assign(values, channelValues(kind, after, writing.at));
  }
  await updateContact(writing.trx, row.id, values, writing.at);
  for (const each of planned) await follow(writing, row.id, each);
}

/** @returns the new contact's id; null if one of its addresses has just become a contact's */
async function create(
  writing: Writing,
  body: CreateContactBody,
  changes: ChannelChanges,
): Promise<number | null> {
  const planned = await plan(writing, null, changes);
  const values = fieldsOf(body, {});
  for (const { kind, after } of planned) Object.assign(values, channelValues(kind, after, writing.at));
  const id = await insertContact(writing.trx, writing.tenant, values, writing.at);
  if (id !== null) for (const each of planned) await follow(writing, id, each);
  return id;
}

async function present({ trx, tenant }: Writing, id: number): Promise<Contact> {
  const [row] = await findContacts(trx, tenant.brandId, [id]);
  if (!row) throw notFound('contact');
  return presentContact(row);
}

/**
 * Creates a contact, or updates the one that has the address.
 * @param trx the caller's transaction. After its commit, wait for the recipient fence if `unsubscribed`.
 * @throws AppError validation_error; conflict if the email is one contact's and the phone another's
 */
export async function createContact(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: BrandScope,
  body: CreateContactBody,
): Promise<WrittenContact> {
  const changes = readChannels(body, null);
  if (!changes.email && !changes.phone) throw invalid({ email: ['or phone is required'] });
  await requireLists(trx, tenant.brandId, body.list_ids ?? []);
  const unsubscribed = unsubscribes(changes);
  await lockConsent(trx, tenant.brandId, unsubscribed ? 'alone' : 'shared');
  const written = await withRetries(trx, async () => {
    const writing = { trx, deps, tenant, at: new Date() };
    const found = await findByAddress(trx, tenant.brandId, keysOf(changes), { lock: true });
    const [row, other] = found;
    if (other) {
      throw new AppError(
        'conflict',
        `the email belongs to one contact and the phone to another: ${ids(found)}`,
      );
    }
    if (row) await change(writing, row, body, changes);
    const id = row?.id ?? (await create(writing, body, changes));
    if (id === null) return null;
    await addToLists(trx, [id], body.list_ids ?? []);
    return { contact: await present(writing, id), created: !row };
  });
  return { ...written, unsubscribed };
}

const ids = (rows: readonly StoredContact[]) => rows.map(({ id }) => id).join(' and ');

/**
 * Changes a contact.
 * @param trx the caller's transaction. After its commit, wait for the recipient fence if `unsubscribed`.
 * @throws AppError validation_error; not_found; conflict if an address is another contact's
 */
export async function changeContact(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: BrandScope,
  id: number,
  body: ChangeContactBody,
): Promise<WrittenContact> {
  await requireLists(trx, tenant.brandId, body.list_ids ?? []);
  const isOptOut = body.channels_attributes?.some((item) => item.subscribed === false) ?? false;
  await lockConsent(trx, tenant.brandId, isOptOut ? 'alone' : 'shared');
  const contact = await withRetries(trx, async () => {
    const writing = { trx, deps, tenant, at: new Date() };
    const row = await lockContact(trx, tenant.brandId, id);
    if (!row) throw notFound('contact');
    const changes = readChannels(body, row);
    await requireFree(writing, id, changes);
    await change(writing, row, body, changes);
    if (body.list_ids) await replaceLists(trx, id, body.list_ids);
    return present(writing, id);
  });
  return { contact, created: false, unsubscribed: isOptOut };
}
