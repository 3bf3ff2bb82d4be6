import { createAccount } from '../features/accounts/service.ts';
import { createApiKey, findApiKey } from '../features/api-keys/service.ts';
import { changeUser, findUserId, generatePassword, setPassword } from '../features/users/service.ts';
import type { Database } from '../platform/db/database.ts';
import { inTransaction, type Queryable } from '../platform/db/queryable.ts';

/** What a new user needs to send a first message. */
export interface Demo {
  apiKey: string;
  email: string;
  password: string;
  accountId: number;
  brandId: number;
}

const OWNER = 'owner@example.com';
const SANDBOX_CAP = 1_000_000;

async function insertDemo(trx: Queryable): Promise<Demo> {
  const password = generatePassword();
  const { account, brandId, owner } = await createAccount(trx, {
    name: 'Demo',
    tier: 'trusted',
    sandboxMonthlyCap: SANDBOX_CAP,
    owner: { email: OWNER, password, firstName: 'Demo', lastName: 'Owner' },
    brand: { brandColor: '#2f5d50', physicalAddress: '1 Bell Tower Lane, 3011 Rotterdam, Netherlands' },
  });
  // The owner operates this installation, and so gets links to Temporal's UI.
  await changeUser(trx, owner.userId, { admin: true });
  const { key } = await createApiKey(trx, { accountId: account.id, brandId, name: 'demo' });
  return { apiKey: key, email: OWNER, password, accountId: account.id, brandId };
}

/** Creates a new key and password for the account, because the file with the old ones is gone. */
async function renew(trx: Queryable, userId: number): Promise<Demo | null> {
  const { rows } = await trx.query<{ accountId: number; brandId: number }>(
    `select m.account_id as "accountId", b.id as "brandId"
     from memberships m join brands b on b.account_id = m.account_id
     where m.user_id = $1 and m.role = 'owner' order by b.id limit 1`,
    [userId],
  );
  const found = rows[0];
  if (!found) return null;
  const password = generatePassword();
  await setPassword(trx, userId, password);
  const { key } = await createApiKey(trx, { ...found, name: 'demo' });
  return { apiKey: key, email: OWNER, password, ...found };
}

/**
 * Returns the demo account of a development start, with its brand, owner and API key. The first start creates it.
 * @param kept the values that an earlier start wrote to `dev.json`; returned as they are while their key works
 */
export async function ensureDemo(database: Database, kept: Demo | null): Promise<Demo> {
  if (kept && (await findApiKey(database.pool, kept.apiKey))?.account_id === kept.accountId) return kept;
  return inTransaction(database.pool, async (trx) => {
    const userId = await findUserId(trx, OWNER);
    return (userId === null ? null : await renew(trx, userId)) ?? insertDemo(trx);
  });
}
