/** The tallies of blocks: what became of their messages, and how that is counted again once their rows have changed. */
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isChannelSql } from '../channels/index.ts';
import type pg from 'pg';

/** What a block counts of its messages: what became of them. Those that are left count in none. */
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
 * SQL over the message `m` and its campaign `c`: a message that counts in the rates for the stop thresholds, as it was
 * accepted or bounced at hand-over since the send or the last resume.
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

/** SQL over the block `b`: how often each group is in its rows now, in one row `r`; `found` is how many rows there are. */
export const rowsOfBlock = (names: readonly string[]) => `cross join lateral (
      select count(*) as found, ${names.map((name) => `${tallies[name]} as ${name}`).join(', ')}
      from messages m where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id) r`;

/**
 * SQL over the block `b` and its rows `r`: all of its messages are there. Those of an old block may have been dropped: its
 * tallies then say what became of them.
 */
export const IS_WHOLE = 'r.found >= b.size';

/** Blocks that are counted in one transaction. Their rows are locked meanwhile. */
const RECOUNT_PAGE = 20;

/**
 * Whoever changes a message of a closed block locks the block's row and marks it. The blocks are locked here before
 * their rows are read, in a statement of its own, so that no change falls between the count and the mark.
 */
const LOCK = `
  select b.n from campaign_blocks b where b.campaign_id = $1 and b.closed_at is not null and b.recount
  order by b.n limit ${RECOUNT_PAGE} for no key update skip locked`;

/** SQL: rates for the stop thresholds are those of blocks that were closed since the send or the last resume. */
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

/** Message ids from `first` on and before `end`. */
export interface IdSpan {
  first: number;
  end: number;
}

const EVERY: IdSpan = { first: 0, end: Number.MAX_SAFE_INTEGER };

/** SQL: a closed block with messages of the span from $1 to $2, whose rows have changed. */
const MARKED = 'closed_at is not null and recount and last_id >= $1 and first_id < $2';

/** Whether tallies of closed blocks with messages of a span are older than their rows. */
export async function isUncounted(db: Queryable, { first, end }: IdSpan): Promise<boolean> {
  const { rowCount } = await db.query(`select from campaign_blocks where ${MARKED} limit 1`, [first, end]);
  return rowCount !== 0;
}

/**
 * Refreshes the tallies of all closed blocks with messages of a span whose rows have changed, be their campaigns finished or
 * not.
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
