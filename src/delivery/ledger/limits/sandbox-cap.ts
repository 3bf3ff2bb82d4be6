import type { Limit } from './limit.ts';
import type { Setting } from '../../terms/sql-parts.ts';

/** SQL: the month in which messages accepted or claimed now are counted. */
export const SANDBOX_MONTH = `date_trunc('month', now() at time zone 'utc')::date`;

const figures = (setting: Setting) => `
    select cap as "limit", used, cap - used as remaining,
      (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as resets_at
    from (
      select coalesce(a.sandbox_monthly_cap, ${setting('sandbox_monthly_cap')}) as cap,
        coalesce((
          select used from sandbox_usage
          where account_id = a.id and month = ${SANDBOX_MONTH}), 0) as used) s`;

/**
 * Emails from the sandbox address in a month. They count when they are accepted, even if they fail later. Recipients of
 * a campaign count when a sender claims their block, unless they are not attempted: see `block-limits.ts`. Mail from
 * the account's own domains does not count, and neither do messages of test keys, which are written with their outcome.
 * Tests of templates leave the service, so they are queued and count.
 */
export const sandboxCap = {
  name: 'sandbox_cap',
  title: 'emails from the sandbox in a calendar month (UTC)',
  plain: 'never holds',
  settings: (config) => ({ sandbox_monthly_cap: config.SANDBOX_MONTHLY_CAP }),
  figures,
  accept: {
    code: 'sandbox_limit_reached',
    message: 'the sandbox has no messages left this month; register and verify a sending domain',
    sqlstate: 'CL001',
    reserve: ({ messages, setting }) => [
      {
        name: 'sandbox_used',
        sql: `
          insert into sandbox_usage as u (account_id, month, used)
          select account_id, ${SANDBOX_MONTH}, count(*)
          from ${messages}
          where (not test or status = 'queued') and channel = 'email' and domain_id is null and kind = 'customer'
          group by 1 order by 1
          on conflict (account_id, month) do update set used = u.used + excluded.used
          returning case when u.used > (
              select coalesce(a.sandbox_monthly_cap, ${setting('sandbox_monthly_cap')})
              from accounts a where a.id = u.account_id)
            then refuse_over_sandbox_cap(u.account_id) end as refused`,
      },
    ],
    refusals: 'sandbox_used',
    // Only POST /messages and flows check this, and they write their tests with the outcome.
    takes: ({ channel, test, domain_id }) => (channel === 'email' && !test && !domain_id ? 1 : 0),
    left: (setting) =>
      `case when a.kind = 'customer' then (select remaining from (${figures(setting)}) sandbox) end`,
  },
  status: {
    reason: 'sandbox_limit_reached',
    state: 'limited',
    // An account with a verified domain does not need the sandbox.
    reached: `sandbox_cap.remaining <= 0 and not exists (
      select 1 from domains d where d.account_id = a.id and d.status = 'verified')`,
    remediation: 'The sandbox has no messages left this month; register and verify a sending domain.',
  },
} as const satisfies Limit;
