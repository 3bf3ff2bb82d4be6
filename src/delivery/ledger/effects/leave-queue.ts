import { isChannelSql } from '../../terms/channels/index.ts';
import { channelOfQueueSql } from '../../terms/channels/queue-channel.ts';
import { captureCtes, giveBackCtes, type Limits, reservationColumns } from '../limits/authority.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { countUsageSql } from '../money/usage.ts';

/** What the messages that leave the queue are charged, in a statement for accounts that pay. */
export interface Charges {
  /** SQL: messages without a known outcome. Their charges are stored in `unknown_charges`. */
  unknown?: string;
  /**
   * SQL: a table with `message_id` and `keep`: how many of its reserved emails or segments the message is charged, if
   * not all. Not needed for unsent messages, which return everything.
   */
  kept?: string;
  /**
   * SQL: messages that were unknown and are now known to have failed. Their stored charges are returned. The statement
   * must have locked the messages when it evaluates this.
   */
  cleared?: string;
  /**
   * SQL: a table with `id` and `segments`: texts that are charged at most these segments. The rest of their stored
   * charges is returned. As with `cleared`, the statement must have locked the messages.
   */
  lowered?: string;
}

/** SQL: how much of its reservation the removed row `r` returns. */
const returnedSql = (unsent: string, kept: string | undefined): string => `
      select r.account_id, r.channel, case when r.message_id = any(${unsent}) then r.reserved_bucket end as reserved_bucket,
        r.price_month,
        r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
        r.price_units - k.keep as price_units
      from removed r cross join lateral (
        select case when r.message_id = any(${unsent}) then 0
          else ${kept === undefined ? 'null' : `(select least(k.keep, r.price_units) from (${kept}) k where k.message_id = r.message_id)`} end as keep) k
      where k.keep < r.price_units or k.keep = 0`;

/**
 * SQL: removes the stored charges of messages that have failed after all. The function also sees what was committed
 * while the statement waited for the messages: the reaper may just have taken their sender for dead.
 */
const clearedSql = (cleared: string): string => `, cleared as materialized (
    select account_id, channel, null::timestamptz, month, millicents, units from take_unknown_charges(${cleared})
  )`;

/**
 * SQL: lowers the stored charges of texts that were sent with fewer segments. The counterpart of {@link clearedSql}.
 */
const loweredSql = (lowered: string): string => `, lowered as materialized (
    select l.account_id, l.channel, null::timestamptz, l.month, l.millicents, l.units
    from (select array_agg(id) as ids, array_agg(segments::int) as counts from (${lowered}) s) k
    cross join lateral lower_unknown_charges(k.ids, k.counts) l
  )`;

/** SQL: stores the charges of messages without a known outcome, from the removed queue rows. */
export const unknownChargesSql = (unknown: string): string => `, unknown_kept as (
    insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
    select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
    from removed where message_id = any(${unknown}) and price_month is not null and price_units > 0
    on conflict do nothing
  )`;

/**
 * SQL: removes queue rows, and returns or uses up what their messages have reserved. The messages are locked first.
 * Nothing else removes queue rows, so a reservation is returned at most once.
 * @param ids SQL: the messages that leave the queue
 * @param unsent SQL: those of them that return their reservations
 * @param table includes the limits on money only if one of the messages may have reserved money
 */
export function leaveQueueSql(ids: string, unsent: string, table: Limits, charges: Charges = {}): string {
  const columns = [...new Set(['message_id', 'account_id', 'reserved_bucket', ...reservationColumns(table)])];
  const { unknown, kept, cleared, lowered } = charges;
  const paid = table.some(({ refusal }) => refusal);
  const returned = paid
    ? `(${returnedSql(unsent, kept)}${cleared === undefined ? '' : ' union all select * from cleared'}${lowered === undefined ? '' : ' union all select * from lowered'}) unsent`
    : `(select * from removed where message_id = any(${unsent})) unsent`;
  return `, removed as (
    delete from send_queue where message_id = any(${ids})
    returning ${[...columns, ...(paid ? [`${channelOfQueueSql('channel')} as channel`] : [])].join(', ')}
  )${paid && cleared !== undefined ? clearedSql(cleared) : ''}${paid && lowered !== undefined ? loweredSql(lowered) : ''}${paid && unknown !== undefined ? unknownChargesSql(unknown) : ''}${furtherCtes(
    [
      ...giveBackCtes(returned, table),
      ...captureCtes(`(select * from removed where message_id <> all(${unsent})) used`, table),
    ],
  )}`;
}

/** SQL over `updated`: how an email counts in the rates of its account. */
export interface CountedOutcomes {
  /** The statement has set `sent_at`. */
  sentNow: string;
  /** The email was accepted or bounced at hand-over, and was not counted before. */
  attempted: string;
  /** A CTE whose rows must be locked before the counts of the hour are. */
  after?: string;
  /** Whether the statement has `newly_suppressed`; by default it has. */
  suppressions?: boolean;
}

const suppressedSql = `
      union all
      select account_id, false, reason from newly_suppressed where email is not null`;

/**
 * SQL: counts outcomes of emails by account and hour. The counts are locked in the order of the accounts.
 * @param outcomes SQL: a select with `account_id`, `attempted`, and `reason` of a suppression, or null
 * @param after a CTE whose rows must be locked before
 */
export const countByHourSql = (outcomes: string, after?: string): string => `, sums as (
    select account_id, count(*) filter (where attempted) as attempted,
      count(*) filter (where reason = 'hard_bounce') as hard_bounces,
      count(*) filter (where reason = 'complaint') as complaints
    from (${outcomes}
    ) o ${after === undefined ? '' : `where (select count(*) from ${after}) >= 0`} group by account_id
  ), outcomes_counted as (
    insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
    select account_id, date_trunc('hour', now(), 'UTC'), attempted, hard_bounces, complaints from sums
    where attempted + hard_bounces + complaints > 0 order by account_id
    on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted,
      hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints
  )`;

/** SQL: an insert that counts emails that were just sent. @param accounts SQL: the account of each, null if it is a test */
export const countSentByHourSql = (accounts: string): string => `
    insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
    select account_id, date_trunc('hour', now(), 'UTC'), count(*), 0, 0
    from unnest(${accounts}) as u (account_id) where account_id is not null group by 1 order by 1
    on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted`;

/** SQL: whether the channel of a message counts in the rates of its account. @param channel SQL: a column */
export const hasRatesSql = (channel: string): string => isChannelSql(channel, ({ hasRates }) => hasRates);

/**
 * SQL: counts the usage of the accounts of the messages in `updated`, and the outcomes of emails by account and hour.
 * Hard bounces and complaints are counted by address, from `newly_suppressed` (see `suppressionCtes`): otherwise one
 * recipient with many messages could pause the account.
 */
export function countOutcomesSql({
  sentNow,
  attempted,
  after,
  suppressions = true,
}: CountedOutcomes): string {
  const outcomes = `
      select account_id, ${attempted} as attempted, null as reason
      from updated where ${hasRatesSql('channel')} and not test${suppressions ? suppressedSql : ''}`;
  return `${countUsageSql('updated', sentNow)}${countByHourSql(outcomes, after)}`;
}
