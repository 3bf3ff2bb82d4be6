// No webhook request reaches a private address or another service, in any spelling, even if DNS changes later.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestTenant, startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  startWebhookLoop,
  type RunningLoop,
} from '../../support/webhooks.ts';

const PUBLIC = '93.184.216.34';
const path = '/v1/my/webhooks';
const zone = {
  'public.test': { A: [PUBLIC] },
  'private.test': { A: ['192.168.7.7'] },
  'inside.test': { A: ['127.0.0.1'] },
  'inside6.test': { AAAA: ['::1'] },
  'mixed.test': { A: [PUBLIC, '127.0.0.1'] },
  'mixed6.test': { A: [PUBLIC], AAAA: ['::1'] },
  'mapped.test': { A: [PUBLIC], AAAA: ['::ffff:7f00:1'] },
  'nat64.test': { AAAA: ['64:ff9b::7f00:1'] },
  '6to4.test': { AAAA: ['2002:7f00:1::1'] },
  'teredo.test': { AAAA: ['2001:0:7f00:1::1'] },
  'azure.test': { A: ['168.63.129.16'] },
  'metadata.test': { A: ['169.254.169.254'] },
  'zero.test': { A: ['0.0.0.0'] },
  'broken.test': 'servfail' as const,
};

let dns: TestDnsServer;
let api: TestApi;
/** Both listen on loopback, where no request may arrive. */
let receiver: Receiver;
let receiver6: Receiver;
let running: RunningLoop;

beforeAll(async () => {
  dns = await startDnsServer({ ...zone });
  [receiver, receiver6] = await Promise.all([startReceiver(), startReceiver({ address: '::1' })]);
  api = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '' } });
  running = await startWebhookLoop(api.database, { dns: [dns.address], allow: [] });
});
afterAll(async () => {
  await running.stop();
  await api.close();
  await Promise.all([receiver.close(), receiver6.close()]);
  dns.close();
}, 60_000);
beforeEach(async () => {
  dns.zone = { ...zone };
  await api.database.pool.query('delete from webhooks');
});

const address = 'must lead to a public internet address';
const port = 'must not use the port of another well-known service';
const credentials = 'must not contain a user name or password';
const invalid = 'is not a valid URL';

/** URLs with the expected message; `<port>` stands for the port of a receiver on loopback. */
const forms: [string, string][] = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '0x7f.0x0.0x0.0x1',
    '017700000001',
    '0177.0.0.1',
    '0177.0.0.0x1',
    '127.0.0.1.',
    '127.255.255.254',
    '%31%32%37.0.0.1',
    '１２７。０。０。１',
    '①②⑦.0.0.1',
    '0',
    '0.0.0.0',
    'localhost',
    'LOCALHOST.',
    'any.localhost',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:53aa:64c:0:0:80ff:fffe]',
    `[::ffff:${PUBLIC}]`,
    '[fe80::1]',
    '[fec0::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[4000::1]',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.0.1',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    ...Object.keys(zone).filter((name) => name !== 'public.test' && name !== 'broken.test'),
  ].map((host): [string, string] => [`https://${host}:<port>/hook`, address]),
  ['https://broken.test/', 'has a host name that could not be looked up'],
  ['https://nobody.test/', 'has a host name without an address'],
  ['http://public.test/', 'must begin with https://'],
  ['http://127.0.0.1:<port>/', address],
  ['ftp://public.test/', 'must begin with https://'],
  ['gopher://127.0.0.1:<port>/_x', 'must begin with https://'],
  ['file:///etc/passwd', invalid],
  ['https:///etc/passwd/../..', 'has a host name without an address'],
  ['https://[fe80::1%25eth0]/', invalid],
  ['https://256.256.256.256/', invalid],
  ['https://127.0.0.1%00.public.test/', invalid],
  ['https://public.test:70000/', invalid],
  ['https://user@public.test/', credentials],
  ['https://user:secret@public.test/', credentials],
  ['https://:secret@public.test/', credentials],
  ['https://public.test@127.0.0.1:<port>/', credentials],
  ['https://public.test%40x@127.0.0.1:<port>/', credentials],
  ...[
    1, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 993, 1023, 2375, 3306, 5432, 6379, 7233, 9200, 11211,
    27017,
  ].map((number): [string, string] => [`https://public.test:${number}/`, port]),
];

const filled = (url: string) =>
  url.replace(
    '<port>',
    String(/\[(::1|0:0:0:0:0:0:0:1)\]|inside6/.test(url) ? receiver6.port : receiver.port),
  );

describe('a URL that leads to a private address or to another service', () => {
  it.each(forms)('is rejected at its registration: %s', async (form, message) => {
    const answer = await api.request('POST', path, { body: { url: filled(form), events: ['email.sent'] } });
    expect([answer.status, answer.body.validation_errors]).toEqual([422, { url: [message] }]);
    expect((await api.database.pool.query('select 1 from webhooks')).rowCount).toBe(0);
  });

  it('is rejected at each attempt even if it was registered', async () => {
    const registered: { form: string; message: string; webhookId: number }[] = [];
    for (let from = 0; from < forms.length; from += 10) {
      const tenant: TestTenant = await createTestTenant(api.database, `Evil ${from}`);
      for (const [form, message] of forms.slice(from, from + 10)) {
        const { id } = await addWebhook(api.database, tenant, filled(form));
        registered.push({ form, message, webhookId: id });
      }
      await publishSent(api.database, tenant, [1]);
    }
    running.waker.wake('webhook');
    await eventually(async () => {
      expect((await api.database.pool.query('select 1 from webhook_queue')).rowCount).toBe(0);
    }, 60_000);
    for (const { form, message, webhookId } of registered) {
      const rows = await deliveriesOf(api.database, webhookId);
      const last_error = expect.stringContaining(message);
      expect([form, rows]).toMatchObject([form, [{ status: 'retrying', response_code: null, last_error }]]);
    }
    expect(receiver.connections + receiver6.connections).toBe(0);
  }, 60_000);
});

describe('a host name that later resolves to a private address', () => {
  it.each([
    ['only', ['127.0.0.1']],
    ['partly', [PUBLIC, '127.0.0.1']],
  ])('is not called (%s private)', async (name, addresses) => {
    const host = `${name}.receiver.test`;
    dns.zone = { [host]: { A: [PUBLIC] } };
    const body = { url: receiver.url('/hook', host), events: ['email.sent'] };
    const created = await api.request<{ id: number }>('POST', path, { body });
    expect(created.status).toBe(201);
    dns.zone = { [host]: { A: addresses } };
    await publishSent(api.database, api, [1]);
    running.waker.wake('webhook');
    const rows = await eventually(async () => {
      const found = await deliveriesOf(api.database, created.body.id);
      expect(found.map((row) => row.status)).toEqual(['retrying']);
      return found;
    });
    expect(rows[0]?.last_error).toBe(`address: ${address}`);
    expect(receiver.connections).toBe(0);
  });

  it('is called at its former address while the checked DNS answer is cached', async () => {
    const host = 'pinned.receiver.test';
    dns.zone = { [host]: { A: ['127.0.0.1'] } };
    const loop = await startWebhookLoop(api.database, { dns: [dns.address], allow: ['127.0.0.1'] });
    running.loop.setMode('paused');
    try {
      const { id } = await addWebhook(api.database, api, receiver.url('/hook', host));
      for (const n of [1, 2]) {
        await publishSent(api.database, api, [n]);
        loop.waker.wake('webhook');
        await eventually(async () => {
          const rows = await deliveriesOf(api.database, id);
          expect(rows.filter((row) => row.status === 'delivered')).toHaveLength(n);
        });
        dns.zone = { [host]: { A: ['10.0.0.1'] } };
      }
      expect(dns.questions.filter((question) => question === `A ${host}`)).toHaveLength(1);
      expect(receiver.requests).toHaveLength(2);
    } finally {
      running.loop.setMode('running');
      await loop.stop();
    }
  });
});
