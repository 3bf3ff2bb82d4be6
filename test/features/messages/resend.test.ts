// A transactional message is resent as a new one after all present checks; what cannot be resent is refused and changes nothing.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { writeCampaign } from '../../support/campaigns.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const email = {
  channel: 'email',
  to: 'Ada <ada@example.com>',
  subject: 'Your receipt',
  html: '<p>Thank you</p>',
  body: 'Thank you',
  reply_to: 'help@acme.test',
  headers: { 'X-Order': '1042' },
  tags: { order: '1042' },
  tracking: { opens: false },
};

async function send(body: object = email, token = api.apiKey): Promise<TestBody> {
  const sent = await api.request('POST', '/v1/my/messages', { body, token });
  expect(sent.status).toBe(201);
  return sent.body;
}

const resend = (id: unknown, options: { token?: string; headers?: Record<string, string> } = {}) =>
  api.request('POST', `/v1/my/messages/${String(id)}/resend`, options);

const detail = async (id: unknown) => (await api.request('GET', `/v1/my/messages/${String(id)}`)).body;

async function countMessages(): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>('select count(*)::int from messages');
  return rows[0]?.count ?? 0;
}

async function expectRefused(id: unknown, reason: RegExp): Promise<void> {
  const before = await countMessages();
  const { status, body } = await resend(id);
  expect([status, body.code]).toEqual([422, 'validation_error']);
  expect(String(body.validation_errors?.id)).toMatch(reason);
  expect(await countMessages()).toBe(before);
}

describe('POST /messages/{id}/resend', () => {
  it.each(['In-Reply-To', 'in-reply-to'])(
    'copies that a message answers one, by its header %s',
    async (name) => {
      const first = await send({ ...email, headers: { [name]: '<question@example.com>' } });
      const { body } = await resend(first.id);
      for (const each of [first, await detail(first.id), body, await detail(body.id)]) {
        expect(each).toMatchObject({ answers_mail: true });
      }
    },
  );

  it('finds in the headers of messages of earlier versions that they answer one', async () => {
    const { id } = await send({ ...email, headers: { 'IN-REPLY-TO': '<question@example.com>' } });
    await api.database.pool.query('update messages set answers_mail = null where id = $1', [id]);
    expect(await detail(id)).toMatchObject({ answers_mail: true });
    expect(await detail((await send()).id)).toMatchObject({ answers_mail: false });
  });

  it('queues a new message with the recipient, sender and content of the earlier one', async () => {
    const first = await send();
    const { status, body } = await resend(first.id);
    expect(status).toBe(201);
    expect(body.id).not.toBe(first.id);
    const [one, other] = [await detail(first.id), await detail(body.id)];
    for (const name of ['to', 'from', 'reply_to', 'subject', 'html', 'text', 'headers', 'tags', 'channel']) {
      expect([name, other[name]]).toEqual([name, one[name]]);
    }
    expect(other).toMatchObject({ status: 'queued', tracking: { opens: false }, test: false });
  });

  it('resends an SMS', async () => {
    const first = await send({ channel: 'sms', to: '+4915112345678', body: 'Your code' });
    const { status, body } = await resend(first.id);
    expect([status, body.to, body.channel]).toEqual([201, '+4915112345678', 'sms']);
  });

  it('creates one message for an idempotency key', async () => {
    const first = await send();
    const headers = { 'Idempotency-Key': 'again-1' };
    const one = await resend(first.id, { headers });
    const other = await resend(first.id, { headers });
    expect([one.status, other.status, other.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
    expect(other.body.id).toBe(one.body.id);
    const second = await send();
    const conflict = await resend(second.id, { headers });
    expect([conflict.status, conflict.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('checks the sender again', async () => {
    const first = await send();
    await api.database.pool.query(`update messages set from_address = 'gone@lost.test' where id = $1`, [
      first.id,
    ]);
    const before = await countMessages();
    const { status, body } = await resend(first.id);
    expect([status, body.code]).toEqual([422, 'sender_not_verified']);
    expect(body.validation_errors).toHaveProperty('from');
    expect(await countMessages()).toBe(before);
  });

  it('refuses messages of campaigns', async () => {
    const { messageIds } = await writeCampaign(api.database, api, { recipients: 1 });
    await expectRefused(messageIds[0], /campaign or flow/);
  });

  it('refuses messages whose content or recipient was removed', async () => {
    const first = await send();
    await api.database.pool.query('delete from message_contents where message_id = $1', [first.id]);
    await expectRefused(first.id, /no content/);
    const second = await send();
    await api.database.pool.query('update messages set to_address = null where id = $1', [second.id]);
    await expectRefused(second.id, /no recipient/);
  });

  it('refuses and lists no body that passes as a program wrote it', async () => {
    const file = { filename: 'a.txt', content: Buffer.from('a').toString('base64') };
    const { id } = await send({ ...email, attachments: [file] });
    await api.database.pool.query(
      `with body as (update message_attachments set n = 0 where message_id = $1)
       update letters set html = null, text = null where id = $1`,
      [id],
    );
    await expectRefused(id, /as a program wrote it/);
    expect(await detail(id)).not.toHaveProperty('attachments');
    const body = await api.request('GET', `/v1/my/messages/${String(id)}/attachments/0`);
    expect(body.status).toBe(404);
  });

  it('resends a scheduled message at once', async () => {
    const scheduled_at = new Date(Date.now() + 60_000).toISOString();
    const { body } = await resend((await send({ ...email, scheduled_at })).id);
    expect([body.status, body.scheduled_at]).toEqual(['queued', null]);
  });

  it('never sends the message of a test key to its recipient', async () => {
    const test = await send(email, api.testApiKey);
    await expectRefused(test.id, /test message/);
    const again = await resend(test.id, { token: api.testApiKey });
    expect([again.status, again.body.test, again.body.status]).toEqual([201, true, 'delivered']);
  });

  it('is 403 for a test key and a live message', async () => {
    const live = await send();
    const { status, body } = await resend(live.id, { token: api.testApiKey });
    expect([status, body.code]).toEqual([403, 'test_key']);
  });
});

describe('GET /messages', () => {
  const list = (query: string) => api.request('GET', `/v1/my/messages?limit=200&${query}`);

  it('shows subject and template of campaign messages as written, and filters by them', async () => {
    const { messageIds, contactIds } = await writeCampaign(api.database, api, {
      recipients: 2,
      prefix: 'sale',
    });
    const { rows } = await api.database.pool.query<{ id: number }>(
      'select v.template_id as id from template_versions v join messages m on m.content_version_id = v.id where m.id = $1',
      [messageIds[0]],
    );
    const template = rows[0]?.id;
    const expected = [...messageIds].reverse();
    const found = await list(`template_id=${template}`);
    expect(found.list.map(({ id }) => id)).toEqual(expected);
    expect(found.list[0]).toMatchObject({ subject: 'Sale', template_id: template });
    expect((await list('subject=sAL')).list.map(({ id }) => id)).toEqual(expect.arrayContaining(expected));
    expect((await list('subject=no%25match')).list).toEqual([]);
    expect((await list(`contact_id=${contactIds[0]}`)).list.map(({ id }) => id)).toEqual([messageIds[0]]);
  });

  it('finds no message by the template of another tenant', async () => {
    const { messageIds } = await writeCampaign(api.database, api.other, { recipients: 1, prefix: 'theirs' });
    const { rows } = await api.database.pool.query<{ id: number }>(
      'select v.template_id as id from template_versions v join messages m on m.content_version_id = v.id where m.id = $1',
      [messageIds[0]],
    );
    expect((await list(`template_id=${rows[0]?.id}`)).list).toEqual([]);
  });
});
