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

/**
 * SQL: counts the messages in `updated` whose `sent_at` the statement has set. Counters are locked in the order of the
 * accounts.
 * @param sentNow SQL over `updated`: whether the statement has set it
 */
export function countSentSql(sentNow: string): string {
  return `, sums as (
    select account_id, count(*) filter (where channel = 'email') as email, count(*) filter (where channel = 'sms') as sms
    from updated where ${sentNow} and not test group by account_id
  ), counters as (
    select account_id from account_counters where account_id in (select account_id from sums)
    order by account_id for update
  ), counted as (
    update account_counters c set email_sent = c.email_sent + s.email, sms_sent = c.sms_sent + s.sms
    from sums s join counters using (account_id) where c.account_id = s.account_id
  )`;
}
