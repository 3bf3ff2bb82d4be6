import { lockConsent, type ConsentDeps } from './consent.ts';
import { findOverflows, insertNewRows, insertRows, toRow, updateSql } from './bulk-statements.ts';
import type {
  BulkContact,
  BulkOptions,
  BulkOutcome,
  FoundContact,
  Known,
  Match,
  Pending,
  Work,
} from './bulk-work.ts';
import { NewChannels } from './new-channels.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

export type { BulkContact, BulkProblem, FoundContact } from './bulk-work.ts';

/**
 * Maximum number of rounds in which other transactions create or delete the same contacts. More than one is hardly
 * possible.
 */
const MAX_ROUNDS = 10;

/** Finds the contacts of a brand that have one of the addresses. */
export async function findByAddresses(
  db: Queryable,
  brandId: number,
  contacts: readonly Pick<BulkContact, 'email' | 'phone'>[],
): Promise<FoundContact[]> {
  const { rows } = await db.query<FoundContact>(
    `select id, email_key, phone, import_id from contacts where brand_id = $1 and email_key = any($2)
     union select id, email_key, phone, import_id from contacts where brand_id = $1 and phone = any($3)`,
    [
      brandId,
      contacts.flatMap(({ email }) => email?.key ?? []),
      contacts.flatMap(({ phone }) => phone ?? []),
    ],
  );
  return rows;
}

/** Reads contacts, and locks them in the order of ids if they may change. */
async function readKnown({ trx, options }: Work, found: readonly FoundContact[]): Promise<Known[]> {
  if (found.length === 0) return [];
  const { rows } = await trx.query<Known>(
    `select id, email_key, phone, phone_subscribed, octet_length(data::text) as data_bytes from contacts
     where id = any($1) order by id ${options.updateExisting ? 'for no key update' : ''}`,
    [found.map(({ id }) => id)],
  );
  return rows;
}

interface Plan {
  matches: Match[];
  fresh: Pending[];
  /** Rows of a contact that an earlier row of this round already has. */
  later: Pending[];
}

/**
 * Decides which contact each row concerns. Several rows of one contact are applied in their order, one in each round.
 */
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

/** Reads what the insert of new contacts needs. */
async function prepareInsert(work: Work, fresh: readonly Pending[]) {
  const { scope, options } = work;
  const channels = await NewChannels.read(work, fresh);
  const given = fresh.map((each) => toRow(channels, each, { email: true, phone: true }));
  const { source, importId } = options;
  return [scope.accountId, scope.brandId, source, JSON.stringify(given), importId];
}

/** Creates contacts in the order of their addresses. @returns the rows whose contacts others have created meanwhile */
async function insertFresh(work: Work, fresh: readonly Pending[]): Promise<Pending[]> {
  if (fresh.length === 0) return [];
  const { trx, outcomes } = work;
  const rows = await insertRows(trx, await prepareInsert(work, fresh));
  const ids = new Map(rows.map((row) => [row.email_key ?? row.phone, row.id]));
  const lost: Pending[] = [];
  for (const each of fresh) {
    const id = ids.get(each.contact.email?.key ?? each.contact.phone);
    if (id === undefined) lost.push(each);
    else outcomes[each.index] = { status: 'created', id };
  }
  return lost;
}

/**
 * Changes the contacts that differ from their rows. Subscriptions of existing channels do not change here:
 * `withdrawSubscriptions` has ended those that rows end.
 */
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
  // In the order of the table.
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
    // A phone number that replaces another keeps its subscription.
    const { phone } = contact;
    const replaces = known.phone !== null && phone !== known.phone;
    if (phone !== null && replaces && !known.phone_subscribed) channels.unsubscribed(phone);
  }
  await channels.record();
}

/**
 * Creates many contacts of a brand without looking whether they exist.
 * @param trx the caller's transaction, in which no contact is locked yet
 * @param contacts each address is in at most one of them
 * @returns their ids in any order; null, without effect, if one of their addresses is that of a contact
 */
export async function bulkCreateContacts(
  trx: Queryable,
  deps: ConsentDeps,
  scope: BrandScope,
  contacts: readonly BulkContact[],
  options: BulkOptions,
): Promise<number[] | null> {
  const work: Work = { trx, deps, scope, options, outcomes: [] };
  await lockConsent(trx, scope.brandId, 'shared');
  const fresh = contacts.map((contact, index) => ({ contact, index }));
  return insertNewRows(trx, await prepareInsert(work, fresh));
}

/**
 * Creates and changes many contacts of a brand in a few statements. A row concerns the contact with its email address,
 * or else the one with its phone number.
 * @param trx the caller's transaction, in which no contact is locked yet
 * @param contacts each address is in at most one of them
 * @param found what {@link findByAddresses} has just returned for them; null: it is called here. Changes since then are
 *   noticed
 * @returns the outcome of each, in their order
 */
export async function bulkUpsertContacts(
  trx: Queryable,
  deps: ConsentDeps,
  scope: BrandScope,
  contacts: readonly BulkContact[],
  options: BulkOptions,
  found: readonly FoundContact[] | null = null,
): Promise<BulkOutcome[]> {
  const work: Work = { trx, deps, scope, options, outcomes: [] };
  await lockConsent(trx, scope.brandId, 'shared');
  let pending: Pending[] = contacts.map((contact, index) => ({ contact, index }));
  for (let round = 0; pending.length > 0; round += 1) {
    if (round === MAX_ROUNDS) throw new Error('contacts are created and deleted at the same time');
    const rows = pending.map(({ contact }) => contact);
    const now = round === 0 && found ? found : await findByAddresses(trx, scope.brandId, rows);
    const { matches, fresh, later } = plan(work, pending, await readKnown(work, now));
    await updateMatches(work, matches);
    const lost = await insertFresh(work, fresh);
    pending = [...later, ...lost].sort((one, other) => one.index - other.index);
  }
  return work.outcomes;
}
