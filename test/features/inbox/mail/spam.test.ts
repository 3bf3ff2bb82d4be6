// Spam is found by rspamd if it is set, and by plain rules while it is unavailable or not set.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
const MAIL = 'From: ada@example.com\nSubject: Hello\n\nHello!\n';

let dns: TestDnsServer;
let filter: Server;
let filterUrl: string;
let answer: { status: number; body: unknown };
let received: { url: string; headers: IncomingHttpHeaders; body: Buffer }[];
let logged: { msg: string; level: number }[];
let reader: TestMailReader;

beforeAll(async () => {
  dns = await startDnsServer({ '_dmarc.example.com': { TXT: ['v=DMARC1; p=reject'] } });
  filter = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    });
  });
  filter.listen(0, '127.0.0.1');
  await once(filter, 'listening');
  filterUrl = `http://127.0.0.1:${(filter.address() as AddressInfo).port}`;
});
afterAll(() => {
  filter.close();
  dns.close();
});
beforeEach(() => {
  received = [];
  logged = [];
  answer = { status: 200, body: { action: 'no action', score: 0.1 } };
});
afterEach(() => reader.close());

async function start(rspamdUrl?: string): Promise<void> {
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(JSON.parse(line) as never) });
  reader = await startMailReader({ dnsServers: [dns.address], rspamdUrl, log, threads: 1 });
}

describe('rspamd', () => {
  it('gets the raw message and the session', async () => {
    await start(filterUrl);
    await reader.read(MAIL, { envelopeFrom: 'ada@example.com', ip: '192.0.2.1', helo: 'mäil.example' });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({
      url: '/checkv2',
      headers: {
        from: 'ada@example.com',
        rcpt: 'support@inbox.example.org',
        ip: '192.0.2.1',
        helo: 'm?il.example',
      },
    });
    expect(received[0]?.body.toString()).toBe(MAIL.replace(/\n/g, '\r\n'));
  });

  it.each(['reject', 'add header', 'rewrite subject'])(
    'makes a mail spam by the action %s',
    async (action) => {
      answer.body = { action, score: 12.345 };
      await start(filterUrl);
      const { suspicion } = await reader.read(MAIL);
      expect(suspicion).toEqual({ reason: 'spam', detail: `rspamd: ${action}, score 12.3` });
    },
  );

  it('has the last word on a mail that the plain rules would refuse', async () => {
    await start(filterUrl);
    const mail = await reader.read(MAIL, { envelopeFrom: 'x@mallory.example', ip: '192.0.2.1' });
    expect(mail).toMatchObject({
      authentication: { dmarc: { result: 'fail', policy: 'reject' } },
      suspicion: null,
    });
  });

  it('is replaced by the plain rules while it is unavailable, which is logged once', async () => {
    answer = { status: 503, body: {} };
    await start(filterUrl);
    const forged = { envelopeFrom: 'x@mallory.example', ip: '192.0.2.1' };
    expect((await reader.read(MAIL, forged)).suspicion?.reason).toBe('spam');
    expect((await reader.read(MAIL, forged)).suspicion?.reason).toBe('spam');
    answer = { status: 200, body: { action: 'greylist', score: 5 } };
    expect((await reader.read(MAIL, forged)).suspicion).toBeNull();
    expect(logged.map(({ msg }) => msg)).toEqual([
      'the spam filter is unavailable; plain rules apply',
      'the spam filter is available again',
    ]);
  });
});

describe('the plain rules', () => {
  it('find the test text for spam filters', async () => {
    await start();
    const { suspicion } = await reader.read(`${MAIL}${GTUBE}\n`);
    expect(suspicion).toEqual({ reason: 'spam', detail: 'the test text for spam filters' });
  });

  it.each([
    'From: ada@example.com\nFrom: eve@mallory.example',
    'From: ada@example.com, eve@mallory.example',
    'From: =?utf-8?Q?ada=40example.com?=',
    'To: support@inbox.example.org',
  ])('find that nobody can tell who sent a mail with %j', async (fields) => {
    await start();
    const session = { envelopeFrom: 'x@mallory.example', ip: '192.0.2.1' };
    const { suspicion, authentication } = await reader.read(`${fields}\nSubject: Hello\n\nHello!\n`, session);
    expect(suspicion?.detail).toBe('the field From does not have authors of one domain');
    expect(authentication).toMatchObject({ aligned: false, dmarc: { result: 'permerror' } });
  });

  it('have nothing against two authors of one domain', async () => {
    await start();
    const { suspicion } = await reader.read('From: a@example.net, b@example.net\n\nHello!\n', {
      ip: '192.0.2.1',
    });
    expect(suspicion).toBeNull();
  });

  it('apply if rspamd refuses connections', async () => {
    await start('http://127.0.0.1:9');
    const { suspicion } = await reader.read(MAIL, { envelopeFrom: 'x@mallory.example', ip: '192.0.2.1' });
    expect(suspicion?.detail).toBe('DMARC fails, and the policy of the domain is reject');
  });
});
