import type pg from 'pg';

/** What tests of wallets read. */
export interface WalletFacts {
  sum: number;
  entries: { kind: string; millicents: number; cause: string }[];
}

export async function walletOf(pool: pg.Pool, accountId: number): Promise<WalletFacts> {
  const { rows: wallets } = await pool.query<{ sum: number }>(
    'select entries_millicents as sum from wallets where account_id = $1',
    [accountId],
  );
  const { rows: entries } = await pool.query<WalletFacts['entries'][number]>(
    'select kind, millicents, cause from wallet_entries where account_id = $1 order by id',
    [accountId],
  );
  return { sum: wallets[0]?.sum ?? 0, entries };
}

/** Sets the price of everything that a tier may send. */
export async function setPrices(pool: pg.Pool, tier: string, millicents: number): Promise<void> {
  await pool.query(
    `insert into prices (tier, kind, country, millicents) values ($1, 'email', null, $2), ($1, 'sms', 'DE', $2)
     on conflict (tier, kind, country) do update set millicents = excluded.millicents`,
    [tier, millicents],
  );
}

/** The mails that the owners of an account got, by subject. */
export async function ownerMails(pool: pg.Pool, email: string): Promise<string[]> {
  const { rows } = await pool.query<{ subject: string }>(
    'select subject from messages where to_address = $1 order by id',
    [email],
  );
  return rows.map(({ subject }) => subject);
}
