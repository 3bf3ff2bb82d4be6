// Grouped acceptance never exceeds a sandbox cap, and one capped account does not fail the others.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type Accepted, createAcceptor } from '../../../src/features/messages/accept.ts';
import type { MessageDraft } from '../../../src/features/messages/draft.ts';
import type { Submission } from '../../../src/features/messages/decide.ts';
import { fingerprintOf } from '../../../src/platform/db/idempotency.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { waitForLocks } from '../../support/lock-order.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

const CAP = 10;
const tracking = { publicUrl: null, keyId: '00000000' };

let test: TestDatabase;
let accept: (submission: Submission) => Promise<Accepted>;
/** The statements of the acceptor, by their first words. */
let statements: string[];

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => {
  statements = [];
  const { pool } = test.database;
  const query = (statement: string | pg.QueryConfig, values?: unknown[]) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    statements.push(
      /insert into messages|from write_messages/.test(text) ? 'write' : text.trim().slice(0, 40),
    );
    return pool.query(statement as string, values);
  };
  const counted = new Proxy(pool, {
    get: (target, name) => (name === 'query' ? query : (Reflect.get(target, name) as unknown)),
  });
  accept = createAcceptor({
    pool: counted,
    limits: { sandbox_monthly_cap: CAP },
    tracking,
    onQueued: () => undefined,
    watchFunds: () => undefined,
  });
});

function submission(account: QueuedAccount, subject = 'Hello', key: string | null = null): Submission {
  const draft: MessageDraft = {
    account_id: account.accountId,
    brand_id: account.brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: 'ada@example.com',
    to_key: 'ada@example.com',
    from_address: 'shop@example.com',
    subject,
    text: 'Hello',
  };
  return { draft, idempotencyKey: key, fingerprint: key === null ? null : fingerprintOf(draft) };
}

/** Submits together. Returns for each `accepted`, `replayed` or the code of its error. */
async function outcomes(submissions: Submission[]): Promise<string[]> {
  const results = await Promise.allSettled(submissions.map((each) => accept(each)));
  return results.map((result) => {
    if (result.status === 'rejected') return (result.reason as { code: string }).code;
    return result.value.replayed ? 'replayed' : 'accepted';
  });
}

const accounts = (count: number) =>
  Promise.all(Array.from({ length: count }, () => insertAccount(test.database)));

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

async function useUp(account: QueuedAccount, left = 0): Promise<void> {
  await test.database.pool.query(
    `insert into sandbox_usage (account_id, month, used) values ($1, date_trunc('month', now() at time zone 'utc'), $2)`,
    [account.accountId, CAP - left],
  );
}

async function used(account: QueuedAccount): Promise<unknown> {
  const { rows } = await test.database.pool.query<{ used: number; messages: number }>(
    `select used, (select count(*) from messages where account_id = $1) as messages
     from sandbox_usage where account_id = $1`,
    [account.accountId],
  );
  return rows[0];
}

it('leaves a capped account out of the group and writes all others in one statement', async () => {
  const [capped, ...others] = (await accounts(60)) as [QueuedAccount, ...QueuedAccount[]];
  await useUp(capped);
  const group = () => [submission(capped), ...others.map((each) => submission(each))];
  const expected = ['sandbox_limit_reached', ...others.map(() => 'accepted')];
  expect(await outcomes(group())).toEqual(expected);
  // The first statement detected the cap and wrote nothing.
  expect(statements.filter((each) => each === 'write')).toHaveLength(2);
  statements = [];
  expect(await outcomes(group())).toEqual(expected);
  expect(statements.filter((each) => each === 'write')).toHaveLength(1);
});

it('counts only what a limit counts, also in a group with mail from domains', async () => {
  const [owned, mixed, own] = (await accounts(3)) as [QueuedAccount, QueuedAccount, QueuedAccount];
  const fromDomain = (account: QueuedAccount): Submission => {
    const { draft, ...others } = submission(account);
    return { ...others, draft: { ...draft, domain_id: 1 } };
  };
  await useUp(owned);
  expect(await outcomes([fromDomain(owned), fromDomain(owned)])).toEqual(['accepted', 'accepted']);
  expect(await used(owned)).toEqual({ used: CAP, messages: 2 });
  expect(await outcomes([fromDomain(mixed), submission(mixed), fromDomain(owned)])).toEqual(
    times(3, () => 'accepted'),
  );
  expect(await used(mixed)).toEqual({ used: 1, messages: 2 });
  // An account may have a cap of its own.
  await test.database.pool.query('update accounts set sandbox_monthly_cap = 1 where id = $1', [
    own.accountId,
  ]);
  expect(await outcomes([submission(own), submission(own)])).toEqual(['accepted', 'sandbox_limit_reached']);
  expect(await used(own)).toEqual({ used: 1, messages: 1 });
});

it('accepts as many messages of an account as fit, in the order of their ids', async () => {
  const [account, other] = (await accounts(2)) as [QueuedAccount, QueuedAccount];
  await useUp(account, 3);
  const group = [...times(5, () => submission(account)), submission(other)];
  const refused = 'sandbox_limit_reached';
  expect(await outcomes(group)).toEqual(['accepted', 'accepted', 'accepted', refused, refused, 'accepted']);
  expect(await used(account)).toEqual({ used: CAP, messages: 3 });
});

it('refuses many messages of a capped account without a statement for each', async () => {
  const [capped] = (await accounts(1)) as [QueuedAccount];
  await useUp(capped);
  await outcomes([submission(capped)]);
  statements = [];
  for (let round = 0; round < 50; round += 1) {
    expect(new Set(await outcomes(times(20, () => submission(capped))))).toEqual(
      new Set(['sandbox_limit_reached']),
    );
  }
  // At most one statement a second, however slow this machine is.
  expect(statements.length).toBeLessThan(20);
});

it('does not exceed the cap from two processes at once', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  const { pool } = test.database;
  const limits = { sandbox_monthly_cap: CAP };
  const processes = times(2, () =>
    createAcceptor({ pool, limits, tracking, onQueued: () => undefined, watchFunds: () => undefined }),
  );
  const results = await Promise.allSettled(
    times(60, (index) => (processes[index % 2] as typeof accept)(submission(account))),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(CAP);
  expect(await used(account)).toEqual({ used: CAP, messages: CAP });
});

it('replays a request of a capped account, and keeps no key of a refused one', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  expect(await outcomes([submission(account, 'Hello', 'first')])).toEqual(['accepted']);
  await test.database.pool.query('update accounts set sandbox_monthly_cap = 2 where id = $1', [
    account.accountId,
  ]);
  const group = () =>
    times(4, (index) => submission(account, 'Hello', index === 0 ? 'first' : `new-${index}`));
  const refused = 'sandbox_limit_reached';
  // The replayed request does not count.
  expect(await outcomes(group())).toEqual(['replayed', 'accepted', refused, refused]);
  expect(await outcomes(group())).toEqual(['replayed', 'replayed', refused, refused]);
  await test.database.pool.query('update accounts set sandbox_monthly_cap = 9 where id = $1', [
    account.accountId,
  ]);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await outcomes(group())).toEqual(['replayed', 'replayed', 'accepted', 'accepted']);
});

it('does not count a message that was not written', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  await useUp(account);
  expect(await outcomes([submission(account)])).toEqual(['sandbox_limit_reached']);
  await test.database.pool.query('update accounts set sandbox_monthly_cap = $2 where id = $1', [
    account.accountId,
    CAP + 2,
  ]);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  // PostgreSQL cannot store NUL.
  const [unstorable, ...others] = await outcomes([
    submission(account, 'Hello\0'),
    submission(account),
    submission(account),
  ]);
  expect(unstorable).not.toBe('sandbox_limit_reached');
  expect(others).toEqual(['accepted', 'accepted']);
  expect(await used(account)).toEqual({ used: CAP + 2, messages: 2 });
});

it('answers the followers of one key together', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  const same = times(40, () => submission(account, 'Hello', 'key'));
  expect(await outcomes(same)).toEqual(['accepted', ...times(39, () => 'replayed')]);
  expect(statements.length).toBeLessThanOrEqual(2);
  statements = [];
  const group = [...same, ...times(40, () => submission(account, 'Another', 'key'))];
  expect(await outcomes(group)).toEqual([
    ...times(40, () => 'replayed'),
    ...times(40, () => 'idempotency_conflict'),
  ]);
  expect(statements.filter((each) => each === 'write')).toHaveLength(1);
  expect(statements.length).toBeLessThanOrEqual(3);
});

it('retries a follower with another payload if its leader was refused', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  await useUp(account);
  const sms = submission(account, 'Hello', 'key');
  const draft: MessageDraft = { ...sms.draft, channel: 'sms', subject: null, segments: 1 };
  const follower = { ...sms, draft, fingerprint: fingerprintOf(draft) };
  expect(await outcomes([sms, follower])).toEqual(['sandbox_limit_reached', 'accepted']);
});

it('confirms what is committed if the database goes away in the middle of a group', async () => {
  const [first, second] = (await accounts(2)) as [QueuedAccount, QueuedAccount];
  const { pool } = test.database;
  let writes = 0;
  const query = (statement: string | pg.QueryConfig, values?: unknown[]) => {
    if (typeof statement !== 'string' && statement.text.includes('insert into messages')) writes += 1;
    // The group fails as a whole, the messages of the first account are written, and then the database is gone.
    if (writes < 3) return pool.query(statement as string, values);
    return Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  };
  const failing = new Proxy(pool, {
    get: (target, name) => (name === 'query' ? query : (Reflect.get(target, name) as unknown)),
  });
  const limits = { sandbox_monthly_cap: CAP };
  accept = createAcceptor({
    ...{ pool: failing, limits, tracking, onQueued: () => undefined, watchFunds: () => undefined },
  });
  // PostgreSQL cannot store NUL.
  const group = [submission(first), submission(first), submission(second, 'Hello\0')];
  expect(await outcomes(group)).toEqual(['accepted', 'accepted', 'unavailable']);
});

it('bounds a group by its bytes', async () => {
  const [account] = (await accounts(1)) as [QueuedAccount];
  const large = () => {
    const each = submission(account);
    return { ...each, draft: { ...each.draft, html: 'x'.repeat(2 * 1024 * 1024) } };
  };
  expect(await outcomes(times(7, large))).toEqual(times(7, () => 'accepted'));
  expect(statements.filter((each) => each === 'write')).toHaveLength(3);
});

it('does not let live messages wait for a test message of another account', async () => {
  const [tester, other] = (await accounts(2)) as [QueuedAccount, QueuedAccount];
  const { draft, ...rest } = submission(tester);
  const { pool } = test.database;
  const testing = await inTransaction(pool, async (trx) => {
    await trx.query(`select pg_advisory_xact_lock(hashtextextended('test messages ' || $1::text, 0))`, [
      tester.accountId,
    ]);
    const waiting = accept({ ...rest, draft: { ...draft, test: true } });
    await waitForLocks(pool, () => 1);
    expect(await outcomes([submission(other), submission(tester)])).toEqual(['accepted', 'accepted']);
    return [waiting];
  });
  expect(await Promise.all(testing)).toMatchObject([{ replayed: false }]);
});
