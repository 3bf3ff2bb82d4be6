import { RANGE_IDS } from '../../platform/db/id-ranges.ts';
import { messageClasses } from '../message.ts';

/** How many messages of campaigns and flows one contact gets in a time, as `brands.frequency_cap` stores it. */
export interface FrequencyCap {
  count: number;
  per_seconds: number;
}

/** Recipients of a campaign may wait this long before they are sent to, and are then still found. */
const MAX_WAIT = `interval '7 days'`;

interface CapQuery {
  brandId: string;
  /** The addresses of the contact in the form of `to_key`, separated by commas; null: it has none. */
  keys: string;
  /** A time: the time of the next message. */
  asOf: string;
  count: string;
  perSeconds: string;
}

/**
 * SQL: whether a contact has had as many messages as the cap allows, up to now. Those that wait or whose outcome is
 * unknown count from when they were written. Messages of test keys do not count. It looks up the contact's newest
 * messages by address.
 * @param query SQL
 */
export function reachedCapSql({ brandId, keys, asOf, count, perSeconds }: CapQuery): string {
  const since = `${asOf} - make_interval(secs => ${perSeconds})`;
  return `(select count(*) from (
      select 1 from messages o
      where o.brand_id = ${brandId} and o.to_key in (${keys}) and o.id >= (
          select coalesce(min(r.n), 0) * ${RANGE_IDS}::bigint from message_ranges r
          where r.closed_at is null or r.closed_at >= ${since} - ${MAX_WAIT})
        and o.class in (${messageClasses.flow}, ${messageClasses.campaign}) and not o.test
        and coalesce(o.sent_at, case when o.status in ('queued', 'held', 'unknown') then o.created_at end) > ${since}
      limit ${count}) recent) >= ${count}`;
}
