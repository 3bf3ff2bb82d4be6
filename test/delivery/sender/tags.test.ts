// The provider receives the client's tags with the ids of the account, brand and message.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EmailProvider, OutgoingMail } from '../../../src/delivery/wire/adapters/port.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails } from '../../support/queued.ts';
import { startTestSender, type TestSender } from '../../support/sending.ts';

/** Returns a provider that accepts every email and stores it in `given`. */
function keepingProvider(given: OutgoingMail[]): EmailProvider {
  return {
    name: 'keeping',
    concurrency: 1,
    handOver(window) {
      given.push(...window);
      return Promise.resolve(
        window.map(() => ({ kind: 'accepted', providerMessageId: null, response: 'ok', delivered: false })),
      );
    },
    close: () => Promise.resolve(),
  };
}

let test: TestDatabase;
let sender: TestSender;
const given: OutgoingMail[] = [];
beforeAll(async () => {
  test = await createTestDatabase();
  const settings = {
    mailDomain: 'mail.test',
    returnPathKey: Buffer.alloc(32, 1),
    referenceKey: Buffer.alloc(32, 2),
    signersFor: () => [],
  };
  sender = await startTestSender({
    url: test.url,
    port: 0,
    channel: createEmailChannel(keepingProvider(given), settings),
  });
});
afterAll(async () => {
  await sender.stop();
  await test.drop();
});

it('passes the client’s tags to the provider, with the ids of account, brand and message', async () => {
  sender.sender.setMode('paused');
  const account = await insertAccount(test.database);
  const [tagged, untagged] = await queueEmails(test.database, account, 2);
  await test.database.pool.query('update messages set tags = $2 where id = $1', [tagged, { order: '1042' }]);
  sender.sender.setMode('running');
  await eventually(() => expect(given).toHaveLength(2));
  const system = { account_id: String(account.accountId), brand_id: String(account.brandId) };
  const tagsOf = (id: number | undefined) => given.find((email) => email.messageId === id)?.tags;
  expect(tagsOf(tagged)).toEqual({ ...system, message_id: String(tagged), order: '1042' });
  expect(tagsOf(untagged)).toEqual({ ...system, message_id: String(untagged) });
});
