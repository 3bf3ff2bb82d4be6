// The API accepts only what the allowance, the spend cap and the wallet pay for, even under concurrent requests.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type Accepted, createAcceptor } from '../../../../src/features/messages/accept.ts';
import type { MessageDraft } from '../../../../src/features/messages/draft.ts';
import type { Submission } from '../../../../src/features/messages/decide.ts';
import { openDatabase } from '../../../../src/platform/db/database.ts';
import { fingerprintOf } from '../../../../src/platform/db/idempotency.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runBehindLock, waitForLocks } from '../../../support/lock-order.ts';
import { credit, insertPayer, monthsOf, setPrice } from '../../../support/money.ts';
import type { QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const PRICE = 100;
const tracking = { publicUrl: null, keyId: '00000000' };

let test: TestDatabase;
/** The statements of the acceptor, by their names. */
let statements: string[];
let accept: (submission: Submission) => Promise<Accepted>;

beforeAll(async () => {
  test = await createTestDatabase();
  await setPrice(test.database, PRICE);
  await setPrice(test.database, 700, { country: 'DE' });
  await setPrice(test.database, 900, { country: 'US' });
});
afterAll(() => test.drop());
beforeEach(() => {
  statements = [];
  accept = acceptorOf(test.database.pool);
});

function acceptorOf(pool: pg.Pool) {
  const query = (statement: string | pg.QueryConfig, values?: unknown[]) => {
    statements.push(typeof statement === 'string' ? statement : (statement.name ?? statement.text));
    return pool.query(statement as string, values);
  };
  const counted = new Proxy(pool, {
    get: (target, name) => (name === 'query' ? query : (Reflect.get(target, name) as unknown)),
  });
  return createAcceptor({
    pool: counted,
    limits: TEST_LIMITS,
    tracking,
    onQueued: () => undefined,
    watchFunds: () => undefined,
  });
}

function submission(
  account: QueuedAccount,
  more: Partial<MessageDraft> = {},
  key: string | null = null,
): Submission {
  const draft: MessageDraft = {
    account_id: account.accountId,
    brand_id: account.brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: 'ada@example.com',
    to_key: 'ada@example.com',
    from_address: 'shop@example.com',
    subject: 'Hello',
    text: 'Hello',
    ...more,
  };
  return { draft, idempotencyKey: key, fingerprint: key === null ? null : fingerprintOf(draft) };
}

const text = (account: QueuedAccount, to: string, segments = 1) =>
  submission(account, { channel: 'sms', to_address: to, to_key: to, segments, subject: null });

async function outcomeOf(given: Submission, by = accept): Promise<string> {
  try {
    return (await by(given)).replayed ? 'replayed' : 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Submits messages one after another. */
async function outcomes(given: Submission[], by = accept): Promise<string[]> {
  const found: string[] = [];
  for (const each of given) found.push(await outcomeOf(each, by));
  return found;
}

/** How often messages were written. */
const writes = () => statements.filter((name) => /^write_(unpriced_)?messages/.test(name)).length;

/** Inserts the account's month, which its first message otherwise does. */
async function beginMonth({ accountId }: QueuedAccount): Promise<void> {
  await test.database.pool.query('select lock_months($1)', [[accountId]]);
}

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, n) => make(n));

/** What each message in the queue has reserved, in the order of their ids. */
async function pricesOf({ accountId }: QueuedAccount): Promise<(number | null)[]> {
  const { rows } = await test.database.pool.query<{ price: number | null }>(
    'select price_millicents::int as price from send_queue where account_id = $1 order by message_id',
    [accountId],
  );
  return rows.map(({ price }) => price);
}

async function written({ accountId }: QueuedAccount): Promise<number> {
  const { rows } = await test.database.pool.query<{ count: number }>(
    `select count(*)::int as count from messages m join send_queue q on q.message_id = m.id
     where m.account_id = $1`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

it('accepts what the wallet pays for, and writes nothing else', async () => {
  const account = await insertPayer(test.database, { funds: 2 * PRICE + 50, free: 1 });
  expect(await outcomes(times(5, (n) => submission(account, {}, `funds-${n}`)))).toEqual([
    'accepted',
    'accepted',
    'accepted',
    'insufficient_funds',
    'insufficient_funds',
  ]);
  expect(await written(account)).toBe(3);
  expect(await monthsOf(test.database, account)).toEqual({ emails: 3, free: 1, texts: 0, spent: 2 * PRICE });
  // A refused request does not keep its key: it is accepted once there are funds.
  await credit(test.database, account, PRICE);
  expect(await outcomeOf(submission(account, {}, 'funds-4'))).toBe('accepted');
});

it('refuses what is beyond the spend cap before it checks the wallet', async () => {
  const account = await insertPayer(test.database, { funds: 10, capCents: 0 });
  expect(await outcomeOf(submission(account))).toBe('spend_cap_reached');
  expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
});

it('accepts emails within the monthly allowance, whatever the cap and the wallet have left', async () => {
  const account = await insertPayer(test.database, { capCents: 0, free: 2 });
  expect(await outcomes(times(3, (n) => submission(account, {}, `free-${n}`)))).toEqual([
    'accepted',
    'accepted',
    'spend_cap_reached',
  ]);
  expect(await monthsOf(test.database, account)).toEqual({ emails: 2, free: 2, texts: 0, spent: 0 });
});

it('charges a text by its segments and its country, and refuses a country without a price', async () => {
  const account = await insertPayer(test.database, { funds: 10_000 });
  expect(await outcomes([text(account, '+4915112345678', 3), text(account, '+33612345678')])).toEqual([
    'accepted',
    'validation_error',
  ]);
  expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 3, spent: 2_100 });
});

it('accepts each message of a group that still fits, in the order of their ids', async () => {
  const account = await insertPayer(test.database, { funds: 1_000 });
  // Its account is known to pay after the first message.
  await accept(submission(account));
  await accept(text(account, '+4915112345678'));
  const group = [
    text(account, '+4915112345678'),
    submission(account),
    text(account, '+4915112345678'),
    submission(account),
  ];
  expect(await Promise.all(group.map((each) => outcomeOf(each)))).toEqual([
    'insufficient_funds',
    'accepted',
    'insufficient_funds',
    'accepted',
  ]);
  expect((await monthsOf(test.database, account)).spent).toBe(1_000);
});

it('charges a repeated request once', async () => {
  const account = await insertPayer(test.database, { funds: 2 * PRICE });
  const same = submission(account, {}, 'same');
  expect(await outcomes([same, same])).toEqual(['accepted', 'replayed']);
  expect(await Promise.all(times(8, () => outcomeOf(same)))).toEqual(times(8, () => 'replayed'));
  expect((await monthsOf(test.database, account)).spent).toBe(PRICE);
});

it('charges nothing for a request that repeats another one as the only one of its group', async () => {
  const account = await insertPayer(test.database, { funds: 5 * PRICE });
  await beginMonth(account);
  await accept(submission(account));
  statements = [];
  const same = submission(account, {}, 'same');
  expect(await outcomeOf(same)).toBe('accepted');
  expect(writes()).toBe(1);
  const before = await monthsOf(test.database, account);
  expect(before.spent).toBe(2 * PRICE);
  expect(await outcomeOf(same)).toBe('replayed');
  // Another process does not remember the refusal.
  expect(await outcomeOf(same, acceptorOf(test.database.pool))).toBe('replayed');
  const at = { draft: same.draft, idempotencyKey: 'twice', fingerprint: fingerprintOf(same.draft) };
  const twice = await Promise.all(times(2, () => outcomeOf(at, acceptorOf(test.database.pool))));
  expect(twice.toSorted()).toEqual(['accepted', 'replayed']);
  expect(await monthsOf(test.database, account)).toEqual({
    ...before,
    emails: before.emails + 1,
    spent: 3 * PRICE,
  });
});

it('charges nothing for test messages or to comped accounts', async () => {
  const comped = await insertPayer(test.database);
  await test.database.pool.query('update accounts set comped = true where id = $1', [comped.accountId]);
  const account = await insertPayer(test.database);
  expect(await outcomes([submission(comped), submission(account, { test: true })])).toEqual([
    'accepted',
    'accepted',
  ]);
  const { rows } = await test.database.pool.query('select 1 from account_months where account_id = any($1)', [
    [comped.accountId, account.accountId],
  ]);
  expect(rows).toEqual([]);
});

it('writes the messages of accounts without prices in one statement, even if others pay', async () => {
  const payer = await insertPayer(test.database, { funds: 100 * PRICE });
  const others = await Promise.all(times(20, () => insertPayer(test.database)));
  await test.database.pool.query(`update accounts set tier = 'free' where id = any($1)`, [
    others.map(({ accountId }) => accountId),
  ]);
  await beginMonth(payer);
  await accept(submission(payer));
  statements = [];
  const group = [submission(payer), ...others.map((each) => submission(each))];
  await Promise.all(group.map((each) => accept(each)));
  expect(writes()).toBe(2);
  expect(statements.filter((name) => name !== 'allocate_messages_id_seq')).toHaveLength(2);
  expect((await monthsOf(test.database, payer)).spent).toBe(2 * PRICE);
});

it('writes messages that their account can pay for in one statement, even after it could not pay', async () => {
  const account = await insertPayer(test.database, { funds: 3 * PRICE });
  await beginMonth(account);
  await accept(submission(account));
  statements = [];
  await accept(submission(account));
  expect(writes()).toBe(1);
  expect(await outcomes([submission(account, {}, 'last'), submission(account, {}, 'beyond')])).toEqual([
    'accepted',
    'insufficient_funds',
  ]);
  await credit(test.database, account, PRICE);
  expect(await outcomeOf(submission(account, {}, 'beyond'))).toBe('accepted');
  expect((await monthsOf(test.database, account)).spent).toBe(4 * PRICE);
});

/** Submits messages at once, so that they form a group. */
const groupOutcomes = (given: Submission[]) => Promise.all(given.map((each) => outcomeOf(each)));

it('charges each email of a group of which only the first ones are free', async () => {
  const account = await insertPayer(test.database, { funds: 10 * PRICE, free: 3 });
  await beginMonth(account);
  await accept(submission(account));
  statements = [];
  expect(await groupOutcomes(times(4, () => submission(account)))).toEqual(times(4, () => 'accepted'));
  expect(writes()).toBe(1);
  expect(await monthsOf(test.database, account)).toEqual({ emails: 5, free: 3, texts: 0, spent: 2 * PRICE });
  expect(await pricesOf(account)).toEqual([0, 0, 0, PRICE, PRICE]);
});

it('charges a group with keys only for the messages that are new', async () => {
  const account = await insertPayer(test.database, { funds: 10 * PRICE });
  await beginMonth(account);
  await outcomes([submission(account), submission(account, {}, 'former')]);
  statements = [];
  const group = ['former', 'first', 'second'].map((key) => submission(account, {}, key));
  expect(await groupOutcomes(group)).toEqual(['replayed', 'accepted', 'accepted']);
  expect(writes()).toBe(1);
  expect((await monthsOf(test.database, account)).spent).toBe(4 * PRICE);
  expect(await pricesOf(account)).toEqual(times(4, () => PRICE));
});

it('leaves alone what a validation has reserved', async () => {
  const account = await insertPayer(test.database, { funds: 3 * PRICE });
  await beginMonth(account);
  await accept(submission(account));
  await test.database.pool.query(
    `insert into validation_operations (account_id, brand_id, status, audience_kind, audience_ids, audience_digest,
       max_contact_id, candidate_count, chargeable_count, price_millicents, reserved_millicents, price_month)
     values ($1, $2, 'running', 'contact_ids', '{1}', '', 1, 1, 1, $3, $3, current_month())`,
    [account.accountId, account.brandId, PRICE],
  );
  expect(await outcomes(times(2, () => submission(account)))).toEqual(['accepted', 'insufficient_funds']);
  expect((await monthsOf(test.database, account)).spent).toBe(2 * PRICE);
});

it('accepts the last email that the funds or the cap of an account cover', async () => {
  for (const money of [{ funds: 3 * PRICE }, { funds: 100_000, capCents: 1 }]) {
    const account = await insertPayer(test.database, { free: 2, ...money });
    await beginMonth(account);
    await accept(submission(account));
    statements = [];
    const left = (money.capCents ?? 0) > 0 ? 1_000 / PRICE : 3;
    await outcomes(times(1 + left, () => submission(account)));
    expect(writes()).toBe(1 + left);
    expect(await outcomeOf(submission(account))).toMatch(/insufficient_funds|spend_cap_reached/);
    expect((await monthsOf(test.database, account)).spent).toBe(left * PRICE);
  }
});

it('leaves out what an account cannot pay for, and writes what others in the group can', async () => {
  const [poor, rich] = [
    await insertPayer(test.database),
    await insertPayer(test.database, { funds: 5 * PRICE }),
  ];
  await Promise.all([beginMonth(poor), beginMonth(rich)]);
  await outcomes([submission(poor, {}, 'first'), submission(rich)]);
  const group = [submission(poor, {}, 'second'), submission(rich), submission(rich)];
  expect(await Promise.all(group.map((each) => outcomeOf(each)))).toEqual([
    'insufficient_funds',
    'accepted',
    'accepted',
  ]);
  expect((await monthsOf(test.database, rich)).spent).toBe(3 * PRICE);
});

it.each([
  [
    'a debit',
    `insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'debit', -100, 'test')`,
  ],
  [
    'another reservation',
    `update account_months set spent_millicents = spent_millicents + 100 where account_id = $1`,
  ],
])('sees %s that is committed while it waits for the lock', async (_what, lock) => {
  const account = await insertPayer(test.database, { funds: 2 * PRICE });
  await beginMonth(account);
  await accept(submission(account));
  let outcome = '';
  await runBehindLock(test.database.pool, { lock, values: [account.accountId] }, [
    async () => void (outcome = await outcomeOf(submission(account))),
  ]);
  expect(outcome).toBe('insufficient_funds');
});

it('writes texts to a country whose price is zero without deciding on messages of others twice', async () => {
  await setPrice(test.database, 0, { country: 'FR' });
  const payer = await insertPayer(test.database, { funds: 100 * PRICE });
  const other = await insertPayer(test.database);
  await test.database.pool.query(`update accounts set tier = 'free' where id = $1`, [other.accountId]);
  await beginMonth(payer);
  await accept(text(payer, '+33612345678'));
  await accept(text(payer, '+33612345678'));
  statements = [];
  await Promise.all([accept(text(payer, '+33612345678')), accept(submission(other))]);
  expect(writes()).toBe(2);
  expect((await monthsOf(test.database, payer)).spent).toBe(0);
});

it('locks a wallet only after the month, whose row another request may be about to insert', async () => {
  const account = await insertPayer(test.database, { funds: 1_000_000 });
  const wallet = 'select from wallets where account_id = $1 for update nowait';
  let outcome = '';
  const [first, second] = [await test.database.pool.connect(), await test.database.pool.connect()];
  try {
    for (const each of [first, second]) await each.query('begin');
    await first.query('insert into account_months (account_id, month) values ($1, current_month())', [
      account.accountId,
    ]);
    const asked = outcomeOf(submission(account, {}, 'new month')).then((found) => (outcome = found));
    await waitForLocks(test.database.pool, () => 1);
    await second.query(wallet, [account.accountId]);
    await second.query('rollback');
    await first.query('rollback');
    await asked;
  } finally {
    for (const each of [first, second]) {
      await each.query('rollback');
      each.release();
    }
  }
  expect(outcome).toBe('accepted');
});

it('refuses some messages of a group in the statement that writes the others, and keeps no keys of theirs', async () => {
  const account = await insertPayer(test.database, { funds: 2 * PRICE });
  await beginMonth(account);
  await accept(submission(account));
  statements = [];
  const key = (n: number) => submission(account, {}, `refused-${n}`);
  expect(await groupOutcomes(times(3, key))).toEqual([
    'accepted',
    'insufficient_funds',
    'insufficient_funds',
  ]);
  expect(writes()).toBe(1);
  const { rows } = await test.database.pool.query(
    `select key from idempotency_keys where brand_id = $1 order by key`,
    [account.brandId],
  );
  expect(rows).toEqual([{ key: 'refused-0' }]);
});

it('begins the months of several accounts at once, in two processes', async () => {
  const payers = await Promise.all(times(6, () => insertPayer(test.database, { funds: 100 * PRICE })));
  const databases = times(2, () => openDatabase({ url: test.url, poolMax: 2 }));
  const acceptors = databases.map(({ pool }) => acceptorOf(pool));
  // Each process knows that the accounts pay, so that they form one group.
  const known = payers.map((payer) => text(payer, '+4915112345678'));
  for (const by of acceptors) await Promise.all(known.map((each) => outcomeOf(each, by)));
  await test.database.pool.query('delete from account_months where account_id = any($1)', [
    payers.map(({ accountId }) => accountId),
  ]);
  const orders = [known, known.toReversed()];
  const found = await Promise.all(
    acceptors.flatMap((by, n) => (orders[n] ?? []).map((each) => outcomeOf(each, by))),
  );
  for (const database of databases) await database.close();
  expect(found).toEqual(times(12, () => 'accepted'));
});

it('never exceeds the cap by one cent, however many requests are concurrent', async () => {
  const account = await insertPayer(test.database, { funds: 1_000_000, capCents: 4, free: 7 });
  const databases = times(4, () => openDatabase({ url: test.url, poolMax: 4 }));
  const acceptors = databases.map(({ pool }) => acceptorOf(pool));
  const clients = times(32, async (client) => {
    const by = acceptors[client % acceptors.length] as typeof accept;
    return outcomes(
      times(4, (n) => submission(account, {}, `client-${client}-${n}`)),
      by,
    );
  });
  const found = (await Promise.all(clients)).flat();
  for (const database of databases) await database.close();
  expect(found.filter((outcome) => !['accepted', 'spend_cap_reached'].includes(outcome))).toEqual([]);
  // 4 cents are 40 emails, and 7 cost nothing.
  expect(found.filter((outcome) => outcome === 'accepted')).toHaveLength(47);
  expect(found.filter((outcome) => outcome === 'spend_cap_reached')).toHaveLength(128 - 47);
  expect(await monthsOf(test.database, account)).toEqual({ emails: 47, free: 7, texts: 0, spent: 4_000 });
  expect(await written(account)).toBe(47);
});

it('remembers that an account pays after it has sent a test message', async () => {
  const account = await insertPayer(test.database, { funds: 10 * PRICE });
  await accept(submission(account));
  await accept(submission(account, { test: true }));
  statements = [];
  await accept(submission(account));
  expect(writes()).toBe(1);
});

it('refuses a test message whose account has just been removed', async () => {
  const gone = { accountId: 900_000, brandId: 900_000 };
  await expect(accept(submission(gone, { test: true }))).rejects.toMatchObject({ code: 'unavailable' });
});
