// A complaint known by a Message-ID alone is about the copy of the recipient that it names, or about none.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  factsOfCopies,
  type ReferencedFact,
} from '../../../../src/delivery/wire/inbound/letter-complaints.ts';
import { reportFacts } from '../../../../src/delivery/wire/inbound/report-facts.ts';
import { messageReference } from '../../../../src/delivery/terms/addresses/reference.ts';
import { returnPathAddress } from '../../../../src/delivery/terms/addresses/return-path.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testMailKeys } from '../../../support/inbound.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../../../support/queued.ts';

let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());

/** The facts of a feedback report that names a message, as they are recorded. */
async function complained(messageId: number, recipient: string | null, returnPathOf?: number) {
  const message = { accountId: account.accountId, messageId };
  const references = [messageReference(testMailKeys.references[0] as Buffer, message)];
  if (returnPathOf !== undefined) {
    const returned = { accountId: account.accountId, messageId: returnPathOf };
    references.push(
      ...returnPathAddress(testMailKeys.returnPaths[0] as Buffer, returned, 'mail.test').split('@', 1),
    );
  }
  const report = { kind: 'complaint' as const, references, recipient };
  const facts = reportFacts(report, [{ kind: 'mailbox', name: 'fbl' }], testMailKeys, new Date());
  expect(facts).toHaveLength(1);
  return (await factsOfCopies(test.database.pool, facts)).map((fact) => fact.messageId);
}

it('is about the copy whose recipient complains', async () => {
  const [lead = 0, cc = 0, bcc = 0] = await queueLetter(test.database, account, {
    recipients: [
      { kind: 'to', address: 'ada@example.com' },
      { kind: 'cc', address: 'bob@example.com' },
      { kind: 'bcc', address: 'dan@example.com' },
    ],
  });
  expect(await complained(lead, 'BOB@example.com')).toEqual([cc]);
  expect(await complained(lead, 'dan@example.com')).toEqual([bcc]);
  expect(await complained(lead, 'ada@example.com')).toEqual([lead]);
  // The wrong person must not be suppressed.
  expect(await complained(lead, 'eve@example.com')).toEqual([]);
  expect(await complained(lead, null)).toEqual([]);
  // Feedback loops often hide the recipient, but return the message with its return path.
  expect(await complained(lead, null, cc)).toEqual([cc]);
  expect(await complained(lead, 'redacted', cc)).toEqual([cc]);
  // The letter goes with its content, the copies stay.
  await test.database.pool.query('delete from letters where id = $1', [lead]);
  expect(await complained(lead, 'ada@example.com')).toEqual([lead]);
  expect(await complained(lead, 'BOB@example.com')).toEqual([cc]);
  expect(await complained(lead, 'eve@example.com')).toEqual([]);
  expect(await complained(lead, null)).toEqual([]);
});

it('is about the only copy or an ordinary message even if it names no recipient', async () => {
  const [only = 0] = await queueLetter(test.database, account, {
    recipients: [{ kind: 'to', address: 'ada@example.com' }],
  });
  const [plain = 0] = await queueEmails(test.database, account, 1);
  for (const id of [only, plain]) expect(await complained(id, null)).toEqual([id]);
});

it('leaves reports to return paths as they are', async () => {
  const [lead = 0] = await queueLetter(test.database, account, {
    recipients: [
      { kind: 'to', address: 'ada@example.com' },
      { kind: 'cc', address: 'bob@example.com' },
    ],
  });
  const message = { accountId: account.accountId, messageId: lead };
  const report = { kind: 'complaint' as const, references: [], recipient: 'bob@example.com' };
  const facts: ReferencedFact[] = reportFacts(
    report,
    [{ kind: 'return_path', message }],
    testMailKeys,
    new Date(),
  );
  expect((await factsOfCopies(test.database.pool, facts)).map((fact) => fact.messageId)).toEqual([lead]);
});
