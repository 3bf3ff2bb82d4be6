// The domains API accepts only valid names, encrypts private keys, and limits how often a client requests a check.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addProvider,
  requireProviderKind,
  reserveProvider,
} from '../../../src/delivery/wire/providers/named.ts';
import { createTestTenant, startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { testKeyring } from '../../support/webhooks.ts';

const path = '/v1/my/domains';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://app.carillon.example' } });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('delete from domains');
  await api.database.pool.query('delete from outbox');
});

const create = (name: unknown, further: object = {}, token = api.apiKey) =>
  api.request('POST', path, { body: { domain: { name, ...further } }, token });

const errorsOf = (body: TestBody) => body.validation_errors as unknown as Record<string, string[]>;

describe('a new domain', () => {
  it('needs an API key, and a name', async () => {
    expect((await api.request('POST', path, { body: {}, token: null })).status).toBe(401);
    const { status, body } = await api.request('POST', path, { body: { domain: {} } });
    expect([status, Object.keys(errorsOf(body))]).toEqual([422, ['domain.name']]);
  });

  it('is pending, with the records to publish', async () => {
    const { status, body } = await create('Acme.Example.');
    expect(status).toBe(201);
    const id = Number(body.id);
    expect(body).toEqual({
      id,
      name: 'acme.example',
      provider: 'default',
      provider_error: null,
      status: 'pending',
      verified_at: null,
      created_at: expect.any(String),
      dns_records: expect.any(Array),
    });
    const unknown = { priority: '', valid: 'unknown' };
    expect(body.dns_records).toEqual([
      {
        ...unknown,
        record_type: 'TXT',
        name: `crl-${id}-rsa._domainkey.acme.example`,
        value: expect.stringMatching(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]{300,}$/),
        required: 'true',
      },
      {
        record_type: 'MX',
        name: 'crl-bounces.acme.example',
        value: 'mail.test',
        priority: '10',
        valid: 'unknown',
        required: 'true',
      },
      {
        ...unknown,
        record_type: 'TXT',
        name: 'crl-bounces.acme.example',
        value: 'v=spf1 include:mail.test ~all',
        required: 'true',
      },
      {
        ...unknown,
        record_type: 'TXT',
        name: `crl-${id}-ed._domainkey.acme.example`,
        value: expect.stringMatching(/^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/=]{44}$/),
        required: 'false',
      },
      {
        ...unknown,
        record_type: 'TXT',
        name: '_dmarc.acme.example',
        value: 'v=DMARC1; p=none',
        required: 'false',
      },
      {
        ...unknown,
        record_type: 'CNAME',
        name: 'links.acme.example',
        value: 'app.carillon.example',
        required: 'false',
      },
    ]);
  });

  it('may name a provider only if it is not reserved for other accounts', async () => {
    const { pool } = api.database;
    const kind = requireProviderKind('smtp');
    const settings = { url: 'smtp://relay.example.com:587' };
    const other = await createTestTenant(api.database, 'Other');
    const { id } = await addProvider(pool, testKeyring, {
      name: 'reserved',
      kind,
      settings,
      accountIds: [other.accountId],
    });
    const named = () => create('acme.example', { provider: 'reserved' });
    const refused = await named();
    const unknown = await create('acme.example', { provider: 'nobodys' });
    expect([refused.status, errorsOf(refused.body)]).toEqual([422, errorsOf(unknown.body)]);
    expect(Object.keys(errorsOf(refused.body))).toEqual(['domain.provider']);
    await reserveProvider(pool, { id }, [other.accountId, api.accountId]);
    expect((await named()).status).toBe(201);
  });

  it('starts its workflow in the same transaction', async () => {
    const { body } = await create('acme.example');
    const { rows } = await api.database.pool.query('select kind, workflow_id, input from outbox');
    expect(rows).toEqual([
      {
        kind: 'start',
        workflow_id: `domain/${Number(body.id)}`,
        input: [{ schema: 1, domainId: Number(body.id), accountId: api.accountId }],
      },
    ]);
  });

  it('stores its private keys encrypted', async () => {
    const { body } = await create('acme.example');
    const { rows } = await api.database.pool.query<{ private_key_sealed: string; account_id: number }>(
      'select private_key_sealed, account_id from dkim_keys where domain_id = $1',
      [body.id],
    );
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(row.private_key_sealed).toMatch(/^s1\./);
      expect(row.account_id).toBe(api.accountId);
    }
  });

  it.each([
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['news.acme.co.uk', 'news.acme.co.uk'],
    ['acme.github.io', 'acme.github.io'],
    ['blog.example', 'blog.example'],
    // The host of PUBLIC_URL is below it.
    ['carillon.example', 'carillon.example'],
  ])('named %s is %s', async (given, name) => {
    const { status, body } = await create(given);
    expect([status, body.name]).toEqual([201, name]);
  });

  it.each([
    ['localhost', 'is not a domain name such as example.com'],
    ['acme .example', 'is not a domain name such as example.com'],
    ['a@acme.example', 'is not a domain name such as example.com'],
    ['https://acme.example', 'is not a domain name such as example.com'],
    ['10.0.0.1', 'is not a domain name such as example.com'],
    ['-acme.example', 'is not a domain name such as example.com'],
    ['acme..example', 'is not a domain name such as example.com'],
    ['co.uk', 'is a public suffix, under which others register their own domains'],
    ['github.io', 'is a public suffix, under which others register their own domains'],
    ['mail.test', 'belongs to this service'],
    ['deep.mail.test', 'belongs to this service'],
    ['app.carillon.example', 'belongs to this service'],
    [
      `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.example`,
      'is too long: its return paths would exceed the maximum length of an address',
    ],
  ])('named %s is refused', async (name, problem) => {
    const { status, body } = await create(name);
    expect([status, body.code, errorsOf(body)]).toEqual([
      422,
      'validation_error',
      { 'domain.name': [problem] },
    ]);
  });

  it('is a 409 if the brand already has the name, in any form', async () => {
    expect((await create('bücher.example')).status).toBe(201);
    const { status, body } = await create('xn--bcher-kva.example');
    expect([status, body.code]).toEqual([409, 'conflict']);
  });

  it('may be pending in several accounts', async () => {
    expect((await create('acme.example')).status).toBe(201);
    expect((await create('acme.example', {}, api.other.apiKey)).status).toBe(201);
  });

  it('is created once if the request is repeated with the same key', async () => {
    const request = { body: { domain: { name: 'acme.example' } }, headers: { 'Idempotency-Key': 'once' } };
    const both = await Promise.all([1, 2].map(() => api.request('POST', path, request)));
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    expect(both[0]?.body).toEqual(both[1]?.body);
    expect((await api.request('POST', path, request)).headers.get('idempotent-replayed')).toBe('true');
  });

  it('is returned to a repeated request even if it would be refused by now', async () => {
    const request = (name: string) => ({
      body: { domain: { name } },
      headers: { 'Idempotency-Key': 'later' },
    });
    const first = await api.request('POST', path, request('acme.example'));
    await api.database.pool.query('update accounts set capabilities = $2 where id = $1', [
      api.accountId,
      { custom_domains: false },
    ]);
    const again = await api.request('POST', path, request('acme.example'));
    const other = await api.request('POST', path, request('localhost'));
    await api.database.pool.query('update accounts set capabilities = $2 where id = $1', [api.accountId, {}]);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('is refused if an operator has revoked the capability', async () => {
    const set = (capabilities: object) =>
      api.database.pool.query('update accounts set capabilities = $2 where id = $1', [
        api.accountId,
        capabilities,
      ]);
    await set({ custom_domains: false });
    const { status, body } = await create('acme.example');
    await set({});
    expect([status, body.code]).toEqual([403, 'forbidden']);
  });

  it('has a named provider only if there is one for email', async () => {
    await api.database.pool.query(
      `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
       values ('ses-eu', 'ses', 'email', '', '', 'a'), ('texts', 'twilio', 'sms', '', '', 'b')`,
    );
    const good = await create('acme.example', { provider: 'ses-eu' });
    // The records are known only when the provider has named its own.
    expect([good.status, good.body.provider, good.body.dns_records]).toEqual([201, 'ses-eu', null]);
    for (const provider of ['texts', 'nothing']) {
      const bad = await create('other.example', { provider });
      expect([bad.status, Object.keys(errorsOf(bad.body))]).toEqual([422, ['domain.provider']]);
    }
    expect((await create('other.example', { provider: 'default' })).body.provider).toBe('default');
  });
});

describe('existing domains', () => {
  it('are listed newest first, a page at a time', async () => {
    for (const name of ['one.example', 'two.example', 'three.example']) await create(name);
    await create('foreign.example', {}, api.other.apiKey);
    const { list, headers } = await api.request('GET', `${path}?limit=2`);
    expect(list.map(({ name }) => name)).toEqual(['three.example', 'two.example']);
    expect(headers.get('x-total-count')).toBe('3');
  });

  it('are shown individually', async () => {
    const { body } = await create('acme.example');
    expect((await api.request('GET', `${path}/${Number(body.id)}`)).body).toEqual(body);
  });

  it('are removed with their keys, and their workflow is notified', async () => {
    const { body } = await create('acme.example');
    const removed = await api.request('DELETE', `${path}/${Number(body.id)}`);
    expect([removed.status, removed.body]).toEqual([200, body]);
    expect((await api.request('GET', `${path}/${Number(body.id)}`)).status).toBe(404);
    const { pool } = api.database;
    expect((await pool.query('select 1 from dkim_keys where domain_id = $1', [body.id])).rowCount).toBe(0);
    const { rows } = await pool.query(`select signal_name from outbox where kind = 'signal_with_start'`);
    expect(rows).toEqual([{ signal_name: 'wake' }]);
  });

  it('pause the campaigns that send from them when they are removed', async () => {
    const { body } = await create('acme.example');
    const { database, accountId, brandId } = api;
    const write = (domainId: number) =>
      writeCampaign(database, { accountId, brandId }, { recipients: 1, prefix: `d${domainId}-`, domainId });
    const { campaignId } = await write(Number(body.id));
    await write(Number(body.id) + 1_000);
    await api.request('DELETE', `${path}/${Number(body.id)}`);
    const { rows } = await database.pool.query(`select workflow_id from outbox where kind = 'signal'`);
    expect(rows).toEqual([{ workflow_id: `campaign/${campaignId}` }]);
  });

  it('are checked at once if a client asks, but not too often', async () => {
    const { body } = await create('acme.example');
    const due = async () => {
      expect((await api.request('POST', `${path}/${Number(body.id)}/recheck`)).status).toBe(200);
      const { rows } = await api.database.pool.query<{ seconds: number }>(
        'select extract(epoch from next_check_at - now())::float as seconds from domains',
      );
      return rows[0]?.seconds ?? 0;
    };
    expect(await due()).toBeLessThanOrEqual(0);
    await api.database.pool.query(
      `update domains set checked_at = now() + interval '1 hour', next_check_at = now() + interval '6 hours'`,
    );
    expect(await due()).toBeGreaterThan(3_600);
    const { rows } = await api.database.pool.query(
      `select distinct workflow_id from outbox where signal_name = 'wake'`,
    );
    expect(rows).toEqual([{ workflow_id: `domain/${Number(body.id)}` }]);
  });
});
