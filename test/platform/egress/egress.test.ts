// Outgoing requests reach only allowed addresses over valid TLS, and have limits of size and time.
import type net from 'node:net';
import type tls from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createAddressPolicy } from '../../../src/platform/egress/addresses.ts';
import {
  createEgress,
  type Egress,
  type EgressOptions,
  type EgressRequest,
} from '../../../src/platform/egress/client.ts';
import { createConnections } from '../../../src/platform/egress/connections.ts';
import { exchangeOver } from '../../../src/platform/egress/exchange.ts';
import { readTarget } from '../../../src/platform/egress/target.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { startReceiver, testCa, type Receiver } from '../../support/https-receiver.ts';

let dns: TestDnsServer;
let receiver: Receiver;
let open: Egress[] = [];

beforeAll(async () => {
  dns = await startDnsServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  dns.close();
  await receiver.close();
});
beforeEach(() => {
  dns.zone = { 'receiver.test': { A: ['127.0.0.1'] } };
  dns.questions = [];
  receiver.requests = [];
  receiver.answer = (_request, response) => void response.end('thanks');
});
afterEach(async () => {
  await Promise.all(open.map((egress) => egress.close()));
  open = [];
});

function egressWith(options: Partial<EgressOptions> = {}): Egress {
  const egress = createEgress({
    resolver: createResolver([dns.address]),
    allow: ['127.0.0.0/8', '::1'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
    ...options,
  });
  open.push(egress);
  return egress;
}

async function post(options: Partial<EgressOptions> = {}, request: Partial<EgressRequest> = {}) {
  return egressWith(options).request({ url: receiver.url(), method: 'POST', body: '{}', ...request });
}

const strict = { allow: [] };

describe('the check of a URL, before and during a request', () => {
  it.each([
    ['not a URL', 'invalid_url'],
    ['/hook', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://1.2.3.4.5/', 'invalid_url'],
    ['ftp://example.test/', 'scheme'],
    ['file:///etc/passwd', 'invalid_url'],
    ['gopher://example.test/', 'scheme'],
    ['https://user@example.test/', 'credentials'],
    ['https://user:secret@example.test/', 'credentials'],
    ['https://example.test:22/', 'port'],
    ['https://example.test:25/', 'port'],
    ['https://example.test:5432/', 'port'],
    ['https://example.test:6379/', 'port'],
    ['https://127.0.0.1/', 'address'],
    ['https://127.1/', 'address'],
    ['https://2130706433/', 'address'],
    ['https://0x7f000001/', 'address'],
    ['https://0x7f.1/', 'address'],
    ['https://0177.0.0.1/', 'address'],
    ['https://127.0.0.1./', 'address'],
    ['https://１２７.0.0.1/', 'address'],
    ['https://[::1]/', 'address'],
    ['https://[::]/', 'address'],
    ['https://[::ffff:127.0.0.1]/', 'address'],
    ['https://[::ffff:8.8.8.8]/', 'address'],
    ['https://[64:ff9b::7f00:1]/', 'address'],
    ['https://[fd00::1]/', 'address'],
    ['https://169.254.169.254/latest/meta-data/', 'address'],
    ['https://168.63.129.16/', 'address'],
    ['https://localhost/', 'address'],
    ['https://sub.localhost./', 'address'],
    ['https://nobody.test/', 'not_found'],
    ['https://private.test/', 'address'],
    ['https://mixed.test/', 'address'],
    ['https://mixed6.test/', 'address'],
    ['https://mapped.test/', 'address'],
    ['https://broken.test/', 'dns'],
    ['http://public.test/', 'scheme'],
  ])('refuses %s: %s', async (url, reason) => {
    dns.zone = {
      'private.test': { A: ['10.0.0.1'] },
      'mixed.test': { A: ['93.184.216.34', '127.0.0.1'] },
      'mixed6.test': { A: ['93.184.216.34'], AAAA: ['fd00::1'] },
      'mapped.test': { AAAA: ['::ffff:127.0.0.1'] },
      'public.test': { A: ['93.184.216.34'] },
      'broken.test': 'servfail',
    };
    const egress = egressWith(strict);
    expect(await egress.checkUrl(url)).toMatchObject({ ok: false, reason });
    expect(await egress.request({ url, method: 'POST' })).toMatchObject({
      ok: false,
      reason,
      statusCode: null,
    });
  });

  it('accepts public hosts over HTTPS, on ports that no other service uses', async () => {
    dns.zone = { 'public.test': { A: ['93.184.216.34'], AAAA: ['2606:2800:220:1::1'] } };
    const egress = egressWith(strict);
    for (const url of ['https://public.test/', 'https://public.test:8443/x?y', 'https://93.184.216.34/']) {
      expect(await egress.checkUrl(url)).toEqual({ ok: true });
    }
  });
});

describe('name resolution', () => {
  it('looks a name up once for many requests, and connects to the addresses found', async () => {
    const egress = egressWith();
    for (let n = 0; n < 5; n++) await egress.request({ url: receiver.url(), method: 'POST' });
    expect(dns.questions.sort()).toEqual(['A receiver.test', 'AAAA receiver.test']);
    expect(receiver.requests).toHaveLength(5);
  });

  it('blocks a name that becomes private after it was checked', async () => {
    const egress = egressWith({ ...strict, checkedMs: 0 });
    dns.zone = { 'turning.test': { A: ['93.184.216.34'] } };
    expect(await egress.checkUrl('https://turning.test/')).toEqual({ ok: true });
    dns.zone = { 'turning.test': { A: ['127.0.0.1'] } };
    const result = await egress.request({ url: receiver.url('/hook', 'turning.test'), method: 'POST' });
    expect(result).toMatchObject({ ok: false, reason: 'address' });
    expect(receiver.requests).toHaveLength(0);
  });

  it('keeps the addresses of a name for the time of the checked', async () => {
    const egress = egressWith();
    await egress.request({ url: receiver.url(), method: 'POST' });
    dns.zone = { 'receiver.test': { A: ['127.0.0.2'] } };
    expect(await egress.request({ url: receiver.url(), method: 'POST' })).toMatchObject({ ok: true });
  });

  it('tries several addresses one after the other', async () => {
    dns.zone = { 'receiver.test': { A: ['127.0.0.9'], AAAA: ['::1'] } };
    const onlyV6 = await startReceiver({ address: '::1' });
    const result = await post({}, { url: onlyV6.url() });
    expect(result).toMatchObject({ ok: true, statusCode: 200 });
    await onlyV6.close();
  });

  it('stops at the deadline if the name servers do not respond', async () => {
    dns.zone = { 'mute.test': 'silent' };
    const result = await post({}, { url: 'https://mute.test/', timeoutMs: 1_500 });
    expect(result).toMatchObject({ ok: false, reason: 'dns' });
    // Without the deadline each question would have been repeated after 2 s.
    expect(dns.questions.sort()).toEqual(['A mute.test', 'AAAA mute.test']);
  });
});

describe('a connection', () => {
  it('is refused if its remote address may not be reached, even if the checked contains it', async () => {
    const target = readTarget(receiver.url());
    if ('reason' in target) throw new Error(target.message);
    const connections = createConnections(createAddressPolicy([]), [testCa]);
    const pool = connections.poolFor(target, { addresses: ['127.0.0.1'], allowed: false });
    const now = performance.now();
    const { result } = await exchangeOver(pool, target, {
      method: 'POST',
      headers: {},
      body: '{}',
      startedAt: now,
      deadline: now + 30_000,
      maxResponseBytes: 1_000,
      signal: undefined,
    });
    expect(result).toMatchObject({ ok: false, reason: 'address' });
    expect(receiver.requests).toHaveLength(0);
    await connections.close();
  });

  it('is reused', async () => {
    const own = await startReceiver();
    const egress = egressWith();
    for (let n = 0; n < 10; n++) await egress.request({ url: own.url(), method: 'POST', body: 'x' });
    expect(own.requests).toHaveLength(10);
    // The client waits one turn of the event loop before it reuses a connection.
    expect(own.connections).toBeLessThanOrEqual(2);
    await own.close();
  });

  it('requires a certificate that is valid for the name', async () => {
    dns.zone = { ...dns.zone, 'elsewhere.test': { A: ['127.0.0.1'] } };
    expect(await post({}, { url: receiver.url('/', 'elsewhere.test') })).toMatchObject({
      ok: false,
      reason: 'tls',
    });
    const selfSigned = await startReceiver({ selfSigned: true });
    expect(await post({}, { url: selfSigned.url() })).toMatchObject({ ok: false, reason: 'tls' });
    await selfSigned.close();
    expect(receiver.requests).toHaveLength(0);
  });

  it('to an address literal requires a certificate for that address', async () => {
    expect(await post({}, { url: receiver.url('/', '127.0.0.1') })).toMatchObject({ ok: true });
    const unnamed = await startReceiver({ address: '127.0.0.2' });
    expect(await post({}, { url: unnamed.url('/', '127.0.0.2') })).toMatchObject({
      ok: false,
      reason: 'tls',
    });
    await unnamed.close();
  });

  it('uses plain HTTP only for addresses in EGRESS_ALLOW', async () => {
    const plain = await startReceiver({ plain: true });
    expect(await post({}, { url: plain.url() })).toMatchObject({ ok: true, statusCode: 200 });
    expect(await post(strict, { url: plain.url() })).toMatchObject({ ok: false, reason: 'address' });
    await plain.close();
  });

  it('ignores proxy settings of the environment', async () => {
    process.env.HTTPS_PROXY = process.env.https_proxy = 'http://127.0.0.1:9';
    try {
      expect(await post()).toMatchObject({ ok: true });
    } finally {
      delete process.env.HTTPS_PROXY;
      delete process.env.https_proxy;
    }
  });
});

describe('a request', () => {
  it('sends exactly the given body and headers, and the user agent', async () => {
    await post({}, { body: '{"snow":"☃"}', headers: { 'content-type': 'application/json', 'x-one': '1' } });
    const [received] = receiver.requests;
    expect(received).toMatchObject({ method: 'POST', url: '/hook', body: '{"snow":"☃"}' });
    expect(received?.headers).toMatchObject({
      'user-agent': 'Carillon-Test/1',
      'x-one': '1',
      'content-length': '14',
      host: `receiver.test:${receiver.port}`,
    });
  });

  it('refuses a header value with a line break', async () => {
    const result = await post({}, { headers: { 'x-one': 'a\r\nx-two: b' } });
    expect(result).toMatchObject({ ok: false, reason: 'invalid_request' });
    expect(receiver.requests).toHaveLength(0);
  });

  it('returns a redirect as the response', async () => {
    receiver.answer = (_request, response) =>
      void response.writeHead(302, { location: receiver.url('/b') }).end();
    expect(await post()).toMatchObject({ ok: true, statusCode: 302 });
    expect(receiver.requests).toHaveLength(1);
  });

  it('can be canceled', async () => {
    receiver.answer = () => undefined;
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    expect(await post({}, { signal: controller.signal })).toMatchObject({ ok: false, reason: 'canceled' });
  });
});

describe('a response', () => {
  it('is returned with status, headers and body', async () => {
    receiver.answer = (_request, response) =>
      void response.writeHead(201, { 'retry-after': '7' }).end('made');
    const result = await post();
    expect(result).toMatchObject({ ok: true, statusCode: 201, truncated: false });
    if (!result.ok) return;
    expect([result.body.toString(), result.headers['retry-after']]).toEqual(['made', '7']);
  });

  it('is read only up to the limit', async () => {
    receiver.answer = (_request, response) => void response.end('x'.repeat(200_000));
    const result = await post({}, { maxResponseBytes: 1_000 });
    expect(result).toMatchObject({ ok: true, statusCode: 200, truncated: true });
    expect(result.ok && result.body.length).toBe(1_000);
  });

  it('is read no further if it arrives in tiny chunks', async () => {
    receiver.answer = (_request, response) => {
      for (let n = 0; n < 5_000; n += 1) response.write('x');
      response.end();
    };
    const result = await post();
    expect(result).toMatchObject({ ok: true, statusCode: 200, truncated: true });
    expect(result.ok && result.body.toString()).toMatch(/^x{1000,1010}$/);
  });

  it('that never ends is truncated at the limit', async () => {
    receiver.answer = (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 1);
      response.on('close', () => clearInterval(timer));
    };
    expect(await post({}, { maxResponseBytes: 50_000 })).toMatchObject({ ok: true, truncated: true });
  });

  it.each([
    ['does not begin', () => undefined],
    [
      'does not complete its headers',
      (_r: unknown, response: { socket: net.Socket | null }) => void response.socket?.write('HTTP/1.1 2'),
    ],
  ])('that %s before the deadline is a time-out', async (_name, answer) => {
    receiver.answer = answer;
    const result = await post({}, { timeoutMs: 200 });
    expect(result).toMatchObject({ ok: false, reason: 'timeout', statusCode: null });
    expect(result.durationMs).toBeGreaterThanOrEqual(199);
  });

  it('whose body is still arriving at the deadline is a time-out', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    };
    expect(await post({}, { timeoutMs: 2_000 })).toMatchObject({
      ok: false,
      reason: 'timeout',
      statusCode: 200,
    });
  });

  it('that breaks off is a reset', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.socket?.destroy(), 20);
    };
    expect(await post()).toMatchObject({ ok: false, reason: 'reset', statusCode: 200 });
  });

  it('is a reset if the server closes the connection without one', async () => {
    receiver.answer = (_request, response) => void (response.socket as tls.TLSSocket).destroy();
    expect(await post()).toMatchObject({ ok: false, reason: 'reset', statusCode: null });
  });

  it('that is not HTTP is invalid', async () => {
    receiver.answer = (_request, response) => void response.socket?.end('220 mail.test ESMTP\r\n');
    expect(await post()).toMatchObject({ ok: false, reason: 'invalid_response' });
  });

  it('is the final response, not an early hint', async () => {
    receiver.answer = (_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.end('ok');
    };
    expect(await post()).toMatchObject({ ok: true, statusCode: 200 });
  });

  it('is invalid if early hints never end', async () => {
    receiver.answer = (_request, { socket }) => {
      const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n'.repeat(200);
      const go = () => {
        while (socket?.writable && socket.write(hints));
      };
      socket?.on('drain', go).on('error', () => undefined);
      go();
    };
    const result = await post({}, { timeoutMs: 5_000 });
    expect(result).toMatchObject({ ok: false, reason: 'invalid_response' });
    expect(result.durationMs).toBeLessThan(5_000);
  });

  it('is a failed connection if no server listens', async () => {
    const gone = await startReceiver();
    await gone.close();
    expect(await post({}, { url: gone.url() })).toMatchObject({ ok: false, reason: 'connect' });
  });
});
