import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', html: '<p>Hi</p>' };
const sms = { channel: 'sms', to: '+14155552671', body: 'Hello' };
const post = (body: unknown, rest: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', '/v1/my/messages', { body, ...rest });

async function rows(): Promise<number> {
  const { rows: found } = await api.database.pool.query<{ count: number }>(
    `select (select count(*) from messages) + (select count(*) from send_queue) + (select count(*) from message_contents)
       + (select count(*) from idempotency_keys) as count`,
  );
  return found[0]?.count ?? 0;
}

/** Bad input: the fields it names, the code, and that nothing was written. */
async function refused(body: unknown, fields: string[], code = 'validation_error'): Promise<TestBody> {
  const before = await rows();
  const response = await post(body, { headers: { 'Idempotency-Key': `bad-${Math.random()}` } });
  expect({ status: response.status, code: response.body.code }).toEqual({ status: 422, code });
  expect(Object.keys(response.body.validation_errors ?? {}).sort()).toEqual([...fields].sort());
  expect(response.body.error).toBe(true);
  expect(await rows()).toBe(before);
  return response.body;
}

describe('what a message must have', () => {
  it('wants a key', async () => {
    expect((await post(email, { token: null })).status).toBe(401);
  });

  it.each([
    ['channel', { ...email, channel: undefined }, ['channel']],
    ['to', { ...email, to: undefined }, ['to']],
    ['subject', { ...email, subject: undefined }, ['subject']],
    ['content', { ...email, html: undefined }, ['html']],
    ['everything at once', { channel: 'email' }, ['to', 'subject', 'html']],
    ['everything', {}, ['channel', 'to']],
    ['the body of an sms', { ...sms, body: undefined }, ['body']],
    ['a subject that says something', { ...email, subject: ' ' }, ['subject']],
    ['html that says something', { ...email, html: '' }, ['html']],
    ['a body that says something', { ...email, html: undefined, body: '\n' }, ['body']],
    ['either of them', { ...email, html: '', body: ' ' }, ['html', 'body']],
    [
      'all that is wrong told at once',
      { channel: 'email', to: 'nobody', reply_to: 'a@b@c', html: 'x', subjct: 'x' },
      ['to', 'reply_to', 'subject', 'subjct'],
    ],
    [
      'a phone of an sms, told with the rest',
      { channel: 'sms', to: '12', from: 'x' },
      ['to', 'from', 'body'],
    ],
    ['a template for variables', { ...email, variables: {} }, ['variables']],
    ['a template for variables of an sms', { ...sms, variables: {} }, ['variables']],
    ['a body of an sms that says something', { ...sms, body: ' ' }, ['body']],
  ])('%s', (_name, body, fields) => refused(body, fields));

  it.each([
    ['channel', { ...email, channel: 'fax' }],
    ['to', { ...email, to: 7 }],
    ['subject', { ...email, subject: ['x'] }],
    ['html', { ...email, html: {} }],
    ['body', { ...email, body: 1 }],
    ['template_id', { ...email, template_id: 'x' }],
    ['from', { ...email, from: true }],
    ['from_email', { ...email, from_email: {} }],
    ['reply_to', { ...email, reply_to: [] }],
    ['headers', { ...email, headers: 'x' }],
    ['tags', { ...email, tags: [] }],
    ['tracking', { ...email, tracking: true }],
    ['headers.X-A', { ...email, headers: { 'X-A': 1 } }],
    ['tags.a', { ...email, tags: { a: 1 } }],
    ['tracking.opens', { ...email, tracking: { opens: 'yes' } }],
  ])('refuses a %s of the wrong type', (field, body) => refused(body, [field]));

  it.each([
    ['subject', { ...email, subject: 'x'.repeat(999) }],
    ['html', { ...email, html: 'é'.repeat(1024 * 1024 + 1) }],
    ['body', { ...email, body: 'x'.repeat(2 * 1024 * 1024 + 1) }],
    ['to', { ...email, to: `${'x'.repeat(65)}@example.com` }],
    [
      'headers',
      { ...email, headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, 'v'])) },
    ],
    ['tags', { ...email, tags: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`t${n}`, 'v'])) }],
    ['tags.t', { ...email, tags: { t: 'x'.repeat(257) } }],
    [`tags.${'k'.repeat(65)}`, { ...email, tags: { ['k'.repeat(65)]: 'v' } }],
  ])('refuses a %s that is too long', (field, body) => refused(body, [field]));

  it('takes each limit to the last', async () => {
    const most = {
      ...email,
      subject: 'x'.repeat(998),
      headers: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`X-${n}`, 'v'])),
      tags: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`t${n}`, 'v'.repeat(256)])),
    };
    expect((await post(most)).status).toBe(201);
  });

  it('names an unknown field with the nearest known one', async () => {
    const body = await refused({ ...email, subjct: 'x' }, ['subjct']);
    expect(JSON.stringify(body)).toContain('subject');
  });

  it('ignores read-only fields, so that what was read can be sent again', async () => {
    expect((await post({ ...email, id: 1, status: 'sent', created_at: 'x' })).status).toBe(201);
  });

  it.each(['nobody', 'a@b', 'a@@b.example', 'a b@example.com', 'a@example.com, b@example.com', ''])(
    'refuses the recipient %p',
    (to) => refused({ ...email, to }, ['to']),
  );

  it.each(['not a number', '4155552671', '+1', '+999999999999'])('refuses the phone %p', (to) =>
    refused({ ...sms, to }, ['to']),
  );

  it.each([
    'subject',
    'html',
    'from',
    'from_email',
    'reply_to',
    'headers',
    'tags',
    'tracking',
    'template_id',
  ])('refuses %s on an sms', (field) => {
    const values: Record<string, unknown> = { headers: {}, tags: {}, tracking: {}, template_id: 1 };
    return refused({ ...sms, [field]: values[field] ?? 'x@example.com' }, [field]);
  });

  it('counts segments and refuses more than ten', async () => {
    expect((await post({ ...sms, body: 'x'.repeat(161) })).body.segments).toBe(2);
    expect((await post({ ...sms, body: 'x'.repeat(1530) })).body.segments).toBe(10);
    await refused({ ...sms, body: 'x'.repeat(1531) }, ['body']);
  });

  it('knows no template yet', () =>
    refused({ channel: 'email', to: 'ada@example.com', template_id: 1 }, ['template_id']));
});

describe('what would start a header of its own', () => {
  it.each([
    ['subject', { ...email, subject: 'a\r\nBcc: x@example.com' }, 'subject'],
    ['to', { ...email, to: 'Ada\r\nBcc: x <ada@example.com>' }, 'to'],
    ['reply_to', { ...email, reply_to: 'a@example.com\nX: y' }, 'reply_to'],
    ['from', { ...email, from: 'A\r\nB <a@example.com>' }, 'from'],
    ['a header value', { ...email, headers: { 'X-A': 'a\r\nBcc: x' } }, 'headers.X-A'],
    ['a header name', { ...email, headers: { 'X-A\r\nBcc': 'x' } }, 'headers.X-A\r\nBcc'],
    ['a header name with a colon', { ...email, headers: { 'X:A': 'x' } }, 'headers.X:A'],
    ['a tag', { ...email, tags: { a: 'b\r\nc' } }, 'tags.a'],
    ['a tag key', { ...email, tags: { 'a\n': 'b' } }, 'tags.a\n'],
  ])('is refused in %s', (_name, body, field) => refused(body, [field]));

  it('is refused as half a surrogate pair or NUL, too', async () => {
    await refused({ ...email, subject: 'x', html: 'a\0b' }, ['html']);
    await refused({ ...email, subject: 'a\ud800b' }, ['subject']);
  });
});

describe('what is reserved', () => {
  const names = [
    'From',
    'to',
    'CC',
    'Bcc',
    'Sender',
    'Reply-To',
    'Subject',
    'Date',
    'Message-ID',
    'Return-Path',
    'Received',
    'DKIM-Signature',
    'MIME-Version',
    'Content-Type',
    'content-anything',
    'Feedback-ID',
    'X-Carillon-Thing',
  ];
  it.each(names)('the header %s', (name) =>
    refused({ ...email, headers: { [name]: 'x' } }, [`headers.${name}`], 'reserved_header'),
  );

  it.each(['account_id', 'brand_id', 'message_id', 'campaign_id', 'flow_id', 'carillon', 'carillon_x'])(
    'the tag %s',
    (key) => refused({ ...email, tags: { [key]: 'x' } }, [`tags.${key}`], 'reserved_tag'),
  );

  it('leaves List-Unsubscribe to the client', async () => {
    const headers = { 'List-Unsubscribe': '<https://example.com/u>' };
    expect((await post({ ...email, headers })).status).toBe(201);
  });
});

describe('the sender', () => {
  it('is the sandbox address unless one is given', async () => {
    expect((await post(email)).body.from).toBe(`sandbox-${api.accountId}@mail.test`);
  });

  it('may be given by either name, with a display name', async () => {
    const sandbox = `sandbox-${api.accountId}@mail.test`;
    expect((await post({ ...email, from: `Ada <${sandbox}>` })).body.from).toBe(`Ada <${sandbox}>`);
    expect((await post({ ...email, from_email: sandbox })).body.from).toBe(sandbox);
    await refused({ ...email, from: sandbox, from_email: 'x@example.com' }, ['from_email']);
  });

  it.each([
    ['from', 'x@example.com'],
    ['from_email', 'x@example.com'],
  ])('is refused in %s unless verified', (field, value) =>
    refused({ ...email, [field]: value }, [field], 'sender_not_verified'),
  );

  it("is not another account's sandbox", () =>
    refused({ ...email, from: `sandbox-${api.other.accountId}@mail.test` }, ['from'], 'sender_not_verified'));

  it("carries the account's name", async () => {
    const name = 'Ünï "Q" \\ Co';
    await api.database.pool.query('update accounts set email_from_name = $2 where id = $1', [
      api.accountId,
      name,
    ]);
    expect((await post(email)).body.from).toBe(`"Ünï \\"Q\\" \\\\ Co" <sandbox-${api.accountId}@mail.test>`);
    await api.database.pool.query('update accounts set email_from_name = null where id = $1', [
      api.accountId,
    ]);
  });
});

describe('an accepted message', () => {
  it('has every field, and its content when asked for alone', async () => {
    const sent = await post({
      ...email,
      body: 'Hi',
      tags: { a: 'b' },
      headers: { 'X-A': 'b' },
      tracking: { opens: false },
    });
    expect(sent.status).toBe(201);
    expect(sent.body).toMatchObject({
      account_id: api.accountId,
      brand_id: api.brandId,
      channel: 'email',
      status: 'queued',
      to: 'ada@example.com',
      reply_to: null,
      subject: 'Hello',
      template_id: null,
      contact_id: null,
      campaign_id: null,
      flow_id: null,
      tags: { a: 'b' },
      headers: { 'X-A': 'b' },
      tracking: { opens: false, clicks: null },
      idempotency_key: null,
      provider: null,
      provider_message_id: null,
      segments: null,
      test: false,
      failure: null,
      bounce: null,
      hold: null,
      sent_at: null,
      delivered_at: null,
      opened_at: null,
      clicked_at: null,
    });
    const one = await api.request('GET', `/v1/my/messages/${String(sent.body.id)}`);
    expect(one.body).toEqual({ ...sent.body, html: '<p>Hi</p>', text: 'Hi', events: [] });
    expect(one.body.queued_at).toBe(sent.body.created_at);
  });

  it.each([
    [
      { html: ' ', body: 'Hi' },
      { html: null, text: 'Hi' },
    ],
    [
      { html: '<p>Hi</p>', body: '' },
      { html: '<p>Hi</p>', text: null },
    ],
  ])('of %o has no part that says nothing', async (parts, kept) => {
    const { body } = await post({ ...email, ...parts });
    const one = await api.request('GET', `/v1/my/messages/${String(body.id)}`);
    expect(one.body).toMatchObject(kept);
  });

  it.each([
    ['"quoted local"@example.com'],
    ['Ada Lovelace <ada@example.com>'],
    ['ada@bücher.example'],
    ['ädä@example.com'],
  ])('goes to %s', async (to) => {
    expect((await post({ ...email, to })).status).toBe(201);
  });

  it("is another tenant's 404", async () => {
    const { body } = await post(email);
    const path = `/v1/my/messages/${String(body.id)}`;
    expect((await api.request('GET', path, { token: api.other.apiKey })).status).toBe(404);
    expect((await api.request('GET', '/v1/my/messages/0')).status).toBe(404);
    expect((await api.request('GET', '/v1/my/messages/999999999')).status).toBe(404);
  });
});

describe('Idempotency-Key', () => {
  const withKey = (key: string, body: unknown = email) => post(body, { headers: { 'Idempotency-Key': key } });

  it('returns the first message again, as it is now', async () => {
    const first = await withKey('k1');
    const again = await withKey('k1', { html: email.html, subject: 'Hello', to: email.to, channel: 'email' });
    expect(again.status).toBe(201);
    expect(again.body.id).toBe(first.body.id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(first.headers.get('idempotent-replayed')).toBe(null);
  });

  it('is a conflict with another payload', async () => {
    await withKey('k2');
    const other = await withKey('k2', { ...email, subject: 'Other' });
    expect({ status: other.status, code: other.body.code }).toEqual({
      status: 409,
      code: 'idempotency_conflict',
    });
  });

  it("is the brand's own", async () => {
    const first = await withKey('k3');
    const other = await post(email, { token: api.other.apiKey, headers: { 'Idempotency-Key': 'k3' } });
    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(first.body.id);
  });

  it('writes one message of fifty at once', async () => {
    const before = await rows();
    const all = await Promise.all(Array.from({ length: 50 }, () => withKey('race')));
    expect(new Set(all.map((each) => each.status))).toEqual(new Set([201]));
    expect(new Set(all.map((each) => each.body.id)).size).toBe(1);
    expect(all.filter((each) => each.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(await rows()).toBe(before + 4);
  });

  it('gives one of a racing pair with different payloads a conflict', async () => {
    const [one, two] = await Promise.all([withKey('pair'), withKey('pair', { ...email, subject: 'Other' })]);
    expect([one.status, two.status].sort()).toEqual([201, 409]);
  });

  it('is not kept for a refusal', async () => {
    expect((await withKey('k4', { ...email, subject: undefined })).status).toBe(422);
    expect((await withKey('k4')).status).toBe(201);
  });

  it.each([['129 characters', 'x'.repeat(129)]])('is refused with %s', async (_name, key) => {
    const response = await withKey(key);
    expect(response.status).toBe(422);
  });

  it('may have 128 characters', async () => {
    expect((await withKey('x'.repeat(128))).status).toBe(201);
  });

  it('works again after seven days', async () => {
    const first = await withKey('old');
    await api.database.pool.query(
      `update idempotency_keys set created_at = now() - interval '8 days' where key = 'old'`,
    );
    const again = await withKey('old', { ...email, subject: 'Other' });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(first.body.id);
  });
});

describe('the monthly sandbox cap', () => {
  const cap = (value: number | null) =>
    api.database.pool.query('update accounts set sandbox_monthly_cap = $2 where id = $1', [
      api.accountId,
      value,
    ]);
  const used = async () => {
    const { rows: found } = await api.database.pool.query<{ used: number }>(
      'select used from sandbox_usage where account_id = $1',
      [api.accountId],
    );
    return found[0]?.used ?? 0;
  };

  it('accepts to the last and writes nothing beyond, however many come at once', async () => {
    const before = await used();
    await cap(before + 7);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => post(email, { headers: { 'Idempotency-Key': `cap-${n}` } })),
    );
    expect(answers.filter((each) => each.status === 201)).toHaveLength(7);
    const refusals = answers.filter((each) => each.status === 422);
    expect(refusals).toHaveLength(23);
    expect(new Set(refusals.map((each) => each.body.code))).toEqual(new Set(['sandbox_limit_reached']));
    expect(await used()).toBe(before + 7);
    const { rows: keys } = await api.database.pool.query(
      `select key from idempotency_keys where key like 'cap-%'`,
    );
    expect(keys).toHaveLength(7);
    await cap(null);
  });

  it('does not count a replay again, nor SMS and test messages', async () => {
    await post(email, { headers: { 'Idempotency-Key': 'counted' } });
    const before = await used();
    await post(email, { headers: { 'Idempotency-Key': 'counted' } });
    await post(sms);
    await post(email, { token: api.testApiKey });
    expect(await used()).toBe(before);
  });
});

describe('a test key', () => {
  it.each([
    ['ada@example.com', 'delivered', ['sent', 'delivered']],
    ['bounced@example.com', 'bounced', ['sent', 'bounced']],
    ['complained@example.com', 'complained', ['sent', 'delivered', 'complained']],
    ['failed@example.com', 'failed', ['failed']],
  ])('tells %s at once', async (to, status, events) => {
    const { body } = await post({ ...email, to }, { token: api.testApiKey });
    expect(body).toMatchObject({ status, test: true });
    const one = await api.request('GET', `/v1/my/messages/${String(body.id)}`);
    expect((one.body.events as unknown as { type: string }[]).map((event) => event.type)).toEqual(events);
    const { rows: queued } = await api.database.pool.query('select 1 from send_queue where message_id = $1', [
      body.id,
    ]);
    expect(queued).toHaveLength(0);
  });

  it('keeps every rule', async () => {
    expect((await post({ ...email, subject: undefined }, { token: api.testApiKey })).status).toBe(422);
  });
});
