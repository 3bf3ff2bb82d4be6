import { AppError, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { countRows, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import { type HeavyReads, HEAVY_READ_MS, READS_OF_CONTACTS } from '../../platform/processes/heavy-reads.ts';
import { presentContacts } from '../contacts/service.ts';
import type { Contact } from '../contacts/schema.ts';
import { type Audience, compileFilters, loadConditions } from './conditions.ts';
import { explainMatch } from './explain.ts';
import { requireKnownReferences } from './manage.ts';
import { findSegment } from './model.ts';
import type { Filter } from './parse.ts';
import type { PreviewBody, SegmentPreview } from './schema.ts';
import type { SqlCondition } from './sql.ts';
import { unreadableWarnings } from './unreadable.ts';

const SAMPLE = 10;
/** How many of the newest contacts are searched for some that do not match. */
const LOOKED_AT = 1_000;
/**
 * A statement is not run if PostgreSQL estimates a higher cost. The unit is the time to read one page, at least some 10
 * µs. The estimate of a subplan that is hashed in the end is a hundred times too high.
 */
const MAX_PLAN_COST = 1_000_000_000;

interface Plan {
  'Total Cost': number;
  'Plan Rows': number;
  Plans?: Plan[];
}

/** `$1` is the brand. */
const FIRST_PARAMETER = 2;

async function planOf(db: Queryable, brandId: number, { sql, values }: SqlCondition): Promise<Plan> {
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (format json) select count(*) from contacts c where c.brand_id = $1 and ${sql}`,
    [brandId, ...values],
  );
  return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
}

function mostRows(plan: Plan): number {
  return Math.max(plan['Plan Rows'], ...(plan.Plans ?? []).map(mostRows));
}

type NamedFilter = Pick<Filter, 'name' | 'predicate'>;

/** Describes the filter that PostgreSQL expects to take the most time. Empty if planning takes too long. */
async function slowestFilter(
  db: Queryable,
  audience: Audience,
  filters: readonly NamedFilter[],
): Promise<string> {
  const plans: Plan[] = [];
  try {
    for (const filter of filters) {
      const condition = await compileFilters(db, audience, [filter], FIRST_PARAMETER);
      plans.push(await planOf(db, audience.brandId, condition));
    }
  } catch (error) {
    if (isStatementTimeout(error)) return '';
    throw error;
  }
  const slowest = Math.max(...plans.map((plan) => plan['Total Cost']));
  const index = plans.findIndex((plan) => plan['Total Cost'] === slowest);
  const [plan, filter] = [plans[index], filters[index]];
  if (!plan || !filter) return '';
  const rows = Math.round(mostRows(plan)).toLocaleString('en');
  const advice = filter.predicate.startsWith('did') ? ' A shorter period makes it faster.' : '';
  return `filters.${index} (${filter.name} ${filter.predicate}) takes the most time: it reads about ${rows} rows.${advice}`;
}

interface Members {
  count: number;
  ids: number[];
}

/** SQL: counts the members and finds the newest, in one pass. @param condition SQL over the contact `c` */
export const membersSql = (condition: string) =>
  `with members as materialized (select c.id from contacts c where c.brand_id = $1 and ${condition})
     select (select count(*) from members) as count,
       array(select id from members order by id desc limit ${SAMPLE}) as ids`;

async function countAndSample(db: Queryable, brandId: number, condition: SqlCondition): Promise<Members> {
  const { rows } = await db.query<Members>(membersSql(condition.sql), [brandId, ...condition.values]);
  return { count: rows[0]?.count ?? 0, ids: (rows[0]?.ids ?? []).map(Number) };
}

/** Finds the newest contacts that do not match, among the newest {@link LOOKED_AT} of the brand. */
async function sampleOthers(
  db: Queryable,
  audience: Audience,
  filters: readonly NamedFilter[],
): Promise<number[]> {
  const condition = await compileFilters(db, { ...audience, few: true }, filters, FIRST_PARAMETER);
  const { rows } = await db.query<{ id: number }>(
    `select c.id from contacts c
     where c.brand_id = $1 and not (${condition.sql}) and c.id = any(array(
       select n.id from contacts n where n.brand_id = $1 order by n.id desc limit ${LOOKED_AT}))
     order by c.id desc limit ${SAMPLE}`,
    [audience.brandId, ...condition.values],
  );
  return rows.map(({ id }) => id);
}

/** @returns what `work` returns; `otherwise` if a statement takes too long */
async function unlessSlow<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    return otherwise;
  }
}

type CountAndSamples = Omit<SegmentPreview, 'match' | 'warnings'>;

async function countAndSamples(
  db: Queryable,
  audience: Audience,
  filters: readonly NamedFilter[],
): Promise<CountAndSamples> {
  const { brandId } = audience;
  const condition = await compileFilters(db, audience, filters, FIRST_PARAMETER);
  const because = async (reason: string): Promise<CountAndSamples> => ({
    count: null,
    sample: [],
    sample_out: [],
    slow_because: `${reason} ${await slowestFilter(db, audience, filters)}`.trim(),
  });
  try {
    const plan = await planOf(db, brandId, condition);
    if (plan['Total Cost'] > MAX_PLAN_COST) {
      return await because('The count was not started, because it would take too long.');
    }
    const { count, ids } = await countAndSample(db, brandId, condition);
    const others = await unlessSlow([], () => sampleOthers(db, audience, filters));
    return {
      count,
      sample: await presentContacts(db, brandId, ids),
      sample_out: await presentContacts(db, brandId, others),
      slow_because: null,
    };
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    return because(`The count was stopped after ${HEAVY_READ_MS / 1_000} seconds.`);
  }
}

/**
 * Counts the contacts that match all filters, and says which filters one contact matches. If counting takes more than
 * five seconds, or PostgreSQL expects it to take far longer, the preview says why there is no count.
 * @throws AppError validation_error, rate_limited
 */
export function previewFilters(
  reads: HeavyReads,
  tenant: Tenant,
  { filters, contact_id: contactId }: PreviewBody,
): Promise<SegmentPreview> {
  return reads.run({ accountId: tenant.accountId, what: READS_OF_CONTACTS }, async (db) => {
    const audience = { brandId: tenant.brandId, asOf: new Date() };
    await requireKnownReferences(db, audience, filters);
    const match =
      contactId === undefined
        ? null
        : await unlessSlow(null, () => explainMatch(db, audience, filters, contactId));
    const warnings = await unlessSlow([], async () => {
      const conditions = await loadConditions(db, audience, filters);
      return unreadableWarnings(db, tenant.brandId, filters, conditions);
    });
    return { ...(await countAndSamples(db, audience, filters)), match, warnings };
  });
}

/** Time limit of the statement that reads contacts from the newest on, in ms. */
const QUICK_MS = 1_000;

async function pageOfMembers(
  db: Queryable,
  brandId: number,
  condition: SqlCondition,
  page: Page,
): Promise<number[]> {
  const below = page.after === null ? '' : `and c.id < ${page.after}`;
  const where = `contacts c where c.brand_id = $1 and ${condition.sql} ${below}`;
  const range = `order by id desc limit ${page.limit} offset ${page.offset}`;
  const read = async (statement: string) => {
    const { rows } = await db.query<{ id: number }>(statement, [brandId, ...condition.values]);
    return rows.map(({ id }) => id);
  };
  try {
    await db.query(`begin; set local statement_timeout = ${QUICK_MS}`);
    // Reads contacts from the newest on: fast if many of them are members.
    return await read(`select c.id from ${where} ${range}`);
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
  } finally {
    await db.query('rollback');
  }
  return read(`with members as materialized (select c.id from ${where}) select id from members ${range}`);
}

/** Counts the members. Returns an estimate if there are many, or if counting them takes too long. */
async function countMembers(db: Queryable, brandId: number, condition: SqlCondition): Promise<RowCount> {
  const members = `contacts c where c.brand_id = $1 and ${condition.sql}`;
  const values = [brandId, ...condition.values];
  try {
    return await countRows(db, members, values);
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    return { total: await plannedRows(db, members, values), estimated: true };
  }
}

/**
 * Lists the contacts of a segment, newest first.
 * @throws AppError not_found, rate_limited; unavailable if it takes more than five seconds
 */
export function listMembers(
  reads: HeavyReads,
  tenant: Tenant,
  segmentId: number,
  page: Page,
): Promise<{ contacts: Contact[]; count: RowCount }> {
  const { brandId } = tenant;
  return reads.run({ accountId: tenant.accountId, what: READS_OF_CONTACTS }, async (db) => {
    const segment = await findSegment(db, tenant, segmentId);
    if (!segment) throw notFound('segment');
    const filters = segment.filters as NamedFilter[];
    const audience = { brandId, asOf: new Date() };
    const condition = await compileFilters(db, audience, filters, FIRST_PARAMETER);
    try {
      const ids = await pageOfMembers(db, brandId, condition, page);
      const count = await countMembers(db, brandId, condition);
      return { contacts: await presentContacts(db, brandId, ids), count };
    } catch (error) {
      if (!isStatementTimeout(error)) throw error;
      const slowest = await slowestFilter(db, audience, filters);
      throw new AppError('unavailable', `the segment takes too long to read. ${slowest}`.trim());
    }
  });
}
