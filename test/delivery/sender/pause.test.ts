// A pause takes effect within seconds, and no intent follows it, however many intents overlap.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../src/delivery/ledger/intend/batch.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../src/delivery/ledger/ownership/claims.ts';
import { pauseSending } from '../../../src/features/accounts/service.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 90;
const STREAMS = 4;
const MESSAGES = 1_000;
/** How long each intent's transaction stays open. */
const INTENT_MS = 40;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let claims: Claim[];

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: STREAMS, keyedPlans: true });
  await insertSender(database, OWNER);
  account = await insertAccount(database);
  await queueEmails(database, account, MESSAGES);
  claims = await claimBacklog(
    database.pool,
    {
      channel: 'email',
      class: messageClasses.transactional,
      accountId: account.accountId,
      owner: OWNER,
      quantum: MESSAGES,
    },
    TEST_LIMITS,
  );
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

async function countIntents(): Promise<number> {
  const { rows } = await test.database.pool.query<{ count: number }>('select count(*) from handovers');
  return rows[0]?.count ?? 0;
}

it('pauses an account within seconds, however many intents overlap, and lets no further intent follow', async () => {
  let seq = 0;
  let answered = false;
  const verdicts: BatchMessage['verdict'][] = [];
  const intend = async (claim: Claim) => {
    const [message] = await inTransaction(database.pool, async (client) => {
      const batch = { owner: OWNER, seq: ++seq, provider: 'smtp', keyring: testKeyring, claims: [claim] };
      const messages = await intendMessages(client, batch);
      await sleep(INTENT_MS);
      return messages;
    });
    if (message) verdicts.push(message.verdict);
  };
  // The transactions of the streams begin at different times, so that one is always under way.
  const streams = Array.from({ length: STREAMS }, async (_, n) => {
    await sleep((n * INTENT_MS) / STREAMS);
    let afterwards = 5;
    for (;;) {
      const claim = claims.pop();
      if (!claim || (answered && afterwards-- === 0)) return;
      await intend(claim);
    }
  });
  await sleep(10 * INTENT_MS);
  await pauseSending(test.database.pool, account.accountId, 'too many complaints');
  const left = claims.length;
  const intents = await countIntents();
  answered = true;
  await Promise.all(streams);
  expect(await countIntents()).toBe(intents);
  expect(new Set(verdicts.slice(-STREAMS))).toEqual(new Set(['account_paused']));
  expect(left).toBeGreaterThan(MESSAGES / 2);
});
