import { messageClasses } from '../../terms/message.ts';
import type { Limit } from './limit.ts';

const MINUTE = `date_trunc('minute', now())`;

/** SQL: no bound. */
const NONE = 2_147_483_647;

/**
 * SQL: the maximum number of emails of a domain per minute; null: no bound.
 * @param perMinute SQL: the setting; 0: no bound
 */
export const paceSql = (perMinute: string) => `nullif(coalesce(p.per_minute, ${perMinute}), 0)`;

/**
 * An even pace: the maximum number of emails of a sending domain per minute. Transactional messages count but are never
 * held. A message counts when it is claimed for the first time. The figures are those of the domain that has the least
 * left. `by_domain` has what each domain with a row has left, and `paces` its pace; `others` is the pace of any other
 * domain.
 */
export const pacing = {
  name: 'pacing',
  title: 'emails of a sending domain in a minute',
  plain: 'never holds',
  settings: (config) => ({ pacing_per_minute: config.PACING_PER_MINUTE }),
  figures: (setting) => `
    select coalesce(least(others, pace), ${NONE}) as "limit", used, coalesce(least(others, left_over), ${NONE}) as remaining,
      ${MINUTE} + interval '1 minute' as resets_at, by_domain, paces, others
    from (
      select nullif(${setting('pacing_per_minute')}, 0) as others, min(pace) as pace, coalesce(max(used), 0) as used,
        min(pace - used) as left_over,
        jsonb_object_agg(domain_id, coalesce(pace - used, ${NONE})) filter (where domain_id is not null) as by_domain,
        jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
      from (
        select p.domain_id, ${paceSql(setting('pacing_per_minute'))} as pace,
          case when p.minute >= ${MINUTE} then p.used else 0 end as used
        from domain_paces p where p.account_id = a.id) p) f`,
  queueColumns: ['reserved_bucket', 'domain_id', 'class'],
  quota: {
    counts: 'q.reserved_bucket is null and q.domain_id is not null',
    per: 'q.domain_id',
    remaining: 'coalesce((pacing.by_domain ->> q.domain_id::text)::int, pacing.others)',
    holds: `q.class <> ${messageClasses.transactional}`,
  },
  // Each message is held until the minute in which it can go, so that senders need not check it in every earlier one.
  claim: {
    effect: 'hold',
    until: `${MINUTE} + interval '1 minute' * (1 + (q.pacing_place - 1)
      / greatest(1, coalesce((pacing.paces ->> q.domain_id::text)::int, pacing.others, 1)))`,
  },
  reservation: {
    counts: (setting) =>
      `${setting('pacing_per_minute')} <> 0 or exists (select from domain_paces p where p.account_id = a.id)`,
    take: (rows, accountId, setting) => [
      {
        name: 'pacing_taken',
        sql: `
        insert into domain_paces as p (domain_id, account_id, minute, used)
        select taken.domain_id, ${accountId}, ${MINUTE}, count(*) from ${rows}
        where ${setting('pacing_per_minute')} <> 0 or exists (
          select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = ${accountId})
        group by 1 order by 1
        on conflict (domain_id) do update set minute = excluded.minute,
          used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used`,
      },
    ],
  },
  status: {
    reason: 'pacing',
    state: 'limited',
    reached: 'pacing.remaining <= 0',
    remediation:
      'A sending domain has sent what its pace allows in this minute; campaigns and flows continue in the next one.',
  },
} as const satisfies Limit;
