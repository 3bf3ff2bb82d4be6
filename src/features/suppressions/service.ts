import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { parsePhone } from '../../delivery/terms/addresses/phone.ts';
import { emailKeys, phoneKeys } from '../../delivery/terms/addresses/search-keys.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import {
  reportedReasons,
  suppressionReasons,
  type SuppressionReason,
} from '../../delivery/ledger/consent/suppressions.ts';
import { AppError, invalid, notFound } from '../../errors.ts';
import { mapInTurns } from '../../platform/processes/map-in-turns.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { IdScan, ScannedIds } from '../../platform/db/id-scan.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  endSuppressions,
  findByIds,
  findByKeys,
  findSuppression,
  findSuppressions,
  scanByFilters,
  suppress,
  type SuppressionFilters,
  type SuppressionRow,
} from './model.ts';
import type {
  BulkResult,
  BulkSuppressionsBody,
  CreateSuppressionBody,
  ListSuppressionsQuery,
  Suppression,
} from './schema.ts';

export { highestSuppressionId } from './model.ts';

export function presentSuppression(row: SuppressionRow): Suppression {
  return {
    id: row.id,
    account_id: row.account_id,
    email: row.email,
    phone: row.phone,
    reason: row.reason,
    source_provider: row.source_provider,
    diagnostic: row.diagnostic,
    active: row.active,
    expires_at: row.expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    ended_by: row.ended_by,
  };
}

const KEPT = 'only an owner or admin who has logged in can end a complaint or hard bounce';

/**
 * The reasons of suppressions that a caller may end: only an owner or admin, not an API key, may end
 * {@link reportedReasons}.
 */
function endableReasons({ actor, role }: AccountTenant): readonly SuppressionReason[] {
  if (actor.kind === 'user' && role !== 'member') return suppressionReasons;
  return suppressionReasons.filter((reason) => !reportedReasons.includes(reason));
}

function filtersOf(query: ListSuppressionsQuery): SuppressionFilters {
  const given = [
    ...(query.email === undefined ? [] : [emailKeys(query.email)]),
    ...(query.phone === undefined ? [] : [phoneKeys(query.phone)]),
  ];
  return {
    addresses: given.map((keys) => ('error' in keys ? [] : keys)),
    reason: query.reason,
    sourceProvider: query.source_provider,
    active: query.active !== 'false',
  };
}

/** Finds the suppressions of a page that match the filters of the list. */
export function scanSuppressions(
  db: Queryable,
  scope: AccountScope,
  query: ListSuppressionsQuery,
  scan: IdScan,
): Promise<ScannedIds> {
  return scanByFilters(db, scope, filtersOf(query), scan);
}

/**
 * Presents suppressions of an account, in one statement.
 * @returns those that still exist, in ascending order of ids
 */
export async function presentSuppressions(
  db: Queryable,
  scope: AccountScope,
  ids: readonly number[],
): Promise<Suppression[]> {
  return (await findByIds(db, scope, ids)).map(presentSuppression);
}

/** Lists the suppressions of an account, newest first. */
export async function listSuppressions(
  db: Queryable,
  tenant: AccountTenant,
  query: ListSuppressionsQuery,
  page: Page,
): Promise<{ suppressions: Suppression[]; count: RowCount }> {
  const { rows, count } = await findSuppressions(db, tenant, filtersOf(query), page);
  return { suppressions: rows.map(presentSuppression), count };
}

/** @returns null if the account has no such suppression */
export async function loadSuppression(
  db: Queryable,
  tenant: AccountTenant,
  id: number,
): Promise<Suppression | null> {
  const row = await findSuppression(db, tenant, id);
  return row && presentSuppression(row);
}

interface Recipient {
  channel: Channel;
  key: string;
}

function recipientOf(body: CreateSuppressionBody): Recipient {
  if (body.phone !== undefined) {
    const phone = parsePhone(body.phone);
    if ('error' in phone) throw invalid({ phone: [phone.error] });
    return { channel: 'sms', key: phone.e164 };
  }
  const email = parseEmailAddress(body.email ?? '');
  if ('error' in email) throw invalid({ email: [email.error] });
  return { channel: 'email', key: email.key };
}

/**
 * Suppresses an address manually. An active suppression that lasts at least as long does not change.
 * @param trx the caller's transaction; after its commit, wait for the recipient fence
 * @throws AppError validation_error
 */
export async function createSuppression(
  trx: Queryable,
  tenant: AccountTenant,
  body: CreateSuppressionBody,
): Promise<{ suppression: Suppression; created: boolean }> {
  const recipient = recipientOf(body);
  const expiresAt = body.expires_at ? new Date(body.expires_at) : null;
  if (expiresAt && expiresAt <= new Date()) throw invalid({ expires_at: ['must be in the future'] });
  const given = { ...recipient, diagnostic: body.diagnostic ?? null, expiresAt };
  const [written] = await suppress(trx, tenant, [given]);
  const [row] = written ? [written] : await findByKeys(trx, tenant, [recipient.key]);
  if (!row) throw notFound('suppression');
  return { suppression: presentSuppression(row), created: written !== undefined };
}

/**
 * Ends a suppression. One that has already ended does not change.
 * @throws AppError not_found; forbidden for a complaint or hard bounce, unless an owner or admin ends it
 */
export async function endSuppression(db: Queryable, tenant: AccountTenant, id: number): Promise<Suppression> {
  const found = await findSuppression(db, tenant, id);
  if (!found) throw notFound('suppression');
  const release = { keys: [found.address_key], reasons: endableReasons(tenant), by: tenant.actor };
  await endSuppressions(db, tenant, release);
  const row = await findSuppression(db, tenant, id);
  if (!row) throw notFound('suppression');
  if (row.active) throw new AppError('forbidden', KEPT);
  return presentSuppression(row);
}

type ParsedItem = { input: string } & (Recipient | { error: string });

function parseItem(input: string): ParsedItem {
  if (input.trimStart().startsWith('+') && !input.includes('@')) {
    const phone = parsePhone(input);
    return 'error' in phone ? { input, error: phone.error } : { input, channel: 'sms', key: phone.e164 };
  }
  const email = parseEmailAddress(input);
  return 'error' in email ? { input, error: email.error } : { input, channel: 'email', key: email.key };
}

/** @throws AppError validation_error */
function refuseOverlap(add: readonly ParsedItem[], remove: readonly ParsedItem[]): void {
  const added = new Set(add.flatMap((item) => ('key' in item ? [item.key] : [])));
  const both = remove.find((item) => 'key' in item && added.has(item.key));
  if (both) throw invalid({ remove: [`has an address that is also in add: ${both.input}`] });
}

const invalidResult = (input: string, reason: string): BulkResult => ({
  input,
  status: 'invalid',
  suppression_id: null,
  reason,
});

/**
 * @param changedIds ids of the suppressions that changed, by address. Only the first item of an address counts as a
 *   change
 */
function resultsOf(
  items: readonly ParsedItem[],
  changed: BulkResult['status'],
  unchanged: BulkResult['status'],
  changedIds: ReadonlyMap<string, number>,
  knownIds: ReadonlyMap<string, number>,
): BulkResult[] {
  const seen = new Set<string>();
  return items.map((item) => {
    if ('error' in item) return invalidResult(item.input, item.error);
    const { input, key } = item;
    const isChange = changedIds.has(key) && !seen.has(key);
    seen.add(key);
    const suppression_id = changedIds.get(key) ?? knownIds.get(key) ?? null;
    return { input, status: isChange ? changed : unchanged, suppression_id, reason: null };
  });
}

const idsByKey = (rows: readonly SuppressionRow[]) => new Map(rows.map((row) => [row.address_key, row.id]));

interface Released {
  /** Ids by address. */
  ended: ReadonlyMap<string, number>;
  /** Ids of suppressions that the caller may not end, by address. */
  kept: ReadonlyMap<string, number>;
}

const NOTHING_RELEASED: Released = { ended: new Map(), kept: new Map() };

/** Ends the suppressions that the caller may end. */
async function release(db: Queryable, tenant: AccountTenant, keys: readonly string[]): Promise<Released> {
  const reasons = endableReasons(tenant);
  const ended = await endSuppressions(db, tenant, { keys, reasons, by: tenant.actor });
  if (ended.size === keys.length || reasons.length === suppressionReasons.length) {
    return { ended, kept: new Map() };
  }
  const others = await findByKeys(
    db,
    tenant,
    keys.filter((key) => !ended.has(key)),
  );
  return { ended, kept: idsByKey(others.filter(({ active }) => active)) };
}

/** The result of an address whose suppression the caller may not end. */
function refused(result: BulkResult, item: ParsedItem | undefined, kept: Released['kept']): BulkResult {
  const id = item && 'key' in item ? kept.get(item.key) : undefined;
  return id === undefined ? result : { ...result, status: 'forbidden', suppression_id: id, reason: KEPT };
}

/**
 * Suppresses and releases many addresses. Additions commit before removals, each in the order of addresses, so that two
 * requests cannot deadlock. If the removals fail, the client may repeat the request.
 * @returns a result for each item, those of `add` first
 * @throws AppError validation_error if an address is in both arrays
 */
export async function changeSuppressions(
  db: Queryable,
  tenant: AccountTenant,
  body: BulkSuppressionsBody,
): Promise<BulkResult[]> {
  const add = await mapInTurns(body.add, parseItem);
  const remove = await mapInTurns(body.remove, parseItem);
  refuseOverlap(add, remove);
  const additions = new Map(
    add.flatMap((item) =>
      'key' in item
        ? [[item.key, { channel: item.channel, key: item.key, diagnostic: null, expiresAt: null }]]
        : [],
    ),
  );
  const added = idsByKey(additions.size > 0 ? await suppress(db, tenant, [...additions.values()]) : []);
  const unchanged = [...additions.keys()].filter((key) => !added.has(key));
  const known = idsByKey(unchanged.length > 0 ? await findByKeys(db, tenant, unchanged) : []);
  const removals = [...new Set(remove.flatMap((item) => ('key' in item ? [item.key] : [])))];
  const removed = removals.length > 0 ? await release(db, tenant, removals) : NOTHING_RELEASED;
  return [
    ...resultsOf(add, 'added', 'already_there', added, known),
    ...resultsOf(remove, 'removed', 'not_found', removed.ended, new Map()).map((result, index) =>
      refused(result, remove[index], removed.kept),
    ),
  ];
}
