/** What a validation reserves and costs. The balance and the spend cap count open reservations. */
import { spentSql } from '../../delivery/ledger/limits/money.ts';
import { addWalletEntry, balanceSql, MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import { paysSql, validationPriceSql } from '../../delivery/ledger/money/prices.ts';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { FundingState } from './schema.ts';

/** The price of one conclusive result in millicents; 0 for accounts that pay nothing. */
export async function priceOf(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ price: number }>(
    `select case when ${paysSql('a')} then ${validationPriceSql('a')} else 0 end as price from accounts a where a.id = $1`,
    [accountId],
  );
  return rows[0]?.price ?? 0;
}

export interface Funding {
  balanceMillicents: number;
  state: FundingState;
}

/** Whether an account can reserve this much. The answer is reliable only after {@link lockFunds}. */
export async function fundingOf(db: Queryable, accountId: number, millicents: number): Promise<Funding> {
  const { rows } = await db.query<{ balance: number; spent: number; cap: number | null }>(
    `select ${balanceSql('a')} as balance, ${spentSql} as spent, a.spend_cap_monthly_cents as cap
     from accounts a where a.id = $1`,
    [accountId],
  );
  const { balance, spent, cap } = rows[0] as (typeof rows)[number];
  const state = (): FundingState => {
    if (millicents === 0) return 'funded';
    if (cap !== null && spent + millicents > cap * MILLICENTS_PER_CENT) return 'spend_cap_reached';
    return millicents > balance ? 'insufficient_funds' : 'funded';
  };
  return { balanceMillicents: balance, state: state() };
}

/**
 * Keeps other transactions from reserving the account's money until the commit. It locks first the month, then the
 * wallet.
 */
async function lockFunds(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(
    'insert into account_months (account_id, month) values ($1, current_month()) on conflict do nothing',
    [accountId],
  );
  await trx.query(
    'select 1 from account_months where account_id = $1 and month = current_month() for no key update',
    [accountId],
  );
  await trx.query(
    'insert into wallets (account_id, entries_millicents) values ($1, 0) on conflict do nothing',
    [accountId],
  );
  await trx.query('select 1 from wallets where account_id = $1 for no key update', [accountId]);
}

const refusals = {
  insufficient_funds: 'the wallet balance is too low for this validation',
  spend_cap_reached: 'this validation would exceed the monthly spend cap',
} as const;

/**
 * Makes sure that the account can reserve this much, and keeps it so until the commit. The caller writes the
 * reservation to its operation.
 * @throws AppError insufficient_funds, spend_cap_reached
 */
export async function requireFunds(trx: Queryable, accountId: number, millicents: number): Promise<void> {
  if (millicents === 0) return;
  await lockFunds(trx, accountId);
  const { state } = await fundingOf(trx, accountId, millicents);
  if (state !== 'funded') throw new AppError(state, refusals[state]);
}

export interface Charge {
  accountId: number;
  operationId: number;
  /** How many times the operation was started. Each start is settled once. */
  run: number;
  /** The month of the reservation, as `YYYY-MM-DD`. */
  month: string;
  millicents: number;
}

/** Charges the wallet, and counts the charge in its month. The caller ends the reservation in the same transaction. */
export async function charge(
  trx: Queryable,
  { accountId, operationId, run, month, millicents }: Charge,
): Promise<void> {
  await trx.query(
    `insert into account_months as m (account_id, month, validation_millicents) values ($1, $2, $3)
     on conflict (account_id, month) do update
       set validation_millicents = m.validation_millicents + excluded.validation_millicents`,
    [accountId, month, millicents],
  );
  const cause = run === 1 ? `validation/${operationId}` : `validation/${operationId}/${run}`;
  const entry = await addWalletEntry(trx, {
    accountId,
    kind: 'validation',
    millicents: -millicents,
    cause,
    month,
  });
  if (entry === null) throw new Error(`validation ${operationId} is already settled`);
}
