// A reply to a letter answers the copy of the one who replies: all copies have the Message-ID of the first.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { messageReference } from '../../../../src/delivery/terms/addresses/reference.ts';
import { findAnswers } from '../../../../src/features/inbox/arrival/answered-messages.ts';
import type { ArrivingMail } from '../../../../src/features/inbox/arrival/arriving-mails.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const key = Buffer.alloc(32, 2);
let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());

it('is found by its From, or by its return path', async () => {
  const { accountId, brandId } = account;
  const [lead = 0, cc = 0, bcc = 0] = await queueLetter(test.database, account, {
    recipients: [
      { kind: 'to', address: 'ada@example.com' },
      { kind: 'cc', address: 'bob@example.com' },
      { kind: 'bcc', address: 'dan@example.com' },
    ],
  });
  const reference = `${messageReference(key, { accountId, messageId: lead })}@mail.test`;
  const cases: [sender: string | null, returnPathOf: number | null, answered: number][] = [
    ['bob@example.com', null, cc],
    ['dan@example.com', null, bcc],
    ['ada@example.com', null, lead],
    ['stranger@example.com', null, lead],
    [null, null, lead],
    ['bob@example.com', bcc, bcc],
    ['bob@example.com', lead, lead],
  ];
  const mails = cases.map(
    ([sender_key, message_id], n) =>
      ({
        ...{ id: n + 1, account_id: accountId, brand_id: brandId, message_id, sender_key },
        reference_ids: [reference],
      }) as unknown as ArrivingMail,
  );
  const find = () => findAnswers(test.database.pool, [key], mails);
  const idsIn = (answers: Awaited<ReturnType<typeof find>>) =>
    cases.map(([sender, path], n) => [sender, path, answers.get(n + 1)?.message.id]);
  const answers = await find();
  expect(idsIn(answers)).toEqual(cases);
  // Each recipient knows the Message-ID, and could write another one's address into From.
  expect(cases.map((_case, n) => answers.get(n + 1)?.genuine)).toEqual([
    ...Array<boolean>(5).fill(false),
    ...[true, true],
  ]);
  // The letter goes with its content, such as with an erased recipient, and the copies stay.
  await test.database.pool.query('delete from letters where id = $1', [lead]);
  expect(idsIn(await find())).toEqual(cases);
});

it('is genuine if the letter has one recipient, who alone knows its Message-ID', async () => {
  const { accountId, brandId } = account;
  const [only = 0] = await queueLetter(test.database, account, {
    recipients: [{ kind: 'to', address: 'ada@example.com' }],
  });
  const mail = {
    ...{ id: 1, account_id: accountId, brand_id: brandId, message_id: null, sender_key: 'ada@example.com' },
    reference_ids: [`${messageReference(key, { accountId, messageId: only })}@mail.test`],
  } as unknown as ArrivingMail;
  expect((await findAnswers(test.database.pool, [key], [mail])).get(1)).toMatchObject({
    ...{ message: { id: only }, genuine: true },
  });
});
