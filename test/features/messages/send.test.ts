// POST /messages names every invalid field, accepts every field at its limit, and blocks header injection.
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

/** The number of rows that an accepted message with a key adds to. */
async function countRows(): Promise<number> {
  const { rows: found } = await api.database.pool.query<{ count: number }>(
    `select (select count(*) from messages) + (select count(*) from send_queue) + (select count(*) from message_contents)
       + (select count(*) from idempotency_keys) as count`,
  );
  return found[0]?.count ?? 0;
}

/** Expects a 422 with this code and these fields, and that nothing was written. @returns its body */
async function expectRefused(body: unknown, fields: string[], code = 'validation_error'): Promise<TestBody> {
  const before = await countRows();
  const response = await post(body, { headers: { 'Idempotency-Key': `bad-${Math.random()}` } });
  expect({ status: response.status, code: response.body.code }).toEqual({ status: 422, code });
  expect(Object.keys(response.body.validation_errors ?? {}).sort()).toEqual([...fields].sort());
  expect(response.body.error).toBe(true);
  expect(await countRows()).toBe(before);
  return response.body;
}

describe('POST /messages', () => {
  it('needs an API key', async () => {
    expect((await post(email, { token: null })).status).toBe(401);
  });

  it.each([
    ['an email without a channel', { ...email, channel: undefined }, ['channel']],
    ['an email without a recipient', { ...email, to: undefined }, ['to']],
    ['an email without a subject', { ...email, subject: undefined }, ['subject']],
    ['an email without content', { ...email, html: undefined }, ['html']],
    ['an email with only a channel', { channel: 'email' }, ['to', 'subject', 'html']],
    ['an empty body', {}, ['channel', 'to']],
    ['an sms without a body', { ...sms, body: undefined }, ['body']],
    ['a blank subject', { ...email, subject: ' ' }, ['subject']],
    ['blank html', { ...email, html: '' }, ['html']],
    ['a blank text body', { ...email, html: undefined, body: '\n' }, ['body']],
    ['blank html and a blank text body', { ...email, html: '', body: ' ' }, ['html', 'body']],
    [
      'several errors of an email',
      { channel: 'email', to: 'nobody', reply_to: 'a@b@c', html: 'x', subjct: 'x' },
      ['to', 'reply_to', 'subject', 'subjct'],
    ],
    ['several errors of an sms', { channel: 'sms', to: '12', from: 'x' }, ['to', 'from', 'body']],
    ['variables without a template', { ...email, variables: {} }, ['variables']],
    ['variables of an sms without a template', { ...sms, variables: {} }, ['variables']],
    ['an sms with a blank body', { ...sms, body: ' ' }, ['body']],
  ])('refuses %s', (_name, body, fields) => expectRefused(body, fields));

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
  ])('refuses a %s of the wrong type', (field, body) => expectRefused(body, [field]));

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
  ])('refuses a %s that is too long', (field, body) => expectRefused(body, [field]));

  it('accepts every field at its limit', async () => {
    const most = {
      ...email,
      subject: 'x'.repeat(998),
      headers: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`X-${n}`, 'v'])),
      tags: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`t${n}`, 'v'.repeat(256)])),
    };
    expect((await post(most)).status).toBe(201);
  });

  it('names an unknown field with the nearest known one', async () => {
    const body = await expectRefused({ ...email, subjct: 'x' }, ['subjct']);
    expect(JSON.stringify(body)).toContain('subject');
  });

  it('ignores read-only fields, so that a client can send a message back as it received it', async () => {
    expect((await post({ ...email, id: 1, status: 'sent', created_at: 'x' })).status).toBe(201);
  });

  it.each(['nobody', 'a@b', 'a@@b.example', 'a b@example.com', 'a@example.com, b@example.com', ''])(
    'refuses the recipient %p',
    (to) => expectRefused({ ...email, to }, ['to']),
  );

  it.each(['not a number', '4155552671', '+1', '+999999999999'])('refuses the phone %p', (to) =>
    expectRefused({ ...sms, to }, ['to']),
  );

  it.each(['subject', 'html', 'from', 'from_email', 'reply_to', 'headers', 'tags', 'tracking'])(
    'refuses %s on an sms',
    (field) => {
      const values: Record<string, unknown> = { headers: {}, tags: {}, tracking: {} };
      return expectRefused({ ...sms, [field]: values[field] ?? 'x@example.com' }, [field]);
    },
  );

  it('counts the segments of an sms and refuses more than ten', async () => {
    expect((await post({ ...sms, body: 'x'.repeat(161) })).body.segments).toBe(2);
    expect((await post({ ...sms, body: 'x'.repeat(1530) })).body.segments).toBe(10);
    await expectRefused({ ...sms, body: 'x'.repeat(1531) }, ['body']);
  });

  it('refuses the id of a template that does not exist', () =>
    expectRefused({ channel: 'email', to: 'ada@example.com', template_id: 1 }, ['template_id']));
});

describe('a line break that would start another header', () => {
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
  ])('is refused in %s', (_name, body, field) => expectRefused(body, [field]));
});

describe('text that PostgreSQL cannot store', () => {
  it('is refused', async () => {
    await expectRefused({ ...email, subject: 'x', html: 'a\0b' }, ['html']);
    await expectRefused({ ...email, subject: 'a\ud800b' }, ['subject']);
  });
});

describe('reserved names', () => {
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
    // Interface section 4.3: instructions to providers, and requests for mail back.
    'X-SMTPAPI',
    'X-SES-CONFIGURATION-SET',
    'X-Mailgun-Drop-Message',
    'X-MC-BccAddress',
    'X-PM-Message-Stream',
    'X-MSYS-API',
    'X-SG-EID',
    'X-MJ-CustomID',
    'X-Mailjet-Campaign',
    'X-Mailin-Tag',
    'X-Sib-Sandbox',
    'Resend-Idempotency-Key',
    'X-MT-Category',
    'X-MS-Exchange-Organization-SCL',
    'Resent-To',
    'Errors-To',
    'Disposition-Notification-To',
    'Return-Receipt-To',
    'ARC-Seal',
    'Authentication-Results',
    'DKIM-Anything',
    'X-CSA-Complaints',
    'CFBL-Address',
    'X-Report-Abuse-To',
    'X-Virtual-MTA',
    'Delivered-To',
  ];
  it.each(names)('include the header %s', (name) =>
    expectRefused({ ...email, headers: { [name]: 'x' } }, [`headers.${name}`], 'reserved_header'),
  );

  it.each(['account_id', 'brand_id', 'message_id', 'campaign_id', 'flow_id', 'carillon', 'carillon_x'])(
    'include the tag %s',
    (key) => expectRefused({ ...email, tags: { [key]: 'x' } }, [`tags.${key}`], 'reserved_tag'),
  );

  it('do not include headers that only describe the message', async () => {
    const headers = {
      'List-Unsubscribe': '<https://example.com/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'In-Reply-To': '<a@example.com>',
      References: '<a@example.com>',
      Precedence: 'bulk',
      'Auto-Submitted': 'auto-generated',
      'X-Entity-Ref-ID': '1',
      'X-Campaign': 'spring',
      'X-MSMail-Priority': 'High',
      Importance: 'high',
    };
    expect((await post({ ...email, headers })).status).toBe(201);
  });
});

describe('the sender', () => {
  it('is the sandbox address unless the request names one', async () => {
    expect((await post(email)).body.from).toBe(`sandbox-${api.accountId}@mail.test`);
  });

  it('may be given as from or from_email, with a display name', async () => {
    const sandbox = `sandbox-${api.accountId}@mail.test`;
    expect((await post({ ...email, from: `Ada <${sandbox}>` })).body.from).toBe(`Ada <${sandbox}>`);
    expect((await post({ ...email, from_email: sandbox })).body.from).toBe(sandbox);
    await expectRefused({ ...email, from: sandbox, from_email: 'x@example.com' }, ['from_email']);
  });

  it.each([
    ['from', 'x@example.com'],
    ['from_email', 'x@example.com'],
  ])('is refused in %s unless verified', (field, value) =>
    expectRefused({ ...email, [field]: value }, [field], 'sender_not_verified'),
  );

  it("must not be another account's sandbox address", () =>
    expectRefused(
      { ...email, from: `sandbox-${api.other.accountId}@mail.test` },
      ['from'],
      'sender_not_verified',
    ));

  it("has the account's sender name", async () => {
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

describe('the address for replies', () => {
  const setDefault = (address: string | null) =>
    api.database.pool.query('update accounts set email_reply_to = $2 where id = $1', [
      api.accountId,
      address,
    ]);
  beforeAll(() => setDefault('help@acme.test'));
  afterAll(() => setDefault(null));

  it('is the account’s unless the message names one', async () => {
    const sent = await post(email);
    expect(sent.body.reply_to).toBe('help@acme.test');
    expect((await api.request('GET', `/v1/my/messages/${String(sent.body.id)}`)).body.reply_to).toBe(
      'help@acme.test',
    );
    expect((await post({ ...email, reply_to: 'Ada <ada@acme.test>' })).body.reply_to).toBe(
      'Ada <ada@acme.test>',
    );
  });

  it('stays that of the first request in a replay', async () => {
    const key = { headers: { 'Idempotency-Key': 'reply-to' } };
    await post(email, key);
    await setDefault('new@acme.test');
    const replayed = await post(email, key);
    await setDefault('help@acme.test');
    expect(replayed.status).toBe(201);
    expect(replayed.body.reply_to).toBe('help@acme.test');
  });

  it('is never part of an SMS', async () => {
    expect((await post(sms)).body.reply_to).toBeNull();
  });
});

describe('an accepted message', () => {
  it('has every field, and its content if read alone', async () => {
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
      tracking: { opens: false, clicks: false },
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
  ])('has no blank part: %o', async (parts, kept) => {
    const { body } = await post({ ...email, ...parts });
    const one = await api.request('GET', `/v1/my/messages/${String(body.id)}`);
    expect(one.body).toMatchObject(kept);
  });

  it.each([
    ['"quoted local"@example.com'],
    ['Ada Lovelace <ada@example.com>'],
    ['ada@bücher.example'],
    ['ädä@example.com'],
  ])('may go to %s', async (to) => {
    expect((await post({ ...email, to })).status).toBe(201);
  });

  it('is not found by another tenant', async () => {
    const { body } = await post(email);
    const path = `/v1/my/messages/${String(body.id)}`;
    expect((await api.request('GET', path, { token: api.other.apiKey })).status).toBe(404);
    expect((await api.request('GET', '/v1/my/messages/0')).status).toBe(404);
    expect((await api.request('GET', '/v1/my/messages/999999999')).status).toBe(404);
  });
});

describe('Idempotency-Key', () => {
  const withKey = (key: string, body: unknown = email) => post(body, { headers: { 'Idempotency-Key': key } });

  it('of a test key neither replays nor conflicts with that of a live key', async () => {
    const headers = { 'Idempotency-Key': 'test-and-live' };
    const sent = await Promise.all(
      [api.apiKey, api.testApiKey].map((token) =>
        post({ ...email, subject: token.slice(0, 8) }, { token, headers }),
      ),
    );
    expect(sent.map((answer) => answer.status)).toEqual([201, 201]);
    expect(sent.map((answer) => answer.body.test)).toEqual([false, true]);
    const again = await post({ ...email, subject: 'crl_test' }, { token: api.testApiKey, headers });
    expect([again.body.id, again.headers.get('idempotent-replayed')]).toEqual([sent[1]?.body.id, 'true']);
  });

  it('returns the first message again, in its present state', async () => {
    const first = await withKey('k1');
    const again = await withKey('k1', { html: email.html, subject: 'Hello', to: email.to, channel: 'email' });
    expect(again.status).toBe(201);
    expect(again.body.id).toBe(first.body.id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(first.headers.get('idempotent-replayed')).toBe(null);
  });

  it('conflicts with its use for another payload', async () => {
    await withKey('k2');
    const other = await withKey('k2', { ...email, subject: 'Other' });
    expect({ status: other.status, code: other.body.code }).toEqual({
      status: 409,
      code: 'idempotency_conflict',
    });
  });

  it('is separate for each brand', async () => {
    const first = await withKey('k3');
    const other = await post(email, { token: api.other.apiKey, headers: { 'Idempotency-Key': 'k3' } });
    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(first.body.id);
  });

  it('writes one message for fifty simultaneous requests', async () => {
    const before = await countRows();
    const all = await Promise.all(Array.from({ length: 50 }, () => withKey('race')));
    expect(new Set(all.map((each) => each.status))).toEqual(new Set([201]));
    expect(new Set(all.map((each) => each.body.id)).size).toBe(1);
    expect(all.filter((each) => each.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(await countRows()).toBe(before + 4);
  });

  it('refuses one of two simultaneous requests with a conflict if their payloads differ', async () => {
    const [one, two] = await Promise.all([withKey('pair'), withKey('pair', { ...email, subject: 'Other' })]);
    expect([one.status, two.status].sort()).toEqual([201, 409]);
  });

  it('is not kept for a refused request', async () => {
    expect((await withKey('k4', { ...email, subject: undefined })).status).toBe(422);
    expect((await withKey('k4')).status).toBe(201);
  });

  it('is refused with 129 characters', async () => {
    expect((await withKey('x'.repeat(129))).status).toBe(422);
  });

  it('is accepted with 128 characters', async () => {
    expect((await withKey('x'.repeat(128))).status).toBe(201);
  });

  it('may be used again after seven days', async () => {
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

  it('accepts messages up to the cap and writes none above it, even if they arrive together', async () => {
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

  it('does not count replays, SMS or test messages', async () => {
    await post(email, { headers: { 'Idempotency-Key': 'counted' } });
    const before = await used();
    await post(email, { headers: { 'Idempotency-Key': 'counted' } });
    await post(sms);
    await post(email, { token: api.testApiKey });
    expect(await used()).toBe(before);
  });
});

describe('a request with a test key', () => {
  it.each([
    ['ada@example.com', 'delivered', ['sent', 'delivered']],
    ['bounced@example.com', 'bounced', ['sent', 'bounced']],
    ['complained@example.com', 'complained', ['sent', 'delivered', 'complained']],
    ['failed@example.com', 'failed', ['failed']],
  ])('records the outcome of a message to %s at once', async (to, status, events) => {
    const { body } = await post({ ...email, to }, { token: api.testApiKey });
    expect(body).toMatchObject({ status, test: true });
    const one = await api.request('GET', `/v1/my/messages/${String(body.id)}`);
    expect((one.body.events as unknown as { type: string }[]).map((event) => event.type)).toEqual(events);
    const { rows: queued } = await api.database.pool.query('select 1 from send_queue where message_id = $1', [
      body.id,
    ]);
    expect(queued).toHaveLength(0);
  });

  it('must follow every other rule', async () => {
    expect((await post({ ...email, subject: undefined }, { token: api.testApiKey })).status).toBe(422);
  });
});
