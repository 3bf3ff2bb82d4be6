/** Filters by the mail of one campaign: whether the campaign has what they ask for, and their SQL. */
import { MAX_BLOCK } from '../../delivery/ledger/blocks/campaign-blocks.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { EngagementName } from './language.ts';
import type { Problem } from './parse.ts';
import type { Reference } from './references.ts';

/**
 * The columns of messages with the times. Like `contact_engagement`, `opened_at` and `clicked_at` are about people, not
 * machines.
 */
const columns = {
  email_sent: 'sent_at',
  email_opened: 'opened_at',
  email_clicked: 'clicked_at',
} as const satisfies Record<EngagementName, string>;

/** SQL expressions, most of them parameters. */
interface CampaignMail {
  engagement: EngagementName;
  campaign: string;
  /** Null: ever. */
  since: string | null;
}

const happened = ({ engagement, since }: CampaignMail): string => {
  const column = `m.${columns[engagement]}`;
  return since === null ? `${column} is not null` : `${column} >= ${since}`;
};

/**
 * SQL: whether the contact `c` was sent mail of a campaign, or opened or clicked it. Reads all messages of the campaign
 * once, by the ranges of its blocks. The limit is never reached. It keeps PostgreSQL from reading everything between the
 * first and the last block, and from expecting so many rows that it would not hash them.
 */
export const campaignMailSql = (mail: CampaignMail): string => `exists (
    select 1 from campaign_blocks b cross join lateral (
      select m.contact_id from messages m
      where m.id between b.first_id and b.last_id and m.campaign_id = ${mail.campaign} and ${happened(mail)} limit ${MAX_BLOCK}) e
    where b.campaign_id = ${mail.campaign} and e.contact_id = c.id)`;

/**
 * Like {@link campaignMailSql}, for a few contacts or a page of them, whose messages have an index by address. The offset
 * keeps PostgreSQL from a join that reads all messages since the campaign's first.
 */
export const campaignMailOfFewSql = (mail: CampaignMail & { brand: string }): string => `exists (
    select 1 from messages m
    where m.brand_id = ${mail.brand} and m.to_key = any(array(
        select c.email_key union all select f.address_key from contact_former_addresses f where f.contact_id = c.id))
      and m.id >= (select b.first_id from campaign_blocks b where b.campaign_id = ${mail.campaign} order by b.last_id limit 1)
      and m.contact_id = c.id and m.campaign_id = ${mail.campaign} and ${happened(mail)} offset 0)`;

interface NamedCampaign {
  id: number;
  channel: string;
  phase: string;
  opens: boolean;
  clicks: boolean;
}

function problemOf(engagement: EngagementName, campaign: NamedCampaign | undefined): string | null {
  if (!campaign) return 'is not a campaign of the brand';
  if (campaign.channel !== 'email') return 'is not a campaign by email';
  if (campaign.phase === 'draft') return 'is a campaign that has not been sent';
  if (engagement === 'email_opened' && !campaign.opens) return 'is a campaign whose opens were not recorded';
  if (engagement === 'email_clicked' && !campaign.clicks)
    return 'is a campaign whose clicks were not recorded';
  return null;
}

/**
 * Checks the campaigns that filters name: each must be one of the brand that was sent or scheduled as email, and tracked
 * what the filter asks for. Otherwise, `did_not` would select contacts whose activity is not known.
 */
export async function campaignProblems(
  db: Queryable,
  { brandId }: { brandId: number },
  references: readonly Reference[],
): Promise<Problem[]> {
  const named = references.flatMap((each) => (each.kind === 'campaign' ? [each] : []));
  if (named.length === 0) return [];
  const { rows } = await db.query<NamedCampaign>(
    `select id, channel, phase, coalesce((tracking ->> 'opens')::boolean, false) as opens,
       coalesce((tracking ->> 'clicks')::boolean, false) as clicks
     from campaigns where brand_id = $1 and id = any($2) and removed_at is null`,
    [brandId, [...new Set(named.map(({ id }) => id))]],
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return named.flatMap(({ id, engagement, path }) => {
    const message = problemOf(engagement, known.get(id));
    return message === null ? [] : [{ path, message }];
  });
}
