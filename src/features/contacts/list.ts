import type pg from 'pg';
import {
  emailKeys,
  emailParts,
  phoneKeys,
  searchedPhones,
} from '../../delivery/terms/addresses/search-keys.ts';
import { AppError, invalid } from '../../errors.ts';
import { prefixPattern } from '../../platform/db/like.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, EXACT_UP_TO, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { withLimit } from '../../platform/db/statement-limit.ts';
import { type HeavyReads, HEAVY_READ_MS, READS_OF_CONTACTS } from '../../platform/processes/heavy-reads.ts';
import { countOf } from '../lists/service.ts';
import { segmentCondition } from '../segments/index.ts';
import { type ContactRow, contactRowsSql, contactSuppressedSql } from './model.ts';
import { presentContact } from './presenter.ts';
import type { Contact, ListContactsQuery } from './schema.ts';

/** How long the statements of a list may take. A slower page is refused, a slower count is estimated. */
export interface ListLimits {
  pageMs: number;
  countMs: number;
}
const LIMITS: ListLimits = { pageMs: HEAVY_READ_MS, countMs: 2_000 };

export type ContactFilters = Omit<ListContactsQuery, 'page' | 'limit' | 'after'>;

/** SQL to follow `contacts c where`, with its values. */
interface Conditions {
  sql: string;
  values: unknown[];
}

/** A text that is no address matches nothing. */
const keysOf = (keys: ReturnType<typeof emailKeys>): readonly string[] => ('error' in keys ? [] : keys);

const verificationSql = {
  suppressed: contactSuppressedSql,
  verified: `(c.email_verified or c.phone_verified) and not ${contactSuppressedSql}`,
  unverified: `not (c.email_verified or c.phone_verified) and not ${contactSuppressedSql}`,
} as const;

const inList = (list: string) => `exists (
  select 1 from list_members m join lists l on l.id = m.list_id
  where m.list_id = ${list} and m.contact_id = c.id and l.brand_id = c.brand_id and l.removed_at is null)`;

interface SearchParameters {
  /** A pattern of LIKE, for names. */
  name: string;
  /** Patterns of LIKE. */
  emails: string;
  /** A regular expression, or null. */
  phones: string;
}

const matching = ({ name, emails, phones }: SearchParameters) => `(c.email_key like any(${emails}::text[])
  or c.phone ~ ${phones}::text or lower(c.last_name) like lower(${name})
  or lower(concat_ws(' ', c.first_name, c.last_name)) like lower(${name}))`;

export function conditionsOf({ brandId }: BrandScope, filters: ContactFilters): Conditions {
  const values: unknown[] = [brandId];
  const conditions = ['c.brand_id = $1'];
  const add = <Value>(
    value: Value | undefined,
    sql: (parameter: string) => string,
    as: (value: Value) => unknown,
  ) => {
    if (value !== undefined) conditions.push(sql(`$${values.push(as(value))}`));
  };
  const same = (value: unknown) => value;
  add(
    filters.email,
    (keys) => `c.email_key = any(${keys})`,
    (text) => keysOf(emailKeys(text)),
  );
  add(
    filters.phone,
    (keys) => `c.phone = any(${keys})`,
    (text) => keysOf(phoneKeys(text)),
  );
  add(filters.list_id, inList, same);
  add(
    filters.subscribed,
    (is) => `(c.email_subscribed or c.phone_subscribed) = ${is}`,
    (flag) => flag === 'true',
  );
  add(filters.source, (source) => `c.source = ${source}`, same);
  add(filters.created_after, (time) => `c.created_at > ${time}`, same);
  add(filters.created_before, (time) => `c.created_at < ${time}`, same);
  if (filters.search !== undefined) {
    const text = filters.search;
    const parameter = (value: unknown) => `$${values.push(value)}`;
    conditions.push(
      matching({
        name: parameter(prefixPattern(text)),
        emails: parameter(emailParts(text).map(prefixPattern)),
        phones: parameter(searchedPhones(text)),
      }),
    );
  }
  if (filters.verification_status !== undefined)
    conditions.push(verificationSql[filters.verification_status]);
  return { sql: conditions.join(' and '), values };
}

/** @throws AppError validation_error if the brand has no such segment */
async function withSegment(
  db: Queryable,
  { brandId }: BrandScope,
  { sql, values }: Conditions,
  segmentId: number | undefined,
): Promise<Conditions> {
  if (segmentId === undefined) return { sql, values };
  const audience = { brandId, asOf: new Date() };
  const segment = await segmentCondition(db, audience, segmentId, values.length + 1).catch(
    (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw invalid({ segment_id: ['is not a segment of the brand'] });
    },
  );
  return { sql: `${sql} and (${segment.sql})`, values: [...values, ...segment.values] };
}

/** SQL: a page of the contacts that match, newest first. */
export function listSql({ sql }: Conditions, page: Page): string {
  const below = page.after === null ? '' : `and c.id < ${page.after}`;
  const source = `(
    select * from contacts c where ${sql} ${below} order by c.id desc limit ${page.limit} offset ${page.offset})`;
  return `${contactRowsSql(source)} order by c.id desc`;
}

async function findPage(db: Queryable, conditions: Conditions, page: Page): Promise<ContactRow[]> {
  const { rows } = await db.query<ContactRow>(listSql(conditions, page), conditions.values);
  return rows;
}

const namesOf = (filters: ContactFilters): string[] =>
  Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]));

async function count(
  db: Queryable,
  { brandId }: BrandScope,
  { sql, values }: Conditions,
  isFiltered: boolean,
  countMs: number,
): Promise<RowCount> {
  // The number of all contacts is stored.
  if (!isFiltered) return { total: (await countOf(db, 'brand', [brandId])).get(brandId) ?? 0 };
  const source = `contacts c where ${sql}`;
  const counted = await withLimit(db, countMs, (trx) => countRows(trx, source, values));
  if (counted) return counted;
  const planned = await plannedRows(db, source, values);
  return { total: Math.min(Math.max(planned, 1), Math.max(planned, EXACT_UP_TO)), estimated: true };
}

function tooSlow(filters: string[]): AppError {
  const slowest = ['search', 'segment_id'].find((name) => filters.includes(name)) ?? filters[0] ?? 'page';
  const seconds = HEAVY_READ_MS / 1_000;
  return invalid({
    [slowest]: [`takes longer than ${seconds} seconds: add a filter that fewer contacts match`],
  });
}

/** Filters that take one look-up in an index. Any other may read many contacts. */
const QUICK = ['email', 'phone'];

/** The connections that lists of contacts are read on. */
export interface ListDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
}

/**
 * Finds one page of a brand's contacts, newest first, and counts them. The page is one statement for any number of
 * contacts.
 * @throws AppError validation_error if the filters take longer than five seconds; rate_limited if the account reads
 *   many filtered lists at once
 */
export function listContacts(
  { pool, heavyReads }: ListDeps,
  tenant: BrandScope,
  filters: ContactFilters,
  page: Page,
  { pageMs, countMs }: ListLimits = LIMITS,
): Promise<{ contacts: Contact[]; count: RowCount }> {
  const names = namesOf(filters);
  const read = async (client: Queryable) => {
    const conditions = await withSegment(client, tenant, conditionsOf(tenant, filters), filters.segment_id);
    const rows = await withLimit(client, pageMs, (trx) => findPage(trx, conditions, page));
    if (!rows) throw tooSlow(names);
    const counted = await count(client, tenant, conditions, names.length > 0, countMs);
    return { contacts: rows.map(presentContact), count: counted };
  };
  const isQuick = names.every((name) => QUICK.includes(name));
  return isQuick
    ? onClient(pool, read)
    : heavyReads.run({ accountId: tenant.accountId, what: READS_OF_CONTACTS }, read);
}
