import { byUnitSql, paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import { MESSAGE_LIFETIME, MESSAGE_LIFETIME_HOURS } from '../../terms/message.ts';
import { monthlyEmailSettings } from '../money/prices.ts';
import { balanceSql } from '../money/wallet.ts';
import type { Limit } from './limit.ts';
import { moneyColumns, moneyFigures, moneyQuota, raiseMonthsSql, reachedSql, textPriceSql } from './money.ts';

/** SQL over a claimed row `q`: its price; null: a text without a price. Emails use up the free allowance first. */
const priceSql = `case when ${paidByMessageSql('q.channel')}
          then case when q.wallet_place <= wallet.free then 0 else wallet.email_price end
          else ${textPriceSql('wallet')} end`;

/**
 * The funds of an account. Each message reserves its price in the month in which it is accepted or claimed: its queue
 * row or block is the reservation. Success writes nothing more; a message that is not sent returns its price to that
 * month.
 */
export const wallet = {
  name: 'wallet',
  title: "the account's funds",
  plain: 'never holds',
  settings: monthlyEmailSettings,
  figures: (setting) => moneyFigures({ limit: balanceSql('a'), used: '0::bigint' }, setting),
  queueColumns: moneyColumns,
  quota: moneyQuota('wallet'),
  // A credit releases the messages at once. The interval is for a release that was lost, and for a new month.
  claim: { effect: 'hold', until: null, recheck: `interval '5 minutes'` },
  refusal: {
    code: 'insufficient_funds',
    message: "the account's funds do not cover the message; add funds to the wallet",
  },
  reservation: {
    locksFirst: 'months_given_back',
    columns: [
      {
        name: 'price_month',
        value: `case when (select by_id from wallet_prices) ? q.message_id::text then current_month() end`,
      },
      {
        name: 'price_millicents',
        value: `((select by_id from wallet_prices) -> q.message_id::text ->> 0)::bigint`,
      },
      {
        name: 'price_units',
        value: `coalesce(((select by_id from wallet_prices) -> q.message_id::text ->> 1)::smallint, q.price_units)`,
      },
    ],
    take: (rows, accountId) => [
      {
        name: 'wallet_priced',
        materialized: true,
        sql: `
        select q.message_id, q.channel, ${priceSql} as millicents,
          case when ${paidByMessageSql('q.channel')} then 1 else coalesce(q.price_units, 1) end as units,
          ${paidByMessageSql('q.channel')} and q.wallet_place <= wallet.free as free
        from wallet cross join (select * from ${rows}) q
        where ${byUnitSql('q.channel', {
          message: 'wallet.email_price > 0',
          segment: 'wallet.sms_prices is not null',
        })}`,
      },
      {
        name: 'wallet_prices',
        materialized: true,
        sql: `select jsonb_object_agg(message_id, jsonb_build_array(millicents, units)) as by_id from wallet_priced`,
      },
      {
        name: 'wallet_taken',
        sql: `
        ${raiseMonthsSql(`
          select ${accountId}, current_month(), coalesce(sum(units) filter (where ${paidByMessageSql('channel')}), 0),
            count(*) filter (where free), coalesce(sum(units) filter (where ${paidBySegmentSql('channel')}), 0),
            coalesce(sum(millicents), 0)
          from wallet_priced having count(*) > 0`)}`,
      },
    ],
    giveBack: (rows) => [
      {
        name: 'months_returned',
        materialized: true,
        sql: `
        select account_id, price_month as month,
          coalesce(sum(price_units) filter (where ${paidByMessageSql('channel')}), 0) as emails,
          coalesce(sum(price_units) filter (where ${paidByMessageSql('channel')} and price_millicents = 0), 0) as free,
          coalesce(sum(price_units) filter (where ${paidBySegmentSql('channel')}), 0) as texts,
          coalesce(sum(price_millicents), 0) as millicents
        from ${rows} where price_month is not null and (price_units > 0 or price_millicents > 0)
        group by account_id, price_month`,
      },
      {
        // All statements lock months in this order. The current month is locked too, as it may receive the return.
        name: 'months_locked',
        materialized: true,
        sql: `
        select s.account_id, s.month, s.posted_at from account_months s join (
          select account_id, month from months_returned union select account_id, current_month() from months_returned
        ) r using (account_id, month) order by s.account_id, s.month for update of s`,
      },
      {
        // A posted month no longer changes: the current month receives the return instead. A claim may have begun the
        // month while the statement waited for the claim's messages. Then the statement cannot see the row, so it was
        // not locked, but an insert finds it.
        name: 'months_given_back',
        sql: `
        ${raiseMonthsSql(`
          select account_id, case when l.posted_at is null then month else current_month() end,
            -sum(r.emails), -sum(r.free), -sum(r.texts), -sum(r.millicents)
          from months_returned r left join months_locked l using (account_id, month) group by 1, 2 order by 1, 2`)} returning 1`,
      },
    ],
  },
  status: {
    reason: 'insufficient_funds',
    state: 'limited',
    reached: reachedSql('wallet'),
    remediation: "The account's funds do not cover further messages; add funds to the wallet.",
  },
} as const satisfies Limit;

/** The end of a message that has waited for funds for its whole lifetime. */
export const walletEnd = {
  name: 'wallet_end',
  title: `the message waited for funds until it was ${MESSAGE_LIFETIME_HOURS} hours old`,
  plain: 'decided',
  condition: {
    reads: 'message',
    sql: `(q.queued_at < now() - ${MESSAGE_LIFETIME} and m.hold ->> 'reason' = 'wallet')`,
  },
  handOver: { effect: 'fail', code: 'insufficient_funds', message: "the account's funds did not cover it" },
} as const satisfies Limit;
