// Conversations can be listed, searched, assigned, closed, marked and read, by members too, and only within the brand.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import {
  AUTHENTICATION,
  insertAttachment,
  insertConversation,
  insertConversationMessage,
} from '../../../support/conversations.ts';
import { insertInbox } from '../../../support/inboxes.ts';

const PATH = '/v1/my/conversations';

let api: TestApi;
let inbox: number;
beforeAll(async () => {
  api = await startTestApi();
  inbox = await newInbox();
});
afterAll(() => api.close());

let inboxes = 0;
function newInbox(): Promise<number> {
  inboxes += 1;
  return insertInbox(api.database, api, `support${inboxes}@inbox.test`);
}

const conversation = (columns: Record<string, unknown> = {}) =>
  insertConversation(api, api, { inbox_id: inbox, ...columns });

const message = (conversationId: number, columns: Record<string, unknown> = {}) =>
  insertConversationMessage(api, api, { inbox_id: inbox, conversation_id: conversationId, ...columns });

async function idsOf(query: string): Promise<unknown[]> {
  const { status, list } = await api.request('GET', `${PATH}?${query}`);
  expect(status).toBe(200);
  return list.map(({ id }) => id);
}

describe('GET /conversations', () => {
  it('lists the conversation with the newest message first, with page links', async () => {
    const own = await newInbox();
    const at = (day: number) => new Date(Date.UTC(2026, 0, day));
    const older = await conversation({ inbox_id: own, last_message_at: at(1) });
    const newest = await conversation({ inbox_id: own, last_message_at: at(3) });
    const newer = await conversation({ inbox_id: own, last_message_at: at(2) });
    expect(await idsOf(`inbox_id=${own}`)).toEqual([newest, newer, older]);
    const { headers, list } = await api.request('GET', `${PATH}?inbox_id=${own}&limit=2`);
    expect(list).toHaveLength(2);
    expect(headers.get('link')).toContain('page=2>; rel="next"');
    expect(await idsOf(`inbox_id=${own}&limit=2&page=2`)).toEqual([older]);
  });

  it('filters by contact, status, assignee and unread', async () => {
    const own = await newInbox();
    const one = await conversation({ inbox_id: own, contact_id: 4711, unread_count: 2 });
    const two = await conversation({ inbox_id: own, status: 'closed', assignee_id: api.userId });
    const within = `inbox_id=${own}&`;
    expect(await idsOf(`${within}contact_id=4711`)).toEqual([one]);
    expect(await idsOf(`${within}status=closed`)).toEqual([two]);
    expect(await idsOf(`${within}status=open`)).toEqual([one]);
    expect(await idsOf(`${within}assignee_id=${api.userId}`)).toEqual([two]);
    expect(await idsOf(`${within}unread=true`)).toEqual([one]);
    expect(await idsOf(`${within}unread=false`)).toEqual([two]);
  });

  it('searches in subjects, and for the beginnings of participants’ addresses', async () => {
    const own = await newInbox();
    const one = await conversation({ inbox_id: own, subject: 'Where is my ORDER 100%?' });
    const two = await conversation({ inbox_id: own, subject: null, participants: ['Grace@example.org'] });
    const search = (text: string) => idsOf(`inbox_id=${own}&search=${encodeURIComponent(text)}`);
    expect(await search('my order')).toEqual([one]);
    expect(await search('100%')).toEqual([one]);
    expect(await search('gra')).toEqual([two]);
    expect(await search('example.org')).toEqual([]);
    expect(await search('o%d')).toEqual([]);
    expect((await api.request('GET', `${PATH}?search=a%00b`)).status).toBe(422);
    expect((await api.request('GET', `${PATH}?search=x`)).status).toBe(422);
  });
});

describe('a conversation', () => {
  it('is shown with all of its fields', async () => {
    const id = await conversation({ subject: null, linked_conversation_id: 12 });
    const { status, body } = await api.request('GET', `${PATH}/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      inbox_id: inbox,
      contact_id: null,
      subject: null,
      status: 'open',
      assignee_id: null,
      unread_count: 0,
      linked_conversation_id: 12,
      last_message_at: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
  });

  it('is closed and assigned by a member', async () => {
    const id = await conversation();
    const member = await api.addUser('member');
    const body = { status: 'closed', assignee_id: member.userId };
    const changed = await api.request('PATCH', `${PATH}/${id}`, { body, token: member.userJwt });
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining(body)]);
    const freed = await api.request('PATCH', `${PATH}/${id}`, { body: { assignee_id: null } });
    expect(freed.body).toMatchObject({ status: 'closed', assignee_id: null });
  });

  it('is not assigned to a user of another account', async () => {
    const id = await conversation();
    const body = { assignee_id: api.other.userId };
    const { status, body: answer } = await api.request('PATCH', `${PATH}/${id}`, { body });
    expect([status, answer.validation_errors]).toEqual([
      422,
      { assignee_id: ['is not a user of the account'] },
    ]);
  });

  it('is marked as read and unread', async () => {
    const id = await conversation({ unread_count: 3 });
    const mark = async (name: string) => (await api.request('POST', `${PATH}/${id}/${name}`)).body;
    expect(await mark('read')).toMatchObject({ id, unread_count: 0 });
    expect(await mark('unread')).toMatchObject({ id, unread_count: 1 });
  });

  it('is refused to test keys', async () => {
    const id = await conversation();
    const { status, body } = await api.request('GET', `${PATH}/${id}`, { token: api.testApiKey });
    expect([status, body.code]).toEqual([403, 'test_key']);
  });
});

describe('the messages of a conversation', () => {
  it('have harmless HTML, what authentication found, and attachments', async () => {
    const id = await conversation();
    const html = '<p onclick="x()">Hi</p><script>x()</script><img src="cid:logo"><img src="cid:bad">';
    const messageId = await message(id, {
      html,
      cc_addresses: ['c@example.com'],
      reply_to: 'Desk <desk@example.com>',
      date_header: new Date('2026-03-10T09:40:10Z'),
    });
    const image = { conversation_message_id: messageId, content_type: 'image/png', filename: 'logo.png' };
    const clean = await insertAttachment(api, api, { ...image, content_id: 'logo' });
    const infected = await insertAttachment(api, api, {
      ...image,
      content_id: 'bad',
      storage_key: null,
      scan_status: 'infected',
      scan_reason: 'Eicar',
    });
    const { status, body } = await api.request('GET', `${PATH}/${id}/messages/${messageId}`);
    expect(status).toBe(200);
    const attachment = { filename: 'logo.png', content_type: 'image/png', size: 10 };
    expect(body).toEqual({
      id: messageId,
      conversation_id: id,
      inbox_id: inbox,
      direction: 'inbound',
      message_id: null,
      status: null,
      from: 'Ada <ada@example.com>',
      to: ['support@inbox.test'],
      cc: ['c@example.com'],
      reply_to: 'Desk <desk@example.com>',
      date: '2026-03-10T09:40:10.000Z',
      message_id_header: 'one@example.com',
      raw_available: false,
      subject: 'Question',
      text: 'Hello',
      html: `<p>Hi</p><img src="${PATH}/${id}/messages/${messageId}/attachments/${clean}" />`,
      truncated: false,
      auto_submitted: false,
      authentication: AUTHENTICATION,
      quarantine: null,
      attachments: [
        { id: clean, ...attachment, scanned: true, scan: { status: 'clean', reason: null } },
        { id: infected, ...attachment, scanned: false, scan: { status: 'infected', reason: 'Eicar' } },
      ],
      received_at: expect.any(String),
      repeated_count: 0,
      last_repeated_at: null,
    });
  });

  it('are listed newest first', async () => {
    const id = await conversation();
    const first = await message(id);
    const second = await message(id);
    await message(await conversation());
    const { list, headers } = await api.request('GET', `${PATH}/${id}/messages`);
    expect(list.map((each) => each.id)).toEqual([second, first]);
    expect(headers.get('x-total-count')).toBe('2');
  });

  it('show the content and status of the message that sends an outbound one', async () => {
    const id = await conversation();
    const { rows } = await api.database.pool.query<{ id: number }>(
      `with m as (
         insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject)
         values ($1, $2, 'email', 'delivered', 'ada@example.com', 'ada@example.com', 'Re') returning id)
       insert into message_contents (message_id, html, text) select id, '<b onclick=x>Yes</b>', 'Yes' from m
       returning message_id as id`,
      [api.accountId, api.brandId],
    );
    const outbound = { direction: 'outbound', message_id: rows[0]?.id, text: null, authentication: null };
    const messageId = await message(id, outbound);
    const { body } = await api.request('GET', `${PATH}/${id}/messages/${messageId}`);
    const shown = { status: 'delivered', text: 'Yes', html: '<b>Yes</b>', authentication: null };
    expect(body).toMatchObject(shown);
  });

  it('do not belong to another conversation', async () => {
    const [one, other] = [await conversation(), await conversation()];
    const messageId = await message(one);
    expect((await api.request('GET', `${PATH}/${other}/messages/${messageId}`)).status).toBe(404);
  });
});
