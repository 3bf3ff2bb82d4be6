// A report that was not understood is an automatic mail that says nothing about a contact.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MailClaims } from '../../../../src/features/inbox/arrival/accepted-mails.ts';
import { StrangerLimits } from '../../../../src/features/inbox/arrival/strangers.ts';
import { writeMails, type WriteDeps } from '../../../../src/features/inbox/arrival/write.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { arrivalDeps, insertAcceptedMail, readMail, writeEmail } from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let test: TestDatabase;
let owner: QueuedAccount;
let deps: WriteDeps;
let inboxId: number;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await insertAccount(test.database);
  inboxId = await insertInbox(test.database, owner, 'support@acme.test');
  const limits = new StrangerLimits({ pool: pool(), keyring: testKeyring, quotaBytes: 1024 ** 3 });
  const strangers = await limits.judging([], (judge) => Promise.resolve(judge));
  deps = { ...arrivalDeps(), hasScanner: false, strangers };
});
afterAll(() => test.drop());

const pool = () => test.database.pool;

/** Accepts, claims and writes an authenticated mail of the contact that a person seems to have written. */
async function receive(from: string, reportClaims: number | null): Promise<Record<string, unknown>> {
  const message = await writeEmail(test.database, owner);
  const changes = { answers_message_id: message, report_claims: reportClaims };
  await insertAcceptedMail(test.database, owner, inboxId, changes);
  const [claimed] = await new MailClaims().claim(pool(), 1);
  if (!claimed) throw new Error('the mail was not claimed');
  const read = readMail({ from, senderKey: from });
  expect(await inTransaction(pool(), (trx) => writeMails(trx, deps, [{ claimed, read }]))).toMatchObject({
    arrived: 1,
  });
  const { rows } = await pool().query<Record<string, unknown>>(
    `select c.contact_id, m.auto_submitted, m.message_id = $1 as answers,
       (select count(*) from contact_events e join contacts t on t.id = e.contact_id where t.email = $2) as events,
       (select count(*) from contact_activity a join contacts t on t.id = a.contact_id
         where t.email = $2 and a.last_interacted_at is not null) as interactions
     from conversation_messages m join conversations c on c.id = m.conversation_id order by m.id desc limit 1`,
    [message, from],
  );
  return rows[0] ?? {};
}

it('adds no event and no interaction to the contact from whom it seems to come, unlike a mail', async () => {
  const [contactId] = await insertContacts(pool(), owner, 1, 'reporter');
  const { rows } = await pool().query<{ email: string }>('select email from contacts where id = $1', [
    contactId,
  ]);
  const from = rows[0]?.email ?? '';
  const report = { contact_id: null, auto_submitted: true, answers: true, events: 0, interactions: 0 };
  expect(await receive(from, 0)).toEqual(report);
  const mail = { contact_id: contactId, auto_submitted: false, answers: true, events: 1, interactions: 1 };
  expect(await receive(from, null)).toMatchObject(mail);
});
