/** The operator's view of wallets, and the operator's credits and debits. */
import { lockHeldBlocks, releaseHeld } from '../../delivery/ledger/release/release-held.ts';
import {
  addWalletEntry,
  balanceSql,
  MILLICENTS_PER_CENT,
  type NewWalletEntry,
} from '../../delivery/ledger/money/wallet.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { logOperatorChange } from '../accounts/service.ts';
import { listWalletEntries } from './entries.ts';
import type { WalletEntry } from './schema.ts';

/** Number of entries that the operator's view shows. */
const SHOWN_ENTRIES = 20;

/** The wallet of an account, as an operator sees it. Amounts are cents, with up to three decimals. */
export interface Wallet {
  account_id: number;
  balance_cents: number;
  /** The sum of the wallet's entries. */
  entries_cents: number;
  /** What messages have cost or reserved in months that are not posted yet. */
  unposted_cents: number;
  /** What running validations have reserved. */
  reserved_cents: number;
  auto_topup: boolean;
  entries: WalletEntry[];
}

/** @throws AppError `not_found` */
async function requireCustomer(db: Queryable, accountId: number): Promise<void> {
  const { rowCount } = await db.query(`select 1 from accounts where id = $1 and kind = 'customer'`, [
    accountId,
  ]);
  if (rowCount === 0) throw notFound('account');
}

/** @throws AppError `not_found` */
export async function showWallet(db: Queryable, accountId: number): Promise<Wallet> {
  const { rows } = await db.query<Omit<Wallet, 'entries' | 'account_id'>>(
    `select ${balanceSql('a')} as balance_cents, a.auto_topup,
       coalesce((select entries_millicents from wallets where account_id = a.id), 0) as entries_cents,
       coalesce((select sum(spent_millicents) from account_months
         where account_id = a.id and posted_at is null), 0)::bigint as unposted_cents,
       coalesce((select sum(reserved_millicents) from validation_operations
         where account_id = a.id and reserved_millicents > 0), 0)::bigint as reserved_cents
     from accounts a where a.id = $1 and a.kind = 'customer'`,
    [accountId],
  );
  const [row] = rows;
  if (!row) throw notFound('account');
  const page = { number: 1, limit: SHOWN_ENTRIES, offset: 0, after: null };
  const { entries } = await listWalletEntries(db, { accountId }, {}, page);
  return {
    account_id: accountId,
    balance_cents: row.balance_cents / MILLICENTS_PER_CENT,
    entries_cents: row.entries_cents / MILLICENTS_PER_CENT,
    unposted_cents: row.unposted_cents / MILLICENTS_PER_CENT,
    reserved_cents: row.reserved_cents / MILLICENTS_PER_CENT,
    auto_topup: row.auto_topup,
    entries,
  };
}

/**
 * Adds an entry that increases the balance, and makes senders check at once which held messages may go now.
 * @returns the same as `addWalletEntry`
 */
export async function fillWallet(trx: Queryable, entry: NewWalletEntry): Promise<number | null> {
  await lockHeldBlocks(trx, entry.accountId);
  const entryId = await addWalletEntry(trx, entry);
  if (entryId !== null) {
    // The only locked blocks are ones held since then that a recorder is working on. They are skipped, and checked again
    // minutes later.
    await releaseHeld(trx, entry.accountId, 'skip');
  }
  return entryId;
}

export interface Booking {
  accountId: number;
  kind: 'credit' | 'debit';
  /** Greater than 0. */
  millicents: number;
  /** The operator's reference, such as an invoice number. Only one credit or debit of an account may have it. */
  reference: string;
}

/**
 * Books a credit or a debit for an operator, and releases held messages after a credit.
 * @param trx the caller's transaction
 * @param actor who books it, for the account's log
 * @throws AppError `not_found`; `conflict` if the reference was used before, in which case nothing is booked
 */
export async function book(trx: Queryable, booking: Booking, actor: string): Promise<Wallet> {
  const { accountId, kind, millicents, reference } = booking;
  await requireCustomer(trx, accountId);
  const signed = kind === 'credit' ? millicents : -millicents;
  const cause = `reference/${reference}`;
  const add = kind === 'credit' ? fillWallet : addWalletEntry;
  const entryId = await add(trx, { accountId, kind, millicents: signed, cause, reference });
  if (entryId === null) {
    throw new AppError('conflict', `the reference ${reference} was already used in account ${accountId}`);
  }
  const changes = { entry_id: entryId, amount_cents: signed / MILLICENTS_PER_CENT, reference };
  await logOperatorChange(trx, { accountId, actor, action: `wallet ${kind}`, changes });
  return showWallet(trx, accountId);
}
