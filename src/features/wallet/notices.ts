import type pg from 'pg';
import { paysSql } from '../../delivery/ledger/money/prices.ts';
import { balanceSql, MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { mailOwners, type Notice } from '../system-mail/service.ts';
import { noFundsNotice, spendCapNotice } from './letters.ts';

/** SQL over `a`: the lowest price above zero. With a lower balance, the account can pay for nothing. */
const LEAST_PRICE = `(select min(p.millicents) from prices p where p.tier = a.tier and p.millicents > 0)`;

/**
 * SQL: accounts that have spent 80% or all of their cap this month. It counts what the spend cap counts: messages,
 * validations, and what running validations have reserved.
 */
const SPENDING = `
  select a.id as account_id, a.spend_cap_monthly_cents as cap_cents,
    case when spent + ${LEAST_PRICE} > cap then 100 else 80 end as part
  from accounts a
  cross join lateral (select a.spend_cap_monthly_cents::bigint * ${MILLICENTS_PER_CENT} as cap) c
  cross join lateral (
    select coalesce((select m.spent_millicents + m.validation_millicents from account_months m
        where m.account_id = a.id and m.month = current_month()), 0)
      + coalesce((select sum(v.reserved_millicents) from validation_operations v
        where v.account_id = a.id and v.reserved_millicents > 0 and v.price_month = current_month()), 0) as spent) s
  where a.spend_cap_monthly_cents > 0 and ${paysSql('a')} and spent > 0
    and (spent >= 0.8 * cap or spent + ${LEAST_PRICE} > cap)`;

interface Spending {
  account_id: number;
  cap_cents: number;
  part: 80 | 100;
}

/**
 * Records the mails of a month.
 * @returns whether the last one was not recorded before
 */
async function noteMonth(trx: Queryable, accountId: number, notices: readonly string[]): Promise<boolean> {
  const { rows } = await trx.query<{ notice: string }>(
    `insert into money_notices as n (account_id, notice, month)
     select $1, each, current_month() from unnest($2::text[]) as each
     on conflict (account_id, notice) do update set month = excluded.month, created_at = now()
       where n.month is distinct from excluded.month
     returning notice`,
    [accountId, notices],
  );
  return rows.some(({ notice }) => notice === notices.at(-1));
}

/** @returns whether a mail to the owners was queued */
async function notifyOfSpending(trx: Queryable, found: Spending, mail: Mail): Promise<boolean> {
  // An account that passes both thresholds at once gets one mail.
  const notices = found.part === 100 ? ['spend_cap_80', 'spend_cap_100'] : ['spend_cap_80'];
  if (!(await noteMonth(trx, found.account_id, notices))) return false;
  await mailOwners(
    trx,
    found.account_id,
    mail.from,
    spendCapNotice(found.part, found.cap_cents, mail.currency),
  );
  return true;
}

/** SQL: whether a paying account has had funds and has none left. */
const HAS_NO_FUNDS = `exists (select from wallets w where w.account_id = a.id) and ${paysSql('a')}
  and ${balanceSql('a')} < ${LEAST_PRICE}`;

/**
 * SQL: an interval. However often a wallet is topped up, its owners get at most one mail about missing funds in this
 * time.
 */
const NO_FUNDS_PAUSE = `interval '1 day'`;

/**
 * SQL over an earlier notice `n` of missing funds: whether it still applies. Amounts that months return may lift a
 * balance above zero for a moment, again and again, so only an entry that increases the balance ends the notice.
 */
const STANDS = `(n.created_at > now() - ${NO_FUNDS_PAUSE} or not exists (
    select from wallet_entries e where e.account_id = n.account_id and e.millicents > 0 and e.kind <> 'usage'
      and e.created_at > n.created_at))`;

/**
 * Records the mail about missing funds.
 * @returns whether no earlier notice still applies
 */
async function noteNoFunds(trx: Queryable, accountId: number): Promise<boolean> {
  const { rowCount } = await trx.query(
    `insert into money_notices as n (account_id, notice) values ($1, 'no_funds')
     on conflict (account_id, notice) do update set created_at = now() where not ${STANDS}`,
    [accountId],
  );
  return rowCount === 1;
}

/** Settings of the mails to owners. */
export interface Mail {
  /** The sender. */
  from: string;
  /** ISO 4217. */
  currency: string;
}

/**
 * Mails the owners of accounts that have used 80% or all of their monthly spend cap, once each per month, and of
 * accounts that have run out of funds, once until the wallet is topped up, and at most once a day. Several workers may
 * do so at once.
 * @returns the number of accounts that got mail
 */
export async function notifyOwners(pool: pg.Pool, mail: Mail): Promise<number> {
  const { rows: spending } = await pool.query<Spending>(
    `select * from (${SPENDING}) s where not exists (
       select from money_notices n where n.account_id = s.account_id and n.month = current_month()
         and n.notice = 'spend_cap_' || s.part)`,
  );
  const { rows: withoutFunds } = await pool.query<{ account_id: number }>(
    `select a.id as account_id from accounts a where ${HAS_NO_FUNDS} and not exists (
       select from money_notices n where n.account_id = a.id and n.notice = 'no_funds' and ${STANDS})`,
  );
  let notified = 0;
  for (const found of spending) {
    if (await inTransaction(pool, (trx) => notifyOfSpending(trx, found, mail))) notified += 1;
  }
  const notice: Notice = noFundsNotice;
  for (const { account_id: accountId } of withoutFunds) {
    const isNew = await inTransaction(pool, async (trx) => {
      if (!(await noteNoFunds(trx, accountId))) return false;
      await mailOwners(trx, accountId, mail.from, notice);
      return true;
    });
    if (isNew) notified += 1;
  }
  return notified;
}
