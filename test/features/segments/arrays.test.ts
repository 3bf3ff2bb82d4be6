// Arrays in data are found by their elements and as a whole, and keys with a dot by their name, in SQL and in memory.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { constantOf, fold, parseFilters } from '../../../src/features/segments/index.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const people = {
  none: {},
  empty: { tags: [] },
  vip: { tags: ['vip', 'Beta'] },
  beta: { tags: ['beta'] },
  plain: { tags: 'vip' },
  part: { tags: 'is vip' },
  numbers: { tags: [1, '2', 30.5] },
  mixed: { tags: [true, null, 'vip', { vip: 1 }, ['deep']] },
  object: { tags: { vip: true } },
  quotes: { tags: ['a"b', '100%', ''] },
};
type Person = keyof typeof people;
const all = Object.keys(people) as Person[];
const allBut = (...names: Person[]) => all.filter((name) => !names.includes(name));
const ids = new Map<number, Person>();

beforeAll(async () => {
  for (const [index, name] of all.entries()) {
    const body = { email: `${index}@arrays.test`, data: people[name] };
    const response = await api.request('POST', '/v1/my/contacts', { body });
    ids.set(Number(response.body.id), name);
  }
});

const inOrder = (names: readonly string[]) => all.filter((name) => names.includes(name));

async function bySql(filter: object): Promise<string[]> {
  const response = await api.request('POST', '/v1/my/segments/preview', { body: { filters: [filter] } });
  expect([response.status, response.text]).toEqual([200, expect.any(String)]);
  return inOrder((response.body.sample as unknown as TestBody[]).map(({ id }) => ids.get(Number(id)) ?? ''));
}

/** Evaluates a filter on the event that started a run. */
function holdsForTrigger(filter: object, trigger: unknown): boolean {
  const { conditions, problems } = parseFilters([filter], { steps: null, received: false }, { strict: true });
  expect(problems).toEqual([]);
  const values = { asOf: new Date(), valuesOf: () => trigger, engagedAt: () => null };
  return constantOf(fold({ type: 'all', parts: conditions }, values)) === true;
}

describe('a value of the run', () => {
  const many = Array.from({ length: 700 }, (_, index) => `sku-${index}`);
  const cases: [is: unknown, predicate: string, value: unknown, holds: boolean][] = [
    [['a', 'b'], 'eq', ['a', 'b'], true],
    [['a', 'b'], 'eq', ['b', 'a'], false],
    [['a', null, { x: 1 }], 'eq', ['a', null, { x: 1 }], true],
    [[], 'eq', [], true],
    ['a', 'eq', ['a', 'b'], false],
    [['a'], 'eq', 'a', false],
    [['a', 'b'], 'not_eq', ['a', 'b'], false],
    [7, 'eq', '7', true],
    ['7', 'eq', 7, true],
    ['07', 'eq', 7, true],
    ['7', 'eq', '07', false],
    ['a', 'in', ['x', null, { a: 1 }, ['a'], 'a'], true],
    [['a'], 'in', [null, 'a'], true],
    ['a', 'not_in', [null, 'a'], false],
    ['a', 'in', [null], false],
    ['a', 'not_in', [null], true],
    ['sku-699', 'in', many, true],
    ['sku-700', 'in', many, false],
    [many, 'eq', many, true],
    [[7, 8], 'cont', '7', true],
    [['7', '8'], 'cont', 7, true],
    [[7, 8], 'not_cont', '7', false],
    ['is vip', 'cont', 'VIP', true],
    [[70], 'cont', '7', false],
    ['a', 'cont', ['a'], false],
    ['a', 'cont', '', false],
    ['a', 'eq', undefined, false],
    ['a', 'not_eq', undefined, true],
    ['a', 'eq', { a: 1 }, false],
    ['2027-06-30 12:00', 'gteq', '2027-06-30T12:00:00Z', true],
    ['2027-06-30', 'lt', 'Wed, 30 Jun 2027 12:00:00 GMT', true],
    [5, 'gt', '4', true],
    [5, 'gt', [4], false],
  ];
  it.each(cases)('compared: %j %s %j is %s', (is, predicate, other, expected) => {
    const filter = { name: 'trigger.is', predicate, value: { from: 'trigger.other' } };
    expect(holdsForTrigger(filter, { is, other })).toBe(expected);
  });
});

describe('an array', () => {
  const cases: [predicate: string, value: unknown, expected: Person[]][] = [
    // An element equals the value; a text contains it.
    ['cont', 'vip', ['vip', 'plain', 'part', 'mixed']],
    ['cont', 'VIP', ['plain', 'part']],
    ['cont', 'beta', ['beta']],
    ['cont', 'vi', ['plain', 'part']],
    ['cont', '%', ['quotes'].slice(1) as Person[]],
    ['cont', 'a"b', ['quotes']],
    ['cont', '2', ['numbers']],
    ['cont', 2, ['numbers']],
    ['cont', 1, ['numbers']],
    ['cont', '1', []],
    ['cont', true, ['mixed']],
    ['cont', 'deep', []],
    ['not_cont', 'vip', allBut('vip', 'plain', 'part', 'mixed')],
    ['not_cont', 1, allBut('numbers')],
    ['in', ['vip', 'beta'], ['vip', 'beta', 'plain', 'mixed']],
    ['in', ['nothing', 30.5], ['numbers']],
    ['in', [''], ['quotes']],
    ['in', [true], ['mixed']],
    ['not_in', ['vip', 'beta'], allBut('vip', 'beta', 'plain', 'mixed')],
    // The whole array, in its order.
    ['eq', ['vip', 'Beta'], ['vip']],
    ['eq', ['Beta', 'vip'], []],
    ['eq', ['vip'], []],
    ['eq', [], ['empty']],
    ['eq', [1, '2', 30.5], ['numbers']],
    ['eq', [1, 2, 30.5], []],
    ['eq', [true, null, 'vip', { vip: 1 }, ['deep']], ['mixed']],
    ['eq', 'vip', ['plain']],
    ['not_eq', ['vip', 'Beta'], allBut('vip')],
    ['not_eq', 'vip', allBut('plain')],
    ['start', 'v', ['plain']],
    ['gt', 0, []],
    ['present', undefined, allBut('none', 'empty')],
    ['blank', undefined, ['none', 'empty']],
  ];

  it.each(cases)(
    '%s %j selects %j, in SQL and for the event of a run',
    async (predicate, value, expected) => {
      expect(await bySql({ name: 'data.tags', predicate, value })).toEqual(expected);
      const filter = { name: 'trigger.tags', predicate, value };
      expect(all.filter((name) => holdsForTrigger(filter, people[name]))).toEqual(expected);
    },
  );

  it.each<[predicate: string, value: unknown, field: string]>([
    ['cont', ['vip'], 'filters.0.value'],
    ['cont', null, 'filters.0.value'],
    ['in', [['vip']], 'filters.0.value.0'],
    ['in', [], 'filters.0.value'],
    ['start', 1, 'filters.0.value'],
    ['eq', Array.from({ length: 501 }, () => 'x'), 'filters.0.value'],
    ['eq', ['x'.repeat(1_001)], 'filters.0.value.0'],
  ])('refuses %s %j', async (predicate, value, field) => {
    const body = { filters: [{ name: 'data.tags', predicate, value }] };
    const { status, body: answer } = await api.request('POST', '/v1/my/segments/preview', { body });
    expect(status).toBe(422);
    expect(Object.keys(answer.validation_errors ?? {})).toEqual([field]);
  });

  it('is not taken for columns', async () => {
    for (const [name, predicate, value] of [
      ['first_name', 'eq', ['a']],
      ['first_name', 'cont', 1],
    ]) {
      const body = { filters: [{ name, predicate, value }] };
      expect((await api.request('POST', '/v1/my/segments/preview', { body })).status).toBe(422);
    }
  });
});

describe('a key with a dot', () => {
  const data = { 'utm.source': 'ads', utm: { source: 'mail', 'a.b': { c: 1 } }, 'x"y': 2, 'back\\': 3 };
  let id: number;
  beforeAll(async () => {
    const body = { email: 'dots@arrays.test', data };
    id = Number((await api.request('POST', '/v1/my/contacts', { body })).body.id);
    ids.set(id, 'none');
  });

  const cases: [path: string, value: unknown][] = [
    [String.raw`.utm\.source`, 'ads'],
    ['["utm.source"]', 'ads'],
    ["['utm.source']", 'ads'],
    ['."utm.source"', 'ads'],
    ['.utm.source', 'mail'],
    ['.utm["source"]', 'mail'],
    [String.raw`.utm.a\.b.c`, 1],
    ['.utm["a.b"].c', 1],
    ['.utm["a.b"]["c"]', 1],
    ['.x"y', 2],
    ['["back\\\\"]', 3],
  ];
  it.each(cases)('data%s is %j', async (path, value) => {
    for (const predicate of ['eq', 'not_eq']) {
      const body = { filters: [{ name: `data${path}`, predicate, value }], contact_id: id };
      const response = await api.request('POST', '/v1/my/segments/preview', { body });
      expect(response.body.match).toMatchObject({ matches: predicate === 'eq' });
      expect(holdsForTrigger({ name: `trigger${path}`, predicate, value }, data)).toBe(predicate === 'eq');
    }
  });

  it.each(['data[utm]', 'data["a', 'data[""]', 'data.', 'data', 'data["a"]b'])(
    'refuses the name %s',
    async (name) => {
      const body = { filters: [{ name, predicate: 'present' }] };
      const { status, body: answer } = await api.request('POST', '/v1/my/segments/preview', { body });
      expect(status).toBe(422);
      expect(answer.validation_errors).toHaveProperty(['filters.0.name']);
    },
  );

  it('is among the names to choose from, with the types of arrays', async () => {
    const { body } = await api.request('GET', '/v1/my/segments/names');
    const names = body.data as unknown as TestBody[];
    const find = (path: string) => names.find((each) => String(each.path) === path)?.types;
    expect(find(String.raw`utm\.source`)).toEqual(['text']);
    expect(find(String.raw`utm.a\.b.c`)).toEqual(['number']);
    expect(find('tags')).toEqual(expect.arrayContaining(['text', 'number', 'boolean']));
  });
});
