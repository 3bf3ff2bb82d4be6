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
  hardBounced: string;
  complained: string;
}

/**
 * SQL: counts the messages in `updated` that were sent now, and the outcomes of emails by account and hour. Counters are
 * locked in the order of the accounts.
 */
export function countOutcomesSql({ sentNow, attempted, hardBounced, complained }: CountedOutcomes): string {
  return `, sums as (
    select account_id, count(*) filter (where channel = 'email' and ${sentNow}) as email,
      count(*) filter (where channel = 'sms' and ${sentNow}) as sms,
      count(*) filter (where channel = 'email' and ${attempted}) as attempted,
      count(*) filter (where channel = 'email' and ${hardBounced}) as hard_bounces,
      count(*) filter (where channel = 'email' and ${complained}) as complaints
    from updated where not test group by account_id
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
