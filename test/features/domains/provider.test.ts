// A domain at a named provider is registered there once, and needs the records that the provider asks for.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createSendingDomains } from '../../../src/delivery/content/dkim/domain-signers.ts';
import {
  addProvider,
  findProviderRow,
  requireProviderKind,
} from '../../../src/delivery/wire/providers/named.ts';
import { removeProvider } from '../../../src/delivery/wire/providers/removal.ts';
import type { DomainWatch } from '../../../src/features/domains/watch.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { createTestWatch } from '../../support/domains.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import { testKeyring } from '../../support/webhooks.ts';

/** A domain in the form in which Mailgun describes it. */
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

const register = (asOf = new Date(), force = false) => watch.register(domainId, asOf, force);

const shown = async () => (await api.request('GET', `/v1/my/domains/${domainId}`)).body;

/** Publishes the records that the domain would need without a named provider. */
async function publishOwnRecords(): Promise<void> {
  const { rows } = await api.database.pool.query<{ selector: string; public_key: string }>(
    `select selector, public_key from dkim_keys where domain_id = $1 and algorithm = 'rsa'`,
    [domainId],
  );
  const [key] = rows;
  dns.zone = {
    [`${key?.selector}._domainkey.acme.example`]: { TXT: [`v=DKIM1; k=rsa; p=${key?.public_key}`] },
    'crl-bounces.acme.example': {
      TXT: ['v=spf1 include:mail.test ~all'],
      MX: [{ exchange: 'mail.test', preference: 10 }],
    },
  };
}

const namesOf = (body: TestBody) =>
  (body.dns_records as unknown as { name: string; required: string }[])
    .filter(({ required }) => required === 'true')
    .map(({ name }) => name);

it('is registered at its service, whose records are added to its own', async () => {
  expect((await shown()).dns_records).toBeNull();
  await register();
  const body = await shown();
  expect(body.provider).toBe('gun');
  // The service has its own return path and signs itself. Our key still proves which claim the DNS belongs to.
  expect(namesOf(body)).toEqual([
    `crl-${domainId}-rsa._domainkey.acme.example`,
    'mx._domainkey.acme.example',
    'acme.example',
  ]);
  const names = (body.dns_records as unknown as { name: string }[]).map(({ name }) => name);
  expect(names).not.toContain(`crl-${domainId}-ed._domainkey.acme.example`);
});

it('keeps its own RSA key, for mail that leaves through another provider', async () => {
  await register();
  const { signers } = await createSendingDomains(api.database.pool, testKeyring).find(domainId);
  expect(signers.map(({ algorithm }) => algorithm)).toEqual(['rsa']);
});

it('is registered only once', async () => {
  await register();
  service.requests = [];
  await register();
  expect(service.requests).toEqual([]);
});

it('shows no records while its service is down, and is registered later', async () => {
  service.answer = answerJson(500, { message: 'down' });
  await expect(register()).rejects.toThrow('Mailgun');
  expect((await shown()).dns_records).toBeNull();
  service.answer = answerJson(200, described);
  await register();
  expect(namesOf(await shown())).toHaveLength(3);
});

it('waits for a service that names no key to sign with, and is not verified by its own records', async () => {
  service.answer = answerJson(200, { ...described, sending_dns_records: [] });
  await expect(register()).rejects.toThrow('Mailgun has not named a DKIM record');
  await publishOwnRecords();
  await watch.check(domainId, new Date(), true);
  expect(await shown()).toMatchObject({ status: 'pending', dns_records: null });
  service.answer = answerJson(200, described);
  await register();
  expect(namesOf(await shown())).toContain('mx._domainkey.acme.example');
});

it('needs only its own records at Postmark without an account token', async () => {
  const kind = requireProviderKind('postmark');
  const settings = { server_token: 'server-token', base_url: service.baseUrl };
  await addProvider(api.database.pool, testKeyring, { name: 'stamps', kind, settings });
  const { body } = await api.request('POST', '/v1/my/domains', {
    body: { domain: { name: 'stamped.example', provider: 'stamps' } },
  });
  domainId = Number(body.id);
  await register();
  expect(namesOf(await shown())).toHaveLength(3);
});

/** Responds to look-ups with 404, and to the registration as given. */
function refuse(status: number, message: string): void {
  service.answer = (request, response) =>
    answerJson(request.method === 'GET' ? 404 : status, { message })(request, response);
}

const nextCheckHours = async () => {
  const { rows } = await api.database.pool.query<{ hours: number }>(
    'select extract(epoch from next_check_at - now())::float8 / 3600 as hours from domains where id = $1',
    [domainId],
  );
  return rows[0]?.hours ?? 0;
};

it('shows why its service refuses it, and is not verified by its own records alone', async () => {
  refuse(400, 'acme.example is taken\0');
  await register();
  expect(await shown()).toMatchObject({
    status: 'pending',
    dns_records: null,
    provider_error: 'Mailgun refused: 400 acme.example is taken',
  });
  await publishOwnRecords();
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('pending');
  expect(await nextCheckHours()).toBeCloseTo(24, 1);
});

it('is registered after a refusal by a recheck, or a day later, and not before', async () => {
  refuse(422, 'no');
  await register();
  await watch.check(domainId, new Date(), true);
  service.requests = [];
  const later = (hours: number) => new Date(Date.now() + hours * 3_600_000);
  await register(later(23));
  expect(service.requests).toEqual([]);
  await register(later(25));
  expect(service.requests).not.toEqual([]);
  await api.database.pool.query(`update domains set checked_at = now() - interval '1 hour'`);
  await api.request('POST', `/v1/my/domains/${domainId}/recheck`);
  service.answer = answerJson(200, described);
  await register(later(0.01));
  expect(await shown()).toMatchObject({ provider_error: null, dns_records: expect.any(Array) });
});

it('fails after three days of refusals, and waits for its records once it is registered', async () => {
  refuse(400, 'no');
  await register();
  await api.database.pool.query(`update domains set checking_since = now() - interval '73 hours'`);
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('failed');
  service.answer = answerJson(200, described);
  await register(new Date(), true);
  expect((await shown()).status).toBe('pending');
  expect(await nextCheckHours()).toBeCloseTo(1 / 60, 2);
});

it.each([408, 429, 500, 503])('is not refused by status %i, which may be temporary', async (status) => {
  refuse(status, 'later');
  await expect(register()).rejects.toThrow('Mailgun');
  expect(await shown()).toMatchObject({ status: 'pending', provider_error: null });
});

it('hides from the client what its service says about the installation’s credentials', async () => {
  refuse(403, 'account 4711 of operator@example.com may not do this');
  await register();
  expect((await shown()).provider_error).toBe(
    'Mailgun does not accept the credentials of this installation (HTTP 403)',
  );
});

it('is verified by its own key and the records of its service, which is then asked to check', async () => {
  await register();
  const [own] = (await shown()).dns_records as unknown as { name: string; value: string }[];
  dns.zone = {
    'mx._domainkey.acme.example': { TXT: ['k=rsa; p=MAILGUN'] },
    'acme.example': { TXT: ['v=spf1 include:mailgun.org ~all'] },
  };
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('pending');
  dns.zone[own?.name ?? ''] = { TXT: [own?.value ?? ''] };
  service.requests = [];
  // If the service refuses to check, the domain can still be verified.
  service.answer = answerJson(500, { message: 'down' });
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('verified');
  expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'PUT /v4/domains/acme.example/verify',
  ]);
});

it('shows records that its service requires only after the verification, and stays verified', async () => {
  await addProvider(api.database.pool, testKeyring, {
    name: 'aws',
    kind: requireProviderKind('ses'),
    settings: {
      region: 'eu-central-1',
      access_key_id: 'AKIAIOSFODNN7EXAMPLE',
      secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      base_url: service.baseUrl,
    },
  });
  const { body } = await api.request('POST', '/v1/my/domains', {
    body: { domain: { name: 'moved.example', provider: 'aws' } },
  });
  domainId = Number(body.id);
  let mailFrom = {};
  // The identity exists, so it is configured only once the client has proved the domain.
  service.answer = (request, response) => {
    if (request.url.endsWith('/mail-from')) mailFrom = { MailFromDomain: 'ses.moved.example' };
    const exists = { 'x-amzn-errortype': 'AlreadyExistsException' };
    if (request.method === 'POST') return answerJson(400, {}, exists)(request, response);
    const identity = { DkimAttributes: { Tokens: ['t1'] }, MailFromAttributes: mailFrom };
    return answerJson(200, identity)(request, response);
  };
  await register();
  const records = async () =>
    (await shown()).dns_records as unknown as Record<'name' | 'value' | 'required' | 'valid', string>[];
  for (const { name, value } of await records()) dns.zone[name] = { TXT: [value] };
  dns.zone['t1._domainkey.moved.example'] = { CNAME: 't1.dkim.amazonses.com' };
  dns.zone['crl-bounces.moved.example'] = {
    TXT: ['v=spf1 include:mail.test ~all'],
    MX: [{ exchange: 'mail.test', preference: 10 }],
  };
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('verified');
  const added = (await records()).filter(({ name }) => name === 'ses.moved.example');
  expect(added.map(({ required, valid }) => [required, valid])).toEqual([
    ['false', 'unknown'],
    ['false', 'unknown'],
  ]);
  await watch.check(domainId, new Date(), true);
  expect((await shown()).status).toBe('verified');
});

it('needs only its own records if its service does not register domains', async () => {
  const kind = requireProviderKind('smtp');
  const settings = { url: 'smtp://relay.example.com:587' };
  await addProvider(api.database.pool, testKeyring, { name: 'relay', kind, settings });
  const { body } = await api.request('POST', '/v1/my/domains', {
    body: { domain: { name: 'relayed.example', provider: 'relay' } },
  });
  domainId = Number(body.id);
  await register();
  expect(namesOf(await shown())).toEqual([
    `crl-${domainId}-rsa._domainkey.relayed.example`,
    'crl-bounces.relayed.example',
    'crl-bounces.relayed.example',
  ]);
});

it('needs its own records, and is signed by Carillon, once its provider is removed', async () => {
  await register();
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
