import type pg from 'pg';
import { z } from 'zod';
import { answersMailSql } from '../../delivery/ledger/accept/answered-mail.ts';
import { channels, messageStatuses } from '../../delivery/terms/message.ts';
import { invalid, notFound } from '../../errors.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, pageQuery, type Page, plannedRows, type RowCount } from '../../platform/db/paging.ts';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { withLimit } from '../../platform/db/statement-limit.ts';
import { HEAVY_READ_MS, type HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { causedByMail, isCausedByMail } from '../contact-events/schema.ts';
import { causedByMailSql } from '../contact-events/service.ts';
import { answersMail } from '../messages/schema.ts';

/** Maximum number of items from the newest to the end of a page. Use `before` to go back further. */
export const MAX_DEPTH = 10_000;

const when = z.iso.datetime();

export const timelineQuery = z.strictObject({
  page: pageQuery.page,
  limit: pageQuery.limit,
  before: filterTime
    .optional()
    .meta({ description: `Only items before this time. Pages reach back at most ${MAX_DEPTH} items.` }),
});

export const timelineItem = z
  .object({
    id: z
      .int()
      .meta({ description: 'The id of the event, message or change: unique among items of one type.' }),
    type: z.enum(['event', 'message', 'subscription']),
    occurred_at: when,
    event: z
      .object({
        event: z.string(),
        amount: z.number().nullable(),
        data: z.record(z.string(), z.unknown()),
        caused_by_mail: causedByMail,
      })
      .nullable(),
    message: z
      .object({
        channel: z.enum(channels),
        status: z.enum(messageStatuses),
        subject: z.string().nullable(),
        answers_mail: z.boolean().meta({ description: 'As in messages.' }),
        campaign_id: z.int().nullable(),
        flow_id: z.int().nullable(),
        sent_at: when.nullable(),
        opened_at: when.nullable(),
        clicked_at: when.nullable(),
      })
      .nullable(),
    subscription: z
      .object({
        channel: z.enum(channels),
        subscribed: z.boolean(),
        source: z
          .string()
          .nullable()
          .meta({ description: 'The source of the change, such as `api`, `one_click` or `import`.' }),
        import_id: z.int().nullable().meta({ description: 'The import whose file says so.' }),
      })
      .nullable(),
  })
  .meta({ id: 'TimelineItem' });
export type TimelineItem = z.infer<typeof timelineItem>;

/** Whether an item has mail of a stranger. */
export const hasReceivedMail = (item: unknown): boolean =>
  isCausedByMail((item as Partial<TimelineItem> | null)?.event) ||
  answersMail((item as Partial<TimelineItem> | null)?.message);

interface Row {
  type: TimelineItem['type'];
  id: number;
  at: Date;
  detail: unknown;
}

/** SQL: the messages of the contact `$2` of the brand `$1`, by its present and former addresses. */
const messagesSql = (rest: string) => `
  from owner o cross join lateral (
    select k.key, null::timestamptz as until from unnest(array[o.email_key, o.phone]) as k (key) where k.key is not null
    union all
    select f.address_key, f.replaced_at from contact_former_addresses f
    where f.contact_id = o.id and f.address_key <> all(array_remove(array[o.email_key, o.phone], null))
  ) a cross join lateral (
    select * from messages m
    where m.brand_id = $1 and m.to_key = a.key and m.created_at <= coalesce(a.until, 'infinity')
      and m.created_at < coalesce($3::timestamptz, 'infinity')
    ${rest}
  ) m`;

const eventsSql = (rest: string) => `
  from owner o cross join lateral (
    select * from contact_events e
    where e.contact_id = o.id and e.created_at < coalesce($3::timestamptz, 'infinity') ${rest}) e`;

/** A channel whose subscription never changed has no row: its opt-in is in the contact's row. */
const subscriptionsSql = `
  from owner o cross join lateral (
    select s.id, s.channel, s.subscribed, s.source, s.import_id, s.created_at from contact_subscriptions s
    where s.contact_id = o.id
    union all
    select 2 * o.id, 'email', true, o.email_opt_in_source, null, o.email_opt_in_at where o.email_opt_in_at is not null
      and not exists (select 1 from contact_subscriptions s where s.contact_id = o.id and s.channel = 'email')
    union all
    select 2 * o.id + 1, 'sms', true, o.phone_opt_in_source, null, o.phone_opt_in_at where o.phone_opt_in_at is not null
      and not exists (select 1 from contact_subscriptions s where s.contact_id = o.id and s.channel = 'sms')
  ) s where s.created_at < coalesce($3::timestamptz, 'infinity')`;

const ownerSql = 'with owner as (select * from contacts where brand_id = $1 and id = $2)';

/** Each part reads as many items as the page reaches back, so that the newest items of all parts are among them. */
const pageSql = `${ownerSql}
  select t.type, t.id, t.at, case t.type
    when 'event' then (
      select jsonb_build_object('event', n.name, 'amount', e.amount, 'data', coalesce(e.data, '{}'),
        'caused_by_mail', ${causedByMailSql('n.name')})
      from contact_events e join event_names n on n.id = e.name_id
      where e.contact_id = $2 and e.created_at = t.at and e.id = t.id)
    when 'message' then (
      select jsonb_build_object('channel', m.channel, 'status', m.status, 'subject', m.subject, 'answers_mail', ${answersMailSql('m')},
        'campaign_id', m.campaign_id, 'flow_id', m.flow_id, 'sent_at', m.sent_at, 'opened_at', m.opened_at,
        'clicked_at', m.clicked_at)
      from messages m where m.id = t.id)
    else t.detail end as detail
  from (
    (select 'event' as type, e.id, e.created_at as at, null::jsonb as detail
     ${eventsSql('order by e.created_at desc limit $4')})
    union all
    (select 'message', m.id, m.created_at, null ${messagesSql('order by m.id desc limit $4')})
    union all
    (select 'subscription', s.id, s.created_at, jsonb_build_object(
       'channel', s.channel, 'subscribed', s.subscribed, 'source', s.source, 'import_id', s.import_id) ${subscriptionsSql}
     order by s.created_at desc limit $4)
    order by at desc, type, id desc limit $5 offset $6
  ) t order by t.at desc, t.type, t.id desc`;

const iso = (time: unknown) => (typeof time === 'string' ? new Date(time).toISOString() : null);

function presentItem({ type, id, at, detail }: Row): TimelineItem {
  const item = { id, type, occurred_at: at.toISOString(), event: null, message: null, subscription: null };
  if (type !== 'message') return { ...item, [type]: detail };
  const message = detail as NonNullable<TimelineItem['message']>;
  const { sent_at, opened_at, clicked_at } = message;
  const times = { sent_at: iso(sent_at), opened_at: iso(opened_at), clicked_at: iso(clicked_at) };
  return { ...item, message: { ...message, ...times } };
}

/** How long the statements of a timeline may take. A slower page is refused, a slower count is estimated. */
export interface TimelineLimits {
  /** On the connections of other requests. A timeline that takes longer is read again on those for heavy reads. */
  quickMs: number;
  pageMs: number;
  countMs: number;
}
const LIMITS: TimelineLimits = { quickMs: 500, pageMs: HEAVY_READ_MS, countMs: 2_000 };

/** The connections that timelines are read on. */
export interface TimelineDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
}

/** A page of a timeline to read. */
interface Wanted {
  brandId: number;
  contactId: number;
  before: string | undefined;
  page: Page;
}

const valuesOf = ({ brandId, contactId, before }: Wanted) => [brandId, contactId, before ?? null];

/** SQL: the sources of the count, each of which can be used alone. */
const countedParts = [eventsSql('offset 0'), messagesSql('offset 0'), subscriptionsSql].map((sql) =>
  sql.replace('from owner o', '(select * from contacts where brand_id = $1 and id = $2) o').trim(),
);

async function count(db: Queryable, wanted: Wanted): Promise<RowCount> {
  let total = 0;
  let estimated = false;
  for (const part of countedParts) {
    const counted = await countRows(db, part, valuesOf(wanted));
    total += counted.total;
    estimated ||= counted.estimated ?? false;
  }
  return estimated ? { total, estimated } : { total };
}

async function estimate(db: Queryable, wanted: Wanted): Promise<RowCount> {
  let total = 0;
  for (const part of countedParts) total += await plannedRows(db, part, valuesOf(wanted));
  return { total: Math.max(total, 1), estimated: true };
}

/** @returns null if the page takes too long */
async function findItems(db: Queryable, wanted: Wanted, ms: number): Promise<TimelineItem[] | null> {
  const { offset, limit } = wanted.page;
  const reach = offset + limit;
  if (reach > MAX_DEPTH) return [];
  const values = [...valuesOf(wanted), reach, limit, offset];
  const found = await withLimit(db, ms, (trx) => trx.query<Row>(pageSql, values));
  return found && found.rows.map(presentItem);
}

/**
 * Finds one page of a contact's history, newest first: tracked events, messages to its addresses and changes of its
 * subscriptions.
 * @throws AppError not_found; validation_error if the page takes longer than five seconds; rate_limited if the account
 *   reads many slow pages at once
 */
export async function readTimeline(
  { pool, heavyReads }: TimelineDeps,
  { accountId, brandId }: BrandScope,
  contactId: number,
  before: string | undefined,
  page: Page,
  { quickMs, pageMs, countMs }: TimelineLimits = LIMITS,
): Promise<{ items: TimelineItem[]; counted: RowCount }> {
  const wanted = { brandId, contactId, before, page };
  const quick = await onClient(pool, async (client) => {
    const { rowCount } = await client.query('select 1 from contacts where brand_id = $1 and id = $2', [
      brandId,
      contactId,
    ]);
    if (rowCount === 0) throw notFound('contact');
    const items = await findItems(client, wanted, quickMs);
    const counted = items && (await withLimit(client, quickMs, (trx) => count(trx, wanted)));
    return items && counted && { items, counted };
  });
  if (quick) return quick;
  return heavyReads.run({ accountId, what: 'timelines of contacts' }, async (client) => {
    const items = await findItems(client, wanted, pageMs);
    if (!items) {
      const message = `takes longer than ${HEAVY_READ_MS / 1_000} seconds: request an earlier page, or use before`;
      throw invalid({ page: [message] });
    }
    const counted = await withLimit(client, countMs, (trx) => count(trx, wanted));
    return { items, counted: counted ?? (await estimate(client, wanted)) };
  });
}
