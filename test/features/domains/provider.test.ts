import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createSendingDomains } from '../../../src/delivery/dkim/domain-signers.ts';
import { addProvider, findProviderRow, requireProviderKind } from '../../../src/delivery/providers/named.ts';
import { removeProvider } from '../../../src/delivery/providers/removal.ts';
import type { DomainWatch } from '../../../src/features/domains/watch.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { createTestWatch } from '../../support/domains.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import { testKeyring } from '../../support/webhooks.ts';

/** As Mailgun describes a domain. */
const described = {
  domain: { name: 'acme.example' },
  sending_dns_records: [
    { record_type: 'TXT', name: 'mx._domainkey.acme.example', value: 'k=rsa; p=MAILGUN' },
    { record_type: 'TXT', name: 'acme.example', value: 'v=spf1 include:mailgun.org ~all' },
  ],
};

let api: TestApi;
let dns: TestDnsServer;
let service: ProviderApi;
let watch: DomainWatch;
let domainId: number;

beforeAll(async () => {
  [api, dns, service] = await Promise.all([startTestApi(), startDnsServer(), startProviderApi()]);
  watch = createTestWatch(api.database, dns, api.config, service);
  await addProvider(api.database.pool, testKeyring, {
    name: 'gun',
    kind: requireProviderKind('mailgun'),
    settings: {
      api_key: 'key-0123456789abcdef',
      webhook_signing_key: 'signing-0123456789abcdef',
      base_url: service.baseUrl,
    },
  });
});
afterAll(async () => {
  await service.close();
  dns.close();
  await api.close();
});
beforeEach(async () => {
  await api.database.pool.query('delete from domains');
  const body = { domain: { name: 'acme.example', provider: 'gun' } };
  domainId = Number((await api.request('POST', '/v1/my/domains', { body })).body.id);
  service.answer = answerJson(200, described);
  service.requests = [];
});

const shown = async () => (await api.request('GET', `/v1/my/domains/${domainId}`)).body;

const namesOf = (body: TestBody) =>
  (body.dns_records as unknown as { name: string; required: string }[])
    .filter(({ required }) => required === 'true')
    .map(({ name }) => name);

it('is registered at its service, whose records join its own', async () => {
  expect((await shown()).dns_records).toBeNull();
  await watch.register(domainId);
  const body = await shown();
  expect(body.provider).toBe('gun');
  // The service has a return path of its own, and signs itself; our key still proves whose claim it is.
  expect(namesOf(body)).toEqual([
    `crl-${domainId}-rsa._domainkey.acme.example`,
    'mx._domainkey.acme.example',
    'acme.example',
  ]);
  const names = (body.dns_records as unknown as { name: string }[]).map(({ name }) => name);
  expect(names).not.toContain(`crl-${domainId}-ed._domainkey.acme.example`);
});

it('has its own RSA key at hand, for mail that goes to another provider than its service', async () => {
  await watch.register(domainId);
  const { signers } = await createSendingDomains(api.database.pool, testKeyring).find(domainId);
  expect(signers.map(({ algorithm }) => algorithm)).toEqual(['rsa']);
});

it('is registered once', async () => {
  await watch.register(domainId);
  service.requests = [];
  await watch.register(domainId);
  expect(service.requests).toEqual([]);
});

it('has no records to show while its service is down, and is registered later', async () => {
  service.answer = answerJson(500, { message: 'down' });
  await expect(watch.register(domainId)).rejects.toThrow('Mailgun');
  expect((await shown()).dns_records).toBeNull();
  service.answer = answerJson(200, described);
  await watch.register(domainId);
  expect(namesOf(await shown())).toHaveLength(3);
});

it('is verified by its own key and the records of its service, which is then asked to look', async () => {
  await watch.register(domainId);
  const [own] = (await shown()).dns_records as unknown as { name: string; value: string }[];
  dns.zone = {
    'mx._domainkey.acme.example': { TXT: ['k=rsa; p=MAILGUN'] },
    'acme.example': { TXT: ['v=spf1 include:mailgun.org ~all'] },
  };
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('pending');
  dns.zone[own?.name ?? ''] = { TXT: [own?.value ?? ''] };
  service.requests = [];
  // A service that refuses to look does not keep the domain from being verified.
  service.answer = answerJson(500, { message: 'down' });
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('verified');
  expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'PUT /v4/domains/acme.example/verify',
  ]);
});

it('needs only its own records if its service knows no domains', async () => {
  const kind = requireProviderKind('smtp');
  const settings = { url: 'smtp://relay.example.com:587' };
  await addProvider(api.database.pool, testKeyring, { name: 'relay', kind, settings });
  const { body } = await api.request('POST', '/v1/my/domains', {
    body: { domain: { name: 'relayed.example', provider: 'relay' } },
  });
  domainId = Number(body.id);
  await watch.register(domainId);
  expect(namesOf(await shown())).toEqual([
    `crl-${domainId}-rsa._domainkey.relayed.example`,
    'crl-bounces.relayed.example',
    'crl-bounces.relayed.example',
  ]);
});

it('needs its own records, and is signed by Carillon, once its provider is removed', async () => {
  await watch.register(domainId);
  const { pool } = api.database;
  const row = await findProviderRow(pool, 'gun');
  await inTransaction(pool, (trx) => removeProvider(trx, row as NonNullable<typeof row>, { force: true }));
  const body = await shown();
  expect([body.provider, namesOf(body)]).toEqual([
    'default',
    [`crl-${domainId}-rsa._domainkey.acme.example`, 'crl-bounces.acme.example', 'crl-bounces.acme.example'],
  ]);
  const { signers } = await createSendingDomains(pool, testKeyring).find(domainId);
  expect(signers.map(({ algorithm }) => algorithm)).toEqual(['rsa']);
});
