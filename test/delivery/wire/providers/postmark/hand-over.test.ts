// Each message of a Postmark batch gets its own verdict, and an unknown one is found by its reference.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../../src/delivery/terms/addresses/email.ts';
import type { OutgoingEmail } from '../../../../../src/delivery/wire/adapters/port.ts';
import { postmark } from '../../../../../src/delivery/wire/providers/postmark/provider.ts';
import type { Answer } from '../../../../support/https-receiver.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());

interface Item {
  To: string;
  Metadata: Record<string, string>;
}

/** Responds to a batch with a result for each message. */
function answerEach(resultOf: (item: Item) => unknown): Answer {
  return (request, response) =>
    answerJson(200, (JSON.parse(request.body) as Item[]).map(resultOf))(request, response);
}

/** As in https://postmarkapp.com/developer/api/email-api#send-batch-emails */
const ok = ({ To }: Item) => ({
  ErrorCode: 0,
  Message: 'OK',
  MessageID: `id-of-${To}`,
  SubmittedAt: '2010-11-26T12:01:05.1794748-05:00',
  To,
});

beforeEach(() => {
  api.requests = [];
  api.answer = answerEach(ok);
});

const token = '2b9c7bd0-0000-4000-8000-server';

function settings(given: object = {}) {
  return postmark.settings.parse({ server_token: token, base_url: api.baseUrl, ...given });
}

function handOver(batch: Partial<OutgoingEmail>[]) {
  const provider = postmark.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
  return provider.handOver(batch.map((given) => ({ ...outgoingEmail(), ...given })));
}

const sent = () => api.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>[]);

function address(text: string) {
  const parsed = parseEmailAddress(text);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed;
}

describe('a batch for Postmark', () => {
  it('is one request with the parts of each message', async () => {
    const content = {
      subject: 'Grüße',
      html: '<p>Hello</p>',
      text: null,
      from: address('"Ada \\"Countess\\" Lovelace" <ada@example.com>'),
      replyTo: address('help@example.com'),
      headers: { 'X-Entity-Ref-ID': '7' },
    };
    const tags = { brand_id: '5', message_id: '7', 'a name of more than twenty': 'x', long: 'x'.repeat(81) };
    const outcomes = await handOver([
      { to: 'a@example.org', from: 'ada@example.com', content, tags, reference: '1-a-xyz' },
      { to: 'b@example.org' },
    ]);
    expect(outcomes).toEqual(
      ['a@example.org', 'b@example.org'].map((to) => ({
        kind: 'accepted',
        providerMessageId: `id-of-${to}`,
        response: '200',
        delivered: false,
      })),
    );
    expect(api.requests[0]).toMatchObject({
      method: 'POST',
      url: '/email/batch',
      headers: { 'x-postmark-server-token': token },
    });
    expect(sent()).toHaveLength(1);
    expect(sent()[0]?.[0]).toEqual({
      From: '"Ada \\"Countess\\" Lovelace" <ada@example.com>',
      To: 'a@example.org',
      ReplyTo: 'help@example.com',
      Subject: 'Grüße',
      HtmlBody: '<p>Hello</p>',
      TextBody: 'Hello',
      Tag: 'brand-5',
      Metadata: { carillon_reference: '1-a-xyz', brand_id: '5', message_id: '7' },
      Headers: [
        { Name: 'X-Entity-Ref-ID', Value: '7' },
        { Name: 'Message-ID', Value: '<1-a-xyz@mail.example.com>' },
        { Name: 'X-PM-KeepID', Value: 'true' },
      ],
      TrackOpens: false,
      TrackLinks: 'None',
      MessageStream: 'outbound',
    });
  });

  it('has at most ten fields of metadata, always with the reference', async () => {
    const tags = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`tag${index}`, 'x']));
    await handOver([{ tags, reference: '1-a-xyz' }]);
    const metadata = sent()[0]?.[0]?.Metadata as Record<string, string>;
    expect(Object.keys(metadata)).toHaveLength(10);
    expect(metadata.carillon_reference).toBe('1-a-xyz');
  });

  it('has a verdict for each message, in the order of the batch', async () => {
    const results: Record<string, unknown> = {
      'inactive@example.org': {
        ErrorCode: 406,
        Message: 'You tried to send to a recipient that has been marked as inactive.',
      },
      'bad@example.org': { ErrorCode: 300, Message: "Invalid 'To' address: 'bad@example.org'." },
      'sender@example.org': { ErrorCode: 300, Message: "Invalid 'From' address: 'x'." },
      'body@example.org': { ErrorCode: 300, Message: 'The TextBody field is too long.' },
      'unsigned@example.org': { ErrorCode: 400, Message: 'Sender signature not found' },
      'unconfirmed@example.org': { ErrorCode: 401, Message: 'Sender signature not confirmed' },
      'file@example.org': { ErrorCode: 411, Message: 'Forbidden attachment type' },
      'other@example.org': { ErrorCode: 999, Message: 'new' },
      'pending@example.org': { ErrorCode: 412, Message: 'Account is pending' },
      'late@example.org': { MessageID: 'id-late', Message: 'Message accepted, but delivery may be delayed.' },
      'odd@example.org': 'no result',
    };
    api.answer = answerEach((item) => results[item.To] ?? ok(item));
    const outcomes = await handOver([...Object.keys(results), 'fine@example.org'].map((to) => ({ to })));
    expect(outcomes).toMatchObject([
      { kind: 'bounced', bounce: { type: 'hard', subtype: 'provider_suppressed' } },
      { kind: 'refused', code: 'invalid_recipient', response: expect.stringMatching(/^300 Invalid/) },
      { kind: 'refused', code: 'sender_rejected' },
      { kind: 'refused', code: 'content_rejected' },
      { kind: 'deferred', response: '400 Sender signature not found' },
      { kind: 'deferred' },
      { kind: 'refused', code: 'content_rejected' },
      { kind: 'refused', code: 'rejected' },
      { kind: 'fault', reason: 'Postmark: HTTP 422 412' },
      { kind: 'accepted', providerMessageId: 'id-late' },
      { kind: 'unknown' },
      { kind: 'accepted', providerMessageId: 'id-of-fine@example.org' },
    ]);
  });

  it('is handed over message by message if Postmark refuses it because of one', async () => {
    api.answer = (request, response) => {
      const items = JSON.parse(request.body) as Item[];
      const spoiled = items.some(({ To }) => To === 'bad@example.org');
      const answer = spoiled
        ? answerJson(422, { ErrorCode: 403, Message: 'Incompatible JSON' })
        : answerEach(ok);
      return answer(request, response);
    };
    const outcomes = await handOver(
      ['a@example.org', 'bad@example.org', 'c@example.org'].map((to) => ({ to })),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'refused', 'accepted']);
    expect(api.requests).toHaveLength(4);
  });

  it('is sent without the message whose recipient needs SMTPUTF8', async () => {
    const built = { ...outgoingEmail().built, smtpUtf8: true };
    const outcomes = await handOver([{ to: 'a@example.org' }, { built }, { to: 'c@example.org' }]);
    expect(outcomes).toMatchObject([
      { providerMessageId: 'id-of-a@example.org' },
      { kind: 'refused', code: 'invalid_recipient' },
      { providerMessageId: 'id-of-c@example.org' },
    ]);
    expect(await handOver([{ built }])).toMatchObject([{ kind: 'refused' }]);
    expect(api.requests).toHaveLength(1);
  });
});

describe('an error of Postmark for a whole batch', () => {
  const batch = [{ to: 'a@example.org' }, { to: 'b@example.org' }];

  it.each([
    [401, { ErrorCode: 10, Message: 'Bad or missing API token' }, '401 10'],
    [422, { ErrorCode: 405, Message: 'Not allowed to send' }, '422 405'],
    [422, { ErrorCode: 413, Message: 'Account May Not Send' }, '422 413'],
    [422, { ErrorCode: 1235, Message: 'The message stream does not exist' }, '422 1235'],
    [429, { ErrorCode: 429, Message: 'Rate Limit Exceeded' }, '429 429'],
    [503, { ErrorCode: 100, Message: 'Maintenance' }, '503 100'],
    [429, {}, '429'],
    [404, {}, '404'],
  ])('%i %j is a fault', async (status, body, codes) => {
    api.answer = answerJson(status, body);
    const fault = { kind: 'fault', reason: `Postmark: HTTP ${codes}` };
    expect(await handOver(batch)).toEqual([fault, fault]);
    expect(api.requests).toHaveLength(1);
  });

  it('leaves its messages unknown if Postmark may have accepted them', async () => {
    const unknown = [{ kind: 'unknown' }, { kind: 'unknown' }];
    for (const [status, body] of [
      [500, { ErrorCode: 0, Message: 'x' }],
      [200, [ok({ To: 'a@example.org', Metadata: {} })]],
      [200, {}],
    ] as const) {
      api.answer = answerJson(status, body);
      expect(await handOver(batch)).toMatchObject(unknown);
    }
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await handOver(batch)).toMatchObject(unknown);
  });
});

describe('the check of the settings', () => {
  const check = (given: object = {}) => postmark.check(settings(given), api.deps);

  it('requests the server, the message stream and the domains', async () => {
    api.answer = answerJson(200, { ID: 1, DeliveryType: 'Live' });
    expect(await check({ account_token: 'account-1' })).toBeNull();
    expect(api.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /server',
      'GET /message-streams/outbound',
      'GET /domains?count=1&offset=0',
    ]);
    expect(api.requests[2]?.headers).toMatchObject({ 'x-postmark-account-token': 'account-1' });
  });

  it('reports a wrong token and a sandbox, and never shows the token', async () => {
    api.answer = answerJson(401, { ErrorCode: 10, Message: 'Bad or missing Server API token.' });
    expect(await check()).toBe('Postmark: 401 Bad or missing Server API token.');
    api.answer = answerJson(200, { DeliveryType: 'Sandbox' });
    expect(await check()).toContain('sandbox');
  });
});

describe('a sending domain at Postmark', () => {
  /** As in https://postmarkapp.com/developer/api/domains-api */
  const details = {
    Name: 'example.com',
    DKIMHost: '',
    DKIMTextValue: '',
    DKIMPendingHost: '20131031155228pm._domainkey.example.com',
    DKIMPendingTextValue: 'k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB',
    ReturnPathDomain: 'pm-bounces.example.com',
    ReturnPathDomainVerified: false,
    ReturnPathDomainCNAMEValue: 'pm.mtasv.net',
    ID: 36737,
  };

  function answerDomains(names: string[]): void {
    const Domains = names.map((Name, index) => ({ ID: 36737 + index, Name }));
    api.answer = (request, response) =>
      answerJson(200, request.url.includes('?') ? { TotalCount: names.length, Domains } : details)(
        request,
        response,
      );
  }

  const made = () => api.requests.map(({ method, url }) => `${method} ${url}`);
  const account = () => settings({ account_token: 'account-1' });

  it('is registered once', async () => {
    answerDomains(['other.com']);
    await postmark.domains?.registerDomain('example.com', account(), api.deps);
    expect(made()).toEqual(['GET /domains?count=500&offset=0', 'POST /domains']);
    expect(JSON.parse(api.requests[1]?.body ?? '')).toEqual({
      Name: 'example.com',
      ReturnPathDomain: 'pm-bounces.example.com',
    });
    api.requests = [];
    answerDomains(['example.com']);
    await postmark.domains?.registerDomain('example.com', account(), api.deps);
    expect(made()).toHaveLength(1);
  });

  it('has the records that Postmark asks for', async () => {
    answerDomains(['example.com']);
    expect(await postmark.domains?.dnsRecords('example.com', account(), api.deps)).toEqual([
      {
        type: 'TXT',
        name: '20131031155228pm._domainkey.example.com',
        value: 'k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB',
        priority: null,
        required: true,
        purpose: 'dkim',
      },
      {
        type: 'CNAME',
        name: 'pm-bounces.example.com',
        value: 'pm.mtasv.net',
        priority: null,
        required: false,
        purpose: 'return_path',
      },
    ]);
  });

  it('is checked by Postmark when Carillon asks', async () => {
    answerDomains(['example.com']);
    await postmark.domains?.verifyDomain?.('example.com', account(), api.deps);
    expect(made().slice(1)).toEqual(['PUT /domains/36737/verifyDkim', 'PUT /domains/36737/verifyReturnPath']);
  });

  it('is left to the operator without an account token', async () => {
    await postmark.domains?.registerDomain('example.com', settings(), api.deps);
    expect(await postmark.domains?.dnsRecords('example.com', settings(), api.deps)).toEqual([]);
    expect(api.requests).toHaveLength(0);
  });

  it("fails with Postmark's error message", async () => {
    api.answer = answerJson(422, { ErrorCode: 503, Message: 'You cannot use a public domain' });
    await expect(postmark.domains?.registerDomain('gmail.com', account(), api.deps)).rejects.toThrow(
      'Postmark refused: 422 You cannot use a public domain',
    );
  });
});

describe('a message that Postmark may have accepted', () => {
  const reference = '7-9-AAAAAAAAAAAAAAAAAAAAAA';
  const find = () => {
    const provider = postmark.create(settings(), { ...api.deps, callbackUrl: null, id: 1 });
    return provider.findAccepted?.(outgoingEmail({ reference }));
  };
  /** As in https://postmarkapp.com/developer/api/messages-api#outbound-message-search */
  const message = (carillon_reference: string) => ({
    Tag: 'brand-1',
    MessageID: '0ac29aee-e1cd-480d-b08d-4f48548ff48d',
    MessageStream: 'outbound',
    ReceivedAt: '2014-02-20T11:02:18.9052296-05:00',
    Metadata: { carillon_reference },
    Status: 'Sent',
  });
  const answerWith = (...Messages: object[]) =>
    (api.answer = answerJson(200, { TotalCount: Messages.length, Messages }));

  it('is found by the reference in its metadata', async () => {
    answerWith(message(reference));
    expect(await find()).toEqual({
      kind: 'accepted',
      providerMessageId: '0ac29aee-e1cd-480d-b08d-4f48548ff48d',
      response: '200 found',
      delivered: false,
    });
    const [request] = api.requests;
    expect(request).toMatchObject({
      method: 'GET',
      url: `/messages/outbound?count=1&offset=0&messagestream=outbound&metadata_carillon_reference=${reference}`,
    });
    expect(request?.headers['x-postmark-server-token']).toBe(token);
  });

  it('is not found if Postmark lists none, or another one', async () => {
    answerWith();
    expect(await find()).toBeNull();
    answerWith(message('7-8-AAAAAAAAAAAAAAAAAAAAAA'));
    expect(await find()).toBeNull();
  });

  it('is not found if Postmark cannot be reached', async () => {
    for (const answer of [
      answerJson(500, {}),
      answerJson(200, { Messages: 'none' }),
      answerJson(200, null),
    ]) {
      api.answer = answer;
      expect(await find()).toBeNull();
    }
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await find()).toBeNull();
  });
});
