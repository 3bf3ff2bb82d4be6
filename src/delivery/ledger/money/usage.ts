/**
 * Usage of accounts: charged outcomes by calendar month (UTC), and the totals sent. A message is charged once if it was
 * sent, or if an attempt has no known outcome; the charge is reversed if it proves not to have been sent. Of the tests,
 * only SMS that leave the service are charged; messages of test keys are not counted here. Statements insert changes as
 * separate rows, so that senders do not wait for each other at a counter; a worker folds them.
 */
import { paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** SQL: the calendar month (UTC) of a time, as a date. */
export const monthSql = (time: string): string => `date_trunc('month', ${time} at time zone 'utc')::date`;

/**
 * SQL over an updated message `u`: 1 if the statement charges it, -1 if the statement reverses its charge.
 * @param sentNow SQL: the statement has set `sent_at`
 */
const chargeSql = (sentNow: string): string => `case
          when u.unsent_at = u.updated_at then case when u.unknown_at < u.updated_at then -1 else 0 end
          when u.unsent_at is null and (u.unknown_at = u.updated_at or u.unknown_at is null and ${sentNow}) then 1
          else 0 end`;

/**
 * SQL: an expression of a `with` clause, after a comma, that counts the usage that the statement has changed. Its locks
 * never make another statement wait.
 * @param changed SQL: the table of updated messages, with `updated_at` of this statement
 * @param sentNow SQL over it: the statement has set `sent_at`
 */
export const countUsageSql = (changed: string, sentNow: string): string => `, usage_counted as (
    insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
    select account_id, month, coalesce(sum(charge) filter (where email), 0),
      coalesce(sum(charge * units) filter (where not email), 0), count(*) filter (where email and sent_now),
      count(*) filter (where not email and sent_now)
    from (
      select u.account_id, ${paidByMessageSql('u.channel')} as email, coalesce(u.segments, 1) as units, u.is_sent_now as sent_now,
        ${chargeSql('u.is_sent_now')} as charge, ${monthSql('coalesce(u.unknown_at, u.sent_at)')} as month
      from (select m.*, ${sentNow} as is_sent_now from ${changed} m where not m.test or ${paidBySegmentSql('m.channel')}) u
      where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
    where charge <> 0 or sent_now group by account_id, month
  )`;

/** SQL: an insert that counts emails that were just sent. @param accounts SQL: the account of each, null if it is a test */
export const countSentUsageSql = (accounts: string): string => `
    insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
    select account_id, ${monthSql('now()')}, count(*), 0, count(*), 0
    from unnest(${accounts}) as u (account_id) where account_id is not null group by 1`;

/** Maximum number of changes that one statement folds. */
const FOLDED_AT_ONCE = 20_000;

/** SQL: folds the changes of accounts with counters, which customers have. Other changes are dropped. */
const foldSql = `
  with taken as (
    delete from usage_changes where ctid = any (array(
      select ctid from usage_changes limit ${FOLDED_AT_ONCE} for update skip locked))
    returning *
  ), sums as materialized (
    select account_id, month, sum(email_used) as email_used, sum(sms_used) as sms_used, sum(ai_used) as ai_used,
      sum(email_sent) as email_sent, sum(sms_sent) as sms_sent
    from taken where account_id in (select account_id from account_counters) group by account_id, month
  ), used as (
    insert into account_usage as a (account_id, month, email_used, sms_used, ai_used)
    select account_id, month, email_used, sms_used, ai_used from sums order by account_id, month
    on conflict (account_id, month) do update set email_used = a.email_used + excluded.email_used,
      sms_used = a.sms_used + excluded.sms_used, ai_used = a.ai_used + excluded.ai_used
  ), counters as materialized (
    select account_id from account_counters where account_id in (select account_id from sums)
    order by account_id for no key update
  ), sent as (
    update account_counters c set email_sent = c.email_sent + s.email_sent, sms_sent = c.sms_sent + s.sms_sent,
      ai_used = c.ai_used + s.ai_used
    from (
      select account_id, sum(email_sent) as email_sent, sum(sms_sent) as sms_sent, sum(ai_used) as ai_used
      from sums group by account_id) s
    join counters using (account_id) where c.account_id = s.account_id
  )
  select count(*)::int as taken from taken`;

/**
 * Folds changes into the counters. Several processes may fold at once: each takes other rows, and counters are locked in
 * one order.
 * @returns whether there may be more changes
 */
export async function foldUsage(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: number }>({ name: 'fold_usage', text: foldSql });
  return (rows[0]?.taken ?? 0) === FOLDED_AT_ONCE;
}

/**
 * SQL: one row with what the account has used in the current month (`email_used`, `sms_used`, `ai_used`) and in total
 * (`email_sent`, `sms_sent`, `ai_total`). It adds folded and unfolded changes; a single statement sees each change
 * once.
 * @param account SQL: the alias of its row of `accounts`
 */
export const usageSql = (account: string): string => `
  select coalesce(sum(email_used), 0)::bigint as email_used, coalesce(sum(sms_used), 0)::bigint as sms_used,
    coalesce(sum(ai_used), 0)::bigint as ai_used, coalesce(sum(email_sent), 0)::bigint as email_sent,
    coalesce(sum(sms_sent), 0)::bigint as sms_sent, coalesce(sum(ai_total), 0)::bigint as ai_total
  from (
    select email_used, sms_used, ai_used, 0 as email_sent, 0 as sms_sent, 0 as ai_total
    from account_usage where account_id = ${account}.id and month = ${monthSql('now()')}
    union all
    select 0, 0, 0, email_sent, sms_sent, ai_used from account_counters where account_id = ${account}.id
    union all
    select case when month = ${monthSql('now()')} then email_used else 0 end,
      case when month = ${monthSql('now()')} then sms_used else 0 end,
      case when month = ${monthSql('now()')} then ai_used else 0 end, email_sent, sms_sent, ai_used
    from usage_changes where account_id = ${account}.id) parts`;

/**
 * Counts one call of the endpoint that finds the tone of a brand.
 * @param client inside the transaction that stores the result, or before the call
 */
export async function countAi(client: Queryable, accountId: number): Promise<void> {
  await client.query({
    name: 'count_ai',
    text: `insert into usage_changes (account_id, month, ai_used) values ($1, ${monthSql('now()')}, 1)`,
    values: [accountId],
  });
}
