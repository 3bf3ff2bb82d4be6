// A set of messages is accepted in one transaction: each is kept, replayed or refused for its own reason, or nothing is written.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { NewLetter } from '../../../src/delivery/ledger/accept/new-letter.ts';
import { MAX_TEST_MESSAGES } from '../../../src/delivery/ledger/accept/test-messages.ts';
import {
  type AcceptDeps,
  createAcceptMemory,
  createAcceptor,
  type QueuedMessage,
} from '../../../src/features/messages/accept.ts';
import {
  createSetAcceptor,
  type SetOptions,
  type SetResult,
  type SetRow,
} from '../../../src/features/messages/accept-set.ts';
import type { MessageDraft } from '../../../src/features/messages/draft.ts';
import { RANGE_IDS } from '../../../src/platform/db/id-ranges.ts';
import { fingerprintOf } from '../../../src/platform/db/idempotency.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertPayer, monthsOf, setPrice } from '../../support/money.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const CAP = 3;
const PRICE = 100;
const LIMITS = { ...TEST_LIMITS, sandbox_monthly_cap: CAP };
const tracking = { publicUrl: null, keyId: '00000000' };

let test: TestDatabase;
let pool: pg.Pool;
let queued: QueuedMessage[];
let acceptSet: ReturnType<typeof createSetAcceptor>;
let accept: ReturnType<typeof createAcceptor>;

beforeAll(async () => {
  test = await createTestDatabase();
  pool = test.database.pool;
  await setPrice(test.database, PRICE);
  await setPrice(test.database, 700, { country: 'DE' });
});
afterAll(() => test.drop());
beforeEach(() => {
  queued = [];
  [accept, acceptSet] = processOf(pool);
});

/** The acceptors of a process. */
function processOf(of: pg.Pool) {
  const deps: AcceptDeps = {
    ...{ pool: of, limits: LIMITS, tracking, watchFunds: () => undefined },
    onQueued: (messages) => queued.push(...messages),
  };
  const memory = createAcceptMemory(deps);
  return [
    createAcceptor(deps, memory),
    createSetAcceptor({ ...deps, emailProvider: 'smtp' }, memory),
  ] as const;
}

/** An account for which emails cost nothing. */
async function unpricedAccount(cap: number | null = null): Promise<QueuedAccount> {
  const account = await insertAccount(test.database);
  await pool.query(`update accounts set tier = 'free', sandbox_monthly_cap = $2 where id = $1`, [
    ...[account.accountId, cap],
  ]);
  return account;
}

function row(account: QueuedAccount, more: Partial<MessageDraft> = {}, key: string | null = null): SetRow {
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

const textTo = (account: QueuedAccount, to: string) =>
  row(account, { channel: 'sms', to_address: to, to_key: to, segments: 1, subject: null });

const letter: NewLetter = {
  ...{ html: null, text: 'Hello', headers: null, replyTo: null, wireBytes: 3_000, addresses: [] },
  files: [
    {
      ...{
        filename: 'a.txt',
        contentType: 'text/plain',
        contentId: null,
        disposition: 'attachment',
        size: 2,
      },
      ...{ sha256: Buffer.alloc(32, 1), stored: false },
    },
  ],
};

/** The copies of a letter to three recipients. Only the first one has the key. */
const copies = (account: QueuedAccount, key: string | null = null, more: Partial<MessageDraft> = {}) =>
  (['to', 'cc', 'bcc'] as const).map((kind, n) => ({
    ...row(
      account,
      { ...more, to_address: `u${n}@example.com`, to_key: `u${n}@example.com` },
      n === 0 ? key : null,
    ),
    kind,
  }));

/** What became of each message: `kept`, `replayed`, or the code of its error. */
const kindsOf = ({ outcomes }: SetResult) =>
  outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.error.code : outcome.kind));

async function kinds(rows: SetRow[], options: SetOptions): Promise<[boolean, ...string[]]> {
  const result = await acceptSet(rows, options);
  return [result.committed, ...kindsOf(result)];
}

const idsOf = ({ outcomes }: SetResult) =>
  outcomes.map((outcome) => {
    if (outcome.kind === 'refused') return null;
    return outcome.kind === 'kept' ? outcome.message.id : outcome.id;
  });

async function count({ accountId }: QueuedAccount): Promise<{ messages: number; used: number }> {
  const { rows } = await pool.query<{ messages: number; used: number }>(
    `select (select count(*) from messages where account_id = $1)::int as messages,
       coalesce((select sum(used) from sandbox_usage where account_id = $1), 0)::int as used`,
    [accountId],
  );
  return rows[0] as { messages: number; used: number };
}

const atomic = { atomic: true } as const;
const loose = { atomic: false } as const;
const asLetter = { atomic: true, letters: [{ first: 0, count: 3, letter }] } as const;
const REFUSED = 'sandbox_limit_reached';

describe('a limit', () => {
  it('refuses all messages of an atomic set that it counts, and the set with them', async () => {
    const account = await unpricedAccount();
    const fromDomain = row(account, { domain_id: 1 });
    const four = [row(account), row(account), fromDomain, row(account), row(account)];
    const refused = await acceptSet(four, atomic);
    expect([refused.committed, ...kindsOf(refused)]).toEqual([false, ...four.map(() => REFUSED)]);
    // The message from the domain is not counted: it is refused because of the others.
    const messages = refused.outcomes.map((each) => (each.kind === 'refused' ? each.error.message : ''));
    expect(messages.map((message) => message.startsWith('another message was refused'))).toEqual([
      ...[false, false, true, false, false],
    ]);
    expect(await count(account)).toEqual({ messages: 0, used: 0 });
    expect(queued).toEqual([]);
    expect(await kinds(four.slice(1), atomic)).toEqual([true, 'kept', 'kept', 'kept', 'kept']);
    expect(await count(account)).toEqual({ messages: 4, used: 3 });
  });

  it('keeps what fits of a set that is not atomic, in one transaction', async () => {
    const account = await unpricedAccount();
    await accept(row(account));
    const group = [row(account), row(account), row(account), row(account, { domain_id: 1 })];
    expect(await kinds(group, loose)).toEqual([true, 'kept', 'kept', REFUSED, 'kept']);
    expect(await count(account)).toEqual({ messages: 4, used: 3 });
    const { rows } = await pool.query('select distinct xmin from messages where account_id = $1', [
      account.accountId,
    ]);
    expect(rows).toHaveLength(2);
  });

  it('counts each recipient of a letter', async () => {
    const account = await unpricedAccount();
    await accept(row(account));
    expect(await kinds(copies(account), asLetter)).toEqual([false, REFUSED, REFUSED, REFUSED]);
    expect(await count(account)).toEqual({ messages: 1, used: 1 });
    expect(await kinds(copies(account, null, { domain_id: 1 }), asLetter)).toEqual([
      true,
      'kept',
      'kept',
      'kept',
    ]);
    expect(await count(account)).toEqual({ messages: 4, used: 1 });
  });
});

describe('money', () => {
  const mixed = (account: QueuedAccount) => [row(account), textTo(account, '+33612345678'), row(account)];

  it('gives each refused message of an atomic set its own reason, and reserves nothing', async () => {
    const account = await insertPayer(test.database, { funds: PRICE });
    const result = await acceptSet(mixed(account), atomic);
    expect([result.committed, ...kindsOf(result)]).toEqual([
      ...[false, 'validation_error', 'validation_error', 'insufficient_funds'],
    ]);
    expect(result.outcomes[0]).toMatchObject({
      error: { message: expect.stringContaining('another message') as unknown },
    });
    expect(await monthsOf(test.database, account)).toMatchObject({ emails: 0, spent: 0 });
    // There is enough for one message: the account is not known as one that cannot pay.
    expect(await accept(row(account))).toMatchObject({ replayed: false });
    expect((await monthsOf(test.database, account)).spent).toBe(PRICE);
  });

  it('keeps the others of a set that is not atomic', async () => {
    const account = await insertPayer(test.database, { funds: PRICE });
    expect(await kinds(mixed(account), loose)).toEqual([
      true,
      'kept',
      'validation_error',
      'insufficient_funds',
    ]);
    expect((await monthsOf(test.database, account)).spent).toBe(PRICE);
  });

  it('is reserved for each copy of a letter', async () => {
    const account = await insertPayer(test.database, { funds: 2 * PRICE, free: 1 });
    expect(await kinds(copies(account), asLetter)).toEqual([true, 'kept', 'kept', 'kept']);
    expect(await monthsOf(test.database, account)).toEqual({
      emails: 3,
      free: 1,
      texts: 0,
      spent: 2 * PRICE,
    });
    expect(await kinds(copies(account), asLetter)).toEqual([
      false,
      ...Array<string>(3).fill('insufficient_funds'),
    ]);
    expect((await monthsOf(test.database, account)).spent).toBe(2 * PRICE);
  });
});

describe('keys', () => {
  it.each([atomic, loose])('replay what is there, and let the rest be written (%o)', async (options) => {
    const account = await unpricedAccount();
    const of = (...keys: string[]) => keys.map((key) => row(account, {}, key));
    const first = await acceptSet(of('a', 'b'), options);
    expect([first.committed, ...kindsOf(first)]).toEqual([true, 'kept', 'kept']);
    const again = await acceptSet(of('a', 'b'), options);
    expect([again.committed, ...kindsOf(again)]).toEqual([true, 'replayed', 'replayed']);
    expect(idsOf(again)).toEqual(idsOf(first));
    expect(await kinds(of('a', 'c', 'c'), options)).toEqual([true, 'replayed', 'kept', 'replayed']);
    expect((await count(account)).messages).toBe(3);
  });

  it('refuse another message with the same key, and its atomic set', async () => {
    const account = await unpricedAccount();
    await accept(row(account, {}, 'a'));
    const set = [row(account, { subject: 'Another' }, 'a'), row(account, {}, 'b')];
    expect(await kinds(set, atomic)).toEqual([false, 'idempotency_conflict', 'idempotency_conflict']);
    expect((await count(account)).messages).toBe(1);
    expect(await kinds(set, loose)).toEqual([true, 'idempotency_conflict', 'kept']);
    const both = [row(account, {}, 'c'), row(account, { subject: 'Another' }, 'c')];
    expect(await kinds(both, atomic)).toEqual([false, 'idempotency_conflict', 'idempotency_conflict']);
    expect((await count(account)).messages).toBe(2);
    expect(await kinds(both, loose)).toEqual([true, 'kept', 'idempotency_conflict']);
  });

  it('of a letter replay all of it, whatever its account has left', async () => {
    const account = await insertPayer(test.database, { funds: 3 * PRICE });
    await pool.query('update accounts set sandbox_monthly_cap = 3 where id = $1', [account.accountId]);
    const first = await acceptSet(copies(account, 'letter'), asLetter);
    expect([first.committed, ...kindsOf(first)]).toEqual([true, 'kept', 'kept', 'kept']);
    const again = await acceptSet(copies(account, 'letter'), asLetter);
    expect([again.committed, ...kindsOf(again)]).toEqual([true, 'replayed', 'replayed', 'replayed']);
    expect(idsOf(again)).toEqual(idsOf(first));
    const another = copies(account, 'letter', { subject: 'Another' });
    expect(await kinds(another, asLetter)).toEqual([false, ...Array<string>(3).fill('idempotency_conflict')]);
    expect((await monthsOf(test.database, account)).spent).toBe(3 * PRICE);
    // Once the content is gone, the letter is named by its first message alone.
    await pool.query('delete from letters where account_id = $1', [account.accountId]);
    const later = idsOf(await acceptSet(copies(account, 'letter'), asLetter));
    expect(new Set(later)).toEqual(new Set([idsOf(first)[0]]));
  });

  it('are taken by one of two processes', async () => {
    const account = await unpricedAccount();
    const processes = [acceptSet, processOf(pool)[1]];
    const results = await Promise.all(processes.map((each) => each(copies(account, 'both'), asLetter)));
    expect(results.map((result) => new Set(kindsOf(result)))).toEqual(
      expect.arrayContaining([new Set(['kept']), new Set(['replayed'])]),
    );
    expect(idsOf(results[0] as SetResult)).toEqual(idsOf(results[1] as SetResult));
  });
});

describe('a lost connection', () => {
  /** A pool whose connection is lost when a set is written, before or after the commit. */
  const losing = (when: 'before' | 'after') =>
    new Proxy(pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name) as unknown;
        return async (statement: string | pg.QueryConfig, values?: unknown[]) => {
          const isSet = typeof statement !== 'string' && statement.text.includes('accept_set');
          const result = isSet && when === 'before' ? null : await pool.query(statement as string, values);
          if (isSet) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
          return result;
        };
      },
    });

  it.each([
    ['an atomic set', atomic],
    ['another set', loose],
    ['a letter', asLetter],
  ] as const)('does not hide that %s is committed', async (_what, options) => {
    const account = await unpricedAccount();
    const first = await processOf(losing('after'))[1](copies(account, 'lost'), options);
    expect([first.committed, ...kindsOf(first)]).toEqual([true, 'kept', 'kept', 'kept']);
    expect(idsOf(await acceptSet(copies(account, 'lost').slice(0, 1), atomic))).toEqual([idsOf(first)[0]]);
  });

  it('is reported if nothing is committed', async () => {
    const account = await unpricedAccount();
    const unsure = processOf(losing('before'))[1];
    for (const options of [asLetter, loose]) {
      await expect(unsure(copies(account), options)).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect((await count(account)).messages).toBe(0);
  });
});

it('writes nothing of a set that PostgreSQL cannot store', async () => {
  const account = await unpricedAccount();
  for (const options of [atomic, loose]) {
    const set = [row(account), row(account, { subject: 'Hello\0' })];
    await expect(acceptSet(set, options)).rejects.toMatchObject({
      code: expect.stringMatching(/^22/) as unknown,
    });
  }
  expect((await count(account)).messages).toBe(0);
});

describe('several letters of a set', () => {
  it('are replayed, and the others written', async () => {
    const account = await unpricedAccount(100);
    const rows = [...copies(account, 'one'), row(account), ...copies(account, 'two')];
    const letters = [0, 4].map((first) => ({ first, count: 3, letter }));
    const first = idsOf(await acceptSet(copies(account, 'two'), asLetter));
    const result = await acceptSet(rows, { atomic: true, letters });
    expect(result.committed).toBe(true);
    expect(kindsOf(result)).toEqual([...Array<string>(4).fill('kept'), ...Array<string>(3).fill('replayed')]);
    expect(idsOf(result).slice(4)).toEqual(first);
    const other = copies(account, 'two', { subject: 'Another' });
    const conflict = await acceptSet([...copies(account, 'three'), ...other], {
      ...{ atomic: true, letters: [0, 3].map((at) => ({ first: at, count: 3, letter })) },
    });
    expect([conflict.committed, ...new Set(kindsOf(conflict))]).toEqual([false, 'idempotency_conflict']);
  });

  it('are refused by name if no provider takes one of them', async () => {
    const account = await unpricedAccount(100);
    const large = { ...letter, wireBytes: 60 * 1024 * 1024 };
    await pool.query('insert into provider_sizes (provider_id, max_bytes) values (0, 50000000)');
    const result = await acceptSet([...copies(account), ...copies(account)], {
      ...{
        atomic: true,
        letters: [letter, large].map((each, n) => ({ first: 3 * n, count: 3, letter: each })),
      },
    });
    await pool.query('delete from provider_sizes');
    expect(result.committed).toBe(false);
    const messages = result.outcomes.map((each) =>
      each.kind === 'refused' ? each.error.message : each.kind,
    );
    expect(messages.slice(3)).toEqual(Array(3).fill(expect.stringMatching(/^attachments are too large/)));
    expect(messages.slice(0, 3)).toEqual(
      Array(3).fill(expect.stringMatching(/^another message was refused/)),
    );
  });
});

it('hides a key that its client did not choose, and replays by it', async () => {
  const account = await unpricedAccount(100);
  const hidden = (key: string, more: Partial<MessageDraft> = {}) => {
    const given = row(account, more);
    const hiddenKey = { endpoint: 'SMTP submission', key };
    return { ...given, hiddenKey, fingerprint: fingerprintOf(given.draft) };
  };
  const [first, other] = await Promise.all([accept(hidden('once')), accept(hidden('once'))]);
  const again = await acceptSet([hidden('once'), hidden('twice')], loose);
  expect([first?.replayed, other]).toMatchObject([false, { replayed: true }]);
  expect(kindsOf(again)).toEqual(['replayed', 'kept']);
  await expect(accept(hidden('once', { subject: 'Another' }))).rejects.toMatchObject({
    code: 'idempotency_conflict',
  });
  const { rows: found } = await pool.query(
    `select m.idempotency_key as shown, k.endpoint, k.key from messages m join idempotency_keys k on k.resource_id = m.id
     where m.account_id = $1 order by m.id`,
    [account.accountId],
  );
  const key = { shown: null, endpoint: 'SMTP submission' };
  expect(found).toEqual([
    { ...key, key: 'once' },
    { ...key, key: 'twice' },
  ]);
});

it('names the newest message by an alias', async () => {
  const account = await unpricedAccount(100);
  const alias = Buffer.alloc(16, 3);
  await Promise.all([accept({ ...row(account), alias }), accept({ ...row(account), alias })]);
  await acceptSet(
    copies(account).map((each, n) => (n === 0 ? { ...each, alias } : each)),
    asLetter,
  );
  const { rows: found } = await pool.query(
    `select a.message_id = (select max(id) from messages m where m.letter_id = m.id and m.account_id = $1) as newest
     from message_aliases a where a.brand_id = $2`,
    [account.accountId, account.brandId],
  );
  expect(found).toEqual([{ newest: true }]);
});

it('does not wake senders for messages of later times', async () => {
  const account = await unpricedAccount(100);
  const later = { scheduled_at: new Date(Date.now() + 60_000) };
  const soon = { scheduled_at: new Date(Date.now() + 500) };
  await accept(row(account, later));
  await acceptSet(copies(account, null, later), asLetter);
  expect(queued).toEqual([]);
  await accept(row(account, soon));
  expect(queued).toHaveLength(1);
});

it('notes the send-only key that sent a message', async () => {
  const account = await unpricedAccount(100);
  await accept(row(account, { send_key_id: 17 }));
  await acceptSet(copies(account, null, { send_key_id: 17 }), asLetter);
  const { rows: found } = await pool.query('select send_key_id as key from messages where account_id = $1', [
    account.accountId,
  ]);
  expect(found).toEqual(Array(4).fill({ key: 17 }));
});

it('wakes the queue of letters', async () => {
  const account = await unpricedAccount();
  await acceptSet(copies(account), asLetter);
  expect(queued.map(({ queue, providerId }) => [queue, providerId])).toEqual(
    Array(3).fill(['email_whole', 0]),
  );
  queued = [];
  await acceptSet([row(account)], loose);
  expect(queued.map(({ queue }) => queue)).toEqual([undefined]);
});

it('writes the outcomes of a letter of a test key, and none of its files', async () => {
  const account = await unpricedAccount();
  const rows = copies(account, null, { test: true }).map(({ draft, ...rest }, n) => ({
    ...rest,
    draft: n === 1 ? { ...draft, to_key: 'bounced@example.com' } : draft,
  }));
  const result = await acceptSet(rows, asLetter);
  expect(kindsOf(result)).toEqual(['kept', 'kept', 'kept']);
  const { rows: found } = await pool.query(
    `select m.status, l.id is not null as lettered, a.stored, q.message_id is not null as queued
     from messages m left join letters l on l.id = m.letter_id left join message_attachments a on a.message_id = l.id
     left join send_queue q on q.message_id = m.id
     where m.id = any($1) order by m.id`,
    [idsOf(result)],
  );
  const facts = { lettered: true, stored: false, queued: false };
  expect(found).toEqual(['delivered', 'bounced', 'delivered'].map((status) => ({ status, ...facts })));
  await pool.query(
    'insert into test_messages (message_id, account_id) select -n, $1 from generate_series(1, $2::int) n',
    [account.accountId, MAX_TEST_MESSAGES - 5],
  );
  expect(await kinds(rows, asLetter)).toEqual([false, ...Array<string>(3).fill('rate_limited')]);
});

it('takes ids of one range for a set, so that no partition with a part of it goes first', async () => {
  const account = await unpricedAccount();
  const { rows } = await pool.query<{ last: number }>('select last_value as last from messages_id_seq');
  const next = (Math.floor((rows[0]?.last ?? 0) / RANGE_IDS) + 1) * RANGE_IDS;
  await pool.query(`select setval('messages_id_seq', $1)`, [next - 3]);
  const ids = idsOf(await acceptSet(copies(account), asLetter)) as number[];
  expect(ids.map((id) => Math.floor(id / RANGE_IDS))).toEqual(Array(3).fill(next / RANGE_IDS));
});
