/** Adds many contacts to a list and removes many from it. */
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { invalid, notFound } from '../../errors.ts';
import { mapInTurns } from '../../platform/processes/map-in-turns.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ConsentDeps, ensureContacts, findContactIds } from '../contacts/service.ts';
import { addToLists, removeFromList } from './members.ts';
import { type BulkOutcome, findBulkResults, findList, insertBulkResults } from './model.ts';
import type { BulkContactsBody, BulkResult, BulkStatus } from './schema.ts';

/** The `source` of contacts that a bulk request creates. */
const SOURCE = 'list';

interface ValidItem {
  input: string | number;
  /** Null: the item is an id. */
  email: { address: string; key: string } | null;
  id: number | null;
}

type Item = ValidItem | { input: string | number; error: string };

/** Returns the id of an item's contact; null if there is no such contact. */
type Contacts = (item: ValidItem) => number | null;

function parseItem(input: string | number): Item {
  if (typeof input === 'number') return { input, email: null, id: input };
  const email = parseEmailAddress(input);
  if ('error' in email) return { input, error: email.error };
  return { input, email: { address: email.address, key: email.key }, id: null };
}

const isValid = (item: Item): item is ValidItem => !('error' in item);

const emailsOf = (items: readonly ValidItem[]) => items.flatMap(({ email }) => email ?? []);

/** @throws AppError validation_error if a contact is in both arrays, by address or by id */
function refuseOverlap(add: readonly ValidItem[], remove: readonly ValidItem[], contactOf: Contacts): void {
  const nameOf = (item: ValidItem) => contactOf(item) ?? item.email?.key ?? null;
  const added = new Set(add.map(nameOf));
  const both = remove.find((item) => {
    const name = nameOf(item);
    return name !== null && added.has(name);
  });
  if (both) throw invalid({ remove: [`has a contact that is also in add: ${both.input}`] });
}

async function findContacts(db: Queryable, brandId: number, items: readonly ValidItem[]): Promise<Contacts> {
  const { ids, byEmailKey } = await findContactIds(db, brandId, {
    ids: [...new Set(items.flatMap(({ id }) => id ?? []))],
    emailKeys: [...new Set(emailsOf(items).map(({ key }) => key))],
  });
  return ({ email, id }) => {
    if (email) return byEmailKey.get(email.key) ?? null;
    return id !== null && ids.has(id) ? id : null;
  };
}

function presentResult(item: Item, { status, contact_id }: BulkOutcome): BulkResult {
  if ('error' in item) return { input: item.input, status, contact_id, reason: item.error };
  const missing = contact_id === null ? 'is not a contact of the brand' : 'is not in the list';
  return { input: item.input, status, contact_id, reason: status === 'not_found' ? missing : null };
}

/** Returns the outcome of each item, from that of its contact. Only the first item of a contact changes anything. */
function outcomesOf(
  items: readonly Item[],
  contactOf: Contacts,
  change: (contactId: number, isFirst: boolean) => BulkStatus,
): BulkOutcome[] {
  const seen = new Set<number>();
  return items.map((item) => {
    if (!isValid(item)) return { status: 'invalid', contact_id: null };
    const id = contactOf(item);
    if (id === null) return { status: 'not_found', contact_id: null };
    const status = change(id, !seen.has(id));
    seen.add(id);
    return { status, contact_id: id };
  });
}

export interface BulkChange {
  results: BulkResult[];
  /** The id of the stored results; null if they were not stored. */
  id: number | null;
}

/** Adds the contacts, and creates those whose addresses are unknown. */
async function addAll(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: Tenant,
  listId: number,
  items: readonly Item[],
  known: Contacts,
): Promise<BulkOutcome[]> {
  const valid = items.filter(isValid);
  const ensured = await ensureContacts(trx, deps, tenant, emailsOf(valid), SOURCE);
  const created = new Set([...ensured.values()].flatMap((each) => (each.created ? [each.id] : [])));
  const contactOf: Contacts = (item) =>
    item.email ? (ensured.get(item.email.key)?.id ?? null) : known(item);
  const ids = [...new Set(valid.flatMap((item) => contactOf(item) ?? []))];
  const added = new Set((await addToLists(trx, ids, [listId])).map((row) => row.contact_id));
  return outcomesOf(items, contactOf, (id, isFirst) => {
    if (!isFirst || !added.has(id)) return 'already_there';
    return created.has(id) ? 'created' : 'added';
  });
}

async function removeAll(
  trx: Queryable,
  listId: number,
  items: readonly Item[],
  contactOf: Contacts,
): Promise<BulkOutcome[]> {
  const ids = [...new Set(items.filter(isValid).flatMap((item) => contactOf(item) ?? []))];
  const removed = new Set(await removeFromList(trx, ids, listId));
  return outcomesOf(items, contactOf, (id, isFirst) =>
    isFirst && removed.has(id) ? 'removed' : 'not_found',
  );
}

/**
 * Adds contacts to a list and removes others, in the caller's transaction and in a few statements for all of them.
 * Creates contacts for addresses that no contact has.
 * @param keep whether to store the results for a repeated request
 * @returns a result for each item, those of `add` first
 * @throws AppError not_found; validation_error if a contact is in both arrays
 */
export async function changeMembers(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: Tenant,
  listId: number,
  body: BulkContactsBody,
  keep: boolean,
): Promise<BulkChange> {
  if (!(await findList(trx, tenant, listId))) throw notFound('list');
  const add = await mapInTurns(body.add, parseItem);
  const remove = await mapInTurns(body.remove, parseItem);
  const known = await findContacts(trx, tenant.brandId, [...add, ...remove].filter(isValid));
  refuseOverlap(add.filter(isValid), remove.filter(isValid), known);
  const outcomes = [
    ...(await addAll(trx, deps, tenant, listId, add, known)),
    ...(await removeAll(trx, listId, remove, known)),
  ];
  const id = keep ? await insertBulkResults(trx, tenant, outcomes) : null;
  return { results: presentResults([...add, ...remove], outcomes), id };
}

function presentResults(items: readonly Item[], outcomes: readonly BulkOutcome[]): BulkResult[] {
  return items.flatMap((item, n) => {
    const outcome = outcomes[n];
    return outcome ? [presentResult(item, outcome)] : [];
  });
}

/**
 * Returns the results of an earlier bulk change, for a repeated request.
 * @param body of the repeated request, which equals that of the first one
 * @returns null if the results were removed
 */
export async function repeatResults(
  db: Queryable,
  tenant: Tenant,
  id: number,
  body: BulkContactsBody,
): Promise<BulkResult[] | null> {
  const outcomes = await findBulkResults(db, tenant, id);
  if (!outcomes) return null;
  const add = await mapInTurns(body.add, parseItem);
  const remove = await mapInTurns(body.remove, parseItem);
  return presentResults([...add, ...remove], outcomes);
}
