import pino from 'pino';
import { addWalletEntry } from '../../src/delivery/ledger/money/wallet.ts';
import { openAddressChecker } from '../../src/features/validation/checks/open-checker.ts';
import { advanceValidation, type ValidationRunDeps } from '../../src/features/validation/run.ts';
import type { AudienceBody, Item, Operation } from '../../src/features/validation/schema.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import type { ValidationState } from '../../workflows/validation/contract.ts';
import type { TestApi, TestRequest, TestResponse } from './api.ts';
import type { TestDnsServer } from './dns/server.ts';

export const PATH = '/v1/my/validation_operations';

export const attendance = { progress: () => undefined, stopping: new AbortController().signal, attempt: 1 };

/** The worker's dependencies for the activity, with a name server of the test. */
export function validationDeps(api: TestApi, dns: TestDnsServer): ValidationRunDeps {
  const resolver = createResolver([dns.address]);
  const egress = createEgress({ resolver, allow: api.config.EGRESS_ALLOW, userAgent: 'test' });
  const checker = openAddressChecker({ config: api.config, resolver, egress });
  return { pool: api.database.pool, checker, log: pino({ level: 'silent' }) };
}

export function startValidation(
  api: TestApi,
  audience: Partial<AudienceBody>,
  { key, ...request }: TestRequest & { key?: string } = {},
): Promise<TestResponse<Operation>> {
  const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
  return api.request<Operation>('POST', PATH, { headers, body: audience, ...request });
}

/**
 * Does the workflow's work without the engine.
 * @returns the steps taken
 */
export async function runToEnd(
  deps: ValidationRunDeps,
  id: number,
  asOf = () => new Date(),
): Promise<ValidationState['phase'][]> {
  const steps: ValidationState['phase'][] = [];
  for (;;) {
    const { phase } = await advanceValidation(deps, id, asOf(), attendance);
    steps.push(phase);
    if (phase === 'done') return steps;
    if (phase === 'waiting' || phase === 'retrying') throw new Error(`the operation is ${phase}`);
  }
}

/** Prices of a tier, in millicents, and funds of the account. */
export async function giveFunds(
  db: Queryable,
  accountId: number,
  { price, millicents, cause = 'test' }: { price: number; millicents: number; cause?: string },
): Promise<void> {
  await db.query(
    `insert into prices (tier, kind, millicents) select tier, 'validation', $2 from accounts where id = $1
     on conflict (tier, kind, country) do update set millicents = excluded.millicents`,
    [accountId, price],
  );
  if (millicents > 0) await addWalletEntry(db, { accountId, kind: 'credit', millicents, cause });
}

/** Removes all wallets and their entries, so that a test begins with empty ones. */
export async function emptyWallets(db: Queryable): Promise<void> {
  await db.query('alter table wallet_entries disable trigger wallet_entries_kept');
  await db.query('truncate wallet_entries, wallets, account_months, prices');
  await db.query('alter table wallet_entries enable trigger wallet_entries_kept');
}

/**
 * Inserts contacts with these addresses.
 * @returns their ids, in this order
 */
export async function addContacts(
  { database, accountId, brandId }: TestApi,
  emails: readonly string[],
): Promise<number[]> {
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at, email_updated_at)
     select $1, $2, e, lower(e), true, now(), now() from unnest($3::text[]) e returning id`,
    [accountId, brandId, emails],
  );
  return rows.map(({ id }) => id);
}

/** All items, oldest first. */
export async function itemsOf(api: TestApi, id: number): Promise<Item[]> {
  const { list } = await api.request('GET', `${PATH}/${id}/items?limit=200`);
  return (list as unknown as Item[]).reverse();
}
