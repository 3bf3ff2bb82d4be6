/**
 * Decides when the blocks of a throttled campaign become due. Claims enforce the throttle in any case, however late
 * blocks are.
 */
import { MAX_BLOCK } from '../../../delivery/ledger/blocks/campaign-blocks.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type CampaignRow, isLocalTime } from '../model.ts';

/**
 * Minimum number of recipients in a throttled block, unless a minute has fewer. A block is at least one second's worth.
 */
const MIN_THROTTLED_BLOCK = 20;
/** Allowed durations of a block in seconds: divisors of a minute, so that each minute has a whole number of blocks. */
const SECONDS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];

/** Returns the number of recipients in a block of a throttled campaign. @param perMinute at least 1 */
export function throttledBlock(perMinute: number): number {
  const seconds = SECONDS.find((each) => (perMinute * each) / 60 >= MIN_THROTTLED_BLOCK) ?? 60;
  return Math.min(MAX_BLOCK, Math.max(1, Math.floor((perMinute * seconds) / 60)));
}

/**
 * When the next block may be due after those already written, at this rate. Blocks held by a limit are left out,
 * because they may be due much later; the claim paces blocks that become due at the same time.
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

/** Returns the time after which further blocks are due, and the seconds that each of their recipients takes. */
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

/** Number of blocks that one statement spreads. */
const SPREAD_PAGE = 2_000;

/** A position in the line of blocks. Times are strings, because a Date would lose PostgreSQL's microseconds. */
interface LinePlace {
  notBefore: string;
  n: number;
  /** When the next block may be due after the blocks up to here. */
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
 * Spreads a page of the blocks that no sender has taken, so that from `asOf` on no more become due per minute than the
 * throttle allows. Blocks keep the order of their local times and numbers, and none becomes due before its local time.
 * @param after the end of the previous page
 * @returns the end of this page; null if there is no further page
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
 * @param options.from the first block number to spread; only for blocks without local times. Left out, all are spread
 */
export async function spreadBlocks(
  trx: Queryable,
  row: Throttled,
  { asOf, from }: { asOf: Date; from?: number },
): Promise<void> {
  let after: LinePlace | null = from === undefined ? LINE_START : { ...LINE_START, n: from - 1 };
  while (after) after = await spreadBlocksPage(trx, row, { asOf, after });
}
