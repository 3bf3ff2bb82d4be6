/**
 * The wallet of an account: an append-only list of entries in millicents. {@link balanceSql} is what the account may
 * spend. The messages of a month become one entry, seven days after the month's end.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';

export const MILLICENTS_PER_CENT = 1_000;

export type WalletEntryKind = 'credit' | 'debit' | 'top_up' | 'validation' | 'refund' | 'usage' | 'dispute';

export interface NewWalletEntry {
  accountId: number;
  kind: WalletEntryKind;
  /** Negative if the account pays. */
  millicents: number;
  /** What the entry is for, such as `usage/2026-01`; unique in the account. */
  cause: string;
  /** Shown to the account: an operator's text or a number of the payment service. */
  reference?: string | null;
  /** The first day of the month that the entry is about, `YYYY-MM-DD`. */
  month?: string | null;
}

/**
 * Adds an entry and, by a trigger in the same statement, its amount to the sum of the wallet, whose row stays locked
 * until the commit. Callers that also need the account's months lock these first.
 * @returns its id; null if an entry with this cause exists, so that nothing was added
 */
export async function addWalletEntry(client: Queryable, entry: NewWalletEntry): Promise<number | null> {
  const { rows } = await client.query<{ id: number }>(
    `insert into wallet_entries (account_id, kind, millicents, reference, cause, month) values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id, cause) do nothing returning id`,
    [
      entry.accountId,
      entry.kind,
      entry.millicents,
      entry.reference ?? null,
      entry.cause,
      entry.month ?? null,
    ],
  );
  return rows[0]?.id ?? null;
}

/**
 * SQL: what an account may spend, in millicents: its entries, less the months that are not posted yet, less what
 * validations under way have reserved. It takes no lock: a caller that decides by it must lock the wallet's row first.
 * @param account SQL: the alias of its row of `accounts`
 */
export const balanceSql = (account: string): string => `(
    coalesce((select w.entries_millicents from wallets w where w.account_id = ${account}.id), 0)
    - coalesce((select sum(s.spent_millicents) from account_months s
        where s.account_id = ${account}.id and s.posted_at is null), 0)
    - coalesce((select sum(v.reserved_millicents) from validation_operations v
        where v.account_id = ${account}.id and v.reserved_millicents > 0), 0))::bigint`;
