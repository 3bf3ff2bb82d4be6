import {
  captureCtes,
  furtherCtes,
  giveBackCtes,
  type Limits,
  reservationColumns,
} from './limits/authority.ts';

/**
 * SQL: removes queue rows, and returns or uses up what their messages have reserved. The messages are locked first.
 * @param ids SQL: the messages that leave the queue
 * @param unsent SQL: those that give back what they have reserved
 */
export function leaveQueueSql(ids: string, unsent: string, table: Limits): string {
  return `, removed as (
    delete from send_queue where message_id = any(${ids})
    returning ${['message_id', 'account_id', ...reservationColumns(table)].join(', ')}
  )${furtherCtes([
    ...giveBackCtes(`(select * from removed where message_id = any(${unsent})) unsent`, table),
    ...captureCtes(`(select * from removed where message_id <> all(${unsent})) used`, table),
  ])}`;
}

/** SQL over `updated`: what an email counts as in the rates of its account. */
export interface CountedOutcomes {
  /** The statement has set `sent_at`. */
  sentNow: string;
  /** The email was accepted or bounced at hand-over, and was not counted before. */
  attempted: string;
  /** A CTE that locks rows and must do so before the counters are locked. */
  after?: string;
}

/**
 * SQL: counts the messages in `updated` that were sent now, and the outcomes of emails by account and hour. Hard bounces
 * and complaints are counted by address, from `newly_suppressed` (see `suppressionCtes`): otherwise one recipient with
 * many messages could pause the account. Counters are locked in the order of the accounts.
 */
export function countOutcomesSql({ sentNow, attempted, after }: CountedOutcomes): string {
  return `, sums as (
    select account_id, count(*) filter (where email and sent_now) as email,
      count(*) filter (where not email and sent_now) as sms, count(*) filter (where email and attempted) as attempted,
      count(*) filter (where reason = 'hard_bounce') as hard_bounces,
      count(*) filter (where reason = 'complaint') as complaints
    from (
      select account_id, channel = 'email' as email, ${sentNow} as sent_now, ${attempted} as attempted, null as reason
      from updated where not test
      union all
      select account_id, true, false, false, reason from newly_suppressed where email is not null
    ) o ${after === undefined ? '' : `where (select count(*) from ${after}) >= 0`} group by account_id
  ), counters as (
    select account_id from account_counters
    where account_id in (select account_id from sums where email + sms > 0)
    order by account_id for update
  ), counted as (
    update account_counters c set email_sent = c.email_sent + s.email, sms_sent = c.sms_sent + s.sms
    from sums s join counters using (account_id) where c.account_id = s.account_id
  ), outcomes_counted as (
    insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
    select account_id, date_trunc('hour', now(), 'UTC'), attempted, hard_bounces, complaints from sums
    where attempted + hard_bounces + complaints > 0 order by account_id
    on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted,
      hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints
  )`;
}
