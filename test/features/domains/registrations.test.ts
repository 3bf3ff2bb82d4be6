// A provider registration is removed with its last domain, if Carillon made it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { addProvider, requireProviderKind } from '../../../src/delivery/wire/providers/named.ts';
import { beginRegistration, MAX_UNPROVED_NAMES } from '../../../src/features/domains/registrations.ts';
import type { DomainWatch } from '../../../src/features/domains/watch.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { createTestWatch } from '../../support/domains.ts';
import { eventually } from '../../support/eventually.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../support/provider-api.ts';
import { testKeyring } from '../../support/webhooks.ts';

const path = '/v1/my/domains';

let api: TestApi;
let dns: TestDnsServer;
let service: ProviderApi;
let watch: DomainWatch;
let providerId: number;
/** The names that the service has. */
let names: Set<string>;

async function addGun(name: string): Promise<number> {
  const added = await addProvider(api.database.pool, testKeyring, {
    name,
    kind: requireProviderKind('mailgun'),
    settings: {
      api_key: 'key-0123456789abcdef',
      webhook_signing_key: 'signing-0123456789abcdef',
      base_url: service.baseUrl,
    },
  });
  return added.id;
}

beforeAll(async () => {
  [api, dns, service] = await Promise.all([startTestApi(), startDnsServer(), startProviderApi()]);
  watch = createTestWatch(api.database, dns, api.config, service);
  providerId = await addGun('gun');
});
afterAll(async () => {
  await service.close();
  dns.close();
  await api.close();
});
beforeEach(async () => {
  await query('delete from domains');
  await query('delete from provider_registrations');
  await query('delete from outbox');
  names = new Set();
  service.requests = [];
  service.answer = (request, response) => {
    const name = /\/domains\/([a-z0-9.-]+)/.exec(request.url)?.[1] ?? '';
    const posted = /name="name"\r\n\r\n([a-z0-9.-]+)/.exec(request.body)?.[1];
    if (posted !== undefined) names.add(posted);
    else if (!names.has(name)) return answerJson(404, {})(request, response);
    if (request.method === 'DELETE') names.delete(name);
    const key = { record_type: 'TXT', name: `mx._domainkey.${name}`, value: 'k=rsa; p=MAILGUN' };
    return answerJson(200, { sending_dns_records: [key] })(request, response);
  };
});

const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row>(text, values)).rows;

const create = (name: string, token = api.apiKey, provider = 'gun') =>
  api.request('POST', path, { body: { domain: { name, provider } }, token });

async function registered(name: string, token?: string, provider?: string): Promise<number> {
  const id = Number((await create(name, token, provider)).body.id);
  await watch.register(id, new Date(), false);
  return id;
}

async function remove(id: number, token = api.apiKey): Promise<void> {
  expect((await api.request('DELETE', `${path}/${id}`, { token })).status).toBe(200);
  await watch.unregister(id);
}

const insertUnproved = (count: number) =>
  query(
    `with d as (
       insert into domains (account_id, brand_id, name, provider_id, return_path_host, tracking_host)
       select $1, $2, 'name-' || n || '.example', $3, 'r', 't' from generate_series(1, $4) n returning *)
     insert into provider_registrations (domain_id, account_id, provider_id, name)
     select id, account_id, provider_id, name from d`,
    [api.accountId, api.brandId, providerId, count],
  );

describe('the registration of a domain at its provider', () => {
  it('is removed with the domain', async () => {
    const id = await registered('acme.example');
    expect([...names]).toEqual(['acme.example']);
    await remove(id);
    expect([...names]).toEqual([]);
    service.requests = [];
    await watch.unregister(id);
    expect(service.requests).toEqual([]);
  });

  it('stays if it existed before', async () => {
    names.add('acme.example');
    await remove(await registered('acme.example'));
    expect([...names]).toEqual(['acme.example']);
  });

  it('stays while another account uses it, and is removed with the last one', async () => {
    const other = await createTestTenant(api.database, 'Other');
    const [first, second] = [
      await registered('acme.example'),
      await registered('acme.example', other.apiKey),
    ];
    await remove(first);
    expect([...names]).toEqual(['acme.example']);
    await remove(second, other.apiKey);
    expect([...names]).toEqual([]);
  });

  it('stays while another provider of the kind may use it, and is removed with the last domain', async () => {
    const other = await createTestTenant(api.database, 'Second');
    await addGun('second-gun');
    const first = await registered('acme.example');
    const second = await registered('acme.example', other.apiKey, 'second-gun');
    await remove(first);
    expect([...names]).toEqual(['acme.example']);
    await remove(second, other.apiKey);
    expect([...names]).toEqual([]);
    expect(await query('select 1 from provider_registrations where created or creating')).toEqual([]);
  });

  it('is removed with the domain if nothing was recorded after the service had made it', async () => {
    const id = Number((await create('acme.example')).body.id);
    const { answer } = service;
    service.answer = (request, response) => {
      if (request.method !== 'POST') return answer(request, response);
      names.add('acme.example');
      response.destroy();
    };
    await expect(watch.register(id, new Date(), false)).rejects.toThrow('Mailgun');
    service.answer = answer;
    await watch.register(id, new Date(), false);
    await remove(id);
    expect([...names]).toEqual([]);
  });

  it('is removed with the domain if its service refused to say whether it existed', async () => {
    const id = Number((await create('acme.example')).body.id);
    const { answer } = service;
    service.answer = (request, response) => {
      if (request.method !== 'POST') return answer(request, response);
      names.add('acme.example');
      response.destroy();
    };
    await expect(watch.register(id, new Date(), false)).rejects.toThrow('Mailgun');
    service.answer = answerJson(401, {});
    await watch.register(id, new Date(), false);
    service.answer = answer;
    await remove(id);
    expect([...names]).toEqual([]);
  });

  it('stays if it was made by hand after the service had refused the domain', async () => {
    const id = Number((await create('acme.example')).body.id);
    const { answer } = service;
    service.answer = (request, response) =>
      request.method === 'POST' ? answerJson(400, {})(request, response) : answer(request, response);
    await watch.register(id, new Date(), false);
    service.answer = answer;
    names.add('acme.example');
    await watch.register(id, new Date(), true);
    await remove(id);
    expect([...names]).toEqual(['acme.example']);
  });

  it('is removed if it was made while the domain was deleted', async () => {
    const id = Number((await create('acme.example')).body.id);
    const answer = service.answer;
    service.answer = async (request, response) => {
      if (request.method === 'POST') await api.request('DELETE', `${path}/${id}`);
      return answer(request, response);
    };
    await watch.register(id, new Date(), false);
    expect([...names]).toEqual(['acme.example']);
    await watch.unregister(id);
    expect([...names]).toEqual([]);
  });

  it('is made again for a domain that was added while it was removed', async () => {
    const other = await createTestTenant(api.database, 'Late');
    const id = await registered('acme.example');
    await api.request('DELETE', `${path}/${id}`);
    const answer = service.answer;
    let late = 0;
    service.answer = async (request, response) => {
      if (request.method === 'DELETE' && late === 0) {
        late = -1;
        late = await registered('acme.example', other.apiKey);
      }
      return answer(request, response);
    };
    await watch.unregister(id);
    expect([...names]).toEqual([]);
    await watch.register(late, new Date(), false);
    expect([...names]).toEqual(['acme.example']);
    const woken = await query<{ workflow_id: string }>(
      `select workflow_id from outbox where kind = 'signal_with_start' and workflow_id = $1`,
      [`domain/${late}`],
    );
    expect(woken).toHaveLength(1);
  });

  it('stays, without an error, if its provider was removed', async () => {
    const id = await registered('acme.example');
    await query('update providers set removed_at = now() where id = $1', [providerId]);
    try {
      await remove(id);
      expect([...names]).toEqual(['acme.example']);
    } finally {
      await query('update providers set removed_at = null where id = $1', [providerId]);
    }
  });

  it('fails to be removed while the provider is down', async () => {
    const id = await registered('acme.example');
    await api.request('DELETE', `${path}/${id}`);
    const { answer } = service;
    service.answer = answerJson(500, {});
    await expect(watch.unregister(id)).rejects.toThrow('Mailgun');
    service.answer = answer;
    await watch.unregister(id);
    expect([...names]).toEqual([]);
  });
});

describe('unproved names', () => {
  const tooMany = {
    status: 422,
    body: {
      code: 'validation_error',
      validation_errors: { 'domain.name': [expect.stringMatching(/^is one too many: at most 25 domains/)] },
    },
  };

  it('are limited per account, but only at named providers', async () => {
    await insertUnproved(MAX_UNPROVED_NAMES - 1);
    expect((await create('last.example')).status).toBe(201);
    expect(await create('further.example')).toMatchObject(tooMany);
    expect(await query(`select 1 from domains where name = 'further.example'`)).toEqual([]);
    const body = { domain: { name: 'own.example' } };
    expect((await api.request('POST', path, { body })).status).toBe(201);
    const other = await createTestTenant(api.database, 'Unbounded');
    expect((await create('further.example', other.apiKey)).status).toBe(201);
  });

  it('are limited even for concurrent requests', async () => {
    await insertUnproved(MAX_UNPROVED_NAMES - 1);
    const begin = (trx: Queryable, id: number) =>
      beginRegistration(trx, api, { id, name: `at-once-${id}.example`, provider_id: providerId });
    const { pool } = api.database;
    let second: Promise<unknown> | undefined;
    await inTransaction(pool, async (trx) => {
      await begin(trx, 1_000_001);
      await trx.query(
        `insert into domains (id, account_id, brand_id, name, provider_id, return_path_host, tracking_host)
         values (1000001, $1, $2, 'at-once.example', $3, 'r', 't')`,
        [api.accountId, api.brandId, providerId],
      );
      second = inTransaction(pool, (other) => begin(other, 1_000_002)).catch((error: unknown) => error);
      await eventually(async () => {
        const waiting = await query(`select 1 from pg_locks l join pg_database d on d.oid = l.database
           where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`);
        expect(waiting).toHaveLength(1);
      });
    });
    expect(await second).toMatchObject({ code: 'validation_error' });
  });

  it('no longer count after a verification, even if it is lost later', async () => {
    await insertUnproved(MAX_UNPROVED_NAMES);
    expect(await create('further.example')).toMatchObject(tooMany);
    await query(`update domains set status = 'verified' where name = 'name-1.example'`);
    await query(`update domains set status = 'failed', lost_at = now() where name = 'name-2.example'`);
    expect((await create('further.example')).status).toBe(201);
    expect((await create('more.example')).status).toBe(201);
    expect(await create('much-more.example')).toMatchObject(tooMany);
  });

  it('count for a day after they are deleted, and are then forgotten', async () => {
    await insertUnproved(MAX_UNPROVED_NAMES);
    const [row] = await query<{ id: number }>('select id from domains limit 1');
    await remove(row?.id ?? 0);
    expect(await create('further.example')).toMatchObject(tooMany);
    const task = upkeep.tasks.find(({ name }) => name === 'deleted_registrations');
    const forget = () =>
      task?.run({ database: api.database } as never, new Date(Date.now() + 60_000), () => undefined);
    expect(await forget()).toBe(0);
    await query(
      `update provider_registrations set deleted_at = now() - interval '25 hours' where deleted_at is not null`,
    );
    expect((await create('further.example')).status).toBe(201);
    expect(await forget()).toBe(1);
  });
});
