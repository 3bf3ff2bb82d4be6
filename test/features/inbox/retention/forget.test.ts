// Deleting a contact deletes its conversations and its mail in quarantine, with all files, and leaves those of others.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pino from 'pino';
import { clearPage } from '../../../../src/features/contacts/removal-work.ts';
import { forgetContactInInbox } from '../../../../src/features/inbox/retention/forget.ts';
import { removeFiles } from '../../../../src/features/inbox/retention/remove-files.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertConversation, insertConversationMessage } from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, insertMailToScan, type TestStore } from '../../../support/mail-scans.ts';

const log = pino({ level: 'silent' });

let api: TestApi;
let files: TestStore;
let inboxId: number;
let otherInboxId: number;
let contacts = 0;

beforeAll(async () => {
  [api, files] = await Promise.all([startTestApi(), createTestStore()]);
  inboxId = await insertInbox(api.database, api, 'support@forgotten.test');
  otherInboxId = await insertInbox(api.database, api.other, 'support@other.test');
});
afterAll(async () => {
  await Promise.all([api.close(), files.remove()]);
});
beforeEach(async () => {
  await query('delete from inbox_removed_files');
});

async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await api.database.pool.query<Row>(text, values)).rows;
}

async function addContact(email = `ada${(contacts += 1)}@example.com`) {
  const { body } = await api.request('POST', '/v1/my/contacts', { body: { email } });
  return { id: Number(body.id), email };
}

/** Deletes a contact, and does the worker's work. */
async function erase(id: number): Promise<void> {
  expect((await api.request('DELETE', `/v1/my/contacts/${id}`)).status).toBe(200);
  while (await clearPage(api.database.pool, { asOf: new Date(), further: [forgetContactInInbox], log }));
}

/** Inserts a conversation with a mail that has files. */
async function converse(columns: Record<string, unknown>, owner: typeof api.other = api, inbox = inboxId) {
  const conversationId = await insertConversation(api, owner, { inbox_id: inbox, ...columns });
  const { id } = await insertMailToScan(api.database, files.store, owner, {
    inboxId: inbox,
    attachments: ['four'],
  });
  await query(
    'update conversation_messages set conversation_id = $2, arrived_at = now(), engine_expected_by = null where id = $1',
    [id, conversationId],
  );
  return conversationId;
}

/** Inserts a mail that has not arrived. */
async function insertWaiting(sender: string, columns: { quarantine?: object; receivedAt?: Date }) {
  const mail = { inboxId, attachments: ['four'], ...columns };
  const { id } = await insertMailToScan(api.database, files.store, api, mail);
  await query('update conversation_messages set sender_key = $2 where id = $1', [id, sender]);
  if (columns.quarantine)
    await query('update conversation_messages set engine_expected_by = null where id = $1', [id]);
  return id;
}

const exist = async (table: string, ids: number[]) => {
  const found = await query<{ id: number }>(`select id from ${table} where id = any($1)`, [ids]);
  return ids.map((id) => found.some((row) => row.id === id));
};

it('deletes the conversations linked to it and those with its address', async () => {
  const { id, email } = await addContact();
  const linked = await converse({ contact_id: id, participants: ['former@example.org'] });
  const withAddress = await converse({ participants: ['x@example.org', email] });
  const others = [
    await converse({ participants: [`x${email}`] }),
    await converse({ participants: [email] }, api.other, otherInboxId),
  ];
  await query(
    `insert into inbox_storage as s (account_id, bytes) values ($1, 1000)
     on conflict (account_id) do update set bytes = 1000`,
    [api.accountId],
  );
  await erase(id);
  expect(await exist('conversations', [linked, withAddress, ...others])).toEqual([false, false, true, true]);
  const keys = (await query<{ key: string }>('select key from inbox_removed_files')).map(({ key }) => key);
  expect(keys).toHaveLength(4);
  await removeFiles({ pool: api.database.pool, store: files.store });
  for (const key of keys) expect(await files.store.open(key)).toBeNull();
  const [{ bytes } = { bytes: 0 }] = await query<{ bytes: number }>(
    'select bytes from inbox_storage where account_id = $1',
    [api.accountId],
  );
  expect(bytes).toBe(1_000 - 2 * ('the mail'.length + 'four'.length));
});

it('deletes its mail in quarantine and mail that is being scanned', async () => {
  const { id, email } = await addContact();
  const quarantine = { reason: 'spam', detail: null, at: 'then', released_at: null };
  const mails = [
    await insertWaiting(email, { quarantine }),
    await insertWaiting(email, {}),
    await insertWaiting('someone@example.org', { quarantine }),
    await insertWaiting(email, { quarantine, receivedAt: new Date(Date.now() + 3_600_000) }),
  ];
  await erase(id);
  expect(await exist('conversation_messages', mails)).toEqual([false, false, true, true]);
});

it('keeps what begins after the contact was deleted', async () => {
  const { id, email } = await addContact();
  expect((await api.request('DELETE', `/v1/my/contacts/${id}`)).status).toBe(200);
  const later = await converse({ participants: [email], created_at: new Date(Date.now() + 3_600_000) });
  while (await clearPage(api.database.pool, { asOf: new Date(), further: [forgetContactInInbox], log }));
  expect(await exist('conversations', [later])).toEqual([true]);
});

it('keeps the conversations of a contact to whom the address belongs now', async () => {
  const { id, email } = await addContact();
  await api.request('PATCH', `/v1/my/contacts/${id}`, { body: { email: `new-${email}` } });
  const successor = await addContact(email);
  const conversation = await converse({ contact_id: successor.id, participants: [email] });
  await erase(id);
  expect(await exist('conversations', [conversation])).toEqual([true]);
});

it('deletes a long conversation page by page', async () => {
  const { id } = await addContact();
  const conversationId = await converse({ contact_id: id });
  for (let index = 0; index < 450; index += 1)
    await insertConversationMessage(api, api, { inbox_id: inboxId, conversation_id: conversationId });
  await erase(id);
  expect(await exist('conversations', [conversationId])).toEqual([false]);
  expect(
    await query('select 1 from conversation_messages where conversation_id = $1', [conversationId]),
  ).toEqual([]);
});
