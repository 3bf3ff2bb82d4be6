import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';

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

/** When the blocks that are written already leave the next one free to go, at most so many a minute. */
export async function freeAfter(trx: Queryable, campaignId: number, perMinute: number): Promise<Date | null> {
  const { rows } = await trx.query<{ free: Date | null }>(
    `select max(due_at + make_interval(secs => size * 60.0 / $2)) as free from campaign_blocks
     where campaign_id = $1 and isfinite(due_at) and skipped < size`,
    [campaignId, perMinute],
  );
  return rows[0]?.free ?? null;
}

/**
 * Spreads the blocks that no sender has taken, so that no more than the throttle allows become due in a minute from
 * `asOf` on. Blocks keep their order, and none comes before its local time.
 */
export async function spreadBlocks(
  trx: Queryable,
  { id, options }: Pick<CampaignRow, 'id' | 'options'>,
  asOf: Date,
): Promise<void> {
  const perMinute = options.throttle_per_minute;
  if (perMinute === null || perMinute === undefined) return;
  await trx.query(
    `with waiting as (
       select n, due_at, size, row_number() over line as place, greatest(due_at, $3::timestamptz) as earliest,
         (sum(size) over line - size) * 60.0 / $2 as seconds
       from campaign_blocks
       where campaign_id = $1 and owner is null and closed_at is null and isfinite(due_at)
       window line as (order by due_at, n)
     ), spread as (
       select n, due_at, make_interval(secs => seconds::float8)
         + max(earliest - make_interval(secs => seconds::float8)) over (order by place) as due
       from waiting
     )
     update campaign_blocks b set due_at = s.due from spread s
     where b.campaign_id = $1 and b.n = s.n and b.owner is null and b.closed_at is null
       and s.due - s.due_at > interval '100 milliseconds'`,
    [id, perMinute, asOf],
  );
}

/** Blocks this late are spread again: they would all go at once. */
const MAX_LATE = `interval '1 minute'`;

/** Spreads the blocks of a throttled campaign again if none was taken for some time: for the allowance, or a provider. */
export async function spreadLate(
  pool: pg.Pool,
  row: Pick<CampaignRow, 'id' | 'options'>,
  asOf: Date,
): Promise<void> {
  if (!row.options.throttle_per_minute) return;
  const { rowCount } = await pool.query(
    `select 1 from campaign_blocks
     where campaign_id = $1 and owner is null and closed_at is null and due_at < $2::timestamptz - ${MAX_LATE} limit 1`,
    [row.id, asOf],
  );
  if (rowCount) await inTransaction(pool, (trx) => spreadBlocks(trx, row, asOf));
}
