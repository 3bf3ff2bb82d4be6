// A claim that is recalled writes no intent, even if the statement of the intent began before.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelTransactional, markForRecall } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { runBehindLock } from '../../../support/lock-order.ts';
import { insertAccount, insertSender, queueEmails } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 71;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());

const recipients = ['a', 'b'].map((name) => ({ kind: 'to' as const, address: `${name}@example.com` }));

it.each([
  ['email', queueEmails],
  ['email_whole', (database, of) => queueLetter(database, of, { recipients })],
] as const satisfies [string, typeof queueEmails][])(
  'writes no intent in the queue %s',
  async (queue, write) => {
    const { pool } = test.database;
    const of = await insertAccount(test.database);
    const ids = await write(test.database, of, 2);
    const wanted = {
      channel: 'email',
      queue,
      class: messageClasses.transactional,
      ...of,
      owner: OWNER,
      quantum: 9,
    } as const;
    const claims = await claimBacklog(pool, wanted, TEST_LIMITS);
    await markForRecall(pool, of.accountId);
    const found: unknown[] = [];
    // The statement of an intent sees the queue as it was when it began, and then waits for the row of its process.
    await runBehindLock(pool, { lock: 'select from processes where id = $1 for update', values: [OWNER] }, [
      async () =>
        found.push(
          await intendMessages(pool, {
            owner: OWNER,
            seq: 1,
            provider: 'smtp',
            keyring: testKeyring,
            claims,
          }),
        ),
      async () => {
        const cancel = { reason: 'canceled by a request', recall: true };
        found.push(
          await inTransaction(pool, (trx) => cancelTransactional(trx, of.accountId, ids.slice(1), cancel)),
        );
      },
    ]);
    expect(found).toEqual([
      new Map([[ids[1], 'canceled']]),
      [expect.objectContaining({ messageId: ids[0], verdict: 'send' })],
    ]);
    const { rows } = await pool.query('delete from handovers returning message_ids');
    expect(rows).toEqual([{ message_ids: [ids[0]] }]);
  },
);
