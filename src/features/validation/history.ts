/** What the brand's own mail says about addresses. */
import { RANGE_IDS } from '../../platform/db/id-ranges.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** `bounced`: a hard bounce, and no delivery, open or click after it. `active`: a delivery, open or click. */
export type History = 'bounced' | 'active';

const DAYS = 90;
/** Number of messages per address to look at, newest first. */
const MAX_MESSAGES = 20;

/**
 * Looks up the outcomes of mail to the addresses within the last 90 days. A bounce that another brand of the account
 * recorded counts as long as it suppresses the address.
 * @param keys in the form in which recipients are compared
 * @returns what is known, by key
 */
export async function findHistory(
  db: Queryable,
  { accountId, brandId, asOf }: { accountId: number; brandId: number; asOf: Date },
  keys: readonly string[],
): Promise<Map<string, History>> {
  const { rows } = await db.query<{ key: string; active: boolean }>(
    `with since as materialized (
       select $4::timestamptz - interval '${DAYS} days' as at, (
         -- Older messages lie in other partitions.
         select coalesce(min(n), 0) * ${RANGE_IDS} from message_ranges
         where closed_at is null or closed_at > $4::timestamptz - interval '${DAYS} days') as id
     ), found as (
       select k.key, greatest(m.bounced_at, s.created_at) as bounced_at, m.active_at
       from unnest($3::text[]) as k (key) cross join since
       left join lateral (
         select max(coalesce(r.sent_at, r.created_at)) filter (where r.bounce ->> 'type' = 'hard') as bounced_at,
           max(greatest(r.delivered_at, r.opened_at, r.clicked_at)) filter (where r.bounce is null) as active_at
         from (select m.sent_at, m.created_at, m.bounce, m.delivered_at, m.opened_at, m.clicked_at from messages m
           where m.brand_id = $2 and m.to_key = k.key and m.id >= since.id and not m.test
           order by m.id desc limit ${MAX_MESSAGES}) r) m on true
       left join suppressions s on s.account_id = $1 and s.address_key = k.key and s.reason = 'hard_bounce'
         and s.released_at is null
     )
     select f.key, coalesce(f.active_at > since.at and f.active_at > coalesce(f.bounced_at, '-infinity'), false) as active
     from found f cross join since where f.bounced_at > since.at or f.active_at > since.at`,
    [accountId, brandId, keys, asOf],
  );
  return new Map(rows.map(({ key, active }) => [key, active ? 'active' : 'bounced']));
}
