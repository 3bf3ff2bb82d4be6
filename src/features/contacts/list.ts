import type pg from 'pg';
import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { readPhone } from '../../delivery/addresses/phone.ts';
import { AppError, invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, EXACT_UP_TO, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { countOf } from '../lists/service.ts';
import { segmentCondition } from '../segments/service.ts';
import { type ContactRow, contactRowsSql, suppressedSql } from './model.ts';
import { presentContact } from './presenter.ts';
import type { Contact, ListContactsQuery } from './schema.ts';

/** A page that takes longer is refused. */
export const PAGE_LIMIT_MS = 5_000;
/** A count that takes longer is estimated. */
const COUNT_LIMIT_MS = 2_000;
const QUERY_CANCELED = '57014';

export type ContactFilters = Omit<ListContactsQuery, 'page' | 'limit' | 'after'>;

/** SQL that follows `contacts c where`, with its values. */
interface Conditions {
  sql: string;
  values: unknown[];
}

/** The beginning of a text, for `like`. */
const prefixPattern = (text: string) => `${text.replace(/[\\%_]/g, '\\$&')}%`;

function emailKeyOf(text: string): string | null {
  const email = parseEmailAddress(text);
  return 'error' in email ? null : email.key;
}

function phoneOf(text: string): string | null {
  const phone = readPhone(text, null);
  return 'error' in phone ? null : phone.e164;
}

const verificationSql = {
  suppressed: suppressedSql,
  verified: `(c.email_verified or c.phone_verified) and not ${suppressedSql}`,
  unverified: `not (c.email_verified or c.phone_verified) and not ${suppressedSql}`,
} as const;

const inList = (list: string) => `exists (
  select 1 from list_members m join lists l on l.id = m.list_id
  where m.list_id = ${list} and m.contact_id = c.id and l.brand_id = c.brand_id and l.removed_at is null)`;

const matching = (
  pattern: string,
) => `(c.email_key like lower(${pattern}) or lower(c.last_name) like lower(${pattern})
  or lower(concat_ws(' ', c.first_name, c.last_name)) like lower(${pattern}))`;

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
  add(filters.email, (key) => `c.email_key = ${key}`, emailKeyOf);
  add(filters.phone, (phone) => `c.phone = ${phone}`, phoneOf);
  add(filters.list_id, inList, same);
  add(
    filters.subscribed,
    (is) => `(c.email_subscribed or c.phone_subscribed) = ${is}`,
    (flag) => flag === 'true',
  );
  add(filters.source, (source) => `c.source = ${source}`, same);
  add(filters.created_after, (time) => `c.created_at > ${time}`, same);
  add(filters.created_before, (time) => `c.created_at < ${time}`, same);
  add(filters.search, matching, prefixPattern);
  if (filters.verification_status !== undefined)
    conditions.push(verificationSql[filters.verification_status]);
  return { sql: conditions.join(' and '), values };
}

/** @throws AppError validation_error if the brand has no such segment */
async function withSegment(
  pool: pg.Pool,
  { brandId }: BrandScope,
  { sql, values }: Conditions,
  segmentId: number | undefined,
): Promise<Conditions> {
  if (segmentId === undefined) return { sql, values };
  const audience = { brandId, asOf: new Date() };
  const segment = await segmentCondition(pool, audience, segmentId, values.length + 1).catch(
    (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw invalid({ segment_id: ['is not a segment of the brand'] });
    },
  );
  return { sql: `${sql} and (${segment.sql})`, values: [...values, ...segment.values] };
}

async function findPage(db: Queryable, { sql, values }: Conditions, page: Page): Promise<ContactRow[]> {
  const below = page.after === null ? '' : `and c.id < ${page.after}`;
  const source = `(
    select * from contacts c where ${sql} ${below} order by c.id desc limit ${page.limit} offset ${page.offset})`;
  const { rows } = await db.query<ContactRow>(`${contactRowsSql(source)} order by c.id desc`, values);
  return rows;
}

const isCanceled = (error: unknown) => (error as { code?: string }).code === QUERY_CANCELED;

/** Runs `work` in a transaction whose statements end after a time. @returns null if one took longer */
async function withLimit<T>(
  pool: pg.Pool,
  ms: number,
  work: (trx: Queryable) => Promise<T>,
): Promise<T | null> {
  return inTransaction(pool, async (trx) => {
    await trx.query(`set local statement_timeout = ${ms}`);
    return work(trx);
  }).catch((error: unknown) => {
    if (isCanceled(error)) return null;
    throw error;
  });
}

/** The counts that are kept need no look at the contacts. */
async function keptCount(
  pool: pg.Pool,
  { brandId }: BrandScope,
  filters: ContactFilters,
): Promise<RowCount | null> {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  if (given.length > 0) return null;
  return { total: (await countOf(pool, 'brand', [brandId])).get(brandId) ?? 0 };
}

async function count(pool: pg.Pool, { sql, values }: Conditions): Promise<RowCount> {
  const source = `contacts c where ${sql}`;
  const counted = await withLimit(pool, COUNT_LIMIT_MS, (trx) => countRows(trx, source, values));
  if (counted) return counted;
  const planned = await plannedRows(pool, source, values);
  return { total: Math.min(Math.max(planned, 1), Math.max(planned, EXACT_UP_TO)), estimated: true };
}

/**
 * Finds one page of a brand's contacts, newest first, and counts them. The page is one statement, whatever it shows.
 * @throws AppError validation_error if the filters take longer than {@link PAGE_LIMIT_MS}
 */
export async function listContacts(
  pool: pg.Pool,
  tenant: BrandScope,
  filters: ContactFilters,
  page: Page,
): Promise<{ contacts: Contact[]; count: RowCount }> {
  const conditions = await withSegment(pool, tenant, conditionsOf(tenant, filters), filters.segment_id);
  const kept = await keptCount(pool, tenant, filters);
  const [rows, counted] = await Promise.all([
    withLimit(pool, PAGE_LIMIT_MS, (trx) => findPage(trx, conditions, page)),
    kept ?? count(pool, conditions),
  ]);
  if (rows) return { contacts: rows.map(presentContact), count: counted };
  const named = Object.entries(filters).find(([name, value]) => name === 'search' && value !== undefined);
  throw invalid({
    [named?.[0] ?? 'query']: [
      `takes longer than ${PAGE_LIMIT_MS / 1_000} seconds: add a filter that fewer contacts match`,
    ],
  });
}
