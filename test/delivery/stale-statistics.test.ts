import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Claim, claimBacklog, releaseClaims } from '../../src/delivery/claim.ts';
import { recordWindows } from '../../src/delivery/record.ts';
import { settleOutcome } from '../../src/delivery/outcomes.ts';
import { intendWindow, type WindowMessage } from '../../src/delivery/intend.ts';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { settleDeadSender } from '../../src/delivery/settle.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { entriesReadOf, forgetRows } from '../support/entries-read.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../support/queued.ts';
import { TEST_TIERS } from '../support/sending.ts';

const OWNER = 41;
const BACKLOG = 20_000;
const TAKEN = 50;

/** Far fewer than wait, and enough for a few looks at each row that is taken. */
const FEW = 1_000;

let test: TestDatabase;
/** As a sender's, but with one connection: its plans are those that the test looks at. */
let sender: Database;
let account: QueuedAccount;

beforeEach(async () => {
  test = await createTestDatabase();
  sender = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  account = await insertAccount(test.database);
  await test.database.pool.query(
    `insert into processes (id, role, host, pid) overriding system value values ($1, 'sender', 'x', 1)`,
    [OWNER],
  );
});
afterEach(async () => {
  await sender.close();
  await test.drop();
});

function claim() {
  const backlog = { channel: 'email', class: 0, accountId: account.accountId, waitMs: 0 } as const;
  return claimBacklog(sender.pool, backlog, OWNER, TAKEN, TEST_TIERS);
}

function intend(seq: number, claims: Claim[]) {
  return intendWindow(sender.pool, { owner: OWNER, seq, provider: 'smtp', claims });
}

function record(seq: number, messages: WindowMessage[]) {
  const settlements = messages.map((message, index) =>
    settleOutcome(
      message,
      'smtp',
      index % 2
        ? { kind: 'accepted', providerMessageId: null, response: '250 ok', delivered: false }
        : { kind: 'deferred', response: '451 later' },
    ),
  );
  return recordWindows(sender.pool, [{ owner: OWNER, seq, settlements }]);
}

it('a queue that was empty when its plans were made is claimed, recorded and given back by keys', async () => {
  await queueEmails(test.database, account, 2);
  await record(1, await intend(1, await claim()));
  await forgetRows(test.database, 'send_queue');
  // New connections, new plans.
  await sender.close();
  sender = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  await record(2, await intend(2, await claim()));
  await queueEmails(test.database, account, BACKLOG);

  const entriesRead = entriesReadOf('send_queue', sender, test.database);
  let claims: Claim[] = [];
  expect(await entriesRead(async () => (claims = await claim()))).toBeLessThan(FEW);
  expect(claims).toHaveLength(TAKEN);
  const messages = await intend(3, claims);
  expect(await entriesRead(() => record(3, messages))).toBeLessThan(FEW);
  const more = await claim();
  expect(await entriesRead(() => releaseClaims(sender.pool, OWNER, more))).toBeLessThan(FEW);
  await claim();
  expect(await entriesRead(() => settleDeadSender(sender.pool, OWNER))).toBeLessThan(FEW);
  const { rows } = await test.database.pool.query('select count(*) from send_queue where owner is null');
  expect(rows).toEqual([{ count: BACKLOG - TAKEN / 2 }]);
}, 60_000);
