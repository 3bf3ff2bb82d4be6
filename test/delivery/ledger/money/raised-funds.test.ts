// Once an account may send more, no process refuses its messages because of what it knew before.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FUNDS_CHANNEL } from '../../../../src/delivery/ledger/limits/admission.ts';
import { createAcceptor } from '../../../../src/features/messages/accept.ts';
import type { MessageDraft } from '../../../../src/features/messages/draft.ts';
import { createWaker, type Waker } from '../../../../src/platform/db/wake.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { credit, insertPayer, setPrice } from '../../../support/money.ts';
import type { QueuedAccount } from '../../../support/queued.ts';

const PRICE = 100;
/** Half of the time for which a refusal is known. */
const SOON_MS = 500;

let test: TestDatabase;
let wakers: Waker[];
let processes: ReturnType<typeof createAcceptor>[];
/** The hints of all notifications since the test began. */
let noted: (readonly string[] | null)[];

beforeAll(async () => {
  test = await createTestDatabase();
  await setPrice(test.database, PRICE);
  const options = { url: test.url };
  wakers = [createWaker(options), createWaker(options)];
  processes = wakers.map((waker) =>
    createAcceptor({
      pool: test.database.pool,
      limits: { sandbox_monthly_cap: 1 },
      tracking: { publicUrl: null, keyId: '00000000' },
      onQueued: () => undefined,
      watchFunds: (forget) => void waker.listen(FUNDS_CHANNEL, (hints) => forget(hints && hints.map(Number))),
    }),
  );
  wakers[0]?.listen(FUNDS_CHANNEL, (hints) => noted.push(hints));
  noted = [];
  // LISTEN has taken effect in both.
  await eventually(async () => {
    const { rows } = await test.database.pool.query<{ count: number }>(
      `select count(*)::int from pg_stat_activity
       where datname = current_database() and query ilike 'listen %carillon_funds%'`,
    );
    expect(rows[0]?.count).toBe(2);
  });
});
afterAll(async () => {
  await Promise.all(wakers.map((waker) => waker.close()));
  await test.drop();
});
beforeEach(() => {
  noted = [];
});

const query = (text: string, ...values: unknown[]) => test.database.pool.query(text, values);

/** What each process answers to an email of the account. */
function outcomes({ accountId, brandId }: QueuedAccount): Promise<string[]> {
  const draft: MessageDraft = {
    account_id: accountId,
    brand_id: brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: 'ada@example.com',
    to_key: 'ada@example.com',
    from_address: 'shop@example.com',
    subject: 'Hello',
    text: 'Hello',
  };
  const submit = (accept: (typeof processes)[number]) =>
    accept({ draft, idempotencyKey: null, fingerprint: null }).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
  return Promise.all(processes.map(submit));
}

const soonAccepted = (account: QueuedAccount) =>
  eventually(async () => expect(await outcomes(account)).toEqual(['accepted', 'accepted']), SOON_MS);

const both = (code: string) => [code, code];

describe('a message is accepted by all processes', () => {
  it('after a credit', async () => {
    const account = await insertPayer(test.database);
    expect(await outcomes(account)).toEqual(both('insufficient_funds'));
    await credit(test.database, account, 100 * PRICE);
    await soonAccepted(account);
  });

  it('after its spend cap was raised', async () => {
    const account = await insertPayer(test.database, { funds: 100 * PRICE, capCents: 0 });
    expect(await outcomes(account)).toEqual(both('spend_cap_reached'));
    await query('update accounts set spend_cap_monthly_cents = 100 where id = $1', account.accountId);
    await soonAccepted(account);
  });

  it('after the sandbox got larger', async () => {
    const account = await insertPayer(test.database, { funds: 100 * PRICE });
    await query('update accounts set sandbox_monthly_cap = 0 where id = $1', account.accountId);
    expect(await outcomes(account)).toEqual(both('sandbox_limit_reached'));
    expect(await outcomes(account)).toEqual(both('sandbox_limit_reached'));
    await query('update accounts set sandbox_monthly_cap = 100 where id = $1', account.accountId);
    await soonAccepted(account);
  });

  it('after it has become free', async () => {
    const account = await insertPayer(test.database);
    expect(await outcomes(account)).toEqual(both('insufficient_funds'));
    await query('update accounts set comped = true where id = $1', account.accountId);
    await soonAccepted(account);
  });

  it('after its price fell', async () => {
    const account = await insertPayer(test.database, { funds: 100 });
    await setPrice(test.database, 1_000);
    expect(await outcomes(account)).toEqual(both('insufficient_funds'));
    await setPrice(test.database, 1);
    await soonAccepted(account);
  });
});

it('notifies of nothing else', async () => {
  const account = await insertPayer(test.database, { funds: PRICE });
  await credit(test.database, account, -50);
  await query(`update accounts set name = 'Acme Ltd', comped = comped where id = $1`, account.accountId);
  const last = await insertPayer(test.database, { funds: PRICE });
  await eventually(async () => expect(noted.flat()).toContain(String(last.accountId)));
  expect(noted).toEqual([[String(account.accountId)], [String(last.accountId)]]);
});
