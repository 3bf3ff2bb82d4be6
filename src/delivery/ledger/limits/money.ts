/**
 * What an account may still spend, as SQL over the account `a`. Amounts are millicents. `spend-cap.ts` and `wallet.ts`
 * use it to decide in claims. POST /messages decides in `delivery/ledger/accept/reserve_messages.sql`.
 */
import { byUnitSql, paidByMessageSql } from '../../terms/units.ts';
import { emailPriceSql, monthlyEmailsSql, paysSql } from '../money/prices.ts';
import { MILLICENTS_PER_CENT } from '../money/wallet.ts';
import type { Quota } from './limit.ts';
import type { Setting } from '../../terms/sql-parts.ts';

/** No bound on a number of messages. */
const NONE = 2_147_483_647;

/** SQL: a sum of columns of the account's current month; 0 if the month has no row. */
const monthly = (columns: string) => `coalesce((
      select ${columns} from account_months s where s.account_id = a.id and s.month = current_month()), 0)`;

/** SQL: how much of its cap the account has spent or reserved this month. */
export const spentSql = `(${monthly('s.spent_millicents + s.validation_millicents')} + coalesce((
      select sum(v.reserved_millicents) from validation_operations v
      where v.account_id = a.id and v.reserved_millicents > 0 and v.price_month = current_month()), 0))::bigint`;

/** SQL: the cap; null: the account has none. */
export const capSql = `(a.spend_cap_monthly_cents::bigint * ${MILLICENTS_PER_CENT})`;

/** SQL: how many more emails of this month cost nothing. */
export const freeEmailsSql = (setting: Setting): string =>
  `greatest(0, ${monthlyEmailsSql('a', setting)} - ${monthly('s.free_units')})`;

/** SQL: the start of the next month. */
export const NEXT_MONTH = `((current_month() + interval '1 month') at time zone 'utc')`;

/**
 * SQL: the figures of a limit on what the account spends: the usual ones, in millicents, and
 * - `pays`: whether messages cost the account anything; if not, nothing limits it
 * - `email_price`, `sms_prices` by country (null: texts cost nothing), and `least_text`, the lowest of these
 * - `free`: emails that cost nothing
 * - `emails` and `texts`: how many of each the limit lets go, if all texts have the lowest price
 * @param amounts SQL over `a`: the `limit` and how much of it is `used`; a limit of null means no bound
 */
export const moneyFigures = (amounts: { limit: string; used: string }, setting: Setting): string => `
    select "limit", used, left_over as remaining, ${NEXT_MONTH} as resets_at, pays, email_price, sms_prices, least_text, free,
      case when left_over is null or email_price = 0 then ${NONE}
        else least(${NONE}, free + greatest(0, left_over) / email_price) end::int as emails,
      case when left_over is null or coalesce(least_text, 0) = 0 then ${NONE}
        else least(${NONE}, greatest(0, left_over) / least_text) end::int as texts
    from (
      select pays, s."limit", s.used, s."limit" - s.used as left_over,
        case when pays then ${emailPriceSql('a')} else 0 end as email_price, t.sms_prices, t.least_text,
        case when pays then ${freeEmailsSql(setting)} else 0 end as free
      from (select ${paysSql('a')} as pays offset 0) p
      cross join lateral (
        select case when pays then ${amounts.limit} end as "limit", case when pays then ${amounts.used} end as used) s
      left join lateral (
        select jsonb_object_agg(p.country, p.millicents) as sms_prices, min(p.millicents) as least_text
        from prices p where pays and p.tier = a.tier and p.kind = 'sms') t on true) f`;

/** Stands for several countries: the texts of a campaign's block may go to any. */
export const SEVERAL_COUNTRIES = '*';

/**
 * SQL over `q` and figures: the price of a text; null: its country has no price, and the text is skipped at the
 * hand-over.
 */
export const textPriceSql = (name: string): string =>
  `case when q.price_country = '${SEVERAL_COUNTRIES}' then ${name}.least_text
      else (${name}.sms_prices ->> q.price_country)::bigint end * coalesce(q.price_units, 1)`;

/**
 * The quota of a limit with {@link moneyFigures}: an email takes a place, a text its price. A message takes nothing if
 * POST /messages or an earlier claim has reserved its price.
 * @param name of the limit
 */
export const moneyQuota = (name: string): Quota => ({
  counts: 'q.price_month is null',
  cost: `case when ${paidByMessageSql('q.channel')} then 1 else coalesce(${textPriceSql(name)}, 0) end`,
  remaining: `case when ${name}.remaining is null then null when ${paidByMessageSql('q.channel')} then ${name}.emails
      else ${name}.remaining end`,
  room: (channel) => byUnitSql(channel, { message: `${name}.emails`, segment: `${name}.texts` }),
});

/** SQL over the figures of a limit: whether it holds all messages that cost something. */
export const reachedSql = (name: string): string =>
  `(${name}.emails <= 0 or ${name}.email_price = 0 and ${name}.texts <= 0)`;

/** The columns of the queue that the decision reads. */
export const moneyColumns = ['channel', 'price_month', 'price_country', 'price_units'] as const;

/**
 * SQL: adds to the totals of months. Statements that lock months before anything else do so with `lock_months`.
 * @param rows SQL: a select of account, month, emails, free emails, segments and millicents
 */
export const raiseMonthsSql = (rows: string): string => `
        insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
        ${rows}
        on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
          free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
          spent_millicents = s.spent_millicents + excluded.spent_millicents`;
