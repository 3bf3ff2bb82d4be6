import type { Channel } from '../../delivery/terms/message.ts';
import {
  endedSql,
  type SuppressionReason,
  suppressionUpsertSql,
} from '../../delivery/ledger/consent/suppressions.ts';
import type { Actor } from '../../platform/auth/tenant.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import { type IdScan, scanned, type ScannedIds } from '../../platform/db/id-scan.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A row of `suppressions`, without the columns that only delivery reads. */
export interface SuppressionRow {
  id: number;
  account_id: number;
  address_key: string;
  email: string | null;
  phone: string | null;
  reason: SuppressionReason;
  source_provider: string | null;
  diagnostic: string | null;
  active: boolean;
  expires_at: Date | null;
  created_at: Date;
  ended_by: EndedBy | null;
}

/** The user or API key that ended a suppression. */
export interface EndedBy {
  kind: Actor['kind'];
  id: number;
}

const COLUMNS = `s.id, s.account_id, s.address_key, s.email, s.phone, s.reason, s.source_provider, s.diagnostic,
  not ${endedSql('s')} as active, s.expires_at, s.created_at, (
    select jsonb_build_object('kind', case when r.user_id is null then 'api_key' else 'user' end,
      'id', coalesce(r.user_id, r.api_key_id))
    from suppression_releases r where r.suppression_id = s.id order by r.id desc limit 1) as ended_by`;

/** An address to suppress manually. */
export interface ManualSuppression {
  channel: Channel;
  key: string;
  diagnostic: string | null;
  expiresAt: Date | null;
}

/**
 * Suppresses addresses manually.
 * @returns the written rows, without addresses whose active suppression lasts at least as long
 */
export async function suppress(
  db: Queryable,
  { accountId }: AccountScope,
  given: readonly ManualSuppression[],
): Promise<SuppressionRow[]> {
  const { rows } = await db.query<SuppressionRow>(
    `${suppressionUpsertSql(`
      select $1::bigint as account_id, i.key as address_key, i.channel, 'manual' as reason,
        null::text as source_provider, i.diagnostic, i."expiresAt" as expires_at
      from json_to_recordset($2) as i (channel text, key text, diagnostic text, "expiresAt" timestamptz)`)}
     returning ${COLUMNS}`,
    [accountId, JSON.stringify(given)],
  );
  return rows;
}

/** Finds the suppressions of addresses, active or not. */
export async function findByKeys(
  db: Queryable,
  { accountId }: AccountScope,
  keys: readonly string[],
): Promise<SuppressionRow[]> {
  const { rows } = await db.query<SuppressionRow>(
    `select ${COLUMNS} from suppressions s where s.account_id = $1 and s.address_key = any($2)`,
    [accountId, keys],
  );
  return rows;
}

/** @returns null if the account has no such suppression */
export async function findSuppression(
  db: Queryable,
  { accountId }: AccountScope,
  id: number,
): Promise<SuppressionRow | null> {
  const { rows } = await db.query<SuppressionRow>(
    `select ${COLUMNS} from suppressions s where s.account_id = $1 and s.id = $2`,
    [accountId, id],
  );
  return rows[0] ?? null;
}

/** The suppressions to end, and who ends them. */
export interface Release {
  keys: readonly string[];
  /** Suppressions with other reasons stay. */
  reasons: readonly SuppressionReason[];
  by: Actor;
}

/**
 * Ends active suppressions, records who ended them, and deletes the soft bounces of their addresses. Like reports, it
 * locks soft bounces before suppressions, each in the order of addresses.
 * @returns the ids of the ended suppressions, by address
 */
export async function endSuppressions(
  db: Queryable,
  { accountId }: AccountScope,
  { keys, reasons, by }: Release,
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: number; address_key: string }>(
    `with counted as materialized (
       select 1 from soft_bounces where account_id = $1 and address_key = any($2) order by address_key for update
     ), found as materialized (
       select id, address_key, reason from suppressions s
       where account_id = $1 and address_key = any($2) and reason = any($3) and not ${endedSql('s')}
         and (select count(*) from counted) >= 0
       order by address_key for update
     ), forgotten as (
       delete from soft_bounces where account_id = $1 and address_key in (select address_key from found)
     ), kept as (
       insert into suppression_releases (account_id, suppression_id, address_key, reason, user_id, api_key_id)
       select $1, id, address_key, reason, $4::bigint, $5::bigint from found
     )
     update suppressions s set released_at = now() from found where s.id = found.id
     returning s.id, s.address_key`,
    [accountId, keys, reasons, by.kind === 'user' ? by.id : null, by.kind === 'api_key' ? by.id : null],
  );
  return new Map(rows.map((row) => [row.address_key, row.id]));
}

/** Filters of a list. */
export interface SuppressionFilters {
  /** Of each filter by an address, the keys that it may mean; none matches nothing. */
  addresses: readonly (readonly string[])[];
  reason: SuppressionReason | undefined;
  sourceProvider: string | undefined;
  active: boolean;
}

function conditionsOf({ accountId }: AccountScope, filters: SuppressionFilters) {
  const values: unknown[] = [accountId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['s.account_id = $1'];
  for (const keys of filters.addresses) conditions.push(`s.address_key = any(${parameter(keys)}::text[])`);
  if (filters.reason !== undefined) conditions.push(`s.reason = ${parameter(filters.reason)}`);
  if (filters.sourceProvider !== undefined) {
    conditions.push(`s.source_provider = ${parameter(filters.sourceProvider)}`);
  }
  if (filters.active) conditions.push(`not ${endedSql('s')}`);
  // The first part is that of the partial index.
  else conditions.push(`(s.released_at is not null or s.expires_at is not null) and ${endedSql('s')}`);
  return { where: conditions.join(' and '), values };
}

/** Finds suppressions, newest first. */
export async function findSuppressions(
  db: Queryable,
  scope: AccountScope,
  filters: SuppressionFilters,
  page: Page,
): Promise<{ rows: SuppressionRow[]; count: RowCount }> {
  const { where, values } = conditionsOf(scope, filters);
  const below = page.after === null ? '' : `and s.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<SuppressionRow>(
      `select ${COLUMNS} from suppressions s where ${where} ${below}
       order by s.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, `suppressions s where ${where}`, values),
  ]);
  return { rows, count };
}

/** @returns 0 if the account has no suppressions */
export async function highestSuppressionId(db: Queryable, { accountId }: AccountScope): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from suppressions where account_id = $1 order by id desc limit 1',
    [accountId],
  );
  return rows[0]?.id ?? 0;
}

/** Finds the matching suppressions of a page. */
export async function scanByFilters(
  db: Queryable,
  scope: AccountScope,
  filters: SuppressionFilters,
  scan: IdScan,
): Promise<ScannedIds> {
  const { where, values } = conditionsOf(scope, filters);
  const position = values.length;
  const { rows } = await db.query<{ id: number; matches: boolean }>(
    `select s.id, (${where}) as matches from (
       select * from suppressions where account_id = $1 and id > $${position + 1} and id <= $${position + 2}
       order by id limit $${position + 3}) s
     order by s.id`,
    [...values, scan.after, scan.upTo, scan.maxRows],
  );
  return scanned(rows, scan);
}

/** @returns the suppressions of the account that still exist, in ascending order of ids */
export async function findByIds(
  db: Queryable,
  { accountId }: AccountScope,
  ids: readonly number[],
): Promise<SuppressionRow[]> {
  const { rows } = await db.query<SuppressionRow>(
    `select ${COLUMNS} from suppressions s where s.account_id = $1 and s.id = any($2) order by s.id`,
    [accountId, ids],
  );
  return rows;
}
