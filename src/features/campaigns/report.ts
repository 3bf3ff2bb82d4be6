/** The report of a campaign: counts, rates, opens and clicks over time, links, and domains of recipients. */
import { z } from 'zod';
import { campaignCounts, type CampaignCounts } from './campaign-counts.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import type { CampaignRow } from './model.ts';

const count = z.int().min(0);
const rate = z.number().nullable().meta({ description: 'Null if the divisor is 0.' });

const engagement = {
  sent_count: count,
  delivered_count: count,
  bounced_count: count,
  complained_count: count,
  opened_count: count.meta({
    description: 'Recipients who opened the message. Scanners and bots do not count.',
  }),
  clicked_count: count.meta({ description: 'Recipients who clicked a link.' }),
};

export const reportSchema = z
  .object({
    campaign_id: z.int(),
    counts: z.object({
      audience_count: count,
      ...engagement,
      failed_count: count,
      skipped_count: count,
      unknown_count: count,
      canceled_count: count,
      remaining_count: count,
      total_opens: count.meta({ description: 'All opens, including repeated ones.' }),
      total_clicks: count.meta({ description: 'All clicks, including repeated ones.' }),
    }),
    rates: z.object({
      delivered: rate,
      bounced: rate,
      complained: rate,
      opened: rate,
      clicked: rate,
      clicked_of_opened: rate,
    }),
    over_time: z.object({
      bucket_seconds: z.int(),
      buckets: z.array(
        z.object({ at: z.iso.datetime(), sent_count: count, opened_count: count, clicked_count: count }),
      ),
    }),
    links: z.array(
      z.object({
        variant: z.int().nullable(),
        number: z.int().meta({ description: 'The position of the link in the content, counted from 1.' }),
        url: z.string().nullable(),
        unique_clicks: count,
        total_clicks: count,
      }),
    ),
    domains: z.array(z.object({ domain: z.string().nullable(), audience_count: count, ...engagement })).meta({
      description: 'The domains with the most recipients. All others are combined under the domain null.',
    }),
    variants: z
      .array(z.object({ variant: z.int(), audience_count: count, ...engagement }))
      .meta({ description: 'The variants of an A/B test.' }),
  })
  .meta({ id: 'CampaignReport' });
export type CampaignReport = z.input<typeof reportSchema>;

/** Number of blocks that one statement reads. */
const BLOCKS_AT_ONCE = 100;
const MAX_DOMAINS = 50;
/** Maximum number of domains counted separately; recipients of further ones count as others. */
const MAX_COUNTED_DOMAINS = 20_000;
const MAX_LINKS = 200;

const HOUR_SECONDS = 3_600;

/** Chooses the size of buckets, so that a chart has few enough of them. */
function bucketSeconds(row: CampaignRow): number {
  const from = row.snapshot_at ?? row.started_at ?? row.created_at;
  const hours = (Date.now() - from.getTime()) / (HOUR_SECONDS * 1_000);
  if (hours <= 48) return HOUR_SECONDS;
  return hours <= 24 * 14 ? 6 * HOUR_SECONDS : 24 * HOUR_SECONDS;
}

type Figures = Record<
  'audience' | 'sent' | 'delivered' | 'bounced' | 'complained' | 'opened' | 'clicked',
  number
>;

const zero = (): Figures => ({
  audience: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  complained: 0,
  opened: 0,
  clicked: 0,
});

function addTo(figures: Figures, more: Figures): void {
  for (const name of Object.keys(figures) as (keyof Figures)[]) figures[name] += Number(more[name]);
}

const FIGURES = `count(*) as audience, count(m.sent_at) as sent, count(m.delivered_at) as delivered,
  count(*) filter (where m.status = 'bounced') as bounced, count(*) filter (where m.status = 'complained') as complained,
  count(m.opened_at) as opened, count(m.clicked_at) as clicked`;

interface Range {
  from: number;
  to: number;
}

/** Returns the id ranges of the campaign's recipients, one per statement. */
async function rangesOf(db: Queryable, campaignId: number): Promise<Range[]> {
  const { rows } = await db.query<Range>(
    `select min(first_id) as "from", max(last_id) as "to" from (
       select first_id, last_id, (row_number() over (order by first_id) - 1) / ${BLOCKS_AT_ONCE} as part
       from campaign_blocks where campaign_id = $1) b
     group by part order by part`,
    [campaignId],
  );
  return rows;
}

interface Collected {
  domains: Map<string | null, Figures>;
  variants: Map<number, Figures>;
  times: Map<number, { sent: number; opened: number; clicked: number }>;
  links: Map<
    string,
    { variant: number | null; link: number; url: string | null; unique: number; total: number }
  >;
  totalOpens: number;
}

const from = 'messages m where m.campaign_id = $1 and m.id between $2 and $3';

async function addFigures(db: Queryable, values: unknown[], into: Collected): Promise<void> {
  const { rows } = await db.query<Figures & { domain: string | null; variant: number | null }>(
    `select case when m.channel = 'email' then split_part(m.to_key, '@', 2) end as domain, m.variant, ${FIGURES}
     from ${from} group by 1, 2`,
    values,
  );
  for (const { domain, variant, ...figures } of rows) {
    const isKnown = into.domains.has(domain) || into.domains.size < MAX_COUNTED_DOMAINS;
    const name = isKnown && domain !== '' ? domain : null;
    const ofDomain = into.domains.get(name) ?? zero();
    addTo(ofDomain, figures);
    into.domains.set(name, ofDomain);
    if (variant === null) continue;
    const ofVariant = into.variants.get(variant) ?? zero();
    addTo(ofVariant, figures);
    into.variants.set(variant, ofVariant);
  }
}

async function addTimes(db: Queryable, values: unknown[], seconds: number, into: Collected): Promise<void> {
  const { rows } = await db.query<{ at: number; sent: number; opened: number; clicked: number }>(
    `select floor(extract(epoch from t.at) / $4)::bigint * $4::bigint as at, sum(t.sent)::bigint as sent,
       sum(t.opened)::bigint as opened, sum(t.clicked)::bigint as clicked
     from (select m.sent_at, m.opened_at, m.clicked_at from ${from}) m
     cross join lateral (values (m.sent_at, 1, 0, 0), (m.opened_at, 0, 1, 0), (m.clicked_at, 0, 0, 1))
       as t (at, sent, opened, clicked)
     where t.at is not null group by 1`,
    [...values, seconds],
  );
  for (const { at, sent, opened, clicked } of rows) {
    const bucket = into.times.get(at) ?? { sent: 0, opened: 0, clicked: 0 };
    bucket.sent += sent;
    bucket.opened += opened;
    bucket.clicked += clicked;
    into.times.set(at, bucket);
  }
}

type LinkFigures = { variant: number | null; link: number; url: string | null; count: number };

function addLink(
  into: Collected,
  { variant, link, url, count: n }: LinkFigures,
  kind: 'unique' | 'total',
): void {
  const key = `${variant ?? ''}/${link}`;
  const known = into.links.get(key) ?? { variant, link, url, unique: 0, total: 0 };
  known[kind] += n;
  known.url ??= url;
  into.links.set(key, known);
}

/** Adds first clicks by link, and all opens and clicks by people. */
async function addLinks(db: Queryable, values: unknown[], into: Collected): Promise<void> {
  const { rows: firsts } = await db.query<LinkFigures>(
    `select m.variant, i.link, min(i.url) as url, count(*) as count
     from message_interactions i join messages m on m.id = i.message_id
     where m.campaign_id = $1 and m.id between $2 and $3 and i.message_id between $2 and $3 and i.link > 0
     group by 1, 2 limit 1000`,
    values,
  );
  for (const row of firsts) addLink(into, row, 'unique');
  const { rows: hits } = await db.query<LinkFigures>(
    `select m.variant, h.link, null as url, count(*) as count
     from tracking_hits h join messages m on m.id = h.message_id
     where m.campaign_id = $1 and m.id between $2 and $3 and h.message_id between $2 and $3 and not h.is_bot
     group by 1, 2 limit 1000`,
    values,
  );
  for (const row of hits) {
    if (row.link === 0) into.totalOpens += row.count;
    else addLink(into, row, 'total');
  }
}

const ratio = (part: number, whole: number) => (whole === 0 ? null : part / whole);

function presentFigures(figures: Figures) {
  return {
    sent_count: figures.sent,
    delivered_count: figures.delivered,
    bounced_count: figures.bounced,
    complained_count: figures.complained,
    opened_count: figures.opened,
    clicked_count: figures.clicked,
  };
}

/** The domains with the most recipients, and all others together. */
function presentDomains(domains: Collected['domains']): CampaignReport['domains'] {
  const others = zero();
  const named = [...domains].filter(([domain]) => domain !== null);
  named.sort(([, one], [, other]) => other.audience - one.audience);
  for (const [, figures] of [
    ...named.slice(MAX_DOMAINS),
    ...[...domains].filter(([domain]) => domain === null),
  ]) {
    addTo(others, figures);
  }
  const shown: [string | null, Figures][] = named.slice(0, MAX_DOMAINS);
  if (others.audience > 0) shown.push([null, others]);
  return shown.map(([domain, figures]) => ({
    domain,
    audience_count: figures.audience,
    ...presentFigures(figures),
  }));
}

function presentLinks(links: Collected['links']): CampaignReport['links'] {
  return [...links.values()]
    .sort((one, other) => other.unique - one.unique || one.link - other.link)
    .slice(0, MAX_LINKS)
    .map(({ variant, link, url, unique, total }) => ({
      variant,
      number: link,
      url,
      unique_clicks: unique,
      // Housekeeping deletes old hits, but not the first one per person.
      total_clicks: Math.max(unique, total),
    }));
}

async function collect(db: Queryable, row: CampaignRow, seconds: number): Promise<Collected> {
  const into: Collected = {
    domains: new Map(),
    variants: new Map(),
    times: new Map(),
    links: new Map(),
    totalOpens: 0,
  };
  for (const { from: first, to } of await rangesOf(db, row.id)) {
    const values = [row.id, first, to];
    await addFigures(db, values, into);
    await addTimes(db, values, seconds, into);
    await addLinks(db, values, into);
  }
  return into;
}

function presentCounts(counted: CampaignCounts, all: Figures, found: Collected): CampaignReport['counts'] {
  const clicks = presentLinks(found.links).reduce((sum, link) => sum + link.total_clicks, 0);
  return {
    ...presentFigures(all),
    audience_count: counted.audience,
    sent_count: counted.sent,
    failed_count: counted.failed,
    skipped_count: counted.skipped,
    unknown_count: counted.unknown,
    canceled_count: counted.canceled,
    remaining_count: counted.remaining,
    total_opens: Math.max(all.opened, found.totalOpens),
    total_clicks: Math.max(all.clicked, clicks),
  };
}

function presentReport(
  campaignId: number,
  counted: CampaignCounts,
  found: Collected,
  bucketSize: number,
): CampaignReport {
  const all = zero();
  for (const figures of found.domains.values()) addTo(all, figures);
  const inOrder = <T>(map: ReadonlyMap<number, T>) => [...map].sort(([one], [other]) => one - other);
  return {
    campaign_id: campaignId,
    counts: presentCounts(counted, all, found),
    rates: {
      delivered: ratio(all.delivered, all.sent),
      bounced: ratio(all.bounced, all.sent),
      complained: ratio(all.complained, all.sent),
      opened: ratio(all.opened, all.sent),
      clicked: ratio(all.clicked, all.sent),
      clicked_of_opened: ratio(all.clicked, all.opened),
    },
    over_time: {
      bucket_seconds: bucketSize,
      buckets: inOrder(found.times).map(([at, { sent, opened, clicked }]) => ({
        at: new Date(at * 1_000).toISOString(),
        sent_count: sent,
        opened_count: opened,
        clicked_count: clicked,
      })),
    },
    links: presentLinks(found.links),
    domains: presentDomains(found.domains),
    variants: inOrder(found.variants).map(([variant, figures]) => ({
      variant,
      audience_count: figures.audience,
      ...presentFigures(figures),
    })),
  };
}

/**
 * Returns the report of a campaign so far.
 * @throws AppError rate_limited; unavailable if it takes too long
 */
export async function reportCampaign(reads: HeavyReads, row: CampaignRow): Promise<CampaignReport> {
  const bucketSize = bucketSeconds(row);
  return reads.run({ accountId: row.account_id, what: 'reports of campaigns' }, async (db) => {
    const counted = (await campaignCounts(db, [row.id])).get(row.id);
    if (!counted) throw notFound('campaign');
    const found = await collect(db, row, bucketSize).catch((error: unknown) => {
      if (!isStatementTimeout(error)) throw error;
      throw new AppError('unavailable', 'the report takes too long now; try again later');
    });
    return presentReport(row.id, counted, found, bucketSize);
  });
}
