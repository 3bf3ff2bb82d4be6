// Redirects are followed only on request, at most five times, and never with credentials to another origin.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress, type EgressRequest } from '../../../src/platform/egress/client.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { startReceiver, testCa, type Receiver } from '../../support/https-receiver.ts';

let dns: TestDnsServer;
let receiver: Receiver;
let egress: Egress;
/** Maps each path to the target of its redirect. */
let redirects: Record<string, string>;

beforeAll(async () => {
  dns = await startDnsServer({
    'receiver.test': { A: ['127.0.0.1'] },
    'other.receiver.test': { A: ['127.0.0.1'] },
    'inside.test': { A: ['10.0.0.1'] },
  });
  receiver = await startReceiver();
});
afterAll(async () => {
  dns.close();
  await receiver.close();
});
beforeEach(() => {
  redirects = {};
  receiver.requests = [];
  receiver.answer = ({ url }, response) => {
    const location = redirects[url];
    if (location) response.writeHead(302, { location });
    response.end(`this is ${url}`);
  };
  egress = createEgress({
    resolver: createResolver([dns.address]),
    allow: ['127.0.0.1'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
  });
});
afterEach(() => egress.close());

const get = (request: Partial<EgressRequest> = {}) =>
  egress.request({ url: receiver.url('/0'), method: 'GET', maxRedirects: 5, ...request });

function chain(length: number): void {
  for (let n = 0; n < length; n += 1) redirects[`/${n}`] = `/${n + 1}`;
}

describe('redirects', () => {
  it('are followed on request, at most five, and the response has the final URL', async () => {
    chain(5);
    expect(await get()).toMatchObject({ ok: true, statusCode: 200, url: receiver.url('/5') });
    chain(6);
    expect(await get({ maxRedirects: 9 })).toMatchObject({ ok: false, reason: 'redirects', statusCode: 302 });
    expect(await get({ maxRedirects: 2 })).toMatchObject({ ok: false, reason: 'redirects' });
    expect(receiver.requests).toHaveLength(6 + 6 + 3);
  });

  it('are not followed without a request to do so, nor for a POST', async () => {
    chain(1);
    expect(await get({ maxRedirects: 0 })).toMatchObject({ ok: true, statusCode: 302 });
    expect(await get({ method: 'POST' })).toMatchObject({ ok: true, statusCode: 302 });
    expect(receiver.requests).toHaveLength(2);
  });

  it.each([
    ['https://10.0.0.1/', 'address'],
    ['https://[::ffff:127.0.0.1]/', 'address'],
    ['https://inside.test/', 'address'],
    ['//2852039166/latest/meta-data/', 'address'],
    ['http://93.184.216.34/', 'scheme'],
    ['file:///etc/passwd', 'invalid_url'],
    ['https://user:secret@receiver.test/', 'credentials'],
    ['https://receiver.test:6379/', 'port'],
    ['https://nobody.test/', 'not_found'],
  ])('to %s are refused with %s', async (location, reason) => {
    redirects['/0'] = '/1';
    redirects['/1'] = location;
    expect(await get()).toMatchObject({ ok: false, reason });
    expect(receiver.requests).toHaveLength(2);
  });

  it('without a valid target are returned as the response', async () => {
    redirects['/0'] = 'https://';
    expect(await get()).toMatchObject({ ok: true, statusCode: 302 });
  });

  it('carry credentials only within the same origin', async () => {
    redirects['/0'] = '/1';
    redirects['/1'] = receiver.url('/2', 'other.receiver.test');
    redirects['/2'] = receiver.url('/3');
    const headers = {
      Authorization: 'Bearer key',
      cookie: 'a=b',
      'X-Api-Key': 'key',
      'user-agent': 'Reader/2',
      accept: 'text/html',
      'accept-language': 'de',
    };
    expect(await get({ headers })).toMatchObject({ ok: true, url: receiver.url('/3') });
    expect(receiver.requests.map((each) => each.headers.authorization)).toEqual([
      'Bearer key',
      'Bearer key',
      undefined,
      undefined,
    ]);
    expect(receiver.requests.map((each) => each.headers.cookie)).toEqual([
      'a=b',
      'a=b',
      undefined,
      undefined,
    ]);
    expect(receiver.requests.map((each) => each.headers['x-api-key'])).toEqual([
      'key',
      'key',
      undefined,
      undefined,
    ]);
    for (const each of receiver.requests) {
      const { accept, 'accept-language': language, 'user-agent': agent } = each.headers;
      expect([accept, language, agent]).toEqual(['text/html', 'de', 'Reader/2']);
    }
  });

  it('share one deadline', async () => {
    chain(1);
    const { answer } = receiver;
    // Each response alone is within the deadline, both together are not.
    receiver.answer = (request, response) =>
      void setTimeout(() => void answer(request, response), request.url === '/0' ? 1_500 : 3_000);
    expect(await get({ timeoutMs: 4_000 })).toMatchObject({ ok: false, reason: 'timeout' });
    expect(receiver.requests).toHaveLength(2);
  });
});
