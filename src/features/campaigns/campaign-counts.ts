import { IS_WHOLE, rowsOfBlock, tallyGroups } from '../../delivery/ledger/blocks/tallies.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** Recipients of a campaign. `audience` is the sum of the others. */
export interface CampaignCounts {
  audience: number;
  /** Messages that a provider has accepted. The number never decreases. */
  sent: number;
  /** Messages that were refused, or bounced at hand-over. */
  failed: number;
  skipped: number;
  unknown: number;
  canceled: number;
  remaining: number;
}

export const NO_RECIPIENTS: CampaignCounts = {
  audience: 0,
  sent: 0,
  failed: 0,
  skipped: 0,
  unknown: 0,
  canceled: 0,
  remaining: 0,
};

/**
 * SQL: the blocks `b` of the campaign `c` whose tallies may be outdated. Open blocks that were never claimed are left
 * out, because none of their rows has changed.
 */
const staleOf = (columns: string) => `(
      select ${columns} from campaign_blocks where campaign_id = c.id and closed_at is null and claim_epoch > 0
      union all
      select ${columns} from campaign_blocks where campaign_id = c.id and closed_at is not null and recount) b`;

const blockColumns = ['campaign_id', 'first_id', 'last_id', 'size', ...tallyGroups].join(', ');

/** SQL: adds the changes of outdated blocks to the sums of campaigns, in one snapshot. */
const COUNTS = `
  select c.id, c.audience_count as audience,
    ${tallyGroups.map((group) => `coalesce(s.${group}, 0) + coalesce(d.${group}, 0) as ${group}`).join(', ')}
  from campaigns c left join campaign_sums s on s.campaign_id = c.id
  left join lateral (
    select ${tallyGroups.map((group) => `sum(r.${group} - b.${group}) as ${group}`).join(', ')}
    from ${staleOf(blockColumns)} ${rowsOfBlock(tallyGroups)} where ${IS_WHOLE}) d on true
  where c.id = any($1::bigint[])`;

const SUMS = `
  select c.id, c.audience_count as audience, ${tallyGroups.map((group) => `coalesce(s.${group}, 0) as ${group}`).join(', ')}
  from campaigns c left join campaign_sums s on s.campaign_id = c.id where c.id = any($1::bigint[])`;

type CountRow = Record<'id' | keyof Omit<CampaignCounts, 'remaining'>, string | number>;

function countsOf(rows: readonly CountRow[]): Map<number, CampaignCounts> {
  return new Map(
    rows.map((row) => {
      const audience = Number(row.audience);
      const [sent, failed, skipped, unknown, canceled] = tallyGroups.map((group) => Number(row[group])) as [
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

/** Counts the current recipients of campaigns. A campaign without recipients has zeros. */
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

/** Returns the stored counts of campaigns without reading messages. While a campaign is sent, they are seconds old. */
export async function countsOfLastLook(
  db: Queryable,
  campaignIds: readonly number[],
): Promise<Map<number, CampaignCounts>> {
  const { rows } = await db.query<CountRow>({ name: 'campaign_sums', text: SUMS, values: [campaignIds] });
  return countsOf(rows);
}
