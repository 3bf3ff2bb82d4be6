// Once a suppression is confirmed, no message leaves for the address without an earlier intent.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import {
  createRecipientFence,
  type RecipientFence,
} from '../../../../src/delivery/ledger/consent/recipient-fence.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  insertAccount,
  insertSender,
  queueEmails,
  type QueuedAccount,
  statusCounts,
} from '../../../support/queued.ts';
import { startSmtpServer, startTestSender, TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 90;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let fence: RecipientFence;

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 8 });
  database = openDatabase({ url: test.url, poolMax: 4, keyedPlans: true });
  await insertSender(database, OWNER);
  account = await insertAccount(database);
  fence = createRecipientFence(test.database.pool);
});
afterEach(async () => {
  await database.close();
  await test.drop();
});

async function suppress(address: string): Promise<void> {
  await test.database.pool.query(
    `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'manual')`,
    [account.accountId, address],
  );
  await fence.wait(account.accountId);
}

async function claim(): Promise<Claim[]> {
  await queueEmails(test.database, account, 2);
  const backlog = {
    channel: 'email',
    class: messageClasses.transactional,
    ...account,
    owner: OWNER,
  } as const;
  return claimBacklog(database.pool, { ...backlog, quantum: 2 }, TEST_LIMITS);
}

const batch = (claims: Claim[]) => ({ owner: OWNER, seq: 1, provider: 'smtp', keyring: testKeyring, claims });

async function untilWaiting(event: string): Promise<void> {
  await eventually(async () => {
    const { rowCount } = await test.database.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event = $1`,
      [event],
    );
    expect(rowCount).toBe(1);
  });
}

describe('a suppression', () => {
  it('is confirmed only after the intents under way have ended', async () => {
    const claims = await claim();
    const order: string[] = [];
    const suppressed = await inTransaction(database.pool, async (client) => {
      const messages = await intendMessages(client, batch(claims));
      expect(messages.map(({ verdict }) => verdict)).toEqual(['send', 'send']);
      const confirmed = suppress('u0@example.com').then(() => order.push('confirmed'));
      await untilWaiting('PgSleep');
      order.push('intended');
      return { confirmed };
    });
    await suppressed.confirmed;
    expect(order).toEqual(['intended', 'confirmed']);
  });

  it('stops a message whose intent began before it and is written after it', async () => {
    const claims = await claim();
    const intending = await inTransaction(test.database.pool, async (client) => {
      // The intent's statement has its view of the data and waits for its locks.
      await client.query('select stop_intents($1)', [account.accountId]);
      const messages = intendMessages(database.pool, batch(claims));
      await untilWaiting('advisory');
      await suppress('u0@example.com');
      return { messages };
    });
    const messages = await intending.messages;
    expect(messages.map(({ to, verdict }) => [to, verdict])).toEqual([
      ['u0@example.com', 'suppressed'],
      ['u1@example.com', 'send'],
    ]);
  });

  it('does not wait for intents that begin after it', async () => {
    const claims = await claim();
    await inTransaction(database.pool, async (client) => {
      await intendMessages(client, batch(claims));
      const other = await insertAccount(test.database);
      await fence.wait(other.accountId);
    });
  });

  it('stops no sender while it waits', async () => {
    const claims = await claim();
    await inTransaction(database.pool, async (client) => {
      await intendMessages(client, batch(claims.slice(0, 1)));
      const confirmed = suppress('nobody@example.com');
      await untilWaiting('PgSleep');
      const further = await intendMessages(database.pool, { ...batch(claims.slice(1)), seq: 2 });
      expect(further.map(({ verdict }) => verdict)).toEqual(['send']);
      return { confirmed };
    }).then(({ confirmed }) => confirmed);
  });

  it('covers addresses with and without a tag if the setting says so', async () => {
    const claims = await claim();
    await suppress('u0+news@example.com');
    const plain = await intendMessages(database.pool, batch(claims));
    expect(plain.map(({ verdict }) => verdict)).toEqual(['send', 'send']);
    const merged = await intendMessages(database.pool, { ...batch(claims), seq: 2, plusAddresses: true });
    expect(merged.map(({ verdict }) => verdict)).toEqual(['suppressed', 'send']);
    // This also holds some time after the API has suppressed an address.
    await test.database.pool.query('update accounts set recipients_changed_at = null');
    const later = await intendMessages(database.pool, { ...batch(claims), seq: 3, plusAddresses: true });
    expect(later.map(({ verdict }) => verdict)).toEqual(['suppressed', 'send']);
  });
});

/** Makes every intent take some time between its check and its commit, so that many suppressions fall into it. */
const slowIntents = () =>
  test.database.pool.query(
    `create function slow_intent() returns trigger language plpgsql as $$
     begin perform pg_sleep(0.03); return new; end $$;
     create trigger slow_intent before insert on handovers for each row execute function slow_intent()`,
  );

/** The stored state of the message when its suppression was confirmed. */
async function mayStillLeave(address: string): Promise<boolean> {
  const { rows } = await test.database.pool.query<{ may: boolean }>(
    `select m.status <> 'queued' or exists (select 1 from handovers h where m.id = any(h.message_ids)) as may
     from messages m where m.to_key = $1`,
    [address],
  );
  return rows[0]?.may ?? false;
}

it('lets only messages intended before it leave after its confirmation, while a sender works', async () => {
  const count = 1_500;
  const server = await startSmtpServer();
  await queueEmails(test.database, account, count);
  await slowIntents();
  const senders = await Promise.all([1, 2].map(() => startTestSender({ url: test.url, port: server.port })));
  const stopped: string[] = [];
  try {
    // These are at the end of the queue, which the senders reach last.
    await Promise.all(
      Array.from({ length: 4 }, async (_, stream) => {
        for (let n = count - 1 - stream; n > count - 400; n -= 4) {
          const address = `u${n}@example.com`;
          await suppress(address);
          if (!(await mayStillLeave(address))) stopped.push(address);
        }
      }),
    );
    await eventually(async () => {
      const { queued = 0, held = 0 } = await statusCounts(test.database);
      expect(queued + held).toBe(0);
    });
  } finally {
    await Promise.all(senders.map((sender) => sender.stop()));
    await server.stop();
  }
  const received = new Set(server.received.map(({ to }) => to));
  expect(stopped.length).toBeGreaterThan(10);
  expect(stopped.filter((address) => received.has(address))).toEqual([]);
});
