import type { Limit } from './limit.ts';

/** SQL: the bucket of messages claimed now. */
const CURRENT_BUCKET = `date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z')`;

/**
 * SQL: how long a bucket counts. It is named after the start of its ten minutes, and its last message counts for 24
 * hours.
 */
export const ROLLING_PERIOD = `interval '24 hours 10 minutes'`;

/**
 * The rolling allowance: messages in any 24 hours, counted in buckets of ten minutes. A message reserves its place at
 * its first claim and keeps it if the claim is given back. If the message is not sent, the place returns to the same
 * bucket.
 * The service's own account has no allowance.
 */
export const allowance = {
  name: 'allowance',
  title: 'messages in any 24 hours, in steps of ten minutes',
  plain: 'stands down',
  settings: (config) => ({
    allowance_free: config.ALLOWANCE_FREE,
    allowance_paid: config.ALLOWANCE_PAID,
    allowance_trusted: config.ALLOWANCE_TRUSTED,
  }),
  figures: (setting) => `
    select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
    from (
      select coalesce(a.allowance_per_day, case a.tier
          when 'free' then ${setting('allowance_free')}
          when 'paid' then ${setting('allowance_paid')}
          else ${setting('allowance_trusted')} end) as "limit",
        coalesce(sum(b.used), 0) as used,
        min(b.bucket) filter (where b.used > 0) + ${ROLLING_PERIOD} as resets_at
      from allowance_buckets b where b.account_id = a.id and b.bucket > now() - ${ROLLING_PERIOD}) counted`,
  queueColumns: ['reserved_bucket'],
  quota: { counts: 'q.reserved_bucket is null' },
  claim: {
    effect: 'hold',
    // If nothing counts yet, the messages claimed now are the first to stop counting. If the allowance is 0, it may be
    // raised, so check again soon.
    until: `coalesce(allowance.resets_at,
      now() + case when allowance.remaining > 0 then ${ROLLING_PERIOD} else interval '10 minutes' end)`,
  },
  reservation: {
    columns: [{ name: 'reserved_bucket', value: CURRENT_BUCKET }],
    take: (rows, accountId) => [
      {
        name: 'allowance_taken',
        sql: `
        insert into allowance_buckets (account_id, bucket, used)
        select ${accountId}, ${CURRENT_BUCKET}, count(*) from ${rows} having count(*) > 0
        on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used`,
      },
    ],
    giveBack: (rows, after) => [
      {
        name: 'allowance_unused',
        materialized: true,
        sql: `
          select account_id, reserved_bucket as bucket, count(*)::int as count from ${rows}
          where reserved_bucket is not null group by account_id, reserved_bucket`,
      },
      {
        // Every statement that locks several buckets locks them in this order. A claim may have begun a bucket while the
        // statement waited for the claim's messages: an update would not see it, an insert finds it.
        name: 'allowance_given_back',
        sql: `
          insert into allowance_buckets as b (account_id, bucket, used)
          select account_id, bucket, 0 from allowance_unused where ${after} order by account_id, bucket
          on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
            select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
          returning 1`,
      },
    ],
  },
  status: {
    reason: 'allowance_used',
    state: 'limited',
    reached: 'allowance.remaining <= 0',
    remediation: 'The rolling 24-hour allowance is used up; messages are sent as capacity returns.',
  },
} as const satisfies Limit;
