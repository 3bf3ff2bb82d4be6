// Mailgun gets the complete message without tracking, and only genuine webhooks change messages.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallbackResult } from '../../../../../src/delivery/wire/adapters/kind.ts';
import { mailgun } from '../../../../../src/delivery/wire/providers/mailgun/provider.ts';
import type { EmailProvider } from '../../../../../src/delivery/wire/adapters/port.ts';
import { hostileTexts } from '../../../../support/hostile-texts.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.requests = [];
  api.answer = answerJson(200, { id: '<1-1-AAAA@mail.example.com>', message: 'Queued. Thank you.' });
});

const KEY = 'key-0123456789abcdef';
const SIGNING_KEY = 'signing-0123456789abcdef';

function settings(given: object = {}) {
  return mailgun.settings.parse({
    api_key: KEY,
    webhook_signing_key: SIGNING_KEY,
    base_url: api?.baseUrl,
    ...given,
  });
}

const provider = (): EmailProvider => mailgun.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
const send = (...given: Parameters<typeof outgoingEmail>) => provider().handOver([outgoingEmail(...given)]);

describe('a hand-over to Mailgun', () => {
  it('sends the complete message with its reference, and switches tracking off', async () => {
    const data = 'From: ann@news.acme.com\r\nSubject: ä\r\n\r\nHello\r\n';
    const outcomes = await send({
      from: 'Ann <ann@news.acme.com>',
      to: 'bob@example.com',
      reference: 'ref-1',
      tags: { order: '1042', account_id: '3', brand_id: '5', message_id: '42' },
      data,
    });
    expect(outcomes).toEqual([
      { kind: 'accepted', providerMessageId: '1-1-AAAA@mail.example.com', response: '200', delivered: false },
    ]);
    const [request] = api.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/v3/news.acme.com/messages.mime' });
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from(`api:${KEY}`).toString('base64')}`);
    const form = await new Response(request?.body ?? '', {
      headers: { 'content-type': request?.headers['content-type'] as string },
    }).formData();
    expect(Object.fromEntries([...form].filter(([name]) => name !== 'message'))).toEqual({
      to: 'bob@example.com',
      'v:carillon': 'ref-1',
      ...{ 'v:account_id': '3', 'v:brand_id': '5', 'v:message_id': '42' },
      'o:tracking': 'no',
      'o:tracking-clicks': 'no',
      'o:tracking-opens': 'no',
    });
    expect(await (form.get('message') as File).text()).toBe(data);
  });

  it.each([
    [
      400,
      'to parameter is not a valid address. please check documentation',
      { kind: 'refused', code: 'invalid_recipient' },
    ],
    [
      400,
      "'from' parameter is not a valid address. please check documentation",
      { kind: 'refused', code: 'sender_rejected' },
    ],
    [400, 'message exceeds limits', { kind: 'refused', code: 'content_rejected' }],
    [400, 'need at least one recipient', { kind: 'refused', code: 'rejected' }],
    [401, 'Forbidden', { kind: 'fault' }],
    [402, 'Payment required', { kind: 'fault' }],
    [
      403,
      'Domain news.acme.com is not allowed to send: The domain is unverified and requires DNS configuration.',
      { kind: 'deferred' },
    ],
    [403, 'The account is disabled', { kind: 'fault' }],
    [404, 'Domain not found: news.acme.com', { kind: 'deferred' }],
    [404, 'Not Found', { kind: 'fault' }],
    [413, 'Message too large', { kind: 'refused', code: 'content_rejected' }],
    [429, 'Too Many Requests', { kind: 'fault', reason: 'Mailgun: HTTP 429' }],
    [500, 'Internal Server Error', { kind: 'unknown' }],
  ])('with the response %i %s is %o', async (status, message, outcome) => {
    api.answer = answerJson(status, { message });
    expect(await send()).toEqual([expect.objectContaining(outcome)]);
  });

  it('is unknown if the connection is lost, or the response has no id', async () => {
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
    api.answer = answerJson(200, { message: 'Queued' });
    expect(await send()).toMatchObject([{ kind: 'unknown' }]);
  });
});

describe('the check of a Mailgun provider', () => {
  const check = () => mailgun.check(settings(), api.deps);

  it('reports what is wrong', async () => {
    expect(await check()).toBeNull();
    expect(api.requests[0]).toMatchObject({ method: 'GET', url: '/v4/domains?limit=1' });
    api.answer = answerJson(401, 'Forbidden');
    expect(await check()).toContain('refuses the API key');
    api.answer = answerJson(500, { message: 'broken' });
    expect(await check()).toContain('500 broken');
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await check()).toContain('connection was lost');
  });
});

/** A domain as the API reference shows it: https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/domains */
const domain = {
  domain: { name: 'news.acme.com', state: 'unverified' },
  receiving_dns_records: [
    { is_active: false, record_type: 'MX', priority: '10', value: 'mxa.mailgun.org', valid: 'unknown' },
  ],
  sending_dns_records: [
    {
      is_active: false,
      name: 'news.acme.com',
      record_type: 'TXT',
      valid: 'unknown',
      value: 'v=spf1 include:mailgun.org ~all',
    },
    {
      is_active: false,
      name: 'pic._domainkey.news.acme.com.',
      record_type: 'TXT',
      valid: 'unknown',
      value: 'k=rsa; p=MIIB',
    },
    {
      is_active: false,
      name: 'email.news.acme.com',
      record_type: 'CNAME',
      valid: 'unknown',
      value: 'mailgun.org',
    },
    'broken',
  ],
};

describe('a domain at Mailgun', () => {
  it('is registered unless Mailgun has it', async () => {
    api.answer = answerJson(200, domain);
    await mailgun.domains?.registerDomain('news.acme.com', settings(), api.deps);
    expect(api.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v4/domains/news.acme.com',
    ]);
    api.requests = [];
    api.answer = (request, response) =>
      answerJson(request.method === 'GET' ? 404 : 200, domain)(request, response);
    await mailgun.domains?.registerDomain('news.acme.com', settings(), api.deps);
    expect(api.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v4/domains/news.acme.com',
      'POST /v4/domains',
    ]);
    api.answer = (request, response) =>
      answerJson(request.method === 'GET' ? 404 : 400, { message: 'This domain name is already taken' })(
        request,
        response,
      );
    await expect(mailgun.domains?.registerDomain('news.acme.com', settings(), api.deps)).rejects.toThrow(
      'already taken',
    );
  });

  it('needs a record for DKIM and one for SPF, and none for tracking', async () => {
    api.answer = answerJson(200, domain);
    expect(await mailgun.domains?.dnsRecords('news.acme.com', settings(), api.deps)).toEqual([
      {
        type: 'TXT',
        name: 'news.acme.com',
        value: 'v=spf1 include:mailgun.org ~all',
        priority: null,
        required: true,
        purpose: 'return_path',
      },
      {
        type: 'TXT',
        name: 'pic._domainkey.news.acme.com',
        value: 'k=rsa; p=MIIB',
        priority: null,
        required: true,
        purpose: 'dkim',
      },
    ]);
    api.answer = answerJson(200, {});
    await expect(mailgun.domains?.dnsRecords('news.acme.com', settings(), api.deps)).rejects.toThrow(
      'does not describe',
    );
  });

  it('is verified on request', async () => {
    await mailgun.domains?.verifyDomain?.('news.acme.com', settings(), api.deps);
    expect(api.requests[0]).toMatchObject({ method: 'PUT', url: '/v4/domains/news.acme.com/verify' });
  });
});

const now = new Date('2018-08-12T21:20:00Z');
const TOKEN = '651869375b9df3c98fc15c4889b102119add1235c38fc92824';

function signed(eventData: unknown, given: { timestamp?: string; key?: string } = {}) {
  const { timestamp = '1534108637', key = SIGNING_KEY } = given;
  const signature = createHmac('sha256', key)
    .update(timestamp + TOKEN)
    .digest('hex');
  return { signature: { timestamp, token: TOKEN, signature }, 'event-data': eventData };
}

function callback(body: unknown, at = now): Promise<CallbackResult> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const request = { headers: {}, body: bytes, url: 'https://mail.example.com/callbacks/mailgun/x', now: at };
  return mailgun.callbacks?.parseCallback(
    request,
    settings({ base_url: undefined }),
    {} as never,
  ) as Promise<CallbackResult>;
}

/**
 * A complete event as Mailgun sent it, and parts of others, from the tests of django-anymail
 * (https://github.com/anymail/django-anymail, tests/test_mailgun_webhooks.py), with our variable.
 */
const delivered = {
  tags: [],
  timestamp: 1534108637.153125,
  storage: { url: 'https://sw.api.mailgun.net/v3/domains/example.org/messages/eyJwI...', key: 'eyJwI...' },
  'recipient-domain': 'example.com',
  id: 'hTWCTD81RtiDN-...',
  campaigns: [],
  'user-variables': { carillon: 'ref-1' },
  flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
  'log-level': 'info',
  envelope: {
    'sending-ip': '333.123.123.200',
    sender: 'test@example.org',
    transport: 'smtp',
    targets: 'recipient@example.com',
  },
  message: {
    headers: {
      to: 'recipient@example.com',
      'message-id': '20180812211713.1.DF5966851B4BAA99@example.org',
      from: 'test@example.org',
      subject: 'Testing',
    },
    attachments: [],
    size: 809,
  },
  recipient: 'recipient@example.com',
  event: 'delivered',
  'delivery-status': {
    tls: true,
    'mx-host': 'smtp-in.example.com',
    'attempt-no': 1,
    description: '',
    'session-seconds': 3.5700838565826416,
    utf8: true,
    code: 250,
    message: 'OK',
    'certificate-verified': true,
  },
};

const failed = (given: object, status: object) => ({
  ...delivered,
  event: 'failed',
  ...given,
  'delivery-status': status,
});
const unknownMailbox = {
  code: 550,
  message:
    "5.1.1 The email account that you tried to reach does not exist. Please try\n5.1.1 double-checking the recipient's email address for typos",
  description: '',
};

describe('a webhook of Mailgun', () => {
  it('reports a delivery, with a single-use token', async () => {
    expect(await callback(signed(delivered))).toEqual({
      kind: 'reports',
      facts: [
        {
          reference: 'ref-1',
          providerMessageId: '20180812211713.1.DF5966851B4BAA99@example.org',
          type: 'delivered',
          occurredAt: new Date('2018-08-12T21:17:17.153Z'),
          response: '250 OK',
          bounce: null,
          failure: null,
          suppresses: false,
        },
      ],
      inbound: [],
      ignored: 0,
      onceTokens: [TOKEN],
    });
  });

  it.each([
    [
      'a hard bounce',
      failed({ severity: 'permanent', reason: 'bounce' }, unknownMailbox),
      { type: 'bounced', bounce: { type: 'hard', subtype: 'no_such_mailbox' }, suppresses: true },
    ],
    [
      'a full mailbox',
      failed(
        { severity: 'permanent', reason: 'generic' },
        { code: 552, 'enhanced-code': '5.2.2', message: 'over quota' },
      ),
      { type: 'bounced', bounce: { type: 'soft', subtype: 'mailbox_full' }, suppresses: true },
    ],
    [
      'a block',
      failed({ severity: 'permanent', reason: 'espblock' }, { code: 550, message: '5.7.1 blocked: spam' }),
      { type: 'bounced', bounce: { type: 'soft', subtype: 'blocked' }, suppresses: false },
    ],
    [
      "an address on Mailgun's own list",
      failed(
        { severity: 'permanent', reason: 'suppress-bounce' },
        { code: 605, message: '', description: 'Not delivering to previously bounced address' },
      ),
      { type: 'bounced', bounce: { type: 'hard', subtype: 'provider_suppressed' }, suppresses: false },
    ],
    [
      'an address that unsubscribed at Mailgun',
      failed({ severity: 'permanent', reason: 'suppress-unsubscribe' }, { code: 606, message: '' }),
      { type: 'failed', failure: { code: 'rejected' }, suppresses: false },
    ],
    [
      'a message that became too old',
      failed({ severity: 'permanent', reason: 'old' }, { code: 602, message: 'Too old' }),
      { type: 'bounced', bounce: { type: 'soft', subtype: 'expired' }, suppresses: false },
    ],
    [
      'a temporary failure',
      failed(
        { severity: 'temporary', reason: 'generic' },
        { code: 498, message: 'No MX for nomx.example.com' },
      ),
      { type: 'deferred', response: '498 No MX for nomx.example.com' },
    ],
    ['a complaint', { ...delivered, event: 'complained' }, { type: 'complained', suppresses: true }],
    ['the acceptance', { ...delivered, event: 'accepted' }, { type: 'accepted' }],
    [
      'a rejection',
      {
        ...delivered,
        event: 'rejected',
        reject: { reason: 'Sandbox subdomains are for test purposes only.' },
      },
      {
        type: 'failed',
        failure: { code: 'rejected', message: 'Sandbox subdomains are for test purposes only.' },
      },
    ],
  ])('reports %s', async (_name, event, fact) => {
    expect(await callback(signed(event))).toMatchObject({
      kind: 'reports',
      facts: [{ reference: 'ref-1', ...fact }],
    });
  });

  it.each(['opened', 'clicked', 'unsubscribed', 'stored', 'new'])('ignores the event %s', async (event) => {
    expect(await callback(signed({ ...delivered, event }))).toMatchObject({ facts: [], ignored: 1 });
  });

  it('has no reference if the variables are those of another sender', async () => {
    for (const variables of [{}, { carillon: 7 }, { carillon: null }, 'x', undefined]) {
      expect(await callback(signed({ ...delivered, 'user-variables': variables }))).toMatchObject({
        facts: [{ reference: null, type: 'delivered' }],
      });
    }
  });

  it('is refused without a genuine signature of the last twelve hours', async () => {
    const genuine = signed(delivered);
    const refused = [
      { 'event-data': delivered },
      { ...genuine, signature: { ...genuine.signature, token: `${TOKEN}0` } },
      { ...genuine, signature: { ...genuine.signature, timestamp: '1534108638' } },
      { ...genuine, signature: { ...genuine.signature, signature: 'ab' } },
      { ...genuine, signature: { ...genuine.signature, signature: null } },
      signed(delivered, { key: KEY }),
      signed(delivered, { timestamp: '1534060000' }),
      signed(delivered, { timestamp: '1534120000' }),
      [],
      null,
      'x',
    ];
    for (const body of refused) expect(await callback(body)).toMatchObject({ kind: 'refused' });
    expect(await callback(Buffer.from('{"signature":'))).toMatchObject({ kind: 'refused' });
  });

  it('never makes the reader throw, whatever it contains', async () => {
    for (const make of Object.values(hostileTexts)) {
      const text = make(5_000);
      await expect(callback(Buffer.from(text))).resolves.toMatchObject({ kind: 'refused' });
      const event = {
        ...delivered,
        event: 'failed',
        severity: text,
        reason: text,
        timestamp: text,
        message: text,
      };
      const status = { code: text, message: text, 'enhanced-code': text };
      await expect(callback(signed({ ...event, 'delivery-status': status }))).resolves.toMatchObject({
        kind: 'reports',
      });
      await expect(callback(signed(text))).resolves.toMatchObject({ kind: 'reports', facts: [] });
    }
  });
});
