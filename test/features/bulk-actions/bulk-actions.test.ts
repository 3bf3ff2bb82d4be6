// A bulk action changes each contact that matches its filter once, and no other, whatever interrupts it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createRecipientFence } from '../../../src/delivery/ledger/consent/recipient-fence.ts';
import { advanceBulkAction, type BulkActionRunDeps } from '../../../src/features/bulk-actions/run.ts';
import { startTestApi, type TestApi, type TestBody, type TestTenant } from '../../support/api.ts';
import { filledList } from '../../support/campaign-requests.ts';
import { insertContacts } from '../../support/contacts.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PATH = '/v1/my/contacts/bulk_actions';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  await query('truncate contacts, lists, segments, bulk_actions, outbox, contact_removals, opt_outs cascade');
});
afterAll(async () => {
  await api.close();
});

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const ids = async (where: string) =>
  (await query(`select id from contacts where ${where} order by id`)).rows.map(({ id }) => Number(id));
const get = async (id: unknown, tenant: TestTenant = api) =>
  (await api.request('GET', `${PATH}/${String(id)}`, { token: tenant.apiKey })).body;

async function create(body: object, tenant: TestTenant = api): Promise<TestBody> {
  const { status, body: made } = await api.request('POST', PATH, { body, token: tenant.apiKey });
  expect([status, made]).toEqual([201, expect.objectContaining({ status: 'queued' })]);
  return made;
}

const turn = () => ({ progress: () => undefined, stopping: new AbortController().signal });

function deps(options: Partial<BulkActionRunDeps> = {}): BulkActionRunDeps {
  const { config, database } = api;
  return {
    pool: database.pool,
    consent: { keyring: testKeyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES },
    fence: createRecipientFence(database.pool),
    ...options,
  };
}

const advance = (id: unknown, options: Partial<BulkActionRunDeps> = {}) =>
  advanceBulkAction(deps(options), Number(id), turn());

/** Runs an action as its workflow does. @returns the action as clients see it */
async function run(body: object, options: Partial<BulkActionRunDeps> = {}): Promise<TestBody> {
  const { id } = await create(body);
  await advance(id, options);
  return get(id);
}

/** Small pages, so that a few contacts take several. */
const small = { scanRows: 7, pageRows: 3 };

describe('POST /v1/my/contacts/bulk_actions', () => {
  it('creates an action, and requests its workflow in the same transaction', async () => {
    const made = await create({ action: 'delete', filter: { source: 'import' } });
    expect(made).toEqual({
      id: expect.any(Number),
      action: 'delete',
      list_id: null,
      filter: { source: 'import' },
      dry_run: false,
      status: 'queued',
      error: null,
      total_count: null,
      processed_count: 0,
      changed_count: 0,
      failed_count: 0,
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    });
    const { rows } = await query('select workflow_id, input from outbox');
    const id = Number(made.id);
    expect(rows).toEqual([{ workflow_id: `bulk/${id}`, input: [{ schema: 1, bulkActionId: id }] }]);
  });

  it.each([
    [{ filter: { all: true } }, 'action'],
    [{ action: 'erase', filter: { all: true } }, 'action'],
    [{ action: 'delete' }, 'filter'],
    [{ action: 'delete', filter: {} }, 'filter'],
    [{ action: 'delete', filter: { all: false } }, 'filter.all'],
    [{ action: 'delete', filter: { sourc: 'x' } }, 'filter.sourc'],
    [{ action: 'delete', filter: { page: 2 } }, 'filter.page'],
    [{ action: 'delete', filter: { segment_id: 999_999 } }, 'filter.segment_id'],
    [{ action: 'delete', filter: { list_id: 999_999 } }, 'filter.list_id'],
    [
      { action: 'delete', filter: { filters: [{ name: 'nam', predicate: 'eq', value: 1 }] } },
      'filter.filters.0.name',
    ],
    [
      { action: 'delete', filter: { filters: [{ name: 'list', predicate: 'in', value: [999_999] }] } },
      'filter.filters.0.value.0',
    ],
    [{ action: 'delete', filter: { all: true }, list_id: 1 }, 'list_id'],
    [{ action: 'add_to_list', filter: { all: true } }, 'list_id'],
    [{ action: 'add_to_list', filter: { all: true }, list_id: 999_999 }, 'list_id'],
  ])('refuses %j', async (body, field) => {
    const { status, body: refused } = await api.request('POST', PATH, { body });
    expect([status, Object.keys(refused.validation_errors ?? {})[0]]).toEqual([422, field]);
    expect((await query('select 1 from bulk_actions')).rowCount).toBe(0);
  });

  it("refuses another tenant's list and segment", async () => {
    const { listId } = await filledList(api, api.other, 1);
    const filters = [{ filter: { list_id: listId } }, { filter: { all: true }, list_id: listId }];
    for (const more of filters) {
      const body = { action: 'list_id' in more ? 'add_to_list' : 'delete', ...more };
      expect((await api.request('POST', PATH, { body })).status).toBe(422);
    }
  });

  it('returns the same action for a repeated Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'bulk-once' };
    const body = { action: 'delete', filter: { all: true } };
    const send = () => api.request('POST', PATH, { body, headers });
    const [first, second] = [await send(), await send()];
    expect([second.status, second.body.id]).toEqual([201, first.body.id]);
    expect((await query('select 1 from bulk_actions')).rowCount).toBe(1);
  });

  it('refuses an eleventh unfinished action of an account, even if many requests arrive at once', async () => {
    const body = { action: 'delete', filter: { all: true } };
    const sent = Array.from({ length: 13 }, () => api.request('POST', PATH, { body }));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 409)).toHaveLength(3);
    await create(body, api.other);
  });
});

describe('a bulk action', () => {
  it('deletes the contacts that match, as DELETE /contacts/{id} does, and no others', async () => {
    await insertContacts(api.database.pool, api, 20, 'gone');
    await insertContacts(api.database.pool, api, 2, 'kept');
    await insertContacts(api.database.pool, api.other, 3, 'gone');
    const all = await ids(`email like 'gone%' and brand_id = ${api.brandId}`);
    await query(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key)
       values ($1, $2, 'email', 'delivered', 'gone3@example.com', 'gone3@example.com')`,
      [api.accountId, api.brandId],
    );
    const done = await run({ action: 'delete', filter: { search: 'gone' } }, small);
    expect(done).toMatchObject({
      status: 'completed',
      total_count: 20,
      processed_count: 20,
      changed_count: 20,
      failed_count: 0,
    });
    expect(await ids(`email like 'gone%' and brand_id = ${api.brandId}`)).toEqual([]);
    expect((await query('select 1 from contacts')).rowCount).toBe(5);
    const { rows } = await query('select contact_id, addresses from contact_removals order by contact_id');
    expect(rows.map(({ contact_id: id }) => id)).toEqual(all);
    expect(rows[3]).toMatchObject({ addresses: [{ key: 'gone3@example.com' }] });
  });

  it('unsubscribes all channels, with the opt-out ledger, and leaves the contacts that already are', async () => {
    const [first] = await insertContacts(api.database.pool, api, 8);
    await query(`update contacts set phone = '+14155550100', phone_subscribed = true where id = $1`, [first]);
    await query('update contacts set email_subscribed = false where id = $1', [(first ?? 0) + 1]);
    const done = await run({ action: 'unsubscribe', filter: { all: true } }, small);
    expect(done).toMatchObject({ status: 'completed', processed_count: 8, changed_count: 7 });
    expect(await ids('email_subscribed or phone_subscribed')).toEqual([]);
    const { rows } = await query(
      'select channel, source, count(*)::int from opt_outs group by 1, 2 order by 1',
    );
    expect(rows).toEqual([
      { channel: 'email', source: 'manual', count: 8 },
      { channel: 'sms', source: 'manual', count: 1 },
    ]);
  });

  it('adds contacts to a list and removes them, and counts those that change', async () => {
    const { listId, contactIds } = await filledList(api, api, 5);
    await insertContacts(api.database.pool, api, 9);
    const members = async () =>
      (await query('select 1 from list_members where list_id = $1', [listId])).rowCount;
    const added = await run({ action: 'add_to_list', list_id: listId, filter: { subscribed: true } }, small);
    expect(added).toMatchObject({ total_count: 14, processed_count: 14, changed_count: 9 });
    expect(await members()).toBe(14);
    const filters = [{ name: 'id', predicate: 'lteq', value: contactIds[2] }];
    const body = { action: 'remove_from_list', list_id: listId, filter: { list_id: listId, filters } };
    expect(await run(body, small)).toMatchObject({ total_count: 3, changed_count: 3 });
    expect(await members()).toBe(11);
  });

  it('uses the filters that a segment had when the action was created', async () => {
    await insertContacts(api.database.pool, api, 4, 'in');
    await insertContacts(api.database.pool, api, 4, 'out');
    const segment = { name: 'In', filters: [{ name: 'email', predicate: 'start', value: 'in' }] };
    const { body: made } = await api.request('POST', '/v1/my/segments', { body: segment });
    const { id } = await create({ action: 'delete', filter: { segment_id: made.id } });
    await api.request('PATCH', `/v1/my/segments/${String(made.id)}`, { body: { filters: [] } });
    await advance(id);
    expect((await query(`select count(*)::int from contacts where email like 'out%'`)).rows).toEqual([
      { count: 4 },
    ]);
    expect(await get(id)).toMatchObject({ changed_count: 4 });
  });

  it('fails if a list that its filter names is deleted, instead of changing all other contacts', async () => {
    const { listId } = await filledList(api, api, 2);
    await insertContacts(api.database.pool, api, 4);
    const filters = [{ name: 'list', predicate: 'not_in', value: [listId] }];
    const { id } = await create({ action: 'delete', filter: { filters } });
    await advance(id, { ...small, pageRows: 1, turnMs: 0 });
    expect((await api.request('DELETE', `/v1/my/lists/${listId}`)).status).toBe(200);
    await advance(id, small);
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'list_deleted' });
    expect((await query('select 1 from contacts')).rowCount).toBe(6);
  });

  it('leaves contacts that are created after it has begun', async () => {
    await insertContacts(api.database.pool, api, 3, 'old');
    const { id } = await create({ action: 'delete', filter: { all: true } });
    await advance(id, { turnMs: 0 });
    const later = await insertContacts(api.database.pool, api, 3, 'new');
    await advance(id);
    expect(await get(id)).toMatchObject({ status: 'completed', changed_count: 3 });
    expect(await ids('true')).toEqual(later);
  });

  it('leaves a contact that has stopped matching since it was counted', async () => {
    const all = await insertContacts(api.database.pool, api, 3);
    const { id } = await create({ action: 'delete', filter: { subscribed: true } });
    await advance(id, { turnMs: 0 });
    await query('update contacts set email_subscribed = false where id = $1', [all[1]]);
    await advance(id);
    expect(await get(id)).toMatchObject({ changed_count: 2, total_count: 2 });
    expect(await ids('true')).toEqual([all[1]]);
  });

  it('only counts in a dry run, which does not wait for other actions', async () => {
    await insertContacts(api.database.pool, api, 12);
    await create({ action: 'delete', filter: { all: true } });
    const done = await run({ action: 'delete', filter: { all: true }, dry_run: true }, small);
    expect(done).toMatchObject({
      status: 'completed',
      total_count: 12,
      processed_count: 0,
      changed_count: 0,
    });
    expect((await query('select 1 from contacts')).rowCount).toBe(12);
  });

  it('waits for the earlier actions of the account, and not for those of others', async () => {
    const body = { action: 'unsubscribe', filter: { all: true } };
    const [first, second, foreign] = [await create(body), await create(body), await create(body, api.other)];
    expect(await advance(second.id)).toMatchObject({ phase: 'waiting' });
    expect(await advance(foreign.id)).toMatchObject({ phase: 'done' });
    await advance(first.id);
    expect(await advance(second.id)).toMatchObject({ phase: 'done', status: 'completed' });
  });

  it('changes each contact once if two processes work on it', async () => {
    await insertContacts(api.database.pool, api, 60);
    const { id } = await create({ action: 'delete', filter: { all: true } });
    await Promise.all([1, 2, 3].map(() => advance(id, small)));
    expect(await get(id)).toMatchObject({ status: 'completed', processed_count: 60, changed_count: 60 });
    expect((await query('select 1 from contact_removals')).rowCount).toBe(60);
  });

  it('counts a contact that the database refuses as failed, and changes the others', async () => {
    const { listId } = await filledList(api, api, 0);
    const all = await insertContacts(api.database.pool, api, 9);
    await query(`alter table list_members add constraint refuses check (contact_id <> ${all[4]}) not valid`);
    try {
      const done = await run({ action: 'add_to_list', list_id: listId, filter: { all: true } });
      expect(done).toMatchObject({
        status: 'completed',
        processed_count: 9,
        changed_count: 8,
        failed_count: 1,
      });
    } finally {
      await query('alter table list_members drop constraint refuses');
    }
  });

  it('stops deleting while many deleted contacts wait to be cleared', async () => {
    await insertContacts(api.database.pool, api, 9);
    const { id } = await create({ action: 'delete', filter: { all: true } });
    const limits = { ...small, maxRemovals: 3 };
    expect(await advance(id, limits)).toMatchObject({ phase: 'yielding', changedCount: 3 });
    expect(await advance(id, limits)).toMatchObject({ phase: 'yielding', changedCount: 3 });
    await query('delete from contact_removals');
    expect(await advance(id, limits)).toMatchObject({ phase: 'yielding', changedCount: 6 });
  });

  it('changes nothing after it is canceled, and keeps what it did before', async () => {
    await insertContacts(api.database.pool, api, 9);
    const { id } = await create({ action: 'delete', filter: { all: true } });
    // Counts in two pages, ends counting, and deletes one page.
    for (let step = 0; step < 4; step += 1) await advance(id, { ...small, turnMs: 0 });
    const { status, body } = await api.request('POST', `${PATH}/${String(id)}/cancel`);
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'canceled', changed_count: 3 })]);
    expect(await advance(id)).toMatchObject({ phase: 'done', status: 'canceled' });
    expect((await query('select 1 from contacts')).rowCount).toBe(6);
    const again = await api.request('POST', `${PATH}/${String(id)}/cancel`);
    expect([again.status, again.body.code]).toEqual([422, 'invalid_transition']);
  });

  it('fails if its filters take too long, after trying with fewer contacts', async () => {
    await insertContacts(api.database.pool, api, 2);
    const { id } = await create({ action: 'unsubscribe', filter: { all: true } });
    const pool = Object.assign(Object.create(api.database.pool) as typeof api.database.pool, {
      query: (statement: string | pg.QueryConfig, values?: unknown[]) =>
        (typeof statement === 'string' ? statement : statement.text).includes('select c.id from contacts c')
          ? Promise.reject(Object.assign(new Error('too slow'), { code: '57014' }))
          : api.database.pool.query(statement, values),
    });
    await advance(id, { pool });
    expect(await get(id)).toMatchObject({ status: 'failed', error: 'too_slow' });
  });
});

it('lists the actions of the brand, newest first, by action and status', async () => {
  const first = await create({ action: 'delete', filter: { all: true }, dry_run: true });
  const second = await create({ action: 'unsubscribe', filter: { all: true } });
  await create({ action: 'unsubscribe', filter: { all: true } }, api.other);
  await advance(first.id);
  const list = async (search: string) =>
    (await api.request('GET', `${PATH}${search}`)).list.map(({ id }) => id);
  expect(await list('')).toEqual([second.id, first.id]);
  expect(await list('?status=completed')).toEqual([first.id]);
  expect(await list('?action=unsubscribe')).toEqual([second.id]);
});
