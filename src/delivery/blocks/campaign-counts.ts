import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type pg from 'pg';

/** Recipients of a campaign. `audience` is the sum of the others. */
export interface CampaignCounts {
  audience: number;
  /** A provider has accepted the message. Never falls. */
  sent: number;
  /** Refused, also bounced at hand-over. */
  failed: number;
  skipped: number;
  unknown: number;
  canceled: number;
  remaining: number;
}

const groups = ['sent', 'failed', 'skipped', 'unknown', 'canceled'] as const;

/** SQL over the message `m`: the condition of each count. */
const conditions: Readonly<Record<(typeof groups)[number], string>> = {
  sent: 'm.sent_at is not null',
  failed: `m.sent_at is null and m.status in ('bounced', 'failed')`,
  skipped: `m.sent_at is null and m.status = 'skipped'`,
  unknown: `m.sent_at is null and m.status = 'unknown'`,
  canceled: `m.sent_at is null and m.status = 'canceled'`,
};

/**
 * SQL over the message `m` and its campaign `c`: an email that counts in the rates for the stop thresholds, as it was
 * accepted or bounced at hand-over since the send or the last resume.
 */
const countedSql = `m.channel = 'email' and (m.sent_at is not null or m.status = 'bounced')
      and coalesce(m.sent_at, m.updated_at) >= coalesce(c.counted_from, '-infinity')`;

const countOf = (condition: string) => `count(*) filter (where ${condition})`;

/** SQL over the messages `m` of a block and their campaign `c`: a value for each tally of a block. */
const tallies: Readonly<Record<string, string>> = {
  ...Object.fromEntries(groups.map((group) => [group, countOf(conditions[group])])),
  counted: countOf(countedSql),
  bounced: countOf(`${countedSql} and m.bounce->>'type' = 'hard'`),
  complained: countOf(`${countedSql} and m.status = 'complained'`),
};

/** SQL over the block `b`: how often each group is in its rows now, in one row `r`; `found` is how many rows there are. */
const rowsOfBlock = (names: readonly string[]) => `cross join lateral (
      select count(*) as found, ${names.map((name) => `${tallies[name]} as ${name}`).join(', ')}
      from messages m where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id) r`;

/**
 * SQL over the block `b` and its rows `r`: all of its messages are there. Those of an old block may have been dropped: its
 * tallies then say what became of them.
 */
const IS_WHOLE = 'r.found >= b.size';

/**
 * SQL: the blocks `b` of the campaign `c` whose tallies may be older than their rows. No row of an open block that was
 * never claimed has changed.
 */
const staleOf = (columns: string) => `(
      select ${columns} from campaign_blocks where campaign_id = c.id and closed_at is null and claim_epoch > 0
      union all
      select ${columns} from campaign_blocks where campaign_id = c.id and closed_at is not null and recount) b`;

const blockColumns = ['campaign_id', 'first_id', 'last_id', 'size', ...groups].join(', ');

/** SQL: the sums of campaigns, and what their blocks have changed by since. It sees all as it is at one moment. */
const COUNTS = `
  select c.id, c.audience_count as audience,
    ${groups.map((group) => `coalesce(s.${group}, 0) + coalesce(d.${group}, 0) as ${group}`).join(', ')}
  from campaigns c left join campaign_sums s on s.campaign_id = c.id
  left join lateral (
    select ${groups.map((group) => `sum(r.${group} - b.${group}) as ${group}`).join(', ')}
    from ${staleOf(blockColumns)} ${rowsOfBlock(groups)} where ${IS_WHOLE}) d on true
  where c.id = any($1::bigint[])`;

const SUMS = `
  select c.id, c.audience_count as audience, ${groups.map((group) => `coalesce(s.${group}, 0) as ${group}`).join(', ')}
  from campaigns c left join campaign_sums s on s.campaign_id = c.id where c.id = any($1::bigint[])`;

type CountRow = Record<'id' | keyof Omit<CampaignCounts, 'remaining'>, string | number>;

function countsOf(rows: readonly CountRow[]): Map<number, CampaignCounts> {
  return new Map(
    rows.map((row) => {
      const audience = Number(row.audience);
      const [sent, failed, skipped, unknown, canceled] = groups.map((group) => Number(row[group])) as [
        number,
        number,
        number,
        number,
        number,
      ];
      const remaining = audience - sent - failed - skipped - unknown - canceled;
      return [Number(row.id), { audience, sent, failed, skipped, unknown, canceled, remaining }];
    }),
  );
}

/** Counts the recipients of campaigns as they are now. A campaign without recipients has zeros. */
export async function campaignCounts(
  db: Queryable,
  campaignIds: readonly number[],
): Promise<Map<number, CampaignCounts>> {
  const { rows } = await db.query<CountRow>({
    name: 'campaign_counts_now',
    text: COUNTS,
    values: [campaignIds],
  });
  return countsOf(rows);
}

/** The counts of campaigns at their last look, without reading a message: seconds old while a campaign is sent. */
export async function countsOfLastLook(
  db: Queryable,
  campaignIds: readonly number[],
): Promise<Map<number, CampaignCounts>> {
  const { rows } = await db.query<CountRow>({ name: 'campaign_sums', text: SUMS, values: [campaignIds] });
  return countsOf(rows);
}

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
