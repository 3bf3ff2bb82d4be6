import { RANGE_IDS } from '../../../platform/db/id-ranges.ts';
import { messageClasses } from '../../terms/message.ts';

/** How many messages of campaigns and flows one contact gets per period, as `brands.frequency_cap` stores it. */
export interface FrequencyCap {
  count: number;
  per_seconds: number;
}

/**
 * How long a campaign's message may wait before it is sent and still be found here: the query starts this long before
 * the period.
 */
const MAX_WAIT = `interval '7 days'`;

interface CapQuery {
  brandId: string;
  /** The addresses of the contact in the form of `to_key`, separated by commas; null: it has none. */
  keys: string;
  /** A timestamp: when the next message is sent. */
  asOf: string;
  count: string;
  perSeconds: string;
}

/**
 * SQL: whether a contact has had as many messages as the cap allows, up to now. Messages that wait or have no known
 * outcome count from when they were written. Messages of test keys do not count. The contact's newest messages are
 * found by address.
 * @param query SQL
 */
export function reachedCapSql({ brandId, keys, asOf, count, perSeconds }: CapQuery): string {
  const since = `${asOf} - make_interval(secs => ${perSeconds})`;
  // A look-up for each key: for a condition on several, PostgreSQL would read all messages of the brand in a partition
  // that has no statistics yet.
  return `(select count(*) from (
      select from unnest(array[${keys}]) as k (key) cross join lateral (
        select from messages o
        where o.brand_id = ${brandId} and o.to_key = k.key and o.id >= (
            select coalesce(min(r.n), 0) * ${RANGE_IDS}::bigint from message_ranges r
            where r.closed_at is null or r.closed_at >= ${since} - ${MAX_WAIT})
          and o.class in (${messageClasses.flow}, ${messageClasses.campaign}) and not o.test
          and coalesce(o.sent_at, case when o.status in ('queued', 'held', 'unknown') then o.created_at end) > ${since}
        limit ${count}) m
      limit ${count}) recent) >= ${count}`;
}
