// Amazon SES gets each message whole and signed, and its errors become verdicts, faults or unknown outcomes.
import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ses } from '../../../../../src/delivery/wire/providers/ses/provider.ts';
import type { ReceivedRequest } from '../../../../support/https-receiver.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.requests = [];
  api.answer = answerJson(200, { MessageId: 'ses-1' });
});

const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

function settings(given: object = {}) {
  return ses.settings.parse({
    region: 'eu-central-1',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    secret_access_key: secret,
    base_url: api.baseUrl,
    ...given,
  });
}

function provider(given: object = {}) {
  return ses.create(settings(given), { ...api.deps, callbackUrl: null, id: 1 });
}

async function handOver(given: Parameters<typeof outgoingEmail>[0] = {}, options: object = {}) {
  const [outcome] = await provider(options).handOver([outgoingEmail(given)]);
  return outcome;
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const hash = (text: string) => createHash('sha256').update(text).digest('hex');

/** Computes the signature of a request as AWS does (Signature Version 4). */
function signatureOf({ method, url, headers, body }: ReceivedRequest): string {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1] ?? '';
  const canonicalHeaders = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const [path, query = ''] = url.split('?');
  const canonical = [method, path, query, canonicalHeaders.join(''), names, hash(body)].join('\n');
  const date = String(headers['x-amz-date']);
  const scope = `${date.slice(0, 8)}/eu-central-1/ses/aws4_request`;
  const keys = [date.slice(0, 8), 'eu-central-1', 'ses', 'aws4_request'];
  const key = keys.reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')).toString('hex');
}

describe('a message for Amazon SES', () => {
  it('is sent whole, byte for byte', async () => {
    const data = 'Subject: Grüße\r\n\r\nHello\r\n';
    expect(await handOver({ data, to: 'ada@example.com' })).toEqual({
      kind: 'accepted',
      providerMessageId: 'ses-1',
      response: '200',
      delivered: false,
    });
    const [request] = api.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/v2/email/outbound-emails' });
    const body = JSON.parse(request?.body ?? '') as { Content: { Raw: { Data: string } } };
    expect(Buffer.from(body.Content.Raw.Data, 'base64').toString()).toBe(data);
    expect(body).toMatchObject({ Destination: { ToAddresses: ['ada@example.com'] } });
  });

  it('is signed with the secret key', async () => {
    await handOver({ data: 'Subject: Grüße\r\n\r\n' });
    const [request] = api.requests as [ReceivedRequest];
    expect(request.headers.authorization).toContain(`Signature=${signatureOf(request)}`);
    expect(request.headers.authorization).toContain('Credential=AKIAIOSFODNN7EXAMPLE/');
    expect(request.headers.authorization).toMatch(/SignedHeaders=[^,]*host[^,]*x-amz-date/);
  });

  it('carries the session token of temporary credentials', async () => {
    await handOver({}, { session_token: 'token-1' });
    expect(api.requests[0]?.headers).toMatchObject({ 'x-amz-security-token': 'token-1' });
  });

  it('carries the reference, and the tags that SES can store', async () => {
    await handOver(
      { reference: '1-a-x_-Y', tags: { message_id: '7', plan: 'pro', note: 'not allowed: é', 'a b': 'x' } },
      { configuration_set: 'carillon' },
    );
    const body = JSON.parse(api.requests[0]?.body ?? '') as { EmailTags: unknown };
    expect(body).toMatchObject({ ConfigurationSetName: 'carillon' });
    expect(body.EmailTags).toEqual([
      { Name: 'carillon_reference', Value: '1-a-x_-Y' },
      { Name: 'message_id', Value: '7' },
      { Name: 'plan', Value: 'pro' },
    ]);
  });

  it('is refused if its recipient needs SMTPUTF8', async () => {
    const email = outgoingEmail();
    const [outcome] = await provider().handOver([{ ...email, built: { ...email.built, smtpUtf8: true } }]);
    expect(outcome).toMatchObject({ kind: 'refused', code: 'invalid_recipient' });
    expect(api.requests).toHaveLength(0);
  });

  it('is never handed over twice by its batch', async () => {
    const batch = Array.from({ length: 50 }, (_, index) => outgoingEmail({ reference: `1-${index}-x` }));
    const outcomes = await provider().handOver(batch);
    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(new Set(api.requests.map(({ body }) => body)).size).toBe(50);
    expect(api.requests).toHaveLength(50);
  });
});

describe('the rate of Amazon SES', () => {
  it('is not exceeded if it is set', async () => {
    const startedAt = performance.now();
    const batch = Array.from({ length: 6 }, () => outgoingEmail());
    await provider({ requests_per_second: '20' }).handOver(batch);
    // The first is sent at once. A timer may fire slightly too early.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(240);
    expect(api.requests).toHaveLength(6);
  });
});

describe('an error of Amazon SES', () => {
  it.each([
    ['MessageRejected', 'Email address is not verified.'],
    ['MailFromDomainNotVerifiedException', 'no MX'],
  ])('%s (%s) defers the message, because SES may verify its sender later', async (name, message) => {
    api.answer = answerJson(400, { message }, { 'x-amzn-errortype': name });
    expect(await handOver()).toMatchObject({ kind: 'deferred', response: expect.stringContaining(message) });
  });

  it.each([
    [400, 'MessageRejected', 'Transaction failed: virus', 'refused', 'content_rejected'],
    [400, 'BadRequestException', "Missing final '@domain'", 'refused', 'invalid_recipient'],
    [400, 'BadRequestException', 'Message length is more than 41943040 bytes', 'refused', 'content_rejected'],
    [400, 'BadRequestException', 'Duplicate header', 'refused', 'rejected'],
  ])('%i %s (%s) is a verdict about the message', async (status, name, message, kind, code) => {
    api.answer = answerJson(
      status,
      { message },
      { 'x-amzn-errortype': `${name}:http://internal.amazon.com/` },
    );
    expect(await handOver()).toMatchObject({ kind, code, response: expect.stringContaining(message) });
  });

  it.each([
    [400, 'AccountSuspendedException'],
    [400, 'SendingPausedException'],
    [400, 'LimitExceededException'],
    [400, 'ThrottlingException'],
    [429, 'TooManyRequestsException'],
    [404, 'NotFoundException'],
    [403, 'AccessDeniedException'],
    [403, 'SignatureDoesNotMatch'],
    [403, 'ExpiredTokenException'],
  ])('%i %s is a fault', async (status, name) => {
    api.answer = answerJson(status, {
      __type: `com.amazonaws.sesv2#${name}`,
      message: 'about ada@example.com',
    });
    expect(await handOver()).toEqual({
      kind: 'fault',
      reason: `Amazon SES: HTTP ${status} ${name.replace('Exception', '')}`,
    });
  });

  it('leaves the message unknown if SES may have accepted it', async () => {
    api.answer = answerJson(500, { message: 'x' });
    expect(await handOver()).toMatchObject({ kind: 'unknown' });
    api.answer = (_request, response) => void response.end('<html>not SES</html>');
    expect(await handOver()).toMatchObject({ kind: 'unknown' });
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await handOver()).toMatchObject({ kind: 'unknown' });
  });
});

describe('the check of the settings', () => {
  const check = (given: object = {}) => ses.check(settings(given), api.deps);

  it('accepts credentials that have permission to send', async () => {
    api.answer = answerJson(200, { SendingEnabled: true, EnforcementStatus: 'HEALTHY' });
    expect(await check()).toBeNull();
    expect(api.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v2/email/account',
      'GET /v2/email/identities?PageSize=100',
    ]);
    for (const request of api.requests)
      expect(request.headers.authorization).toContain(`Signature=${signatureOf(request)}`);
  });

  it('reports wrong credentials and a paused account, and never the secret', async () => {
    api.answer = answerJson(
      403,
      { message: 'The security token is invalid' },
      { 'x-amzn-errortype': 'InvalidClientTokenId' },
    );
    const problem = await check();
    expect(problem).toBe('Amazon SES: 403 InvalidClientTokenId: The security token is invalid');
    expect(problem).not.toContain(secret);
    api.answer = answerJson(200, { SendingEnabled: false });
    expect(await check()).toContain('paused');
  });

  it.each([
    [['DELIVERY', 'BOUNCE', 'COMPLAINT', 'OPEN'], 'tracks opens or clicks'],
    [['DELIVERY', 'BOUNCE'], 'does not publish COMPLAINT'],
    [['SEND', 'DELIVERY', 'BOUNCE', 'COMPLAINT'], null],
  ])('checks the events %j of the configuration set', async (types, problem) => {
    const topic_arn = 'arn:aws:sns:eu-central-1:123456789012:ses';
    api.answer = (request, response) => {
      const body = request.url.endsWith('/event-destinations')
        ? {
            EventDestinations: [
              { Enabled: true, MatchingEventTypes: types, SnsDestination: { TopicArn: topic_arn } },
            ],
          }
        : { SendingEnabled: true };
      return answerJson(200, body)(request, response);
    };
    const found = await check({ configuration_set: 'carillon', topic_arn });
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });
});

/** Serves the API of SES with these domains and configuration sets, each with the events that it publishes. */
function answerSets(
  domains: Record<string, string | null>,
  sets: Record<string, string[]>,
): ProviderApi['answer'] {
  return (request, response) => {
    const { pathname: path } = new URL(request.url, api.baseUrl);
    const [, kind, name = '', rest] =
      /^\/v2\/email\/([a-z-]+)(?:\/([^/]+))?(?:\/([a-z-]+))?$/.exec(path) ?? [];
    if (kind === 'identities' && name === '') {
      const EmailIdentities = Object.keys(domains).map((IdentityName) => ({
        IdentityName,
        IdentityType: IdentityName.includes('@') ? 'EMAIL_ADDRESS' : 'DOMAIN',
      }));
      return answerJson(200, { EmailIdentities })(request, response);
    }
    if (kind === 'identities') {
      const set = domains[name];
      return answerJson(200, set ? { ConfigurationSetName: set } : {})(request, response);
    }
    if (kind === 'configuration-sets' && rest === 'event-destinations' && sets[name]) {
      const EventDestinations = [{ Enabled: true, MatchingEventTypes: sets[name] }];
      return answerJson(200, { EventDestinations })(request, response);
    }
    return answerJson(404, { message: `no ${path}` })(request, response);
  };
}

describe('tracking by Amazon SES itself', () => {
  const tracking = (given: object = {}) => ses.trackingProblem?.(settings(given), api.deps);
  const sets = { plain: ['SEND', 'BOUNCE'], opens: ['OPEN'], clicks: ['SEND', 'CLICK'] };

  it.each([
    ['opens', 'opens'],
    ['clicks', 'clicks'],
    ['plain', null],
  ])('is detected in the configuration set %s of the settings', async (set, found) => {
    api.answer = answerSets({ 'acme.com': 'opens' }, sets);
    const problem = await tracking({ configuration_set: set });
    if (found === null) expect(problem).toBeNull();
    else
      expect(problem).toMatch(new RegExp(`^the configuration set ${found} tracks opens or clicks: remove`));
  });

  it('is detected in the default configuration set of a domain if the settings name none', async () => {
    api.answer = answerSets(
      { 'ann@acme.com': 'opens', 'acme.com': 'plain', 'news.acme.com': 'clicks' },
      sets,
    );
    expect(await tracking()).toContain('the configuration set clicks tracks');
    api.answer = answerSets({ 'ann@acme.com': 'opens', 'acme.com': 'plain', 'news.acme.com': null }, sets);
    expect(await tracking()).toBeNull();
  });

  it('cannot be detected without the permission to read it', async () => {
    api.answer = answerJson(403, { message: 'no' }, { 'x-amzn-errortype': 'AccessDeniedException' });
    await expect(tracking()).rejects.toThrow('403 AccessDenied: no');
  });
});

describe('a sending domain at Amazon SES', () => {
  it('is registered with DKIM and a MAIL FROM domain, and without feedback by mail', async () => {
    api.answer = (request, response) => {
      const notFound = { 'x-amzn-errortype': 'NotFoundException' };
      return answerJson(request.method === 'GET' ? 404 : 200, {}, notFound)(request, response);
    };
    await ses.domains?.registerDomain('example.com', settings(), api.deps);
    const made = api.requests.slice(1).map(({ method, url, body }) => ({
      method,
      url,
      body: JSON.parse(body) as unknown,
    }));
    expect(made).toEqual([
      {
        method: 'POST',
        url: '/v2/email/identities',
        body: {
          EmailIdentity: 'example.com',
          DkimSigningAttributes: { NextSigningKeyLength: 'RSA_2048_BIT' },
        },
      },
      {
        method: 'PUT',
        url: '/v2/email/identities/example.com/mail-from',
        body: { MailFromDomain: 'ses.example.com', BehaviorOnMxFailure: 'USE_DEFAULT_VALUE' },
      },
      {
        method: 'PUT',
        url: '/v2/email/identities/example.com/feedback',
        body: { EmailForwardingEnabled: false },
      },
    ]);
  });

  it('stays unchanged until the domain is verified, if it is already registered', async () => {
    api.answer = answerJson(200, {});
    await ses.domains?.registerDomain('example.com', settings(), api.deps);
    expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
    await ses.domains?.verifyDomain?.('example.com', settings(), api.deps);
    expect(api.requests.map(({ method, url }) => `${method} ${url}`).slice(1)).toEqual([
      'PUT /v2/email/identities/example.com/mail-from',
      'PUT /v2/email/identities/example.com/feedback',
    ]);
  });

  it('is not registered if SES refuses it', async () => {
    api.answer = answerJson(
      400,
      { message: 'Too many identities' },
      { 'x-amzn-errortype': 'LimitExceededException' },
    );
    await expect(ses.domains?.registerDomain('example.com', settings(), api.deps)).rejects.toThrow(
      'Amazon SES refused: LimitExceeded: Too many identities',
    );
  });

  it('has three DKIM records, and two for its MAIL FROM domain', async () => {
    api.answer = answerJson(200, {
      DkimAttributes: { Tokens: ['t1', 't2', 't3'], SigningHostedZone: 'dkim.eu-central-1.amazonses.com' },
      MailFromAttributes: { MailFromDomain: 'ses.example.com' },
    });
    const records = await ses.domains?.dnsRecords('example.com', settings(), api.deps);
    expect(
      records?.slice(0, 3).map(({ type, name, value, required }) => [type, name, value, required]),
    ).toEqual(
      ['t1', 't2', 't3'].map((token) => [
        'CNAME',
        `${token}._domainkey.example.com`,
        `${token}.dkim.eu-central-1.amazonses.com`,
        true,
      ]),
    );
    expect(records?.slice(3)).toEqual([
      {
        type: 'MX',
        name: 'ses.example.com',
        value: 'feedback-smtp.eu-central-1.amazonses.com',
        priority: 10,
        required: false,
        purpose: 'return_path',
      },
      {
        type: 'TXT',
        name: 'ses.example.com',
        value: 'v=spf1 include:amazonses.com ~all',
        priority: null,
        required: false,
        purpose: 'return_path',
      },
    ]);
  });
});
