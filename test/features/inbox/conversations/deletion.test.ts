// Conversations and their messages can be deleted, by those who manage the brand, and free what they stored.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeFiles } from '../../../../src/features/inbox/retention/remove-files.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertConversation } from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, insertMailToScan, type TestStore } from '../../../support/mail-scans.ts';

const PATH = '/v1/my/conversations';

let api: TestApi;
let files: TestStore;
let inbox: number;
beforeAll(async () => {
  [api, files] = await Promise.all([startTestApi(), createTestStore()]);
  inbox = await insertInbox(api.database, api, 'support@inbox.test');
});
afterAll(async () => {
  await api.close();
  await files.remove();
});

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await api.database.pool.query<Row>(text, values)).rows;

const conversation = (columns: Record<string, unknown> = {}) =>
  insertConversation(api, api, { inbox_id: inbox, subject: 'Zebra', ...columns });

/** A mail with an attachment of four bytes that has arrived in a conversation. */
async function mail(conversationId: number, receivedAt = new Date()) {
  const { id } = await insertMailToScan(api.database, files.store, api, {
    inboxId: inbox,
    attachments: ['four'],
    receivedAt,
  });
  await query(
    `update conversation_messages set conversation_id = $2, arrived_at = $3, scan_state = 'done', engine_expected_by = null
     where id = $1`,
    [id, conversationId, receivedAt],
  );
  await query(
    'update conversations set unread_count = unread_count + 1, last_message_at = $2 where id = $1',
    [conversationId, receivedAt],
  );
  await query(
    `insert into inbox_storage as s (account_id, bytes) values ($1, 12)
     on conflict (account_id) do update set bytes = s.bytes + 12`,
    [api.accountId],
  );
  return id;
}

const storedBytes = async () =>
  (
    await query<{ bytes: number }>('select bytes from inbox_storage where account_id = $1', [api.accountId])
  )[0]?.bytes ?? 0;
const keysOf = async (ids: number[]) =>
  (
    await query<{ key: string }>(
      `select raw_key as key from conversation_messages where id = any($1)
       union all select storage_key from conversation_attachments where conversation_message_id = any($1)`,
      [ids],
    )
  ).map(({ key }) => key);
async function areStored(keys: readonly string[]): Promise<boolean[]> {
  const blobs = await Promise.all(keys.map((key) => files.store.open(key)));
  for (const blob of blobs) blob?.stream.destroy();
  return blobs.map((blob) => blob !== null);
}

describe('DELETE /conversations/{id}', () => {
  it('deletes the conversation with its messages and files, frees the quota, and search no longer finds it', async () => {
    const id = await conversation({ participants: ['ada@zebra.example'] });
    const mails = [await mail(id), await mail(id)];
    const keys = await keysOf(mails);
    const before = await storedBytes();
    const search = async () =>
      (await api.request('GET', '/v1/my/search?q=ada@zebra.example')).list.filter(
        (found) => (found as { type?: unknown }).type === 'conversation',
      );
    expect(await search()).toHaveLength(1);
    const { status, body } = await api.request('DELETE', `${PATH}/${id}`);
    expect([status, body]).toEqual([200, expect.objectContaining({ id, subject: 'Zebra' })]);
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(404);
    expect(await query('select 1 from conversation_messages where id = any($1)', [mails])).toEqual([]);
    expect(await search()).toEqual([]);
    await removeFiles({ pool: api.database.pool, store: files.store });
    expect(await areStored(keys)).toEqual([false, false, false, false]);
    expect(before - (await storedBytes())).toBe(24);
    expect((await api.request('DELETE', `${PATH}/${id}`)).status).toBe(404);
  });

  it('is in the audit log, also if an API key does it', async () => {
    const id = await conversation();
    await api.request('DELETE', `${PATH}/${id}`);
    const { list } = await api.request('GET', '/v1/my/audit', { token: api.userJwt });
    expect(list[0]).toMatchObject({ action: 'deleteConversation', resource_id: String(id) });
  });

  it('is refused to members, and deletes nothing', async () => {
    const id = await conversation();
    const message = await mail(id);
    const member = await api.addUser('member');
    for (const path of [`${PATH}/${id}`, `${PATH}/${id}/messages/${message}`]) {
      const { status } = await api.request('DELETE', path, { token: member.userJwt });
      expect(status).toBe(403);
    }
    expect((await api.request('GET', `${PATH}/${id}/messages/${message}`)).status).toBe(200);
  });

  it('does not delete that of another tenant', async () => {
    const id = await conversation();
    expect((await api.request('DELETE', `${PATH}/${id}`, { token: api.other.apiKey })).status).toBe(404);
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(200);
  });
});

describe('DELETE /conversations/{id}/messages/{id}', () => {
  it('deletes one message, and corrects what the conversation says about its messages', async () => {
    const id = await conversation();
    const older = await mail(id, new Date('2026-05-01T00:00:00Z'));
    const newer = await mail(id, new Date('2026-05-02T00:00:00Z'));
    const { status, body } = await api.request('DELETE', `${PATH}/${id}/messages/${newer}`);
    expect([status, body]).toEqual([200, expect.objectContaining({ id: newer, conversation_id: id })]);
    const { list } = await api.request('GET', `${PATH}/${id}/messages`);
    expect(list.map((message) => message.id)).toEqual([older]);
    expect((await api.request('GET', `${PATH}/${id}`)).body).toMatchObject({
      unread_count: 1,
      last_message_at: '2026-05-01T00:00:00.000Z',
    });
  });

  it('deletes the conversation with its last message', async () => {
    const id = await conversation();
    const only = await mail(id);
    expect((await api.request('DELETE', `${PATH}/${id}/messages/${only}`)).status).toBe(200);
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(404);
  });

  it('finds no message of another conversation', async () => {
    const [one, two] = [await conversation(), await conversation()];
    const message = await mail(one);
    expect((await api.request('DELETE', `${PATH}/${two}/messages/${message}`)).status).toBe(404);
    expect((await api.request('GET', `${PATH}/${one}/messages/${message}`)).status).toBe(200);
  });
});
