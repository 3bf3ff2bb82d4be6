// The lists API validates its bodies, and a deleted list disappears at once but keeps its contacts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { removeDeletedLists } from '../../../src/features/lists/removal.ts';
import { lockLists, requireLists } from '../../../src/features/lists/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('truncate lists, segments, contacts cascade'));

const PATH = '/v1/my/lists';
const pool = () => api.database.pool;

const create = (body: unknown = { name: 'VIP' }, headers = {}) =>
  api.request('POST', PATH, { body, headers });
const createList = async (name = 'VIP') => Number((await create({ name })).body.id);

/** Adds existing contacts. */
async function addMembers(listId: number, count: number): Promise<void> {
  await pool().query(
    `with made as (
       insert into contacts (account_id, brand_id) select $2, $3 from generate_series(1, $4) returning id)
     insert into list_members (list_id, contact_id) select $1, id from made`,
    [listId, api.accountId, api.brandId, count],
  );
}

async function nameInSegment(listId: number): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into segments (account_id, brand_id, name) values ($1, $2, 'Big spenders') returning id`,
    [api.accountId, api.brandId],
  );
  await pool().query(`insert into segment_references values ($1, 'list', $2)`, [rows[0]?.id, listId]);
  return rows[0]?.id ?? 0;
}

describe('POST /lists', () => {
  it('needs an API key', async () => {
    expect((await api.request('POST', PATH, { token: null, body: {} })).status).toBe(401);
  });

  it.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'two\nlines' }, 'name'],
    [{ name: 'x'.repeat(256) }, 'name'],
    [{ name: 'VIP', description: 7 }, 'description'],
    [{ name: 'VIP', description: 'x'.repeat(2_001) }, 'description'],
    [{ name: 'VIP', visible: null }, 'visible'],
    [{ name: 'VIP', visible: 'no' }, 'visible'],
    [{ name: 'VIP', nmae: 'VIP' }, 'nmae'],
  ])('refuses %j', async (body, field) => {
    const { status, body: error } = await create(body);
    expect([status, Object.keys(error.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('creates an empty list, and ignores fields that only the service sets', async () => {
    const { status, body } = await create({ name: 'VIP', id: 7, contacts_count: 3 });
    expect([status, body]).toEqual([
      201,
      {
        ...{ id: expect.any(Number), account_id: api.accountId, name: 'VIP', description: null },
        ...{
          visible: true,
          contacts_count: 0,
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
      },
    ]);
    expect((await api.request('GET', `${PATH}/${Number(body.id)}`)).body).toEqual(body);
  });

  it('creates a list that recipients do not see', async () => {
    const { body } = await create({ name: 'Prospects', visible: false });
    expect(body.visible).toBe(false);
  });

  it('replays the response to a repeated key', async () => {
    const headers = { 'Idempotency-Key': 'one' };
    const first = await create({ name: 'VIP' }, headers);
    const second = await create({ name: 'VIP' }, headers);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await create({ name: 'Other' }, headers)).status).toBe(409);
  });
});

describe('GET /lists', () => {
  it('lists them newest first, in pages, and by name', async () => {
    for (const name of ['a', 'b', 'c']) await createList(name);
    const names = async (query: string) =>
      (await api.request('GET', `${PATH}${query}`)).list.map(({ name }) => name);
    expect(await names('')).toEqual(['c', 'b', 'a']);
    expect(await names('?limit=2&page=2')).toEqual(['a']);
    expect(await names('?name=b')).toEqual(['b']);
    expect((await api.request('GET', `${PATH}?limit=1`)).headers.get('x-total-count')).toBe('3');
    expect((await api.request('GET', `${PATH}?color=red`)).status).toBe(422);
  });

  it('shows how many contacts each has', async () => {
    const [one, two] = [await createList('one'), await createList('two')];
    await addMembers(one, 3);
    await addMembers(two, 1);
    const { list } = await api.request('GET', PATH);
    expect(list.map(({ contacts_count: count }) => count)).toEqual([1, 3]);
  });

  it('does not show another brand’s lists', async () => {
    const id = await createList();
    const { status } = await api.request('GET', `${PATH}/${id}`, { token: api.other.apiKey });
    expect(status).toBe(404);
    expect((await api.request('GET', PATH, { token: api.other.apiKey })).list).toEqual([]);
  });
});

describe('PATCH /lists/{id}', () => {
  it('changes only the given fields', async () => {
    const id = await createList();
    await addMembers(id, 2);
    const described = await api.request('PATCH', `${PATH}/${id}`, { body: { description: 'The best' } });
    expect(described.body).toMatchObject({ name: 'VIP', description: 'The best', contacts_count: 2 });
    const renamed = await api.request('PATCH', `${PATH}/${id}`, {
      body: { ...described.body, name: 'Gold' },
    });
    expect(renamed.body).toMatchObject({ name: 'Gold', description: 'The best' });
    const cleared = await api.request('PATCH', `${PATH}/${id}`, { body: { description: null } });
    expect(cleared.body).toMatchObject({ name: 'Gold', description: null });
    const hidden = await api.request('PATCH', `${PATH}/${id}`, { body: { visible: false } });
    expect(hidden.body).toMatchObject({ name: 'Gold', visible: false });
    const kept = await api.request('PATCH', `${PATH}/${id}`, { body: { description: 'Still hidden' } });
    expect(kept.body).toMatchObject({ description: 'Still hidden', visible: false });
  });

  it.each([{ name: '' }, { name: null }, { visible: null }, { colour: 'red' }])(
    'refuses %j',
    async (body) => {
      const id = await createList();
      expect((await api.request('PATCH', `${PATH}/${id}`, { body })).status).toBe(422);
    },
  );

  it('is 404 for a list that does not exist', async () => {
    expect((await api.request('PATCH', `${PATH}/999999999`, { body: { name: 'a' } })).status).toBe(404);
  });
});

describe('DELETE /lists/{id}', () => {
  const remove = (id: number) => api.request('DELETE', `${PATH}/${id}`);

  it('hides the list at once, and keeps its contacts', async () => {
    const id = await createList();
    await addMembers(id, 2);
    const { status, body } = await remove(id);
    expect([status, body.id, body.contacts_count]).toEqual([200, id, 2]);
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(404);
    expect((await api.request('GET', PATH)).list).toEqual([]);
    expect((await api.request('PATCH', `${PATH}/${id}`, { body: { name: 'a' } })).status).toBe(404);
    expect((await api.request('POST', `${PATH}/${id}/contacts/bulk`, { body: {} })).status).toBe(404);
    expect((await remove(id)).status).toBe(404);
    await expect(requireLists(pool(), api.brandId, [id])).rejects.toMatchObject({
      validationErrors: { list_ids: [expect.stringContaining(String(id))] },
    });
    expect((await pool().query('select 1 from contacts')).rowCount).toBe(2);
  });

  it('is removed in pages by the worker, however many members it has', async () => {
    const [id, kept] = [await createList('large'), await createList('kept')];
    await addMembers(id, 5_000);
    await addMembers(kept, 1);
    await remove(id);
    let rounds = 0;
    while (await removeDeletedLists(pool())) rounds += 1;
    expect(rounds).toBe(4);
    const { rows } = await pool().query('select id from lists');
    expect(rows).toEqual([{ id: kept }]);
    expect((await pool().query('select 1 from list_members')).rowCount).toBe(1);
  });

  it('is a conflict while a segment names the list', async () => {
    const id = await createList();
    const segment = await nameInSegment(id);
    const refused = await remove(id);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.message).toContain('Big spenders');
    expect((await api.request('GET', `${PATH}/${id}`)).status).toBe(200);
    await pool().query('delete from segments where id = $1', [segment]);
    expect((await remove(id)).status).toBe(200);
  });

  it('waits for a transaction that is going to name the list', async () => {
    const id = await createList();
    const removed = await inTransaction(pool(), async (trx) => {
      expect(await lockLists(trx, api.brandId, [id])).toEqual(new Set([id]));
      const answer = remove(id);
      let answered = false;
      void answer.then(() => (answered = true));
      await eventually(async () => {
        const { rowCount } = await trx.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(answered || rowCount === 1).toBe(true);
      });
      await trx.query(
        `with s as (insert into segments (account_id, brand_id, name) values ($1, $2, 'Late') returning id)
         insert into segment_references select id, 'list', $3 from s`,
        [api.accountId, api.brandId, id],
      );
      return { answer };
    });
    expect((await removed.answer).status).toBe(409);
  });
});
