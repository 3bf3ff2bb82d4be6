/** When the blocks of a throttled campaign become due. Claims keep to the throttle themselves, however late blocks are. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type CampaignRow, isLocalTime } from '../model.ts';

export const MAX_BLOCK = 1_000;
/** A throttled block is one second's worth or more, and at least this many recipients if a minute has as many. */
const MIN_THROTTLED_BLOCK = 20;
/** Parts of a minute, so that each minute has a whole number of blocks. */
const SECONDS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];

/** How many recipients a block of a throttled campaign has. @param perMinute at least 1 */
export function throttledBlock(perMinute: number): number {
  const seconds = SECONDS.find((each) => (perMinute * each) / 60 >= MIN_THROTTLED_BLOCK) ?? 60;
  return Math.min(MAX_BLOCK, Math.max(1, Math.floor((perMinute * seconds) / 60)));
}

/**
 * When the blocks that are written already leave the next one free to go, at most so many a minute. Those that a limit
 * holds are left out, as they may be due much later: the claim paces what becomes due at the same time.
 */
export async function freeAfter(trx: Queryable, campaignId: number, perMinute: number): Promise<Date | null> {
  const { rows } = await trx.query<{ free: Date | null }>(
    `select max(due_at + make_interval(secs => size * 60.0 / $2)) as free from campaign_blocks
     where campaign_id = $1 and isfinite(due_at) and skipped < size and hold_reason is null`,
    [campaignId, perMinute],
  );
  return rows[0]?.free ?? null;
}

type Throttled = Pick<CampaignRow, 'id' | 'options' | 'scheduled_at'>;

/** From when on, and with how many seconds for each recipient, further blocks follow those that are written. */
export async function placeInLine(
  trx: Queryable,
  row: Throttled,
  asOf: Date,
): Promise<{ from: Date; secondsEach: number }> {
  const { throttle_per_minute: perMinute } = row.options;
  if (!perMinute || isLocalTime(row)) return { from: asOf, secondsEach: 0 };
  const free = await freeAfter(trx, row.id, perMinute);
  return { from: free && free > asOf ? free : asOf, secondsEach: 60 / perMinute };
}

/** Blocks that one statement spreads. */
const SPREAD_PAGE = 2_000;

/** A place in the line of blocks. Times are texts, because PostgreSQL's are more exact than dates here. */
interface LinePlace {
  notBefore: string;
  n: number;
  /** When the blocks up to here leave the next one free to go. */
  free: string;
}

const LINE_START: LinePlace = { notBefore: '-infinity', n: -2_147_483_648, free: '-infinity' };

const SPREAD = `
  with page as materialized (
    select n, due_at, size, at from (
      select n, due_at, size, coalesce(not_before, '-infinity') as at from campaign_blocks
      where campaign_id = $1 and owner is null and closed_at is null and isfinite(due_at)
        and (hold_reason is null or due_at <= $3)
    ) b where (at, n) > ($4::timestamptz, $5::int) order by at, n limit ${SPREAD_PAGE}
  ), line as (
    select *, row_number() over line as place, greatest(due_at, $3::timestamptz) as earliest,
      make_interval(secs => ((sum(size) over line - size) * 60.0 / $2)::float8) as after
    from page window line as (order by at, n)
  ), spread as materialized (
    select *, after + greatest($6::timestamptz, max(earliest - after) over (order by place)) as due from line
  ), locked as materialized (
    select b.n, s.due from spread s join campaign_blocks b on b.n = s.n
    where b.campaign_id = $1 and b.owner is null and b.closed_at is null
      and s.due - s.due_at > interval '100 milliseconds'
    order by b.n for no key update of b
  ), moved as (
    update campaign_blocks b set due_at = l.due from locked l where b.campaign_id = $1 and b.n = l.n
  )
  select at::text as "notBefore", n, (due + make_interval(secs => (size * 60.0 / $2)::float8))::text as free,
    place = ${SPREAD_PAGE} as "mayHaveMore"
  from spread order by place desc limit 1`;

/**
 * Spreads a page of the blocks that no sender has taken, so that no more than the throttle allows become due in a minute
 * from `asOf` on. Blocks are in the order of their local times and numbers, which spreading does not change, and none
 * comes before its local time.
 * @param after the end of the page before
 * @returns where the next page begins; null: there is none
 */
async function spreadBlocksPage(
  trx: Queryable,
  row: Throttled,
  { asOf, after }: { asOf: Date; after: LinePlace },
): Promise<LinePlace | null> {
  const perMinute = row.options.throttle_per_minute;
  if (perMinute === null || perMinute === undefined) return null;
  const { rows } = await trx.query<LinePlace & { mayHaveMore: boolean }>(SPREAD, [
    row.id,
    perMinute,
    asOf,
    after.notBefore,
    after.n,
    after.free,
  ]);
  return rows[0]?.mayHaveMore ? rows[0] : null;
}

/**
 * Spreads all blocks of a campaign, page by page.
 * @param options.from only blocks with this number or a larger one, which have no local time; left out: all
 */
export async function spreadBlocks(
  trx: Queryable,
  row: Throttled,
  { asOf, from }: { asOf: Date; from?: number },
): Promise<void> {
  let after: LinePlace | null = from === undefined ? LINE_START : { ...LINE_START, n: from - 1 };
  while (after) after = await spreadBlocksPage(trx, row, { asOf, after });
}
