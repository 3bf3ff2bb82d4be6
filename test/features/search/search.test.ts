// A search finds what the brand has with an address, an id or the beginning of a name, and nothing of others.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foundTypes } from '../../../src/features/search/schema.ts';
import { sources } from '../../../src/features/search/sources.ts';
import { memberRoles } from '../../../src/platform/auth/tenant.ts';
import { startTestApi, type TestApi, type TestBody, type TestTenant } from '../../support/api.ts';

let api: TestApi;

/** Rows of all types, each with the id 1,000,001 for the first tenant. */
const ID = 1_000_001;

async function insert(table: string, id: number, { accountId, brandId }: TestTenant, columns: object) {
  const row = { id, account_id: accountId, brand_id: brandId, ...columns };
  const values = Object.values(row).filter((value) => value !== undefined);
  const names = Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  await api.database.pool.query(
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    values,
  );
}

async function insertAll(id: number, tenant: TestTenant): Promise<void> {
  const add = (table: string, columns: object) => insert(table, id, tenant, columns);
  const address = { email: 'Ada@Example.com', email_key: 'ada@example.com' };
  await add('contacts', { ...address, phone: '+14155550100', first_name: 'Ada', last_name: 'Lovelace' });
  await add('messages', {
    channel: 'email',
    status: 'delivered',
    to_address: 'Ada@Example.com',
    to_key: 'ada@example.com',
    subject: 'Hello',
  });
  await add('campaigns', { name: 'Spring sale', template_id: id + 1_000 });
  await insert('templates', id + 1_000, tenant, { campaign_id: id, name: 'Spring content' });
  await add('flows', { name: 'Spring 50% off' });
  const run = { flow_id: id, version_id: 1, contact_id: id, cause: `${id}`, record: {} };
  await add('flow_runs', run);
  await add('templates', { name: 'spring', subject: 'a', body: 'a' });
  await add('lists', { name: 'Spring buyers' });
  await add('segments', { name: 'Spring fans' });
  const suppressed = { address_key: 'ada@example.com', email: 'Ada@Example.com', reason: 'manual' };
  await add('suppressions', { ...suppressed, brand_id: undefined });
  await add('inboxes', { address: `in-${id}@acme.test`, address_key: `in-${id}@acme.test` });
  await add('conversations', { inbox_id: id, subject: 'A question', participants: ['ada@example.com'] });
  const options = { list_ids: [], mapping: {}, update_existing: true, subscribe: true, dry_run: false };
  await add('imports', { resource: 'contacts', filename: 'a.csv', options });
  await add('exports', { resource: 'messages' });
  await add('validation_operations', {
    audience_kind: 'contact_ids',
    audience_ids: [1],
    audience_digest: Buffer.alloc(32, id),
    max_contact_id: 1,
    candidate_count: 1,
    chargeable_count: 1,
  });
  await add('bulk_actions', { action: 'delete', filter: {}, pinned: {}, dry_run: true });
  const webhook = {
    url: 'https://acme.test/hook',
    events: ['email.sent'],
    secret_sealed: 's',
    secret_last4: 's',
  };
  await add('webhooks', webhook);
  const hosts = { return_path_host: 'a', tracking_host: 'b' };
  const domain = `d${id}.acme.test`;
  await add('domains', { name: domain, ...hosts });
  for (const [n, algorithm] of ['rsa', 'ed25519'].entries()) {
    const key = {
      domain_id: id,
      domain,
      selector: `s${n}`,
      algorithm,
      private_key_sealed: 'x',
      public_key: 'y',
    };
    await insert('dkim_keys', id + n * 1_000, tenant, { ...key, brand_id: undefined });
  }
}

beforeAll(async () => {
  api = await startTestApi();
  await insertAll(ID, api);
  await insertAll(ID + 1, api.other);
});
afterAll(() => api.close());

async function search(q: string, token = api.apiKey): Promise<TestBody[]> {
  const { status, list } = await api.request('GET', `/v1/my/search?q=${encodeURIComponent(q)}`, { token });
  expect(status).toBe(200);
  return list;
}

const typesOf = (found: TestBody[]) => found.map(({ type }) => String(type));

describe('GET /v1/my/search', () => {
  it('finds every resource by its id, at the path where the API has it', async () => {
    const found = await search(String(ID));
    expect(typesOf(found).sort()).toEqual([...foundTypes].sort());
    for (const [type, path] of found.map((each) => [String(each.type), each.path])) {
      // A suppression can only be deleted there.
      if (type === 'suppression') continue;
      const { status } = await api.request('GET', String(path));
      expect([path, status]).toEqual([path, 200]);
    }
    expect(found[0]).toEqual({
      type: 'contact',
      id: ID,
      title: 'Ada Lovelace',
      has_mail: false,
      status: null,
      path: `/v1/my/contacts/${ID}`,
    });
  });

  it('finds by its id only what the role may read at its path', async () => {
    const { userJwt } = await api.addUser('member');
    const token = { token: userJwt };
    const found = await search(String(ID), userJwt);
    for (const type of foundTypes) {
      const { path } = sources[type];
      // A suppression has no path to read one.
      const { status } = await api.request('GET', type === 'suppression' ? path : `${path}/${ID}`, token);
      expect([type, typesOf(found).includes(type)]).toEqual([type, status === 200]);
    }
    expect(typesOf(found)).not.toContain('webhook');
  });

  it.each(foundTypes)('names the roles of the routes that read a %s', (type) => {
    const { path, roles } = sources[type];
    const reading = api.routes.filter(
      (route) =>
        route.method === 'GET' && (route.path === path || /^\/:\w+$/.test(route.path.replace(path, ''))),
    );
    expect(reading.length).toBeGreaterThan(0);
    for (const route of reading) {
      expect([route.operationId, route.roles ?? memberRoles]).toEqual([route.operationId, roles]);
    }
  });

  it("finds nothing of another tenant's", async () => {
    expect(await search(String(ID + 1))).toEqual([]);
    expect((await search('ada@example.com')).map(({ id }) => id)).toEqual([ID, ID, ID, ID]);
    expect((await search('spring')).every(({ id }) => Number(id) === ID)).toBe(true);
  });

  it.each(['ada@example.com', ' ADA@example.com '])('finds what there is of the address %j', async (q) => {
    expect(typesOf(await search(q))).toEqual(['contact', 'suppression', 'conversation', 'message']);
  });

  it('finds a contact by its phone number', async () => {
    expect(typesOf(await search('+1 415 555 0100'))).toEqual(['contact']);
  });

  it('finds names by their beginning, the shortest first, whatever the case', async () => {
    expect((await search('SPRING')).map(({ title }) => title)).toEqual([
      'spring',
      'Spring sale',
      'Spring fans',
      'Spring buyers',
      'Spring 50% off',
    ]);
    expect(await search('sale')).toEqual([]);
  });

  it('reads % and _ as themselves', async () => {
    expect(typesOf(await search('spring 50%'))).toEqual(['flow']);
    expect(await search('%')).toEqual([]);
    expect(await search('sprin_')).toEqual([]);
  });

  it('does not find what was deleted', async () => {
    const { body: made } = await api.request('POST', '/v1/my/lists', { body: { name: 'Autumn' } });
    expect(typesOf(await search('autumn'))).toEqual(['list']);
    await api.request('DELETE', `/v1/my/lists/${String(made.id)}`);
    expect(await search('autumn')).toEqual([]);
  });

  it('returns at most 20 results', async () => {
    for (let n = 0; n < 25; n += 1)
      await insert('messages', 2_000_000 + n, api, {
        channel: 'email',
        status: 'sent',
        to_address: 'many@example.com',
        to_key: 'many@example.com',
      });
    const found = await search('many@example.com');
    expect(found).toHaveLength(20);
    expect(found[0]).toMatchObject({ id: 2_000_024, title: 'many@example.com', status: 'sent' });
  });

  it.each(['', '?q=', '?q=%20', `?q=${'a'.repeat(321)}`, '?q=a&type=list'])('refuses %j', async (search) => {
    expect((await api.request('GET', `/v1/my/search${search}`)).status).toBe(422);
  });
});
