/**
 * Figures over time: how many messages were sent, delivered and so on. Each statement that records such a fact inserts
 * the number of messages as rows of `stat_changes`, so that senders do not wait for each other at a counter. A worker
 * folds them into `stat_counts`, see `features/stats/fold.ts`.
 *
 * A message counts once under each name, in the quarter of an hour in which that happened, and tests never count. So a
 * count of the messages by the columns of {@link statTimes} must always equal the figures.
 */
import { messageClasses } from '../../terms/message.ts';

/** The names of the figures, each with the column of `messages` that has the time. */
export const statTimes = {
  sent: 'sent_at',
  delivered: 'delivered_at',
  bounced: 'bounced_at',
  complained: 'complained_at',
  opened: 'opened_at',
  clicked: 'clicked_at',
  unsubscribed: 'unsubscribed_at',
} as const;

export type StatName = keyof typeof statTimes;

/** SQL: the beginning of the quarter of an hour that contains the time, the same in every time zone. */
export const slotSql = (time: string): string =>
  `date_bin('15 minutes', ${time}, '2000-01-01 00:00+00'::timestamptz)`;

/** SQL: what has sent the messages of a class: `campaign`, `flow` or `api`. */
export const sourceSql = (messageClass: string): string =>
  `case ${messageClass} when ${messageClasses.campaign} then 'campaign' when ${messageClasses.flow} then 'flow' else 'api' end`;

/**
 * SQL: an expression of a `with` clause, after a comma, that counts the messages about which the statement has recorded
 * a fact for the first time. It locks nothing. Changes of messages that `features/stats/older-messages.ts` will still
 * count name the message, so that they are not counted twice.
 * @param changed SQL: the table of updated messages
 * @param isNew SQL over its row `u`, for each name that the statement records: whether it has set the time
 */
export const countStatsSql = (changed: string, isNew: Partial<Record<StatName, string>>): string => {
  const facts = Object.entries(isNew).map(
    ([name, condition]) => `('${name}', u.${statTimes[name as StatName]}, ${condition})`,
  );
  return `, stats_counted as (
    insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
    select u.brand_id, ${slotSql('f.at')}, ${sourceSql('u.class')}, u.channel, f.name,
      case when u.id > (select reached_id from older_stats) and u.id <= (select last_id from older_stats) then u.id end,
      count(*)
    from ${changed} u cross join lateral (values ${facts.join(', ')}) as f (name, at, is_new)
    where f.is_new and not u.test group by 1, 2, 3, 4, 5, 6
  )`;
};

/**
 * SQL: an insert that counts transactional emails that were just sent, none of which `features/stats/older-messages.ts`
 * will count.
 * @param accounts SQL: the account of each, null if it is a test
 * @param brands SQL: the brand of each
 */
export const countSentStatsSql = (accounts: string, brands: string): string => `
    insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
    select brand_id, ${slotSql('now()')}, 'api', 'email', 'sent', null, count(*)
    from unnest(${accounts}, ${brands}) as u (account_id, brand_id) where account_id is not null group by 1`;
