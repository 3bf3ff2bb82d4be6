// Resend gets the same request with the same idempotency key for each attempt at a message.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallbackResult } from '../../../../../src/delivery/wire/adapters/kind.ts';
import type { EmailProvider } from '../../../../../src/delivery/wire/adapters/port.ts';
import { resend } from '../../../../../src/delivery/wire/providers/resend/provider.ts';
import { hostileTexts } from '../../../../support/hostile-texts.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
const ID = '56761188-7520-42d8-8898-ff6fc54ce618';
beforeEach(() => {
  api.requests = [];
  api.answer = answerJson(200, { id: ID });
});

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

function settings(given: object = {}) {
  return resend.settings.parse({
    api_key: 're_123456789',
    webhook_secret: SECRET,
    requests_per_second: '1000',
    base_url: api?.baseUrl,
    ...given,
  });
}

const provider = (): EmailProvider => resend.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
const email = (...given: Parameters<typeof outgoingEmail>) => outgoingEmail(...given);
const body = (index = 0) => JSON.parse(api.requests[index]?.body ?? '') as Record<string, unknown>;

describe('a hand-over to Resend', () => {
  it('sends the parts of the message, with its reference as tag and idempotency key', async () => {
    const message = email({
      from: '"Ann \\"A\\"" <ann@acme.com>',
      to: 'bob@example.com',
      subject: 'Hellö',
      reference: '1-a-AAAA_-',
      tags: { plan: 'pro', 'not allowed': 'x', note: 'a b', account_id: '1' },
    });
    message.content = {
      ...message.content,
      html: '<p>Hi</p>',
      text: 'Hi',
      replyTo: { ...message.content.from, name: null, address: 'help@acme.com' },
      headers: { 'List-Unsubscribe': '<https://acme.com/u>' },
    };
    expect(await provider().handOver([message])).toEqual([
      { kind: 'accepted', providerMessageId: ID, response: '200', delivered: false },
    ]);
    expect(api.requests[0]).toMatchObject({ method: 'POST', url: '/emails' });
    expect(api.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer re_123456789',
      'idempotency-key': '1-a-AAAA_-',
    });
    expect(body()).toEqual({
      from: '"Ann \\"A\\"" <ann@acme.com>',
      to: ['bob@example.com'],
      subject: 'Hellö',
      reply_to: ['help@acme.com'],
      html: '<p>Hi</p>',
      text: 'Hi',
      headers: { 'List-Unsubscribe': '<https://acme.com/u>', 'Message-ID': '<1-a-AAAA_-@mail.example.com>' },
      tags: [
        { name: 'carillon', value: '1-a-AAAA_-' },
        { name: 'plan', value: 'pro' },
        { name: 'account_id', value: '1' },
      ],
    });
  });

  it('sends the same request for each attempt, because Resend compares repeated requests', async () => {
    await provider().handOver([email({ attempt: 1 })]);
    await provider().handOver([email({ attempt: 2 })]);
    expect(api.requests[1]?.body).toBe(api.requests[0]?.body);
    expect(api.requests[1]?.headers['idempotency-key']).toBe(api.requests[0]?.headers['idempotency-key']);
  });

  it.each([
    [
      400,
      'validation_error',
      'Invalid `to` field. The email address needs to follow the format.',
      { kind: 'refused', code: 'invalid_recipient' },
    ],
    [422, 'validation_error', 'Something else', { kind: 'refused', code: 'rejected' }],
    [
      403,
      'validation_error',
      'The acme.com domain is not verified. Please, add and verify your domain.',
      { kind: 'deferred' },
    ],
    [422, 'invalid_from_address', 'Invalid `from` field.', { kind: 'refused', code: 'sender_rejected' }],
    [422, 'missing_required_field', 'Missing `subject` field.', { kind: 'refused', code: 'rejected' }],
    [
      451,
      'security_error',
      'We may have found a security issue',
      { kind: 'refused', code: 'content_rejected' },
    ],
    [401, 'missing_api_key', 'Missing API Key', { kind: 'fault' }],
    [401, 'restricted_api_key', 'Restricted', { kind: 'fault' }],
    [403, 'invalid_api_key', 'API key is invalid', { kind: 'fault' }],
    [
      429,
      'rate_limit_exceeded',
      'Too many requests',
      { kind: 'fault', reason: 'Resend: HTTP 429 rate_limit_exceeded' },
    ],
    [
      429,
      'daily_quota_exceeded',
      'You have reached your quota',
      { kind: 'fault', reason: 'Resend: HTTP 429 daily_quota_exceeded' },
    ],
    [409, 'concurrent_idempotent_requests', 'In progress', { kind: 'deferred' }],
    [409, 'invalid_idempotent_request', 'Other payload', { kind: 'unknown' }],
    [500, 'application_error', 'Unexpected', { kind: 'unknown' }],
    [503, '', '', { kind: 'unknown' }],
  ])('with the response %i %s %s is %o', async (statusCode, name, message, outcome) => {
    api.answer = answerJson(statusCode, { statusCode, name, message });
    expect(await provider().handOver([email()])).toEqual([expect.objectContaining(outcome)]);
  });

  it('is unknown if the connection is lost', async () => {
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await provider().handOver([email()])).toMatchObject([{ kind: 'unknown' }]);
  });

  it('refuses an address that needs SMTPUTF8', async () => {
    const message = email({ to: 'jürgen@example.com' });
    message.built = { ...message.built, smtpUtf8: true };
    expect(await provider().handOver([message])).toMatchObject([
      { kind: 'refused', code: 'invalid_recipient' },
    ]);
    expect(api.requests).toHaveLength(0);
  });
});

describe('the check of a Resend provider', () => {
  it('reports what is wrong', async () => {
    const check = () => resend.check(settings({ requests_per_second: 1_000 }), api.deps);
    api.answer = domainsOf();
    expect(await check()).toBeNull();
    api.answer = answerJson(401, { name: 'restricted_api_key', message: 'x' });
    expect(await check()).toContain('full access');
    api.answer = answerJson(403, { name: 'invalid_api_key', message: 'x' });
    expect(await check()).toContain('refuses the API key');
    api.answer = answerJson(500, { message: 'broken' });
    expect(await check()).toContain('500 broken');
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await check()).toContain('connection was lost');
  });
});

/** As the API reference shows it: https://resend.com/docs/api-reference/domains/get-domain */
const records = [
  {
    record: 'SPF',
    name: 'send',
    type: 'MX',
    ttl: 'Auto',
    status: 'not_started',
    value: 'feedback-smtp.us-east-1.amazonses.com',
    priority: 10,
  },
  {
    record: 'SPF',
    name: 'send',
    value: 'v=spf1 include:amazonses.com ~all',
    type: 'TXT',
    ttl: 'Auto',
    status: 'not_started',
  },
  {
    record: 'DKIM',
    name: 'resend._domainkey',
    value: 'p=MIGf',
    type: 'TXT',
    status: 'not_started',
    ttl: 'Auto',
  },
  {
    record: 'Tracking',
    name: 'links',
    value: 'links1.resend-dns.com',
    type: 'CNAME',
    status: 'not_started',
    ttl: 'Auto',
  },
  null,
];

/** Serves the API of a Resend team with these domains. */
function domainsOf(...names: string[]): ProviderApi['answer'] {
  return (request, response) => {
    const url = new URL(request.url, 'https://api.resend.com');
    if (url.pathname !== '/domains' || request.method !== 'GET') {
      return answerJson(200, { id: 'id-0', records })(request, response);
    }
    const start = names.findIndex((_, index) => `id-${index}` === url.searchParams.get('after')) + 1;
    const data = names.slice(start, start + 1).map((name) => ({ id: `id-${names.indexOf(name)}`, name }));
    return answerJson(200, { object: 'list', has_more: start + 1 < names.length, data })(request, response);
  };
}

describe('tracking by Resend itself', () => {
  const tracking = () => resend.trackingProblem?.(settings({ requests_per_second: 1_000 }), api.deps);
  const answer = (domains: Record<string, object>): ProviderApi['answer'] => {
    const data = Object.keys(domains).map((name) => ({ id: name.replace('.', '-'), name }));
    return (request, response) => {
      const found = data.find(({ id }) => request.url === `/domains/${id}`);
      const body = found ? { ...found, ...domains[found.name] } : { object: 'list', has_more: false, data };
      return answerJson(200, body)(request, response);
    };
  };

  it.each([
    [
      { open_tracking: true, click_tracking: false },
      'the domain b.test tracks opens or clicks: switch both off',
    ],
    [
      { open_tracking: false, click_tracking: true },
      'the domain b.test tracks opens or clicks: switch both off',
    ],
    [{ open_tracking: false, click_tracking: false }, null],
    [{}, null],
  ])('is detected in the settings %j of a domain', async (given, problem) => {
    api.answer = answer({ 'a.test': { open_tracking: false, click_tracking: false }, 'b.test': given });
    const found = await tracking();
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });

  it('cannot be detected if Resend does not respond', async () => {
    api.answer = answerJson(500, { message: 'broken' });
    await expect(tracking()).rejects.toThrow('500 broken');
  });
});

describe('a domain at Resend', () => {
  const asked = () => api.requests.map(({ method, url }) => `${method} ${url}`);

  it('is registered without tracking', async () => {
    api.answer = domainsOf('other.com');
    await resend.domains?.registerDomain('acme.com', settings({ region: 'eu-west-1' }), api.deps);
    expect(asked()).toEqual(['GET /domains?limit=100', 'POST /domains']);
    expect(body(1)).toEqual({
      name: 'acme.com',
      region: 'eu-west-1',
      open_tracking: false,
      click_tracking: false,
    });
  });

  it('has its tracking switched off if it is already registered', async () => {
    api.answer = domainsOf('other.com', 'acme.com');
    await resend.domains?.registerDomain('acme.com', settings(), api.deps);
    expect(asked()).toEqual([
      'GET /domains?limit=100',
      'GET /domains?limit=100&after=id-0',
      'PATCH /domains/id-1',
    ]);
    expect(body(2)).toEqual({ open_tracking: false, click_tracking: false });
  });

  it('needs records for DKIM and the return path, under their complete names', async () => {
    api.answer = domainsOf('acme.com');
    const needed = { required: true, priority: null };
    expect(await resend.domains?.dnsRecords('acme.com', settings(), api.deps)).toEqual([
      {
        ...needed,
        type: 'MX',
        name: 'send.acme.com',
        value: 'feedback-smtp.us-east-1.amazonses.com',
        priority: 10,
        purpose: 'return_path',
      },
      {
        ...needed,
        type: 'TXT',
        name: 'send.acme.com',
        value: 'v=spf1 include:amazonses.com ~all',
        purpose: 'return_path',
      },
      { ...needed, type: 'TXT', name: 'resend._domainkey.acme.com', value: 'p=MIGf', purpose: 'dkim' },
    ]);
  });

  it.each([
    ['news.acme.com', 'send.news', 'send.news.acme.com'],
    ['news.acme.com', 'resend._domainkey.news', 'resend._domainkey.news.acme.com'],
    ['a.b.acme.co.uk', 'send.a.b', 'send.a.b.acme.co.uk'],
    ['send.acme.com', 'send', 'send.send.acme.com'],
    ['acme.com', 'send.acme.com.', 'send.acme.com'],
  ])('%s has the record %s as %s', async (domain, name, complete) => {
    api.answer = (request, response) =>
      request.url.startsWith('/domains?')
        ? answerJson(200, { data: [{ id: 'id-0', name: domain }] })(request, response)
        : answerJson(200, { records: [{ ...records[2], name }] })(request, response);
    expect(await resend.domains?.dnsRecords(domain, settings(), api.deps)).toMatchObject([
      { name: complete },
    ]);
  });

  it('is verified on request, and unknown if Resend does not have it', async () => {
    api.answer = domainsOf('acme.com');
    await resend.domains?.verifyDomain?.('acme.com', settings(), api.deps);
    expect(asked()).toEqual(['GET /domains?limit=100', 'POST /domains/id-0/verify']);
    await expect(resend.domains?.dnsRecords('b.com', settings(), api.deps)).rejects.toThrow(
      'does not know the domain b.com',
    );
    api.answer = answerJson(200, {});
    await expect(resend.domains?.registerDomain('b.com', settings(), api.deps)).rejects.toThrow('not a list');
    api.answer = answerJson(422, { message: 'broken' });
    await expect(resend.domains?.registerDomain('b.com', settings(), api.deps)).rejects.toThrow('422 broken');
  });
});

const now = new Date('2026-11-22T07:00:00Z');

interface Sent {
  secret?: string;
  at?: Date;
  headers?: Record<string, string | string[] | undefined>;
}

function callback(
  event: unknown,
  { secret = SECRET, at = now, headers = {} }: Sent = {},
): Promise<CallbackResult> {
  const bytes = Buffer.isBuffer(event) ? event : Buffer.from(JSON.stringify(event));
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const key = Buffer.from(secret.slice(6), 'base64');
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.`).update(bytes).digest('base64');
  const request = {
    headers: {
      'svix-id': 'msg_1',
      'svix-timestamp': timestamp,
      'svix-signature': `v1,${signature}`,
      ...headers,
    },
    body: bytes,
    url: 'https://mail.example.com/callbacks/resend/x',
    now,
  };
  return resend.callbacks?.parseCallback(
    request,
    settings({ base_url: undefined }),
    {} as never,
  ) as Promise<CallbackResult>;
}

/**
 * Events as Resend sends them (https://resend.com/docs/webhooks/event-types, and the tests of django-anymail,
 * tests/test_resend_webhooks.py), with our tag.
 */
function event(type: string, data: object = {}) {
  return {
    type,
    created_at: '2026-11-22T06:59:12.126Z',
    data: {
      created_at: '2026-11-22T06:59:11.894719+00:00',
      email_id: ID,
      from: 'Acme <onboarding@resend.dev>',
      to: ['delivered@resend.dev'],
      subject: 'Sending this example',
      tags: { carillon: 'ref-1', plan: 'pro' },
      ...data,
    },
  };
}

const hardBounce =
  "The recipient's email provider sent a hard bounce message, but didn't specify the reason for the hard bounce.";

describe('a webhook of Resend', () => {
  it('reports a delivery', async () => {
    expect(await callback(event('email.delivered'))).toEqual({
      kind: 'reports',
      facts: [
        {
          reference: 'ref-1',
          providerMessageId: ID,
          type: 'delivered',
          occurredAt: new Date('2026-11-22T06:59:12.126Z'),
          response: null,
          bounce: null,
          failure: null,
          suppresses: false,
        },
      ],
      inbound: [],
      ignored: 0,
      onceTokens: [],
    });
  });

  it.each([
    ['email.sent', {}, { type: 'accepted' }],
    ['email.delivery_delayed', {}, { type: 'deferred' }],
    ['email.complained', {}, { type: 'complained', suppresses: true }],
    [
      'email.bounced',
      { bounce: { type: 'Permanent', subType: 'General', message: hardBounce } },
      {
        type: 'bounced',
        bounce: { type: 'hard', subtype: 'other', diagnostic: hardBounce },
        suppresses: true,
      },
    ],
    [
      'email.bounced',
      {
        bounce: {
          type: 'Permanent',
          subType: 'General',
          message: hardBounce,
          diagnosticCode: ['smtp; 550 5.1.1 user unknown'],
        },
      },
      { type: 'bounced', bounce: { type: 'hard', subtype: 'no_such_mailbox' }, suppresses: true },
    ],
    [
      'email.bounced',
      { bounce: { message: hardBounce } },
      { type: 'bounced', bounce: { type: 'hard' }, suppresses: true },
    ],
    [
      'email.bounced',
      { bounce: { type: 'Transient', subType: 'MailboxFull', message: 'full' } },
      { type: 'bounced', bounce: { type: 'soft', subtype: 'mailbox_full' }, suppresses: true },
    ],
    [
      'email.bounced',
      { bounce: { type: 'Transient', subType: 'ContentRejected', message: 'no' } },
      { type: 'bounced', bounce: { type: 'soft', subtype: 'other' }, suppresses: false },
    ],
    [
      'email.bounced',
      {
        bounce: {
          type: 'Permanent',
          subType: 'Suppressed',
          message: 'Resend has suppressed sending to this address',
        },
      },
      { type: 'bounced', bounce: { type: 'hard', subtype: 'provider_suppressed' }, suppresses: false },
    ],
    ['email.bounced', {}, { type: 'bounced', bounce: { type: 'soft', subtype: 'other' }, suppresses: false }],
    [
      'email.suppressed',
      { suppressed: { type: 'OnAccountSuppressionList', message: 'on the list' } },
      {
        type: 'bounced',
        bounce: { type: 'hard', subtype: 'provider_suppressed', diagnostic: 'on the list' },
        suppresses: false,
      },
    ],
    [
      'email.failed',
      { failed: { reason: 'reached_daily_quota' } },
      { type: 'failed', failure: { code: 'provider_error', message: 'reached_daily_quota' } },
    ],
  ])('reports %s %o', async (type, data, fact) => {
    expect(await callback(event(type, data))).toMatchObject({ facts: [{ reference: 'ref-1', ...fact }] });
  });

  it('finds the reference among tags in a list, too', async () => {
    const tags = [{ name: 'carillon', value: 'ref-2' }];
    expect(await callback(event('email.sent', { tags }))).toMatchObject({ facts: [{ reference: 'ref-2' }] });
    for (const other of [null, [], {}, { carillon: 1 }, 'x', [{ name: 'carillon' }]]) {
      expect(await callback(event('email.sent', { tags: other }))).toMatchObject({
        facts: [{ reference: null }],
      });
    }
  });

  it.each(['email.opened', 'email.clicked', 'email.received', 'domain.created', 'contact.deleted'])(
    'ignores %s',
    async (type) => {
      expect(await callback(event(type))).toMatchObject({ facts: [], ignored: 1 });
    },
  );

  it('is refused without a genuine signature of the last five minutes', async () => {
    const sent = event('email.complained');
    const minutes = (count: number) => new Date(now.getTime() + count * 60_000);
    for (const given of [
      { secret: `whsec_${Buffer.from('another secret').toString('base64')}` },
      { at: minutes(-6) },
      { at: minutes(6) },
      { headers: { 'svix-id': 'msg_2' } },
      { headers: { 'svix-signature': undefined } },
      { headers: { 'svix-signature': 'v1,' } },
      { headers: { 'svix-signature': 'v1a,AAAA v0,BBBB' } },
      { headers: { 'svix-timestamp': 'now' } },
      { headers: { 'svix-id': ['msg_1', 'msg_1'] } },
    ]) {
      expect(await callback(sent, given)).toMatchObject({ kind: 'refused' });
    }
    expect(await callback(sent, { at: minutes(-4) })).toMatchObject({ kind: 'reports' });
  });

  it('accepts one genuine signature of several', async () => {
    const genuine = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64'))
      .update(`msg_1.${now.getTime() / 1_000}.${JSON.stringify(event('email.sent'))}`)
      .digest('base64');
    const headers = { 'svix-signature': `v1,${'A'.repeat(43)}= v1,${genuine}` };
    expect(await callback(event('email.sent'), { headers })).toMatchObject({ kind: 'reports' });
  });

  it('never makes the reader throw, whatever it contains', async () => {
    for (const make of Object.values(hostileTexts)) {
      const text = make(5_000);
      await expect(callback(Buffer.from(text))).resolves.toMatchObject({ kind: 'reports', ignored: 1 });
      const bounce = { type: text, subType: text, message: text, diagnosticCode: [text] };
      const data = { email_id: text, tags: { carillon: text }, bounce, failed: text };
      const sent = { ...event('email.bounced', data), created_at: text };
      await expect(callback(sent)).resolves.toMatchObject({ kind: 'reports' });
      await expect(
        callback(event('email.sent'), { headers: { 'svix-signature': text } }),
      ).resolves.toMatchObject({
        kind: 'refused',
      });
    }
  });
});
