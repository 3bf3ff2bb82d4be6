import { inTransaction, type Queryable } from '../platform/db/queryable.ts';
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

/** SQL: a block whose rows nothing has changed since the snapshot wrote them with the block. */
const UNTOUCHED = `b.closed_at is null and b.owner is null and b.claim_epoch = 0 and c.outcome is null`;

/** SQL: the tallies of a block are as true as its rows. */
const COUNTED = '(b.closed_at is not null and not b.recount)';

const sums = groups.map((group) => `coalesce(sum(t.${group}), 0) as ${group}`).join(', ');
const stored = groups.map((group) => `b.${group}`).join(', ');

/**
 * SQL. Blocks whose tallies are true are added up, the rows of all others are counted, each row once: a statement sees
 * the blocks and the rows as they are at one moment.
 */
const COUNTS = `
  select c.id, c.audience_count as audience, ${sums}
  from campaigns c left join lateral (
    select ${stored} from campaign_blocks b where b.campaign_id = c.id and (${COUNTED} or ${UNTOUCHED})
    union all
    select r.* from campaign_blocks b cross join lateral (
      select ${groups.map((group) => tallies[group]).join(', ')}
      from messages m where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id) r
    where b.campaign_id = c.id and not (${COUNTED} or ${UNTOUCHED})
  ) t on true
  where c.id = any($1::bigint[]) group by c.id`;

type CountRow = Record<'id' | keyof Omit<CampaignCounts, 'remaining'>, string | number>;

/** Counts the recipients of campaigns. A campaign without recipients has zeros. */
export async function campaignCounts(
  db: Queryable,
  campaignIds: readonly number[],
): Promise<Map<number, CampaignCounts>> {
  const { rows } = await db.query<CountRow>({ name: 'campaign_counts', text: COUNTS, values: [campaignIds] });
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

/** Blocks that are counted in one transaction. Their rows are locked meanwhile. */
const RECOUNT_PAGE = 20;

/**
 * Whoever changes a message of a closed block locks the block's row and marks it. The blocks are locked here before
 * their rows are read, in a statement of its own, so that no change falls between the count and the mark.
 */
const LOCK = `
  select b.n from campaign_blocks b where b.campaign_id = $1 and b.closed_at is not null and b.recount
  order by b.n limit ${RECOUNT_PAGE} for no key update skip locked`;

const tallyNames = Object.keys(tallies);
const RECOUNT = `
  update campaign_blocks b set recount = false, ${tallyNames.map((name) => `${name} = r.${name}`).join(', ')}
  from campaign_blocks o join campaigns c on c.id = o.campaign_id cross join lateral (
    select ${tallyNames.map((name) => `${tallies[name]} as ${name}`).join(', ')}
    from messages m where m.campaign_id = o.campaign_id and m.id between o.first_id and o.last_id) r
  where o.campaign_id = $1 and o.n = any($2::int[]) and b.campaign_id = o.campaign_id and b.n = o.n`;

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
