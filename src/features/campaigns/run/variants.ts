import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { type CampaignRow, isLocalTime, lockCampaignRow, storeWinner } from '../model.ts';
import { placeInLine, spreadBlocks } from './throttle.ts';

/** The division of the recipients of an A/B test. */
export interface Division {
  /**
   * For each variant, the part of the audience (0 to 1) at which it ends; recipients above the last wait for the
   * winner.
   */
  ends: number[];
  /** Whether a part of the audience waits for the winner. */
  hasRest: boolean;
}

export function divisionOf({ options }: Pick<CampaignRow, 'options'>): Division | null {
  const { ab } = options;
  if (!ab) return null;
  let percent = 0;
  const ends = ab.variants.map(({ weight }) => (percent += weight) / 100);
  return { ends, hasRest: percent < 100 };
}

/**
 * SQL: the variant of the recipient with a number, counted from 0; null if it waits for the winner. Multiples of the
 * golden ratio are spread evenly over the variants, whatever their weights and however small the audience.
 * @param number SQL
 * @param ends the parameter with {@link Division.ends}
 */
export function variantSql(number: string, ends: string): string {
  const part = `((${number}) * 0.6180339887498949::float8) - floor((${number}) * 0.6180339887498949::float8)`;
  return `nullif(width_bucket(${part}, ${ends}::float8[]), cardinality(${ends}::float8[]))::smallint`;
}

/** SQL: a block that waits for the winner. */
const WAITING = `due_at = 'infinity' and owner is null and closed_at is null`;

type Tested = Pick<CampaignRow, 'id' | 'phase' | 'options' | 'sending_at'>;

/**
 * Finds when the winners of A/B tests can be decided: `after_seconds` after the last block of the test, or at once if
 * no message of the test was sent.
 * @returns by campaign; campaigns without a test, or whose test is still being sent, are left out
 */
export async function decisionTimes(db: Queryable, campaigns: readonly Tested[]): Promise<Map<number, Date>> {
  const tested = campaigns.filter(({ options, phase }) => options.ab && phase === 'sending');
  if (tested.length === 0) return new Map();
  const { rows } = await db.query<{ id: number; at: Date | null }>(
    // Each subquery reads the first row of an index, and the last ones are read only if the test is over.
    `select c.id, case when open.due is null and taken.n is null then coalesce((
         select closed_at from campaign_blocks
         where campaign_id = c.id and closed_at is not null and skipped < size order by closed_at desc limit 1
       ) + make_interval(secs => c.after_seconds),
       (select closed_at from campaign_blocks
        where campaign_id = c.id and closed_at is not null order by closed_at desc limit 1),
       c.sending_at, now()) end as at
     from unnest($1::bigint[], $2::float8[], $3::timestamptz[]) as c (id, after_seconds, sending_at)
     cross join lateral (
       select n from campaign_blocks where campaign_id = c.id and ${WAITING} order by due_at, n limit 1) waiting
     left join lateral (
       select due_at as due from campaign_blocks
       where campaign_id = c.id and owner is null and closed_at is null and due_at < 'infinity'
       order by due_at, n limit 1) open on true
     left join lateral (
       select n from campaign_blocks
       where campaign_id = c.id and closed_at is null and claim_epoch > 0 and owner is not null limit 1) taken on true`,
    [
      tested.map(({ id }) => id),
      tested.map(({ options }) => options.ab?.after_seconds),
      tested.map(({ sending_at: sendingAt }) => sendingAt),
    ],
  );
  return new Map(rows.flatMap(({ id, at }) => (at ? [[id, at] as const] : [])));
}

/** Finds the variant with the highest rate of opens or clicks among its sent messages. A tie goes to the first. */
async function findWinner(
  db: Queryable,
  { id, options }: Pick<CampaignRow, 'id' | 'options'>,
): Promise<number> {
  const column = options.ab?.by === 'clicks' ? 'clicked_at' : 'opened_at';
  const { rows } = await db.query<{ variant: number }>(
    `select m.variant from campaign_blocks b
       join messages m on m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id
     where b.campaign_id = $1 and b.due_at <> 'infinity' and m.variant is not null and m.sent_at is not null
     group by 1 order by count(m.${column})::numeric / count(*) desc, 1 limit 1`,
    [id],
  );
  return rows[0]?.variant ?? 0;
}

/** Maximum numbers of blocks and of recipients that get the winner in one transaction. Throttled blocks are small. */
const PAGE_BLOCKS = 1_000;
const PAGE_RECIPIENTS = 20_000;

/**
 * Assigns the winner to a page of waiting blocks and their messages, and makes them due. Messages are locked before
 * blocks, as everywhere.
 * @param trx a transaction that has locked the campaign's row
 * @returns the number of blocks; 0 if none is left
 */
async function giveWinner(trx: Queryable, row: CampaignRow, winner: number, asOf: Date): Promise<number> {
  const { id, version_ids: versionIds } = row;
  const { rows } = await trx.query<{ n: number }>(
    `select n from (
       select n, sum(size) over (order by n) - size as before from (
         select n, size from campaign_blocks where campaign_id = $1 and ${WAITING} order by n limit ${PAGE_BLOCKS}) b
     ) b where before < ${PAGE_RECIPIENTS}`,
    [id],
  );
  if (rows.length === 0) return 0;
  const blocks = rows.map(({ n }) => n);
  await trx.query(
    `with locked as materialized (
       select m.id from campaign_blocks b
         join messages m on m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id
       where b.campaign_id = $1 and b.n = any($2::int[]) order by m.id for no key update of m
     )
     update messages m set variant = $3, content_version_id = $4, updated_at = now() from locked l where m.id = l.id`,
    [id, blocks, winner, versionIds[winner] ?? null],
  );
  const { from, secondsEach } = await placeInLine(trx, row, asOf);
  await trx.query(
    `with locked as materialized (
       select n, size from campaign_blocks where campaign_id = $1 and n = any($2::int[]) and ${WAITING}
       order by n for no key update
     ), line as (
       select n, make_interval(secs => ((sum(size) over (order by n) - size) * $5::float8)::float8) as after from locked
     )
     update campaign_blocks b set variant = $3, due_at = greatest($4::timestamptz + l.after, b.not_before)
     from line l where b.campaign_id = $1 and b.n = l.n`,
    [id, blocks, winner, from, secondsEach],
  );
  return blocks.length;
}

/**
 * Assigns the winner to one page. The first page stores it, so that all get the same.
 * @returns whether there may be more
 */
function decidePage(pool: pg.Pool, campaignId: number, asOf: Date): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const row = await lockCampaignRow(trx, campaignId);
    if (row?.status !== 'active' || row.phase !== 'sending') return false;
    const winner = row.winner ?? (await findWinner(trx, row));
    if (row.winner === null) await storeWinner(trx, campaignId, winner);
    const given = await giveWinner(trx, row, winner, asOf);
    if (given > 0 && isLocalTime(row)) await spreadBlocks(trx, row, { asOf });
    return given > 0;
  });
}

async function isWaiting(db: Queryable, campaignId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from campaign_blocks where campaign_id = $1 and ${WAITING} order by due_at, n limit 1`,
    [campaignId],
  );
  return rowCount !== 0;
}

/** Decides an A/B test if it is due. @returns whether blocks have become due */
export async function giveWinnerIfDue(pool: pg.Pool, row: CampaignRow, asOf: Date): Promise<boolean> {
  if (!divisionOf(row)?.hasRest || row.phase !== 'sending') return false;
  if (row.winner === null) {
    const at = (await decisionTimes(pool, [row])).get(row.id);
    if (at === undefined || at > asOf) return false;
  } else if (!(await isWaiting(pool, row.id))) return false;
  let given = false;
  while (await decidePage(pool, row.id, asOf)) given = true;
  return given;
}
