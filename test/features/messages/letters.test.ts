// A letter to several people is one message for each, all or none; what one recipient may not know of another is hidden.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', html: '<p>Hi</p>' };
const post = (body: unknown, rest: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', '/v1/my/messages', { body, ...rest });
const get = async (id: unknown) => (await api.request('GET', `/v1/my/messages/${String(id)}`)).body;
const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query(sql, values)).rows as Row[];
const countMessages = async () =>
  (await query<{ n: number }>('select count(*)::int as n from messages'))[0]?.n;

async function send(body: unknown, rest: Parameters<TestApi['request']>[2] = {}): Promise<TestBody> {
  const response = await post(body, rest);
  expect([response.status, response.body.validation_errors ?? {}]).toEqual([201, {}]);
  return response.body;
}

const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`);

describe('POST /messages', () => {
  it('refuses recipients and headers by the name of the field, and writes nothing', async () => {
    const before = await countMessages();
    const cases: [object, string[]][] = [
      [{ ...email, to: [] }, ['to']],
      [{ ...email, to: { a: 1 } }, ['to']],
      [{ ...email, to: ['ada@example.com', 7] }, ['to.1']],
      [{ ...email, to: ['ada@example.com', 'nobody'] }, ['to.1']],
      [{ ...email, to: ['ada@example.com', ''] }, ['to.1']],
      [{ ...email, cc: 5 }, ['cc']],
      [{ ...email, bcc: '' }, ['bcc']],
      [{ ...email, cc: ['a@@example.com'], bcc: ['x'] }, ['bcc.0', 'cc.0']],
      [{ ...email, cc: ['Ada <ADA@example.com>'] }, ['cc.0']],
      [{ ...email, cc: ['b@example.com'], bcc: ['B@example.com'] }, ['bcc.0']],
      [{ ...email, to: many(101) }, ['to']],
      [{ ...email, to: many(60), cc: many(41).map((one) => `c${one}`) }, ['to']],
      [{ ...email, to: many(2), html: undefined }, ['html']],
      [{ ...email, cc: ['x'], html: undefined }, ['cc.0', 'html']],
      [{ ...email, reply_to: many(11) }, ['reply_to']],
      [{ ...email, reply_to: ['a@example.com', 'x'] }, ['reply_to.1']],
      [{ ...email, reply_to: ['{{ x }}@example.com'] }, ['reply_to.0']],
      [{ ...email, in_reply_to: 'two words' }, ['in_reply_to']],
      [{ ...email, in_reply_to: 'a@b\r\nBcc: x@example.com' }, ['in_reply_to']],
      [{ ...email, references: ['<a@b>', '<c d>'] }, ['references.1']],
      [{ ...email, references: Array.from({ length: 21 }, (_, n) => `${n}@b`) }, ['references']],
      [{ ...email, in_reply_to: 'a@b', headers: { 'In-Reply-To': '<c@d>' } }, ['in_reply_to']],
      [{ ...email, references: ['a@b'], headers: { references: '<c@d>' } }, ['references']],
      [{ ...email, to: many(2), headers: { '.x': '1' } }, ['headers..x']],
      [{ channel: 'sms', to: ['+14155552671'], body: 'Hi' }, ['to']],
      [{ channel: 'sms', to: '+14155552671', body: 'Hi', cc: ['a@example.com'] }, ['cc']],
      [{ channel: 'sms', to: '+14155552671', body: 'Hi', in_reply_to: 'a@b' }, ['in_reply_to']],
    ];
    for (const [body, fields] of cases) {
      const { status, body: answer } = await post(body, { headers: { 'Idempotency-Key': 'refused' } });
      expect([status, Object.keys(answer.validation_errors ?? {}).sort()]).toEqual([422, fields]);
    }
    expect(await countMessages()).toBe(before);
  });

  it('keeps one recipient without other fields as it was', async () => {
    for (const given of [{}, { to: ['ada@example.com'] }, { cc: [], bcc: [], attachments: [] }]) {
      const sent = await send({ ...email, ...given });
      for (const name of ['letter_id', 'recipients', 'attachments', 'warnings'])
        expect(sent).not.toHaveProperty(name);
      expect(await query('select letter_id, recipient_kind from messages where id = $1', [sent.id])).toEqual([
        { letter_id: null, recipient_kind: null },
      ]);
      expect(await query('select html from message_contents where message_id = $1', [sent.id])).toHaveLength(
        1,
      );
    }
    const headers = { 'Idempotency-Key': 'plain' };
    await send({ ...email, reply_to: 'help@example.com' }, { headers });
    const [kept] = await query<{ fingerprint: string }>(
      `select encode(fingerprint, 'hex') as fingerprint from idempotency_keys where key = 'plain'`,
    );
    // As the version before computed it: keys live through a deploy.
    expect(kept?.fingerprint).toBe('2d6bd8208b59b2e83b6ae45dcaf930e4889e88e97192c258516036e020e7d143');
  });

  it('makes one message for each recipient, with one content', async () => {
    const sent = await send({
      ...email,
      to: ['Ada <ada@example.com>', 'bob@example.com'],
      cc: ['cid@example.com'],
      bcc: 'dan@example.com',
      headers: { 'X-Order': '7' },
    });
    const recipients = [
      { kind: 'to', address: 'Ada <ada@example.com>', status: 'queued' },
      { kind: 'to', address: 'bob@example.com', status: 'queued' },
      { kind: 'cc', address: 'cid@example.com', status: 'queued' },
      { kind: 'bcc', address: 'dan@example.com', status: 'queued' },
    ].map((each) => ({ ...each, message_id: expect.any(Number) }));
    expect(sent).toMatchObject({
      letter_id: sent.id,
      to: 'Ada <ada@example.com>',
      headers: { 'X-Order': '7' },
      recipients,
    });
    const ids = (sent.recipients as unknown as { message_id: number }[]).map((each) => each.message_id);
    expect([ids[0], new Set(ids).size]).toEqual([sent.id, 4]);
    for (const id of ids) {
      expect(await get(id)).toMatchObject({
        id,
        letter_id: sent.id,
        html: email.html,
        headers: { 'X-Order': '7' },
        recipients: sent.recipients,
      });
    }
    expect(await query('select 1 from message_contents where message_id = any($1)', [ids])).toEqual([]);
    expect(await query('select message_ids as ids from letters where id = $1', [sent.id])).toEqual([{ ids }]);
    const { list } = await api.request('GET', '/v1/my/messages?to=dan@example.com');
    expect(list).toEqual([
      expect.objectContaining({ id: ids[3], letter_id: sent.id, headers: { 'X-Order': '7' } }),
    ]);
  });

  it('replays the letter whole, with the present states', async () => {
    const body = { ...email, cc: ['replay@example.com'] };
    const headers = { 'Idempotency-Key': 'letter' };
    const first = await send(body, { headers });
    await query(`update messages set status = 'delivered' where letter_id = $1 and recipient_kind = 'cc'`, [
      first.id,
    ]);
    const again = await post(body, { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toMatchObject({
      id: first.id,
      recipients: [{ status: 'queued' }, { status: 'delivered' }],
    });
    expect((await post({ ...body, cc: ['other@example.com'] }, { headers })).status).toBe(409);
    expect((await post({ ...email, cc: undefined, bcc: body.cc }, { headers })).status).toBe(409);
  });

  it('names suppressed recipients, and keeps the others', async () => {
    await api.request('POST', '/v1/my/suppressions', { body: { email: 'gone@example.com' } });
    const sent = await send({ ...email, cc: ['gone@example.com'] });
    expect(sent.warnings).toMatchObject([{ field: 'cc', code: 'suppressed', severity: 'warning' }]);
    expect(String(sent.warnings)).toBeDefined();
    expect(sent.recipients).toHaveLength(2);
  });

  it('has several addresses for replies, and the headers of an answer', async () => {
    const sent = await send({
      ...email,
      reply_to: ['Help <help@example.com>', 'sales@example.com'],
      in_reply_to: 'question@example.org',
      references: ['<first@example.org>', 'question@example.org'],
    });
    const shown = {
      reply_to: 'Help <help@example.com>, sales@example.com',
      headers: {
        'In-Reply-To': '<question@example.org>',
        References: '<first@example.org> <question@example.org>',
      },
      answers_mail: true,
    };
    expect(sent).toMatchObject({ ...shown, letter_id: sent.id });
    expect(await get(sent.id)).toMatchObject(shown);
    const plain = await send({ ...email, in_reply_to: '<question@example.org>' });
    expect(plain).toMatchObject({ headers: { 'In-Reply-To': '<question@example.org>' }, answers_mail: true });
    expect(plain).not.toHaveProperty('letter_id');
  });

  it('renders a template once, unless it shows or does something for the first recipient alone', async () => {
    const template = async (html: string) =>
      (
        await api.request('POST', '/v1/my/templates', {
          body: { name: html, channel: 'email', subject: 'Hi', body: html },
        })
      ).body.id;
    await api.request('POST', '/v1/my/contacts', { body: { email: 'eve@example.com', first_name: 'Eve' } });
    const body = { channel: 'email', to: ['eve@example.com', 'bob@example.com'] };
    const shared = {
      ...body,
      template_id: await template('<p>Dear {{ team }}</p>'),
      variables: { team: 'all' },
    };
    expect((await get((await send(shared)).id)).html).toContain('Dear all');
    const alone: [string, string][] = [
      ['<a href="{{ unsubscribe_url }}">Leave</a>', 'links to unsubscribe'],
      ['<p>Dear {{ contact.first_name }}</p>', 'data of the contact (`contact.first_name`)'],
      ['<p>{% if contact.data.plan == "x" %}X{% endif %}</p>', 'data of the contact (`contact.data.plan`)'],
    ];
    for (const [html, reason] of alone) {
      const given = { ...body, template_id: await template(html) };
      const refused = await post(given);
      expect([refused.status, Object.keys(refused.body.validation_errors ?? {})]).toEqual([
        422,
        ['template_id'],
      ]);
      expect(String(refused.body.validation_errors?.template_id)).toContain(reason);
      await send({ ...given, to: 'eve@example.com' });
    }
  });

  it('resends to one recipient, as a message of its own', async () => {
    const letter = await send({ ...email, cc: ['cid@example.com'], bcc: ['dan@example.com'] });
    const copy = (letter.recipients as unknown as { message_id: number }[])[1]?.message_id;
    const { status, body } = await api.request('POST', `/v1/my/messages/${String(copy)}/resend`);
    expect([status, body.to]).toEqual([201, 'cid@example.com']);
    expect(body).not.toHaveProperty('letter_id');
    expect((await get(body.id)).html).toBe(email.html);
  });

  it('of a test key has an outcome for each recipient', async () => {
    const sent = await send({ ...email, cc: ['bounced@example.com'] }, { token: api.testApiKey });
    expect(sent).toMatchObject({ test: true, recipients: [{ status: 'delivered' }, { status: 'bounced' }] });
  });
});
