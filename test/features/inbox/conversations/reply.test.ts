// An answer leaves from the inbox's address, once for each key, to whom it should, with the headers of the thread.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageReference } from '../../../../src/delivery/terms/addresses/reference.ts';
import { startTestApi, type TestApi, type TestRequest } from '../../../support/api.ts';
import {
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../../support/conversations.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let api: TestApi;
let domainId: number;
beforeAll(async () => {
  api = await startTestApi();
  domainId = await insertVerifiedDomain(api.database, api, 'inbox.test');
});
afterAll(() => api.close());

let inboxes = 0;
let inbox_id: number;
let address: string;
let conversation: number;
beforeEach(async () => {
  inboxes += 1;
  address = `support${inboxes}@inbox.test`;
  inbox_id = await insertInbox(api.database, api, address);
  conversation = await insertConversation(api, api, { inbox_id });
});

const query = (text: string, values: unknown[] = []) =>
  api.database.pool.query<Record<string, unknown>>(text, values);

const mail = (columns: Record<string, unknown> = {}) =>
  insertConversationMessage(api, api, { inbox_id, conversation_id: conversation, ...columns });

const reply = (body: unknown, options: TestRequest = {}) =>
  api.request('POST', `/v1/my/conversations/${conversation}/reply`, { body, ...options });

const sentMessage = async (id: unknown) => (await api.request('GET', `/v1/my/messages/${Number(id)}`)).body;

async function insertContact(email: string): Promise<number> {
  const { body } = await api.request('POST', '/v1/my/contacts', { body: { email } });
  return Number(body.id);
}

describe('an answer', () => {
  it('is shown as one without a thread, as is its copy, even once the conversation is deleted', async () => {
    await mail({ internet_id: null });
    const { body } = await reply({ text: 'Hello' });
    const first = Number(body.message_id);
    expect(await sentMessage(first)).toMatchObject({ headers: {}, answers_mail: true });
    const copy = await api.request('POST', `/v1/my/messages/${first}/resend`);
    expect([copy.status, copy.body]).toMatchObject([201, { subject: 'Re: Question', answers_mail: true }]);
    expect((await api.request('DELETE', `/v1/my/conversations/${conversation}`)).status).toBe(200);
    for (const id of [first, copy.body.id])
      expect(await sentMessage(id)).toMatchObject({ answers_mail: true });
  });

  it('is a message from the address of the inbox to the last sender, as part of the thread', async () => {
    await query('update inboxes set name = $2 where id = $1', [inbox_id, 'Acme Support']);
    await mail({ internet_id: 'two@example.com', reference_ids: ['one@example.com', 'zero@example.com'] });
    const { status, body } = await reply({ text: 'Hello', html: '<p onclick="x">Hello</p>' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      conversation_id: conversation,
      direction: 'outbound',
      status: 'queued',
      from: `"Acme Support" <${address}>`,
      to: ['Ada <ada@example.com>'],
      subject: 'Re: Question',
      text: 'Hello',
      html: '<p>Hello</p>',
      authentication: null,
      attachments: [],
    });
    expect(await sentMessage(body.message_id)).toMatchObject({
      status: 'queued',
      from: `"Acme Support" <${address}>`,
      reply_to: address,
      to: 'Ada <ada@example.com>',
      subject: 'Re: Question',
      html: '<p onclick="x">Hello</p>',
      headers: {
        'In-Reply-To': '<two@example.com>',
        References: '<zero@example.com> <one@example.com> <two@example.com>',
      },
      tags: {},
      tracking: { opens: false, clicks: false },
    });
    const { rows } = await query('select domain_id, class from send_queue where message_id = $1', [
      body.message_id,
    ]);
    expect(rows).toEqual([{ domain_id: domainId, class: 0 }]);
  });

  it('moves the conversation, and appears in its messages', async () => {
    await query(
      `update conversations set last_message_at = '2026-01-01', participants = '{}' where id = $1`,
      [conversation],
    );
    await mail();
    const { body } = await reply({ text: 'Hello' });
    const path = `/v1/my/conversations/${conversation}`;
    expect((await api.request('GET', path)).body.last_message_at).not.toMatch(/^2026-01-01/);
    const { list } = await api.request('GET', `${path}/messages`);
    expect(list[0]).toEqual(body);
    const { rows } = await query('select participants from conversations where id = $1', [conversation]);
    expect(rows).toEqual([{ participants: ['ada@example.com'] }]);
  });

  it('is answered in the same conversation', async () => {
    await mail();
    const { body } = await reply({ text: 'Hello' });
    const answered = { accountId: api.accountId, messageId: Number(body.message_id) };
    const reference = messageReference(testKeyring.subkey('reference').key, answered);
    const next = await insertQuarantined(api, api, {
      inbox_id,
      sender_trusted: false,
      internet_id: 'next@example.com',
      reference_ids: [`${reference}@mail.test`],
    });
    const released = await api.request('POST', `/v1/my/inbox_quarantine/${next}/release`);
    expect(released.body).toMatchObject({ conversation_id: conversation, message_id: body.message_id });
  });

  it('goes to the contact of the conversation rather than to the last sender', async () => {
    const contact_id = await insertContact('grace@example.com');
    await query('update conversations set contact_id = $2 where id = $1', [conversation, contact_id]);
    await mail({ reply_to: 'evil@example.net' });
    expect((await reply({ text: 'Hello' })).body.to).toEqual(['grace@example.com']);
  });

  it('goes to the Reply-To of the mail only if the client names it', async () => {
    await mail({ reply_to: 'Desk <desk@example.net>' });
    expect((await reply({ text: 'Hello' })).body.to).toEqual(['Ada <ada@example.com>']);
    expect((await reply({ text: 'Hello', to: 'desk@example.net' })).body.to).toEqual(['desk@example.net']);
    const { status, body } = await reply({ text: 'Hello', to: 'stranger@example.net' });
    expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, ['to']]);
  });

  it('goes to any address of the thread that the client names, but not to the inbox itself', async () => {
    await mail({
      reply_to: 'Desk <desk@example.net>, "Doe, John" <john@example.net>',
      to_addresses: [address, 'Bob <bob@example.net>'],
      cc_addresses: ['"Roe, Ann" <Ann.Roe@example.net>'],
    });
    await mail({ from_address: 'Carl <carl@example.net>', sender_key: 'carl@example.net' });
    for (const to of ['john@example.net', 'bob@example.net', 'ANN.ROE@example.net', 'ada@example.com'])
      expect((await reply({ text: 'Hello', to })).body.to).toEqual([to]);
    const { status, body } = await reply({ text: 'Hello', to: address });
    expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, ['to']]);
  });

  it('is written once for each key', async () => {
    await mail();
    const options = { headers: { 'Idempotency-Key': `key-${conversation}` } };
    const [one, other] = await Promise.all([
      reply({ text: 'Hello' }, options),
      reply({ text: 'Hello' }, options),
    ]);
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(other.body).toEqual(one.body);
    const { rows } = await query(
      `select count(*) from conversation_messages where conversation_id = $1 and direction = 'outbound'`,
      [conversation],
    );
    expect(rows).toEqual([{ count: 1 }]);
    expect((await reply({ text: 'Other' }, options)).body.code).toBe('idempotency_conflict');
  });

  it('is given by a member, but not with a test key', async () => {
    await mail();
    const { userJwt } = await api.addUser('member');
    expect((await reply({ text: 'Hello' }, { token: userJwt })).status).toBe(201);
    expect((await reply({ text: 'Hello' }, { token: api.testApiKey })).body.code).toBe('test_key');
  });

  it('keeps the subject of an answer, and takes another one', async () => {
    await query(`update conversations set subject = 'RE: Question' where id = $1`, [conversation]);
    await mail();
    expect((await reply({ text: 'Hello' })).body.subject).toBe('RE: Question');
    expect((await reply({ text: 'Hello', subject: 'News' })).body.subject).toBe('News');
    await query('update conversations set subject = null where id = $1', [conversation]);
    expect((await reply({ text: 'Hello' })).body.subject).toBe('Re: (no subject)');
  });
});

describe('an answer is refused', () => {
  it('without any text', async () => {
    await mail();
    expect((await reply({ text: ' ', html: '' })).body.validation_errors).toEqual({
      text: ['is required unless html is given'],
    });
  });

  it('if the address of the inbox is no verified sender', async () => {
    const other = await insertInbox(api.database, api, `support${inboxes}@unproved.test`);
    conversation = await insertConversation(api, api, { inbox_id: other });
    const { status, body } = await reply({ text: 'Hello' });
    expect([status, body.code]).toEqual([422, 'sender_not_verified']);
  });

  it('if the inbox was removed', async () => {
    await query('update inboxes set removed_at = now() where id = $1', [inbox_id]);
    const { status, body } = await reply({ text: 'Hello' });
    expect([status, body.code]).toEqual([422, 'invalid_transition']);
  });

  it('if the last mail has no sender, unless the client names a participant', async () => {
    await mail({ from_address: '', sender_key: null });
    expect((await reply({ text: 'Hello' })).body.validation_errors?.to).toBeDefined();
    expect((await reply({ text: 'Hello', to: 'Ada@Example.com' })).status).toBe(201);
  });

  it('if the account cannot pay for it, and then nothing is written', async () => {
    await mail();
    await query(
      `insert into prices (tier, kind, country, millicents)
      select tier, 'email', null, 100 from accounts where id = $1`,
      [api.accountId],
    );
    await query('update accounts set monthly_email_allowance = 0 where id = $1', [api.accountId]);
    try {
      const { status, body } = await reply({ text: 'Hello' });
      expect([status, body.code]).toEqual([422, 'insufficient_funds']);
    } finally {
      await query(`delete from prices where kind = 'email'`);
    }
    const { rows } = await query('select 1 from conversation_messages where conversation_id = $1', [
      conversation,
    ]);
    expect(rows).toHaveLength(1);
  });
});
