import type { Limit } from './limit.ts';
import { messageClasses } from '../../terms/message.ts';

/** SQL: the current day. Days are in UTC. */
const TODAY = `(now() at time zone 'utc')::date`;

/** SQL: the end of the current day. */
export const TOMORROW = `((${TODAY} + 1)::timestamp at time zone 'utc')`;

/** SQL: the domains that warm up, with how much they may send today and how much they have used. */
export const WARMING = `
      select w.domain_id, w.account_id, w.daily_limit, coalesce(d.used, 0) as used
      from warm_ups w left join warm_up_days d on d.domain_id = w.domain_id and d.day = ${TODAY}`;

/** SQL: no bound. */
const NONE = 2_147_483_647;

/**
 * The warm-up of a new domain: a volume for each day, which grows as long as few of its emails bounce or are reported
 * as spam. Mail services hardly trust a new domain, and take a sudden volume for spam. Transactional messages count but
 * are never held. A message counts when it is claimed for the first time, even if it is never sent. The figures are
 * those of the domain that has the least left; `by_domain` has what each domain has left.
 */
export const warmUp = {
  name: 'warm_up',
  title: 'emails of a new sending domain in a day (UTC), after the schedule of its warm-up',
  plain: 'never holds',
  figures: () => `
    select coalesce(min(w.daily_limit), ${NONE}) as "limit", coalesce(max(w.used), 0) as used,
      coalesce(min(w.daily_limit - w.used), ${NONE}) as remaining, max(${TOMORROW}) as resets_at,
      jsonb_object_agg(w.domain_id, w.daily_limit - w.used) filter (where w.domain_id is not null) as by_domain
    from (${WARMING}) w where w.account_id = a.id`,
  queueColumns: ['reserved_bucket', 'domain_id', 'class'],
  quota: {
    counts: 'q.reserved_bucket is null and q.domain_id is not null',
    per: 'q.domain_id',
    remaining: '(warm_up.by_domain ->> q.domain_id::text)::int',
    holds: `q.class <> ${messageClasses.transactional}`,
  },
  claim: { effect: 'hold', until: TOMORROW },
  reservation: {
    counts: () => 'exists (select from warm_ups w where w.account_id = a.id)',
    take: (rows, accountId) => [
      {
        name: 'warm_up_taken',
        sql: `
        insert into warm_up_days as d (domain_id, day, used)
        select w.domain_id, ${TODAY}, count(*)
        from ${rows} join warm_ups w on w.domain_id = taken.domain_id and w.account_id = ${accountId}
        group by 1 order by 1
        on conflict (domain_id, day) do update set used = d.used + excluded.used`,
      },
    ],
  },
  status: {
    reason: 'warm_up',
    state: 'limited',
    reached: 'warm_up.remaining <= 0',
    remediation:
      'A sending domain is new and has sent what its warm-up allows today; campaigns and flows continue tomorrow (UTC).',
  },
} as const satisfies Limit;
