import type pg from 'pg';
import { invalid, notFound } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import { addFigures, noFigures, statChannels, statSources } from './figures.ts';
import { DAY_MS, dayOf, dayStart, HOUR_MS, pointStarts, QUARTER_MS } from './periods.ts';
import { type FiguresRow, type GroupBy, readFigures } from './read.ts';
import { isDate, MAX_POINTS, type Stats, type StatsQuery } from './schema.ts';

const DEFAULT_DAYS = 30;

interface BrandZone {
  id: number;
  timezone: string | null;
}

/** The brands whose figures the caller asks for. @throws AppError not_found for a brand that is not the caller's */
async function findBrands(
  pool: pg.Pool,
  { accountId, brandId, actor }: AccountTenant,
  asked: number | undefined,
): Promise<BrandZone[]> {
  if (actor.kind === 'api_key' && asked !== undefined && asked !== brandId) throw notFound('brand');
  const only = asked ?? (actor.kind === 'api_key' ? brandId : null);
  const { rows } = await pool.query<BrandZone>(
    `select id, timezone from brands where account_id = $1 and ($2::bigint is null or id = $2) order by id`,
    [accountId, only],
  );
  if (asked !== undefined && rows.length === 0) throw notFound('brand');
  return rows;
}

const zoneOf = (brands: readonly BrandZone[]) => (brands.length === 1 ? brands[0]?.timezone : null) ?? 'UTC';

/** When clocks show midnight of a date, plus days. */
const startOfDate = (date: string, zone: string, days: number) =>
  dayStart(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS, zone);

/** The period, in whole quarters of an hour. @throws AppError validation_error if it ends before it begins */
function periodOf(query: StatsQuery, zone: string, now: number): { from: number; to: number } {
  const readTo = (text: string) =>
    isDate(text) ? startOfDate(text, zone, 1) : Math.ceil(Date.parse(text) / QUARTER_MS) * QUARTER_MS;
  const readFrom = (text: string) =>
    isDate(text) ? startOfDate(text, zone, 0) : Math.floor(Date.parse(text) / QUARTER_MS) * QUARTER_MS;
  const to = query.to === undefined ? dayOf(now, zone, 1) : readTo(query.to);
  const from = query.from === undefined ? dayOf(to - 1, zone, 1 - DEFAULT_DAYS) : readFrom(query.from);
  if (from >= to)
    throw invalid(query.to === undefined ? { from: ['must be before to'] } : { to: ['must be after from'] });
  return { from, to };
}

/** The groups, each of which has a series in the response, even if nothing happened in it. */
function groupsOf(
  { group_by, source, channel }: StatsQuery,
  brands: readonly BrandZone[],
): (string | null)[] {
  switch (group_by) {
    case 'source':
      return source === undefined ? [...statSources] : [source];
    case 'channel':
      return channel === undefined ? [...statChannels] : [channel];
    case 'brand':
      return brands.map(({ id }) => String(id));
    case 'none':
      return [null];
  }
}

/** @throws AppError validation_error if the series would have too many points */
function startsOf(
  query: StatsQuery,
  { from, to }: { from: number; to: number },
  zone: string,
  groups: number,
) {
  const tooMany = () =>
    invalid({
      interval: [`makes more than ${MAX_POINTS} points; choose a longer one, or a shorter period`],
    });
  // Checked first, so that a long period does not take long. Clocks make a point shorter by an hour at most.
  const length = query.interval === 'day' ? DAY_MS : HOUR_MS;
  if (((to - from) / length - 2) * groups > MAX_POINTS) throw tooMany();
  const starts = pointStarts(from, to, query.interval, zone);
  if (starts.length * groups > MAX_POINTS) throw tooMany();
  return starts;
}

function seriesOf(
  groupBy: GroupBy,
  group: string | null,
  starts: readonly number[],
  rows: readonly FiguresRow[],
) {
  const points = starts.map((start) => ({ at: new Date(start).toISOString(), ...noFigures() }));
  for (const row of rows) {
    const point = row.group === group ? points[row.point] : undefined;
    if (point) addFigures(point, row);
  }
  return {
    brand_id: groupBy === 'brand' ? Number(group) : null,
    source: groupBy === 'source' ? (group as (typeof statSources)[number]) : null,
    channel: groupBy === 'channel' ? (group as (typeof statChannels)[number]) : null,
    points,
  };
}

/**
 * Returns figures over time.
 * @throws AppError not_found if `brand_id` is not a brand of the caller; validation_error if there would be too many
 *   points, or none
 */
export async function getStats(pool: pg.Pool, tenant: AccountTenant, query: StatsQuery): Promise<Stats> {
  const brands = await findBrands(pool, tenant, query.brand_id);
  const timezone = query.timezone ?? zoneOf(brands);
  const { from, to } = periodOf(query, timezone, Date.now());
  const groups = groupsOf(query, brands);
  const starts = startsOf(query, { from, to }, timezone, groups.length);
  const rows = await readFigures(pool, {
    brandIds: brands.map(({ id }) => id),
    starts,
    end: to,
    source: query.source ?? null,
    channel: query.channel ?? null,
    groupBy: query.group_by,
  });
  const totals = noFigures();
  for (const row of rows) addFigures(totals, row);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    interval: query.interval,
    timezone,
    series: groups.map((group) => seriesOf(query.group_by, group, starts, rows)),
    totals,
  };
}
