import { MILLICENTS_PER_CENT, type WalletEntryKind } from '../../delivery/ledger/money/wallet.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ListWalletEntriesQuery, WalletEntry } from './schema.ts';

interface EntryRow {
  id: number;
  account_id: number;
  kind: WalletEntryKind;
  millicents: number;
  reference: string | null;
  month: string | null;
  created_at: Date;
}

function presentEntry(row: EntryRow): WalletEntry {
  return {
    id: row.id,
    account_id: row.account_id,
    kind: row.kind,
    amount_cents: row.millicents / MILLICENTS_PER_CENT,
    reference: row.reference,
    month: row.month,
    created_at: row.created_at.toISOString(),
  };
}

/** Lists the entries of an account's wallet, newest first. */
export async function listWalletEntries(
  db: Queryable,
  { accountId }: Pick<AccountTenant, 'accountId'>,
  query: Pick<ListWalletEntriesQuery, 'kind'>,
  page: Page,
): Promise<{ entries: WalletEntry[]; count: RowCount }> {
  const source = 'wallet_entries where account_id = $1 and ($2::text is null or kind = $2)';
  const values = [accountId, query.kind ?? null];
  const count = await countRows(db, source, values);
  const { rows } = await db.query<EntryRow>(
    `select id, account_id, kind, millicents, reference, month::text as month, created_at from ${source}
       and ($3::bigint is null or id < $3) order by id desc limit $4 offset $5`,
    [...values, page.after, page.limit, page.offset],
  );
  return { entries: rows.map(presentEntry), count };
}
