// Owners and admins create inboxes at verified domains whose mail goes nowhere else, and the domain shows the MX record.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody, type TestTenant } from '../../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import {
  createTestWatch,
  insertPendingDomain,
  insertVerifiedDomain,
  rightRecords,
} from '../../../support/domains.ts';
import { allowInboxes } from '../../../support/inboxes.ts';

const path = '/v1/my/inboxes';

let dns: TestDnsServer;
let api: TestApi;
let builtIn: string;
beforeAll(async () => {
  dns = await startDnsServer();
  api = await startTestApi({ env: { DNS_SERVERS: dns.address, MAIL_HOST: 'mx.mail.test' } });
  builtIn = `inbox-${api.brandId}@mail.test`;
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  dns.zone = {};
  for (const table of ['inboxes', 'domains', 'outbox', 'idempotency_keys']) {
    await api.database.pool.query(`delete from ${table}`);
  }
  for (const { accountId } of [api, api.other]) await allowInboxes(api.database, accountId);
});

const create = (body: object = {}, token = api.apiKey) => api.request('POST', path, { body, token });
const change = (id: unknown, body: object, token = api.apiKey) =>
  api.request('PATCH', `${path}/${Number(id)}`, { body, token });
const errorsOf = (body: TestBody) => body.validation_errors as unknown as Record<string, string[]>;

const ours = [{ exchange: 'mx.mail.test', preference: 10 }];
const verified = (name: string, tenant: TestTenant = api) => insertVerifiedDomain(api.database, tenant, name);

describe('a new inbox', () => {
  it('needs a key, a role, a live key, and the capability', async () => {
    const member = await api.addUser('member');
    expect((await api.request('POST', path, { body: {}, token: null })).status).toBe(401);
    expect((await create({}, member.userJwt)).body.code).toBe('forbidden');
    expect((await create({}, api.testApiKey)).body.code).toBe('test_key');
    await allowInboxes(api.database, api.accountId, false);
    expect(await create({ address: 'no@one.example' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  });

  it('is built in without an address, once for each brand', async () => {
    const { status, body } = await create({ name: 'Acme', create_contacts: true });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      brand_id: api.brandId,
      domain_id: null,
      address: builtIn,
      name: 'Acme',
      enabled: true,
      mx_status: null,
      create_contacts: true,
      evicted_count: 0,
      last_evicted_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    for (const again of [{}, { address: builtIn }]) {
      expect(await create(again)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    }
    expect((await create({}, api.other.apiKey)).body.address).toBe(`inbox-${api.other.brandId}@mail.test`);
  });

  it('is repeated by its Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'inbox-1' };
    const [first, second] = [
      await api.request('POST', path, { body: {}, headers }),
      await api.request('POST', path, { body: {}, headers }),
    ];
    expect([first.status, second.status, second.body.id]).toEqual([201, 201, first.body.id]);
  });

  it('at a verified subdomain is accepted whatever its MX records are', async () => {
    dns.zone['help.acme.example'] = { MX: [{ exchange: 'mx.other.test', preference: 5 }] };
    const id = await verified('help.acme.example');
    const { status, body } = await create({ address: 'Postmaster@HELP.acme.example', enabled: false });
    expect([status, body.address, body.domain_id, body.enabled, body.mx_status]).toEqual([
      201,
      'Postmaster@help.acme.example',
      id,
      false,
      'pending',
    ]);
    const again = await create({ address: 'postmaster@help.acme.example' });
    expect([again.status, again.body.code]).toEqual([409, 'conflict']);
  });

  it.each([
    ['of another brand', () => verified('acme.example', api.other)],
    ['that is pending', () => insertPendingDomain(api.database, api, 'acme.example')],
    ['that is above the verified one', () => verified('mail.acme.example')],
  ])('is refused at a domain %s', async (_what, insert) => {
    await insert();
    const { status, body } = await create({ address: 'a@acme.example' });
    expect([status, errorsOf(body).address]).toEqual([422, [expect.stringContaining('verified domain')]]);
  });

  it.each(['postmaster', 'abuse', 'fbl', 'b-1', 'bounces', 'no-reply', 'sandbox-1', 'inbox-999999'])(
    'is refused as %s at MAIL_DOMAIN',
    async (local) => {
      const { status, body } = await create({ address: `${local}@mail.test` });
      expect([status, errorsOf(body).address]).toEqual([422, [expect.stringContaining(builtIn)]]);
    },
  );

  it('is refused with a tag, with a display name, or if it is no address', async () => {
    await verified('acme.example');
    for (const address of ['a+b@acme.example', 'Acme <a@acme.example>', 'acme']) {
      const { status, body } = await create({ address });
      expect([status, Object.keys(errorsOf(body))]).toEqual([422, ['address']]);
    }
  });

  it('is refused beyond 100 for a brand', async () => {
    await api.database.pool.query(
      `insert into inboxes (account_id, brand_id, domain_name, address, address_key)
       select $1, $2, 'x.example', n || '@x.example', n || '@x.example' from generate_series(1, 100) n`,
      [api.accountId, api.brandId],
    );
    const { status, body } = await create();
    expect([status, errorsOf(body)]).toEqual([422, { inboxes: [expect.stringContaining('100')] }]);
    await api.database.pool.query('update inboxes set removed_at = now() where address_key = $1', [
      '7@x.example',
    ]);
    expect((await create()).status).toBe(201);
  });
});

describe('a new inbox at an organizational domain', () => {
  const address = 'support@acme.example';
  beforeEach(() => verified('acme.example'));

  it('is refused if the domain’s mail goes elsewhere, with the advice to use a subdomain', async () => {
    dns.zone['acme.example'] = {
      MX: [
        { exchange: 'mx.mail.test', preference: 5 },
        { exchange: 'mx.google.test', preference: 10 },
      ],
    };
    const { status, body } = await create({ address });
    expect([status, errorsOf(body).address]).toEqual([422, [expect.stringContaining('inbox.acme.example')]]);
  });

  it.each([
    ['there is no MX record', {}],
    ['the domain has a null MX record', { 'acme.example': { MX: [{ exchange: '.', preference: 0 }] } }],
    ['its mail goes here', { 'acme.example': { MX: [{ exchange: 'MX.mail.test', preference: 10 }] } }],
  ])('is accepted if %s', async (_what, zone) => {
    dns.zone = zone;
    expect((await create({ address })).status).toBe(201);
  });

  it('is refused for now if the name servers do not answer', async () => {
    dns.zone['acme.example'] = 'servfail';
    const { status, body } = await create({ address });
    expect([status, errorsOf(body).address]).toEqual([422, [expect.stringContaining('try again')]]);
  });
});

describe('the domain of an inbox', () => {
  const domainOf = async (id: number) => (await api.request('GET', `/v1/my/domains/${id}`)).body;
  const record = { record_type: 'MX', name: 'in.acme.example', value: 'mx.mail.test', priority: '10' };

  it('shows the MX record and is checked, until the inbox is removed', async () => {
    const id = await insertPendingDomain(api.database, api, 'in.acme.example');
    await api.database.pool.query(
      `update domains set status = 'verified', verified_at = now(), checked_at = now() - interval '1 hour',
         next_check_at = now() + interval '6 hours'`,
    );
    expect((await domainOf(id)).dns_records).not.toContainEqual(expect.objectContaining(record));
    const inbox = await create({ address: 'a@in.acme.example' });
    const shown = { ...record, valid: 'unknown', required: 'false' };
    expect((await domainOf(id)).dns_records).toContainEqual(shown);
    const another = await insertPendingDomain(api.database, api, 'acme.example');
    expect((await domainOf(another)).dns_records).not.toContainEqual(
      expect.objectContaining({ record_type: 'MX', name: 'acme.example' }),
    );
    const outbox = 'select kind, workflow_id from outbox';
    const wake = { kind: 'signal_with_start', workflow_id: `domain/${id}` };
    expect((await api.database.pool.query(outbox)).rows).toEqual([wake]);
    const due = await api.database.pool.query('select from domains where next_check_at <= now()');
    expect(due.rowCount).toBe(1);
    await api.request('DELETE', `${path}/${Number(inbox.body.id)}`);
    expect((await domainOf(id)).dns_records).not.toContainEqual(expect.objectContaining(record));
  });

  it.each([
    ['true', 'verified'],
    ['false', 'failed'],
    ['unknown', 'pending'],
  ])('decides mx_status: a record that is %s is %s', async (valid, status) => {
    await verified('in.acme.example');
    const { body } = await create({ address: 'a@in.acme.example' });
    await api.database.pool.query('update domains set checks = $1', [{ inbox_mx: { valid } }]);
    expect((await api.request('GET', `${path}/${Number(body.id)}`)).body.mx_status).toBe(status);
  });

  it('stays verified whatever a check finds at the MX record, which decides mx_status', async () => {
    const name = 'in.acme.example';
    const id = await insertPendingDomain(api.database, api, name);
    const watch = createTestWatch(api.database, dns, api.config);
    const records = rightRecords(id, name);
    const bounces = { [`crl-bounces.${name}`]: { TXT: ['v=spf1 include:mail.test ~all'], MX: ours } };
    dns.zone = { ...records, ...bounces };
    await watch.check(id, new Date(), true);
    const { body } = await create({ address: `a@${name}` });
    const statuses = async () => [
      (await domainOf(id)).status,
      (await api.request('GET', `${path}/${Number(body.id)}`)).body.mx_status,
    ];
    expect(await statuses()).toEqual(['verified', 'pending']);
    await watch.check(id, new Date(), true);
    expect(await statuses()).toEqual(['verified', 'failed']);
    dns.zone = { ...records, ...bounces, [name]: { MX: ours } };
    await watch.check(id, new Date(), true);
    expect(await statuses()).toEqual(['verified', 'verified']);
  });

  it('is null once the brand removes the domain, and another one once it registers the name again', async () => {
    const domainId = await verified('in.acme.example');
    const { body } = await create({ address: 'a@in.acme.example' });
    const current = async () => (await api.request('GET', `${path}/${Number(body.id)}`)).body;
    expect((await current()).domain_id).toBe(domainId);
    await api.database.pool.query('delete from domains');
    expect(await current()).toMatchObject({ domain_id: null, mx_status: 'pending' });
    const next = await insertPendingDomain(api.database, api, 'in.acme.example');
    expect((await current()).domain_id).toBe(next);
    expect((await domainOf(next)).dns_records).toContainEqual(expect.objectContaining(record));
  });
});

describe('an inbox', () => {
  it('is listed newest first, and found, by members and without the capability', async () => {
    const member = await api.addUser('member');
    await verified('in.acme.example');
    const ids = [];
    for (const body of [{}, { address: 'a@in.acme.example' }, { address: 'b@in.acme.example' }]) {
      ids.unshift(Number((await create(body)).body.id));
    }
    await allowInboxes(api.database, api.accountId, false);
    const all = await api.request('GET', path, { token: member.userJwt });
    expect(all.list.map(({ id }) => Number(id))).toEqual(ids);
    const rest = await api.request('GET', `${path}?after=${ids[0]}&limit=1`);
    expect(rest.list.map(({ id }) => Number(id))).toEqual([ids[1]]);
    const one = await api.request('GET', `${path}/${ids[0]}`, { token: member.userJwt });
    expect([one.status, one.body]).toEqual([200, all.list[0]]);
  });

  it('changes only in the given fields, and takes back what it returned', async () => {
    const { body: inbox } = await create({ name: 'Acme' });
    const off = await change(inbox.id, { enabled: false, create_contacts: true });
    expect(off.body).toEqual({
      ...inbox,
      enabled: false,
      create_contacts: true,
      updated_at: expect.any(String),
    });
    const back = await change(inbox.id, { ...inbox, name: null });
    expect(back.body).toEqual({ ...inbox, name: null, updated_at: expect.any(String) });
  });

  it('cannot have another address, an unknown field, or a name of two lines', async () => {
    const { body } = await create();
    for (const [field, value] of [
      ['address', 'other@mail.test'],
      ['colour', 'red'],
      ['name', 'a\nb'],
    ] as const) {
      const refused = await change(body.id, { [field]: value });
      expect([refused.status, Object.keys(errorsOf(refused.body))]).toEqual([422, [field]]);
    }
  });

  it('is changed and removed by owners and admins only; changing it needs the capability', async () => {
    const member = await api.addUser('member');
    const { body } = await create();
    const one = `${path}/${Number(body.id)}`;
    expect((await change(body.id, {}, member.userJwt)).body.code).toBe('forbidden');
    expect((await api.request('DELETE', one, { token: member.userJwt })).body.code).toBe('forbidden');
    await allowInboxes(api.database, api.accountId, false);
    expect((await change(body.id, { enabled: true })).body.code).toBe('forbidden');
    expect((await api.request('DELETE', one)).status).toBe(200);
  });

  it('is gone once it is removed, and its address is free', async () => {
    const { body } = await create();
    const one = `${path}/${Number(body.id)}`;
    const removed = await api.request('DELETE', one);
    expect([removed.status, removed.body.id]).toEqual([200, body.id]);
    for (const method of ['GET', 'DELETE']) expect((await api.request(method, one)).status).toBe(404);
    expect((await change(body.id, { name: 'x' })).status).toBe(404);
    expect((await api.request('GET', path)).list).toEqual([]);
    expect((await create()).status).toBe(201);
    const { rows } = await api.database.pool.query('select id from inboxes order by id');
    expect(rows).toHaveLength(2);
  });
});
