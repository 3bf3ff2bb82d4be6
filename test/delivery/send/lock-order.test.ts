import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/message.ts';
import { intendBatch } from '../../../src/delivery/send/batch.ts';
import { type Claim, claimBacklog, releaseClaims } from '../../../src/delivery/send/claim.ts';
import { recoverDeadSender } from '../../../src/delivery/send/dead-process.ts';
import { refusalRecord } from '../../../src/delivery/send/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/send/record.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { countUnlockedRows } from '../../support/lock-order.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const OWNER = 90;
const ACCOUNTS = 8;

let test: TestDatabase;
/** Planned as the sender's statements are. */
let database: Database;
let accounts: QueuedAccount[];
/** Of each account one, in the order of the accounts. */
let claims: Claim[];

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 4, keyedPlans: true });
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

beforeEach(async () => {
  await insertSender(database, OWNER);
  accounts = [];
  claims = [];
  for (let n = 0; n < ACCOUNTS; n++) {
    const account = await insertAccount(database);
    await queueEmails(database, account, 1);
    const wanted = {
      channel: 'email',
      class: messageClasses.transactional,
      accountId: account.accountId,
      owner: OWNER,
    } as const;
    claims.push(...(await claimBacklog(database.pool, { ...wanted, quantum: 1 }, TEST_LIMITS)));
    accounts.push(account);
  }
});
afterEach(() =>
  database.pool.query(
    'truncate processes, messages, message_events, send_queue, handovers, allowance_buckets',
  ),
);

const freeMeanwhile = (hold: string, id: number, work: () => Promise<unknown>, free: string[]) =>
  countUnlockedRows(database.pool, { lock: hold, values: [id], work, probes: free });

const holdMessage = 'select 1 from messages where id = $1 for update';
const otherMessages = 'select 1 from messages for no key update';
const intents = 'select 1 from handovers for update';

async function windowOf(seq: number, wanted: Claim[]) {
  return intendBatch(database.pool, { owner: OWNER, seq, provider: 'smtp', claims: wanted });
}

async function refusedWindow() {
  const window = await windowOf(1, claims);
  const outcomes = window.map((message) => refusalRecord(message, 'suppressed')).toReversed();
  return { owner: OWNER, seq: 1, outcomes };
}

describe('rows that others lock too are locked in the order of their ids', () => {
  it('messages, and only then the intents, by what records outcomes', async () => {
    const window = await refusedWindow();
    const first = claims[0]?.messageId ?? 0;
    const record = () => createBatchRecording({ pool: database.pool, events: testEvents })([window]);
    // The holder counts its own row.
    const free = [otherMessages, intents];
    expect(await freeMeanwhile(holdMessage, first, record, free)).toEqual([ACCOUNTS, 1]);
  });

  it('buckets of the allowance, by what gives reservations back', async () => {
    const window = await refusedWindow();
    const hold = 'select 1 from allowance_buckets where account_id = $1 for update';
    const others = 'select 1 from allowance_buckets for update';
    const record = () => createBatchRecording({ pool: database.pool, events: testEvents })([window]);
    const first = accounts[0]?.accountId ?? 0;
    expect(await freeMeanwhile(hold, first, record, [others])).toEqual([ACCOUNTS]);
    const { rows } = await database.pool.query('select distinct used from allowance_buckets');
    expect(rows).toEqual([{ used: 0 }]);
  });

  it('messages, and only then the intents, by what settles a dead sender', async () => {
    await windowOf(1, claims.slice(ACCOUNTS / 2));
    await windowOf(2, claims.slice(0, ACCOUNTS / 2));
    const settle = () => inTransaction(database.pool, (client) => recoverDeadSender(client, OWNER));
    const first = claims[0]?.messageId ?? 0;
    const free = [otherMessages, intents];
    expect(await freeMeanwhile(holdMessage, first, settle, free)).toEqual([ACCOUNTS, 2]);
    const { rows } = await database.pool.query('select distinct status from messages');
    expect(rows).toEqual([{ status: 'unknown' }]);
  });

  it.each([
    ['by the sender', () => releaseClaims(database.pool, OWNER, claims.toReversed())],
    ['by what settles a dead sender', () => recoverDeadSender(database.pool, OWNER)],
  ])('claims that are given back, %s', async (_who, release) => {
    // They lie in the table the other way round.
    await database.pool.query(
      `with moved as (delete from send_queue returning *)
       insert into send_queue select * from moved order by message_id desc`,
    );
    const hold = 'select 1 from send_queue where message_id = $1 for update';
    const first = claims[0]?.messageId ?? 0;
    const others = 'select 1 from send_queue for update';
    expect(await freeMeanwhile(hold, first, release, [others])).toEqual([ACCOUNTS]);
    const { rows } = await database.pool.query('select distinct owner from send_queue');
    expect(rows).toEqual([{ owner: null }]);
  });
});

it('a claim does not wait for a message that it would hold, while somebody records what became of it', async () => {
  const account = await insertAccount(database);
  const [recorded, other] = await queueEmails(database, account, 2);
  await database.pool.query('update accounts set sending_paused_at = now() where id = $1', [
    account.accountId,
  ]);
  const wanted = {
    channel: 'email',
    class: messageClasses.transactional,
    accountId: account.accountId,
    owner: OWNER,
  } as const;
  const impatient = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true, statementTimeoutMs: 2_000 });
  try {
    await inTransaction(database.pool, async (client) => {
      await client.query(holdMessage, [recorded]);
      expect(await claimBacklog(impatient.pool, { ...wanted, quantum: 2 }, TEST_LIMITS)).toEqual([]);
    });
  } finally {
    await impatient.close();
  }
  const { rows } = await database.pool.query(
    `select m.id, m.status, q.due_at > now() as later from messages m join send_queue q on q.message_id = m.id
     where m.account_id = $1 order by m.id`,
    [account.accountId],
  );
  expect(rows).toEqual([
    { id: recorded, status: 'queued', later: true },
    { id: other, status: 'held', later: true },
  ]);
});
