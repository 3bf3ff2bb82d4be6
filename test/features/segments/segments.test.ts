// A segment refers only to its own brand, never forms a cycle, and stays within size limits.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  loadReferenced,
  outline,
  type Outlines,
  shapeOf,
} from '../../../src/features/segments/references.ts';
import { startTestApi, type TestApi, type TestRequest } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate segments cascade');
});

const PATH = '/v1/my/segments';
const pro = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const inSegment = (...ids: unknown[]) => ({ name: 'segment', predicate: 'in', value: ids });
const post = (body: unknown, options: TestRequest = {}) => api.request('POST', PATH, { body, ...options });
const patch = (id: unknown, body: unknown) => api.request('PATCH', `${PATH}/${String(id)}`, { body });

async function create(filters: unknown[], name = 'A segment'): Promise<number> {
  const response = await post({ name, filters });
  expect(response.status).toBe(201);
  return Number(response.body.id);
}

async function insertSegments(count: number, filters: unknown[]): Promise<number[]> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into segments (account_id, brand_id, name, filters)
     select $1, $2, 'A segment', $3 from generate_series(1, $4) returning id`,
    [api.accountId, api.brandId, JSON.stringify(filters), count],
  );
  return rows.map(({ id }) => id);
}

async function createList(tenant: { accountId: number; brandId: number } = api): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) values ($1, $2, 'A list') returning id`,
    [tenant.accountId, tenant.brandId],
  );
  return rows[0]?.id ?? 0;
}

describe('a segment', () => {
  it('needs an API key', async () => {
    expect((await post({ name: 'x' }, { token: null })).status).toBe(401);
  });

  it('is created, read, changed, listed and deleted', async () => {
    const created = await post({ name: 'Pro', filters: [pro, { name: 'email', predicate: 'present' }] });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      account_id: api.accountId,
      name: 'Pro',
      filters: [pro, { name: 'email', predicate: 'present', value: null }],
    });
    const at = `${PATH}/${Number(created.body.id)}`;
    expect((await api.request('GET', at)).body).toEqual(created.body);
    const changed = await api.request('PATCH', at, { body: { ...created.body, name: 'Paid' } });
    expect([changed.status, changed.body.name]).toEqual([200, 'Paid']);
    expect(changed.body.filters).toEqual(created.body.filters);
    const listed = await api.request('GET', PATH);
    expect(listed.list).toEqual([changed.body]);
    expect(listed.headers.get('x-total-count')).toBe('1');
    expect((await api.request('DELETE', at)).body).toEqual(changed.body);
    expect((await api.request('GET', at)).status).toBe(404);
  });

  it('is created once if the request is repeated', async () => {
    const headers = { 'Idempotency-Key': 'one' };
    const first = await post({ name: 'Pro', filters: [pro] }, { headers });
    const again = await post({ name: 'Pro', filters: [pro] }, { headers });
    expect(again.body).toEqual(first.body);
    expect((await api.request('GET', PATH)).list).toHaveLength(1);
  });

  it('needs a name and accepts no other field', async () => {
    expect((await post({ filters: [] })).body.validation_errors).toEqual({ name: ['is required'] });
    expect((await post({ name: 'x', filter: [] })).body.validation_errors).toEqual({
      filter: ['is not a known field; did you mean filters?'],
    });
  });

  it('is returned with all others by default', async () => {
    await api.database.pool.query(
      `insert into segments (account_id, brand_id, name) select $1, $2, n::text from generate_series(1, 300) n`,
      [api.accountId, api.brandId],
    );
    const listed = await api.request('GET', PATH);
    expect(listed.list).toHaveLength(300);
    expect(Number(listed.list[0]?.name)).toBe(300);
  });

  it('is refused if the brand has a thousand', async () => {
    await api.database.pool.query(
      `insert into segments (account_id, brand_id, name) select $1, $2, n::text from generate_series(1, 1000) n`,
      [api.accountId, api.brandId],
    );
    const response = await post({ name: 'One more' });
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toHaveProperty('name');
  });
});

describe('what a segment names', () => {
  it('must be a list or segment of the brand, and each foreign id is reported by its path', async () => {
    const own = await createList();
    const foreign = await createList(api.other);
    const foreignSegment = await post({ name: 'Theirs' }, { token: api.other.apiKey });
    const inForeign = { name: 'segment', predicate: 'eq', value: foreignSegment.body.id };
    const filters = [
      pro,
      { name: 'list', predicate: 'in', value: [own, foreign] },
      { name: 'any', predicate: 'or', value: [pro, inForeign] },
    ];
    const expected = {
      'filters.1.value.1': ['is not a list of the brand'],
      'filters.2.value.1.value': ['is not a segment of the brand'],
    };
    const created = await post({ name: 'x', filters });
    expect([created.status, created.body.validation_errors]).toEqual([422, expected]);
    const id = await create([]);
    expect((await patch(id, { filters })).body.validation_errors).toEqual(expected);
    const preview = await api.request('POST', `${PATH}/preview`, { body: { filters } });
    expect([preview.status, preview.body.validation_errors]).toEqual([422, expected]);
  });

  it('cannot be deleted', async () => {
    const inner = await create([pro], 'Inner');
    const outer = await create([inSegment(inner)], 'Outer');
    const refused = await api.request('DELETE', `${PATH}/${inner}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.text).toContain('Outer');
    await patch(outer, { filters: [pro] });
    expect((await api.request('DELETE', `${PATH}/${inner}`)).status).toBe(200);
  });

  it('cannot be the segment itself', async () => {
    const id = await create([]);
    const response = await patch(id, { filters: [pro, inSegment(id)] });
    expect(response.body.validation_errors).toEqual({ 'filters.1.value.0': ['leads back to this segment'] });
  });

  it('cannot lead back to it', async () => {
    const first = await create([pro]);
    const second = await create([inSegment(first)]);
    const third = await create([{ name: 'any', predicate: 'or', value: [pro, inSegment(second)] }]);
    const response = await patch(first, { filters: [inSegment(third)] });
    expect(response.body.validation_errors).toEqual({ 'filters.0.value.0': ['leads back to this segment'] });
  });

  it('cannot become a cycle through two simultaneous changes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const one = await create([]);
      const two = await create([]);
      const answers = await Promise.all([
        patch(one, { filters: [inSegment(two)] }),
        patch(two, { filters: [inSegment(one)] }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    }
  });

  it('is not deleted while another segment is being changed to name it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const inner = await create([]);
      const outer = await create([]);
      const [changed, deleted] = await Promise.all([
        patch(outer, { filters: [inSegment(inner)] }),
        api.request('DELETE', `${PATH}/${inner}`),
      ]);
      expect([
        [200, 409],
        [422, 200],
      ]).toContainEqual([changed.status, deleted.status]);
    }
  });
});

describe('the size of filters', () => {
  const many = (count: number) => Array.from({ length: count }, () => pro);
  const nested = (levels: number): unknown =>
    levels === 1 ? pro : { name: 'any', predicate: 'or', value: [nested(levels - 1)] };

  it('is limited to fifty filters, including those inside groups', async () => {
    expect((await post({ name: 'x', filters: many(50) })).status).toBe(201);
    expect((await post({ name: 'x', filters: many(51) })).status).toBe(422);
    const inGroups = [
      { name: 'any', predicate: 'or', value: many(30) },
      { name: 'all', predicate: 'and', value: many(30) },
    ];
    const refused = await post({ name: 'x', filters: inGroups });
    expect([refused.status, refused.body.validation_errors]).toEqual([
      422,
      { 'filters.1.value': ['must have at most 50 filters in all'] },
    ]);
  });

  it('is limited to five levels', async () => {
    expect((await post({ name: 'x', filters: [nested(5)] })).status).toBe(201);
    const refused = await post({ name: 'x', filters: [nested(6)] });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('is nested too deeply');
  });

  it('counts the filters and levels of referenced segments', async () => {
    const large = await create(many(30));
    expect((await post({ name: 'x', filters: [...many(19), inSegment(large)] })).status).toBe(201);
    const tooMany = await post({ name: 'x', filters: [...many(20), inSegment(large)] });
    expect([tooMany.status, tooMany.text.includes('at most 50 filters')]).toEqual([422, true]);
    const deep = await create([nested(4)]);
    expect((await post({ name: 'x', filters: [inSegment(deep)] })).status).toBe(201);
    const group = { name: 'any', predicate: 'or', value: [inSegment(deep)] };
    expect((await post({ name: 'x', filters: [group] })).status).toBe(422);
  });

  it('is checked for the segments that name a changed one, too', async () => {
    const inner = await create([pro], 'Inner');
    const middle = await create([inSegment(inner)], 'Middle');
    await create([...many(40), inSegment(middle)], 'Outer');
    expect((await patch(inner, { filters: many(8) })).status).toBe(200);
    const refused = await patch(inner, { filters: many(9) });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Outer');
  });

  it.each(['a step', 'the trigger'])(
    'is checked for filters of %s of a flow that is in use, too',
    async (of) => {
      const inner = await create([pro], 'Inner');
      const middle = await create([inSegment(inner)], 'Middle');
      const { pool } = api.database;
      const condition = { type: 'condition', id: 1, yes: [], no: [] };
      const filters = [...many(40), inSegment(middle)];
      const [steps, data] =
        of === 'a step'
          ? [[{ ...condition, yes: [{ ...condition, id: 2, filters }] }], {}]
          : [[], { filters }];
      const { rows } = await pool.query<{ id: number }>(
        `insert into flows (account_id, brand_id, name, status, steps, trigger_data)
       values ($1, $2, 'Welcome', 'active', $3, $4) returning id`,
        [api.accountId, api.brandId, JSON.stringify(steps), JSON.stringify(data)],
      );
      expect((await patch(inner, { filters: many(8) })).status).toBe(200);
      const refused = await patch(inner, { filters: many(9) });
      expect([refused.status, refused.text.includes('Welcome')]).toEqual([422, true]);
      await pool.query(`update flows set status = 'archived' where id = $1`, [rows[0]?.id]);
      expect((await patch(inner, { filters: many(9) })).status).toBe(200);
    },
  );

  it('counts an empty segment as a filter, and a segment that is named twice in a filter once', async () => {
    const preview = (filters: unknown[]) => api.request('POST', `${PATH}/preview`, { body: { filters } });
    const ids = await insertSegments(50, []);
    expect((await preview([inSegment(...ids.slice(1), ids[1])])).status).toBe(200);
    const refused = await preview([inSegment(...ids)]);
    expect([refused.status, refused.text.includes('at most 50 filters')]).toEqual([422, true]);
    const more = await preview([inSegment(...ids, 1)]);
    expect(more.body.validation_errors).toEqual({ 'filters.0.value': ['must have at most 50 items'] });
  });

  it('is checked while segments are loaded, before many are in memory', async () => {
    const lists = { name: 'list', predicate: 'in', value: Array.from({ length: 500 }, (_, n) => n + 1) };
    const ids = await insertSegments(
      60,
      Array.from({ length: 10 }, () => lists),
    );
    const filters = [inSegment(...ids.slice(0, 30)), inSegment(...ids.slice(30))];
    const known: Outlines = new Map();
    await expect(loadReferenced(api.database.pool, api, outline(filters), known)).rejects.toMatchObject({
      code: 'validation_error',
    });
    // Four segments of ten filters fit together with the two that name them.
    expect(known.size).toBe(4);
    expect(shapeOf([lists, ...filters])).toMatchObject({ references: { length: 60 }, count: 3, depth: 1 });
  });

  it('is checked for each of many segments that name a changed one', async () => {
    const inner = await create([pro], 'Inner');
    for (let n = 0; n < 51; n += 1) await create([inSegment(inner)], `Small ${n}`);
    await create([...many(40), inSegment(inner)], 'Outer');
    expect((await patch(inner, { filters: many(9) })).status).toBe(200);
    expect((await patch(inner, { filters: many(10) })).text).toContain('Outer');
  });

  it('is limited in bytes', async () => {
    const filters = Array.from({ length: 3 }, () => ({
      name: 'data.a',
      predicate: 'in',
      value: Array.from({ length: 500 }, (_, n) => `${n}${'x'.repeat(60)}`),
    }));
    expect((await post({ name: 'x', filters })).status).toBe(422);
  });
});
