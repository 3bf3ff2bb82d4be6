// Taking plain messages does what a claim and an intent do, and leaves all other messages to them, unchanged.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { ACCOUNT_LOCK } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { takePlainMessages } from '../../../../src/delivery/ledger/claim/take.ts';
import { pauseSending } from '../../../../src/features/accounts/service.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 90;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database, 1_000);
});

const LIMITS = { ...TEST_LIMITS, suppress_plus_addresses: 0 };

interface Changes {
  messages?: number;
  owner?: number;
  client?: Queryable;
  limits?: Record<string, number>;
}

const take = ({ messages = 50, owner = OWNER, client = database.pool, limits }: Changes = {}) =>
  takePlainMessages(
    client,
    {
      ...{
        owner,
        seq: ++seq,
        provider: 'smtp',
        reportSeconds: 7,
        accountId: account.accountId,
        providerId: 0,
      },
      messages,
    },
    { ...LIMITS, ...limits },
  );

async function rowsOf<T = Record<string, unknown>>(sql: string): Promise<T[]> {
  const { rows } = await database.pool.query(sql, [account.accountId]);
  return rows as T[];
}

const change = (sql: string) => database.pool.query(sql, [account.accountId]);

/** Everything that taking messages may change. */
const state = async () => ({
  queue: await rowsOf('select * from send_queue where account_id = $1 order by message_id'),
  messages: await rowsOf('select * from messages where account_id = $1 order by id'),
  buckets: await rowsOf('select * from allowance_buckets where account_id = $1'),
  intents: (await database.pool.query('select * from handovers order by seq')).rows as unknown[],
});

describe('plain messages', () => {
  it('are claimed, counted and intended at once, as by a claim and an intent', async () => {
    const ids = await queueEmails(database, account, 3);
    await change(
      `update messages set tags = '{"order":"7"}', idempotency_key = 'k', reply_to = 'r@example.com' where account_id = $1`,
    );
    const taken = await take();
    expect(taken?.claims).toEqual(
      ids.map((messageId) => ({
        ...{ messageId, epoch: 1, accountId: account.accountId, class: 0, losses: 0 },
        bytes: expect.any(Number),
        weight: expect.any(Number),
      })),
    );
    const queue = await rowsOf('select * from send_queue where account_id = $1 order by message_id');
    const bucket = (queue[0] as { reserved_bucket: Date }).reserved_bucket;
    for (const row of queue) {
      expect(row).toMatchObject({ owner: OWNER, claim_epoch: 1, held: false, reserved_bucket: bucket });
    }
    expect(bucket).not.toBeNull();
    expect(await rowsOf('select bucket, used from allowance_buckets where account_id = $1')).toEqual([
      { bucket, used: 3 },
    ]);
    const { rows: intents } = await database.pool.query('select * from handovers where seq = $1', [seq]);
    expect(intents).toMatchObject([
      { owner: OWNER, provider: 'smtp', message_ids: ids, attempts: [1, 1, 1], report_seconds: 7 },
    ]);

    // The same messages, by the general statements.
    await change(
      'update send_queue set owner = null, claim_epoch = 0, reserved_bucket = null where account_id = $1',
    );
    await change('delete from allowance_buckets where account_id = $1');
    const claims = await claimBacklog(
      database.pool,
      {
        channel: 'email',
        class: messageClasses.transactional,
        accountId: account.accountId,
        owner: OWNER,
        quantum: 50,
      },
      LIMITS,
    );
    expect(taken?.claims).toEqual(claims);
    const batch = await intendMessages(database.pool, {
      owner: OWNER,
      seq: ++seq,
      provider: 'smtp',
      keyring: testKeyring,
      claims,
    });
    expect(taken?.messages).toEqual(batch);
    expect(taken?.messages).toHaveLength(3);
  });

  it('keep the place in the allowance that they have', async () => {
    await queueEmails(database, account, 2);
    await change(
      `update send_queue set reserved_bucket = '2026-01-01' where account_id = $1
       and message_id = (select min(message_id) from send_queue where account_id = $1)`,
    );
    expect((await take())?.claims).toHaveLength(2);
    expect(await rowsOf('select used from allowance_buckets where account_id = $1')).toEqual([{ used: 1 }]);
  });

  it('are taken in the order in which they are due, and no more than wanted', async () => {
    const ids = await queueEmails(database, account, 5);
    expect((await take({ messages: 2 }))?.claims.map(({ messageId }) => messageId)).toEqual(ids.slice(0, 2));
    expect((await take({ messages: 2 }))?.claims.map(({ messageId }) => messageId)).toEqual(ids.slice(2, 4));
  });

  it('leaves messages that another transaction has locked', async () => {
    const [locked, other] = await queueEmails(database, account, 2);
    await inTransaction(database.pool, async (client) => {
      await client.query('select 1 from send_queue where message_id = $1 for update', [locked]);
      expect((await take())?.claims.map(({ messageId }) => messageId)).toEqual([other]);
    });
  });
});

describe('nothing is taken, and nothing changes,', () => {
  it.each([
    [
      'no message is due',
      `update send_queue set due_at = now() + interval '1 minute' where account_id = $1`,
      {},
    ],
    ['the account is paused', 'update accounts set sending_paused_at = now() where id = $1', {}],
    ['the allowance has too little room', 'update accounts set allowance_per_day = 49 where id = $1', {}],
    ['the process was taken for dead', '', { owner: 91 }],
    ['a message was tried before', 'update send_queue set attempt_count = 1 where account_id = $1', {}],
    [
      'a message has ended a connection',
      'update send_queue set connection_losses = 1 where account_id = $1',
      {},
    ],
    ['a message is heavy', 'update send_queue set content_weight = 65537 where account_id = $1', {}],
    [
      'the contents are larger than a batch',
      'update send_queue set content_bytes = 600000 where account_id = $1',
      {},
    ],
    [
      'a message has expired',
      `update send_queue set queued_at = now() - interval '73 hours' where account_id = $1`,
      {},
    ],
    ['its domain was deleted', 'update send_queue set domain_id = 999999 where account_id = $1', {}],
    ['a message was canceled', `update messages set status = 'canceled' where account_id = $1`, {}],
    [
      'its content was removed',
      'delete from message_contents c using messages m where m.id = c.message_id and m.account_id = $1',
      {},
    ],
    [
      'its recipient is suppressed',
      `insert into suppressions (account_id, address_key, email, reason) values ($1, 'u1@example.com', 'u1@example.com', 'manual')`,
      {},
    ],
  ] satisfies [string, string, Changes][])('if %s', async (_name, sql, changes) => {
    await queueEmails(database, account, 2);
    if (sql !== '') await change(sql);
    const before = await state();
    expect(await take(changes)).toBeNull();
    expect(await state()).toEqual(before);
  });

  it.each(['pending', 'failed'])('if the domain of a message is %s', async (status) => {
    await queueEmails(database, account, 2);
    await change(
      `with d as (
         insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
         select account_id, id, 'shop' || id || '.example.com', '${status}', 'r', 't' from brands where account_id = $1 returning id)
       update send_queue set domain_id = (select id from d) where account_id = $1`,
    );
    const before = await state();
    expect(await take()).toBeNull();
    expect(await state()).toEqual(before);
  });

  it('if the recipient differs from a suppressed one only by a tag, unless tags matter', async () => {
    await queueEmails(database, account, 1, { prefix: 'ada+' });
    await change(
      `insert into suppressions (account_id, address_key, email, reason)
       values ($1, 'ada+news@example.com', 'ada+news@example.com', 'manual')`,
    );
    expect(await take({ limits: { suppress_plus_addresses: 1 } })).toBeNull();
    expect((await take())?.claims).toHaveLength(1);
  });
});

describe('a pause', () => {
  it('waits for what is being taken, and nothing is taken after it is confirmed', async () => {
    await queueEmails(database, account, 3);
    let paused = false;
    let pausing: Promise<unknown> = Promise.resolve();
    await inTransaction(database.pool, async (client) => {
      expect((await take({ messages: 1, client }))?.claims).toHaveLength(1);
      pausing = inTransaction(database.pool, (trx) => pauseSending(trx, account.accountId, 'a test')).then(
        () => (paused = true),
      );
      await eventually(async () =>
        expect(
          (await database.pool.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`))
            .rowCount,
        ).toBe(1),
      );
      expect(paused).toBe(false);
    });
    await pausing;
    expect(await take()).toBeNull();
  });

  it('that is under way leaves the messages to a claim, which waits for it', async () => {
    await queueEmails(test.database, account, 1);
    const before = await state();
    await inTransaction(database.pool, async (client) => {
      await pauseSending(client, account.accountId, 'a test');
      expect(await take()).toBeNull();
    });
    expect((await state()).queue).toEqual(before.queue);
    expect(await take()).toBeNull();
  });

  it('that waits is not overtaken', async () => {
    await queueEmails(test.database, account, 2);
    let pausing: Promise<unknown> = Promise.resolve();
    await inTransaction(database.pool, async (client) => {
      expect((await take({ messages: 1, client }))?.claims).toHaveLength(1);
      pausing = inTransaction(database.pool, (trx) => pauseSending(trx, account.accountId, 'a test'));
      await eventually(async () =>
        expect(
          (await database.pool.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`))
            .rowCount,
        ).toBe(1),
      );
      expect(await take({ messages: 1 })).toBeNull();
    });
    await pausing;
  });
});

it('leaves messages to a claim while another claim of the account is under way', async () => {
  await queueEmails(test.database, account, 1);
  await inTransaction(database.pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1, $2::int)', [ACCOUNT_LOCK, account.accountId]);
    expect(await take()).toBeNull();
  });
  expect((await take())?.claims).toHaveLength(1);
});
