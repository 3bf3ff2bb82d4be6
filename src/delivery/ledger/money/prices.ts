/**
 * What messages cost, as SQL fragments. Prices are millicents (1 cent = 1,000), by tier, in the table `prices`. An
 * account that is comped, or whose tier has no price above zero, pays nothing, so nothing has to be locked or counted
 * for it.
 */
import type { Setting } from '../../terms/sql-parts.ts';

/** SQL: whether messages of an account may cost anything. @param account SQL: the alias of its row of `accounts` */
export const paysSql = (account: string): string =>
  `(not ${account}.comped and ${account}.kind = 'customer' and exists (
      select from prices p where p.tier = ${account}.tier and p.millicents > 0))`;

/** SQL: the price of an email above the monthly allowance; 0: none was set. */
export const emailPriceSql = (account: string): string =>
  `coalesce((select p.millicents from prices p where p.tier = ${account}.tier and p.kind = 'email'), 0)`;

/**
 * SQL: the price of one segment of an SMS; 0: the tier has no SMS price at all; null: the tier has SMS prices but none
 * for the country of the number, so the message must not be sent.
 * @param number SQL: the recipient in E.164 form
 */
export const smsPriceSql = (account: string, number: string): string =>
  `case when exists (select from prices p where p.tier = ${account}.tier and p.kind = 'sms')
      then (select p.millicents from prices p
        where p.tier = ${account}.tier and p.kind = 'sms' and p.country = phone_country(${number}))
      else 0 end`;

/**
 * SQL: whether SMS to a number must not be sent, because the account's tier has SMS prices but none for the country.
 * @param number SQL: the recipient in E.164 form
 */
export const hasNoPriceSql = (account: string, number: string): string =>
  `(not ${account}.comped and ${account}.kind = 'customer' and ${smsPriceSql(account, number)} is null)`;

/** SQL: the price of a segment of an SMS to the most expensive country; 0: none was set. */
export const highestSmsPriceSql = (account: string): string =>
  `coalesce((select max(p.millicents) from prices p where p.tier = ${account}.tier and p.kind = 'sms'), 0)`;

/** SQL: the price of a conclusive validation result; 0: none was set. */
export const validationPriceSql = (account: string): string =>
  `coalesce((select p.millicents from prices p where p.tier = ${account}.tier and p.kind = 'validation'), 0)`;

/** SQL: how many emails per calendar month cost nothing. Needs {@link monthlyEmailSettings}. */
export const monthlyEmailsSql = (account: string, setting: Setting): string =>
  `coalesce(${account}.monthly_email_allowance, case ${account}.tier
      when 'free' then ${setting('monthly_emails_free')}
      when 'paid' then ${setting('monthly_emails_paid')}
      else ${setting('monthly_emails_trusted')} end)`;

/** The settings that {@link monthlyEmailsSql} reads, for limits on money. */
export const monthlyEmailSettings = (config: {
  MONTHLY_EMAILS_FREE: number;
  MONTHLY_EMAILS_PAID: number;
  MONTHLY_EMAILS_TRUSTED: number;
}): Record<string, number> => ({
  monthly_emails_free: config.MONTHLY_EMAILS_FREE,
  monthly_emails_paid: config.MONTHLY_EMAILS_PAID,
  monthly_emails_trusted: config.MONTHLY_EMAILS_TRUSTED,
});
