// An assistant does not get around its scopes, confirmations and brands.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBrand } from '../../../src/features/brands/service.ts';
import { mcpScopes } from '../../../src/platform/auth/grant-caller.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { createToolCalls, type CallOptions, type ToolCalls, type Values } from '../../support/tool-calls.ts';

const WRITE: CallOptions = { scopes: ['mcp:read', 'mcp:write'] };

let api: TestApi;
let calls: ToolCalls;

beforeAll(async () => {
  api = await startTestApi();
  calls = createToolCalls(api);
});
afterAll(() => api.close());

const change = (operation: string, args: Values, options?: CallOptions) =>
  calls.call(api, 'change_operation', { operation, arguments: args }, options);

describe('the settings of an account', () => {
  const replyTo = async () => (await api.request('GET', '/v1/my/account')).body.email_reply_to;

  it('do not lead replies elsewhere without mcp:send and the user’s agreement', async () => {
    const changes = { email_reply_to: 'thief@evil.example' };
    const args = { operation: 'patch_account', arguments: changes };
    expect((await calls.send(api, 'change_operation', args, WRITE)).status).toBe(403);
    expect(await change('patch_account', changes)).toMatchObject({ code: 'confirmation_required' });
    expect(await replyTo()).toBeNull();
  });

  it('are not changed by an assistant that may use only some of the brands', async () => {
    expect(await change('patch_account', { name: 'Before' }, WRITE)).toMatchObject({ isError: false });
    const second = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Second' });
    expect(await change('patch_account', { name: 'After' }, WRITE)).toMatchObject({ code: 'forbidden' });
    const all = { ...WRITE, brandIds: [api.brandId, second] };
    expect(await change('patch_account', { name: 'All', brand_id: second }, all)).toMatchObject({
      isError: false,
    });
  });
});

it('does not use brands of an account that was allowed when it had none', async () => {
  const token = await calls.tokenFor(api, { brandIds: [null], scopes: mcpScopes });
  for (const [operation, args] of [
    ['put_brand', { company_name: 'Forged' }],
    ['scrape_brand', { url: 'https://evil.example' }],
  ] as const) {
    expect([operation, await change(operation, args, { token })]).toEqual([
      operation,
      expect.objectContaining({ isError: true, code: 'forbidden' }),
    ]);
  }
  const stats = await calls.call(api, 'get_stats', { group_by: 'brand' }, { token });
  expect(stats).toMatchObject({ isError: true, code: 'forbidden' });
});

describe('an assistant that may use one of several brands', () => {
  const MARK = 'of-all-brands';
  let one: CallOptions;
  let all: CallOptions;
  let id: number;

  beforeAll(async () => {
    const second = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Third' });
    const { rows: brands } = await api.database.pool.query<{ id: number }>(
      'select id from brands where account_id = $1',
      [api.accountId],
    );
    one = { brandIds: [api.brandId] };
    all = { brandIds: brands.map((brand) => brand.id) };
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'manual') returning id`,
      [api.accountId, `${MARK}@acme.test`],
    );
    id = rows[0]?.id ?? 0;
    await api.database.pool.query(
      `with l as (insert into lists (account_id, brand_id, name) values ($1, $2, $3)),
         s as (insert into segments (account_id, brand_id, name) values ($1, $2, $3)),
         t as (insert into templates (account_id, brand_id, name) values ($1, $2, $3)),
         c as (insert into contacts (account_id, brand_id, first_name) values ($1, $2, $3))
       insert into wallet_entries (account_id, kind, millicents, reference, cause) values ($1, 'credit', 1, $3, $3)`,
      [api.accountId, second, MARK],
    );
  });

  it('reads nothing that all brands share, or that is of another, by any tool', async () => {
    const reading = calls.tools
      .operationsFor('owner')
      .filter(({ access, route }) => access.readOnly && route.params === null && route.method === 'GET');
    expect(reading.length).toBeGreaterThan(20);
    for (const { name } of reading) {
      const args = name === 'search' ? { q: `${MARK}@acme.test` } : {};
      const call = { operation: name, arguments: args };
      // A grant of its own: each has ten calls a second.
      const { status, text } = await calls.send(api, 'read_operation', call, one);
      expect([name, status]).toEqual([name, 200]);
      expect([name, text]).not.toEqual([name, expect.stringContaining(MARK)]);
    }
  });

  it('finds the same for an address whether or not it is suppressed', async () => {
    const found = async (local: string, options: CallOptions) => {
      const call = { operation: 'search', arguments: { q: `${local}@acme.test` } };
      return calls.call(api, 'read_operation', call, options);
    };
    const none = await found('nothing', one);
    expect(none).toMatchObject({ items: [], total: 0 });
    expect(await found(MARK, one)).toEqual(none);
    expect(await found(MARK, all)).toMatchObject({ items: [{ type: 'suppression' }], total: 1 });
  });

  it('neither sees nor stops imports and exports of suppressions', async () => {
    const { rows } = await api.database.pool.query<{ imported: number; exported: number }>(
      `with i as (insert into imports (account_id, brand_id, resource, filename, options)
           values ($1, $2, 'suppressions', 'a.csv', $3) returning id),
         e as (insert into exports (account_id, brand_id, resource) values ($1, $2, 'suppressions') returning id)
       select i.id as imported, e.id as exported from i, e`,
      [api.accountId, api.brandId, { list_ids: [], mapping: {} }],
    );
    const { imported = 0, exported = 0 } = rows[0] ?? {};
    const read = (operation: string, args: Values, options: CallOptions) =>
      calls.call(api, 'read_operation', { operation, arguments: args }, options);
    for (const [things, thing, id] of [
      ['imports', 'import', imported],
      ['exports', 'export', exported],
    ] as const) {
      expect(await read(`list_${things}`, {}, one)).toMatchObject({ items: [], total: 0 });
      expect(await read(`get_${thing}`, { id }, one)).toMatchObject({ code: 'not_found' });
      expect(await change(`cancel_${thing}`, { id, brand_id: api.brandId }, one)).toMatchObject({
        code: 'not_found',
      });
      const search = await read('search', { q: String(id) }, one);
      expect(search.items?.filter(({ type }) => type === thing)).toEqual([]);
      expect(await read(`list_${things}`, {}, all)).toMatchObject({ items: [{ id }], total: 1 });
      expect(await read(`get_${thing}`, { id }, all)).toMatchObject({ result: { id, status: 'queued' } });
      expect(await change(`cancel_${thing}`, { id, brand_id: api.brandId }, all)).toMatchObject({
        result: { id, status: 'canceled' },
      });
    }
  });

  it('does not read the wallet beside other figures', async () => {
    const { body: contact } = await api.request('POST', '/v1/my/contacts', {
      body: { email: 'w@acme.test' },
    });
    for (const [operation, args, fields] of [
      ['get_account', {}, ['billing']],
      ['get_delivery_status', {}, ['commercial.spent_this_month_cents', 'commercial.wallet_balance_cents']],
      ['quote_validation', { contact_ids: [contact.id] }, ['wallet_balance_cents']],
    ] as const) {
      const call = { operation, arguments: args };
      const shown = await calls.call(api, 'read_operation', call, one);
      expect(shown).toMatchObject({
        isError: false,
        withheld_fields: fields,
        withheld_fields_because: 'they belong to all brands of the account, and the user allowed only some',
      });
      const text = JSON.stringify(shown);
      expect([operation, text]).not.toEqual([operation, expect.stringContaining('"wallet_balance_cents":')]);
      expect([operation, text]).not.toEqual([
        operation,
        expect.stringContaining('"spent_this_month_cents":'),
      ]);
      const whole = await calls.call(api, 'read_operation', call, all);
      expect(JSON.stringify(whole)).toContain('"wallet_balance_cents":');
      expect(whole).not.toHaveProperty('withheld_fields');
    }
  });

  it('neither adds nor ends suppressions', async () => {
    const added = { email: 'added@acme.test' };
    const csv = 'email\nadded@acme.test\n';
    for (const [operation, args] of [
      ['create_suppression', added],
      ['change_suppressions', { add: ['added@acme.test'] }],
      ['change_suppressions', { remove: [`${MARK}@acme.test`] }],
      ['delete_suppression', { id }],
      ['create_import', { csv, resource: 'suppressions' }],
      ['create_export', { resource: 'suppressions' }],
    ] as const) {
      const answer = await change(operation, { ...args, brand_id: api.brandId }, one);
      expect([operation, answer]).toEqual([operation, expect.objectContaining({ code: 'forbidden' })]);
    }
    const { list } = await api.request('GET', '/v1/my/suppressions');
    expect(list.map((each) => each.id)).toEqual([id]);
  });

  it('ends suppressions with all brands, which the question names', async () => {
    const args = { operation: 'delete_suppression', arguments: { id, brand_id: api.brandId } };
    const asked = await calls.call(api, 'change_operation', args, all);
    expect(asked).toMatchObject({ code: 'confirmation_required' });
    expect(asked['summary']).toContain('(all brands of All)');
    const operation = calls.tools.operation('delete_suppression');
    if (!operation) throw new Error('no delete_suppression');
    const ended = await calls.run(api, operation, { id, brand_id: api.brandId }, all);
    expect(ended).toMatchObject({ isError: false, brand: null, result: { id, active: false } });
  });
});

describe('an assistant that may read mail of strangers', () => {
  it.each([
    ['scrape_brand', { url: 'https://what-it-read.evil.example/' }],
    ['create_domain', { domain: 'what-it-read.evil.example' }],
    ['start_validation', { contact_ids: [1] }],
  ])('does not reach out by %s without mcp:send', async (operation, args) => {
    const call = { operation, arguments: args };
    const scopes = ['mcp:read', 'mcp:write', 'mcp:inbox'] as const;
    const refused = await calls.send(api, 'change_operation', call, { scopes });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('mcp:send');
    expect((await calls.send(api, 'change_operation', call, WRITE)).status).toBe(200);
  });
});
