/** The tallies of blocks: the outcomes of their messages, and how these are recounted once rows have changed. */
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { isChannelSql } from '../../terms/channels/index.ts';
import type pg from 'pg';

/** The outcomes that a block counts. Messages that are still open count in none. */
export const tallyGroups = ['sent', 'failed', 'skipped', 'unknown', 'canceled'] as const;

/** SQL over the message `m`: the condition of each count. */
const conditions: Readonly<Record<(typeof tallyGroups)[number], string>> = {
  sent: 'm.sent_at is not null',
  failed: `m.sent_at is null and m.status in ('bounced', 'failed')`,
  skipped: `m.sent_at is null and m.status = 'skipped'`,
  unknown: `m.sent_at is null and m.status = 'unknown'`,
  canceled: `m.sent_at is null and m.status = 'canceled'`,
};

/**
 * SQL over the message `m` and its campaign `c`: whether the message counts in the rates for the stop thresholds,
 * because it was accepted or bounced at hand-over since the send or the last resume.
 */
const countedSql = `${isChannelSql('m.channel', ({ hasRates }) => hasRates)} and (m.sent_at is not null or m.status = 'bounced')
      and coalesce(m.sent_at, m.updated_at) >= coalesce(c.counted_from, '-infinity')`;

const countOf = (condition: string) => `count(*) filter (where ${condition})`;

/** SQL over the messages `m` of a block and their campaign `c`: a value for each tally of a block. */
const tallies: Readonly<Record<string, string>> = {
  ...Object.fromEntries(tallyGroups.map((group) => [group, countOf(conditions[group])])),
  counted: countOf(countedSql),
  bounced: countOf(`${countedSql} and m.bounce->>'type' = 'hard'`),
  complained: countOf(`${countedSql} and m.status = 'complained'`),
};

/** SQL over the block `b`: the tallies of its messages now, in one row `r`; `found` is the number of messages. */
export const rowsOfBlock = (names: readonly string[]) => `cross join lateral (
      select count(*) as found, ${names.map((name) => `${tallies[name]} as ${name}`).join(', ')}
      from messages m where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id) r`;

/**
 * SQL over the block `b` and its counts `r`: whether all of its messages still exist. Messages of an old block may have
 * been dropped; then its tallies are kept.
 */
export const IS_WHOLE = 'r.found >= b.size';

/** Number of blocks that one transaction counts. Their rows are locked meanwhile. */
const RECOUNT_PAGE = 20;

/**
 * A statement that changes a message of a closed block locks the block's row and marks it. Here the blocks are locked
 * first, in a separate statement, before their messages are counted, so that no change is lost between the count and
 * the mark.
 */
const LOCK = `
  select b.n from campaign_blocks b where b.campaign_id = $1 and b.closed_at is not null and b.recount
  order by b.n limit ${RECOUNT_PAGE} for no key update skip locked`;

/**
 * SQL: whether the block counts in the rates for the stop thresholds: it was closed since the send or the last resume.
 */
const IS_RATED = `b.closed_at >= coalesce(c.counted_from, '-infinity')`;

const tallyNames = Object.keys(tallies);
const newTally = (name: string) =>
  `case when ${[IS_WHOLE, ...(name in conditions ? [] : [IS_RATED])].join(' and ')} then r.${name} else b.${name} end as ${name}`;

/** The trigger of `campaign_blocks` adds the difference to the sums of the campaign. */
const RECOUNT = `
  update campaign_blocks o set recount = false, ${tallyNames.map((name) => `${name} = t.${name}`).join(', ')}
  from (
    select b.campaign_id, b.n, ${tallyNames.map(newTally).join(', ')}
    from campaign_blocks b join campaigns c on c.id = b.campaign_id ${rowsOfBlock(tallyNames)}
    where b.campaign_id = $1 and b.n = any($2::int[])) t
  where o.campaign_id = t.campaign_id and o.n = t.n`;

/**
 * Refreshes the tallies of closed blocks whose rows have changed, a few at a time. Blocks that another transaction is
 * changing are left for the next call.
 * @returns how many were refreshed: 0 if none is left
 */
export function recountBlocks(pool: pg.Pool, campaignId: number): Promise<number> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ n: number }>(LOCK, [campaignId]);
    if (rows.length > 0) await trx.query(RECOUNT, [campaignId, rows.map(({ n }) => n)]);
    return rows.length;
  });
}

/** Message ids from `first` up to, but not including, `end`. */
export interface IdSpan {
  first: number;
  end: number;
}

const EVERY: IdSpan = { first: 0, end: Number.MAX_SAFE_INTEGER };

/** SQL: whether a block is closed, has messages in the span from $1 to $2, and needs a recount. */
const MARKED = 'closed_at is not null and recount and last_id >= $1 and first_id < $2';

/** Whether closed blocks with messages in a span need a recount. */
export async function isUncounted(db: Queryable, { first, end }: IdSpan): Promise<boolean> {
  const { rowCount } = await db.query(`select from campaign_blocks where ${MARKED} limit 1`, [first, end]);
  return rowCount !== 0;
}

/**
 * Refreshes the tallies of all closed blocks with messages in a span that need a recount, whether or not their
 * campaigns have ended.
 * @param progress called after each page
 * @returns how many were refreshed
 */
export async function recountSpan(
  pool: pg.Pool,
  progress: () => void,
  { first, end }: IdSpan = EVERY,
): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `select distinct campaign_id as id from campaign_blocks where ${MARKED}`,
    [first, end],
  );
  let total = 0;
  for (const { id } of rows) {
    for (;;) {
      const count = await recountBlocks(pool, id);
      progress();
      if (count === 0) break;
      total += count;
    }
  }
  return total;
}
