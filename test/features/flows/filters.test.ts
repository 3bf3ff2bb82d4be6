// Flow filters agree with their plain meaning in PostgreSQL, and never match a contact of another brand.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type FilterScope,
  flowFilterProblems,
  flowMatches,
  type StepOutput,
} from '../../../src/features/flows/filters.ts';
import { compileFilters } from '../../../src/features/segments/index.ts';
import { insertContacts } from '../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

let test: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());

const AS_OF = new Date('2026-03-31T12:00:00.000Z');
const DAY = 86_400_000;
const ago = (days: number) => new Date(AS_OF.getTime() - days * DAY);

describe('the filters of a flow', () => {
  const steps = new Map([
    [3, 'webhook'],
    [4, 'email'],
    [5, 'email'],
  ]);
  const problemsOf = (filter: object, received = false) =>
    flowFilterProblems([filter], { steps, received }).map(({ path, message }) => [path.join('.'), message]);
  const filter = (name: string, predicate = 'eq', value: unknown = 1) => ({ name, predicate, value });

  it('may use fields that only a run has', () => {
    const opened = { step: 4, within: { count: 2, unit: 'days' } };
    for (const one of [
      filter('trigger.order.total', 'gt', 50),
      filter('trigger.a', 'within_last', { count: 1, unit: 'days' }),
      filter('step.3.status', 'between', [200, 299]),
      filter('step.3.body.items.0', 'present', null),
      filter('email_opened', 'did', opened),
      filter('email_clicked', 'did_not', { step: 5 }),
      filter('email_opened', 'did', { at_least: 2 }),
      filter('email_sent', 'did', { campaign_id: 7, within: { count: 2, unit: 'days' } }),
      { name: 'any', predicate: 'or', value: [filter('trigger.a'), filter('data.a')] },
    ]) {
      expect([one, problemsOf(one)]).toEqual([one, []]);
    }
    expect(problemsOf(filter('received.total', 'gteq', 5), true)).toEqual([]);
  });

  it('may compare with a value of the run', () => {
    for (const one of [
      filter('received.cart_id', 'eq', { from: 'trigger.cart_id' }),
      filter('received.total', 'gt', { from: 'step.3.body.limit' }),
      filter('data.plan', 'not_in', { from: 'received.plans' }),
      filter('email', 'eq', { from: 'trigger.email' }),
      { name: 'any', predicate: 'or', value: [filter('data.a', 'cont', { from: 'trigger.a' })] },
    ]) {
      expect([one, problemsOf(one, true)]).toEqual([one, []]);
    }
  });

  it.each([
    [filter('trigger.'), '0.name', 'must name a key of trigger, such as trigger.plan'],
    [filter('trigger'), '0.name', expect.stringContaining('is not a known name')],
    [filter('trigger.a.b.c.d.e.f.g.h.i.j.k'), '0.name', 'must have at most 10 keys'],
    [filter('received.a'), '0.name', 'can be used only in the filters of a wait_for_event step'],
    [
      filter('step.9.status'),
      '0.name',
      'names step 9, which does not come before: the webhook steps before it are 3',
    ],
    [filter('step.4.status'), '0.name', 'names a step of type email: the webhook steps before it are 3'],
    [filter('step.3'), '0.name', 'must name a webhook step and a key of its answer, such as step.3.status'],
    [filter('step.X.status'), '0.name', expect.stringContaining('must name a webhook step')],
    [
      filter('email_opened', 'did', { step: 8 }),
      '0.value.step',
      'names step 8, which does not come before: the email steps before it are 4, 5',
    ],
    [filter('email_clicked', 'did', { step: 3 }), '0.value.step', expect.stringContaining('of type webhook')],
    [filter('email_sent', 'did', { step: 4 }), '0.value.step', expect.stringContaining('email_opened and')],
    [filter('email_opened', 'did', { step: 4, at_least: 2 }), '0.value.at_least', expect.any(String)],
    [filter('email_opened', 'did', { step: 'x' }), '0.value.step', expect.any(String)],
    [filter('email_opened', 'did', { step: 4, campaign_id: 7 }), '0.value.campaign_id', expect.any(String)],
    [filter('trigger.a', 'did'), '0.predicate', expect.stringContaining('must be one of eq,')],
    [
      filter('data.a', 'eq', { from: 'trigger.' }),
      '0.value.from',
      expect.stringContaining('must name a key'),
    ],
    [
      filter('data.a', 'eq', { from: 'data.b' }),
      '0.value.from',
      expect.stringContaining('a value of the run'),
    ],
    [filter('data.a', 'eq', { from: 7 }), '0.value.from', expect.stringContaining('a value of the run')],
    [
      filter('data.a', 'eq', { from: 'received.b' }),
      '0.value.from',
      expect.stringContaining('wait_for_event'),
    ],
    [
      filter('data.a', 'eq', { from: 'step.9.body' }),
      '0.value.from',
      expect.stringContaining('names step 9'),
    ],
    [filter('data.a', 'eq', { from: 'trigger.a', to: 1 }), '0.value', 'can have only the field from'],
    [
      filter('data.a', 'between', { from: 'trigger.a' }),
      '0.predicate',
      expect.stringContaining('to compare with a value of the run'),
    ],
  ])('are refused with the path of the problem: %j', (one, path, message) => {
    expect(problemsOf(one)).toEqual([[path, message]]);
  });

  it('are refused in segments if they use fields that only a run has', async () => {
    for (const one of [
      filter('trigger.a'),
      filter('received.a'),
      filter('step.3.status'),
      filter('email_opened', 'did', { step: 4 }),
    ]) {
      const compiled = compileFilters(
        test.database.pool,
        { brandId: account.brandId, asOf: AS_OF },
        [one],
        1,
      );
      await expect(compiled).rejects.toMatchObject({ code: 'validation_error' });
    }
  });
});

const scalar = fc.constantFrom(0, 1, 2, '1', 'pro', true, null);
const json = fc.oneof(scalar, fc.record({ n: scalar }, { requiredKeys: [] }));
const object = fc.record({ a: json, b: json }, { requiredKeys: [] });
const days = fc.constantFrom(0, 1, 3, 10);
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });

/** A contact and its run. */
const world = fc.record({
  data: object,
  lists: fc.subarray([0, 1]),
  orders: fc.array(days, { maxLength: 2 }),
  trigger: orNull(object),
  received: orNull(object),
  status: orNull(fc.constantFrom(200, 404)),
  body: json,
  openedDaysAgo: orNull(days),
  clickedDaysAgo: orNull(days),
});
type GivenWorld = typeof world extends fc.Arbitrary<infer T> ? T : never;

interface PlainFilter {
  name: string;
  predicate: string;
  value?: unknown;
}
const valueNames = ['a', 'b', 'a.n', 'b.n'].flatMap((path) => [
  ...[`data.${path}`, `trigger.${path}`, `received.${path}`],
]);
const leaf: fc.Arbitrary<PlainFilter> = fc.oneof(
  fc.record({
    name: fc.constantFrom(...valueNames, 'step.3.status', 'step.3.body.n', 'step.7.status'),
    predicate: fc.constantFrom('eq', 'not_eq'),
    value: fc.constantFrom(0, 1, 200, 'pro', '1', true),
  }),
  fc.record({
    name: fc.constantFrom(...valueNames, 'step.3.status'),
    predicate: fc.constantFrom('gt', 'lteq'),
    value: fc.constantFrom(0, 1, 300),
  }),
  fc.record({
    name: fc.constantFrom(...valueNames),
    predicate: fc.constantFrom('eq', 'not_eq', 'gt', 'lteq'),
    value: fc.record({ from: fc.constantFrom('trigger.a', 'received.b', 'trigger.b.n', 'step.3.body.n') }),
  }),
  fc.record({
    name: fc.constantFrom(...valueNames, 'step.3.body'),
    predicate: fc.constantFrom('present', 'blank'),
  }),
  fc.record({
    name: fc.constantFrom('email_opened', 'email_clicked'),
    predicate: fc.constantFrom('did', 'did_not'),
    value: fc.record(
      { step: fc.constantFrom(4, 8), within: fc.constantFrom({ count: 2, unit: 'days' }) },
      { requiredKeys: ['step'] },
    ),
  }),
  fc.record({
    name: fc.constant('list'),
    predicate: fc.constantFrom('in', 'not_in'),
    value: fc.constant([0]),
  }),
  fc.record({
    name: fc.constant('event.ordered'),
    predicate: fc.constantFrom('did', 'did_not'),
    value: fc.record(
      { at_least: fc.constantFrom(1, 2), within: fc.constant({ count: 2, unit: 'days' }) },
      { requiredKeys: [] },
    ),
  }),
  fc.record({
    name: fc.constant('segment'),
    predicate: fc.constantFrom('in', 'not_in'),
    value: fc.constant([0]),
  }),
);
const group = (inner: fc.Arbitrary<PlainFilter>): fc.Arbitrary<PlainFilter> =>
  fc
    .tuple(fc.constantFrom(['any', 'or'], ['all', 'and']), fc.array(inner, { minLength: 1, maxLength: 3 }))
    .map(([[name, predicate], value]) => ({ name, predicate, value }));
const filterSets = fc.array(fc.oneof(leaf, leaf, group(leaf), group(group(leaf))), {
  minLength: 1,
  maxLength: 3,
});

/** What the filters mean, without SQL, folding, or any code of the product. */
function plainly(filter: PlainFilter, given: GivenWorld): boolean {
  const { name, predicate, value } = filter;
  const negative = ['not_eq', 'not_in', 'blank', 'did_not'].includes(predicate);
  return negative !== positively(name, predicate, value, given);
}

function found(name: string, given: GivenWorld): unknown {
  const [source, ...path] = name.split('.');
  let at: unknown = given[source as 'data'];
  if (source === 'step')
    at = path.shift() === '3' && given.status !== null ? { status: given.status, body: given.body } : null;
  for (const key of path)
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  return at ?? null;
}

function positively(name: string, predicate: string, value: unknown, given: GivenWorld): boolean {
  const often = (value ?? {}) as { at_least?: number; within?: object; step?: number };
  const recent = (daysAgo: number) => !often.within || daysAgo <= 2;
  switch (name) {
    case 'any':
      return (value as PlainFilter[]).some((one) => plainly(one, given));
    case 'all':
      return (value as PlainFilter[]).every((one) => plainly(one, given));
    case 'list':
      return given.lists.includes(0);
    case 'segment':
      return found('data.a', given) === 'pro';
    case 'event.ordered':
      return given.orders.filter(recent).length >= (often.at_least ?? 1);
    case 'email_opened':
    case 'email_clicked': {
      const daysAgo = name === 'email_opened' ? given.openedDaysAgo : given.clickedDaysAgo;
      return often.step === 4 && daysAgo !== null && recent(daysAgo);
    }
  }
  const is = found(name, given);
  if (typeof value !== 'object' || value === null) return valuePasses(is, predicate, value);
  const other = found((value as { from: string }).from, given);
  // Whether a number was written as a text makes no difference between two values of the run.
  const plain = other === '1' ? 1 : other;
  if (plain === null || typeof plain === 'object') return false;
  if (predicate === 'gt' || predicate === 'lteq') {
    return typeof plain === 'number' && valuePasses(is, predicate, plain);
  }
  return valuePasses(is, predicate, plain);
}

function valuePasses(is: unknown, predicate: string, value: unknown): boolean {
  const number = typeof is === 'number' ? is : is === '1' ? 1 : null;
  if (predicate === 'gt') return number !== null && number > (value as number);
  if (predicate === 'lteq') return number !== null && number <= (value as number);
  if (predicate === 'present' || predicate === 'blank') {
    return is !== null && (typeof is !== 'object' || Object.keys(is).length > 0);
  }
  return typeof value === 'number' ? number === value : is === value;
}

interface Stored {
  contactId: number;
  given: GivenWorld;
}

async function storeAll(worlds: GivenWorld[], listIds: number[]): Promise<Stored[]> {
  const { pool } = test.database;
  const { rows: name } = await pool.query<{ id: number }>(
    `insert into event_names (brand_id, name) values ($1, 'ordered') returning id`,
    [account.brandId],
  );
  const stored: Stored[] = [];
  for (const given of worlds) {
    const { rows } = await pool.query<{ id: number }>(
      'insert into contacts (account_id, brand_id, data) values ($1, $2, $3) returning id',
      [account.accountId, account.brandId, JSON.stringify(given.data)],
    );
    const contactId = rows[0]?.id ?? 0;
    await pool.query('insert into list_members (contact_id, list_id) select $1, unnest($2::bigint[])', [
      contactId,
      given.lists.map((n) => listIds[n]),
    ]);
    await pool.query(
      `insert into contact_events (account_id, brand_id, contact_id, name_id, test, created_at)
       select $1, $2, $3, $4, false, unnest($5::timestamptz[])`,
      [account.accountId, account.brandId, contactId, name[0]?.id, given.orders.map(ago)],
    );
    stored.push({ contactId, given });
  }
  return stored;
}

function factsOf({ contactId, given }: Stored): FilterScope {
  const at = (daysAgo: number | null) => (daysAgo === null ? null : ago(daysAgo));
  const none = { answer: null, openedAt: null, clickedAt: null };
  const { status, body, openedDaysAgo, clickedDaysAgo } = given;
  const steps = new Map<number, StepOutput>([
    [3, { ...none, answer: status === null ? null : { status, body } }],
    [4, { ...none, openedAt: at(openedDaysAgo), clickedAt: at(clickedDaysAgo) }],
  ]);
  return {
    brandId: account.brandId,
    contactId,
    asOf: AS_OF,
    trigger: given.trigger,
    received: given.received,
    steps: (ids) => Promise.resolve(new Map([...steps].filter(([id]) => ids.includes(id)))),
  };
}

it('agree with their plain meaning, for contacts in PostgreSQL', async () => {
  const { pool } = test.database;
  const seed = Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31);
  const { rows: lists } = await pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) select $1, $2, 'L' from generate_series(1, 2) returning id`,
    [account.accountId, account.brandId],
  );
  const { rows: segments } = await pool.query<{ id: number }>(
    `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'S', $3) returning id`,
    [account.accountId, account.brandId, JSON.stringify([{ name: 'data.a', predicate: 'eq', value: 'pro' }])],
  );
  const listIds = lists.map(({ id }) => id);
  const stored = await storeAll(fc.sample(world, { numRuns: 40, seed }), listIds);
  /** The filters with the ids of the database. */
  const named = (filters: PlainFilter[]): PlainFilter[] =>
    filters.map((one) => {
      if (one.name === 'any' || one.name === 'all')
        return { ...one, value: named(one.value as PlainFilter[]) };
      if (one.name === 'list') return { ...one, value: [listIds[0]] };
      return one.name === 'segment' ? { ...one, value: [segments[0]?.id] } : one;
    });
  const results = { true: 0, false: 0 };
  await fc.assert(
    fc.asyncProperty(filterSets, fc.nat(stored.length - 1), async (filters, n) => {
      const one = stored[n] as Stored;
      const expected = filters.every((filter) => plainly(filter, one.given));
      results[`${expected}`] += 1;
      expect(await flowMatches(pool, factsOf(one), named(filters))).toBe(expected);
    }),
    { numRuns: 800, seed },
  );
  expect(results.true).toBeGreaterThan(100);
  expect(results.false).toBeGreaterThan(100);
});

it('match no contact of another brand, and no deleted contact', async () => {
  const other = await insertAccount(test.database);
  const { rows } = await test.database.pool.query<{ id: number }>(
    'insert into contacts (account_id, brand_id) values ($1, $2) returning id',
    [other.accountId, other.brandId],
  );
  const always = [{ name: 'trigger.a', predicate: 'blank' }];
  const facts = { ...factsOf({ contactId: 0, given: { status: null } as GivenWorld }), trigger: null };
  const matchesFor = (brandId: number, contactId: number) =>
    flowMatches(test.database.pool, { ...facts, brandId, contactId }, always);
  expect(await matchesFor(other.brandId, rows[0]?.id ?? 0)).toBe(true);
  expect(await matchesFor(account.brandId, rows[0]?.id ?? 0)).toBe(false);
  expect(await matchesFor(other.brandId, 999_999)).toBe(false);
});

/** A node of a plan, as EXPLAIN prints it. */
interface PlanNode {
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}
const rowsRead = ({ Plans: inner = [], ...node }: PlanNode): number =>
  inner.reduce(
    (sum, one) => sum + rowsRead(one),
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0),
  );

it('read the events and the engagement of the one contact alone', async () => {
  const { pool } = test.database;
  const own = await insertAccount(test.database);
  const ids = await insertContacts(pool, own, 500, 'many');
  const values = [own.brandId, ids];
  await pool.query(
    `with n as (insert into event_names (brand_id, name) values ($1, 'ordered') returning id)
     insert into contact_events (account_id, brand_id, contact_id, name_id, test, created_at)
     select 0, $1, c, n.id, false, now() - h * interval '1 hour' from n, unnest($2::bigint[]) c, generate_series(1, 20) h`,
    values,
  );
  await pool.query(
    `insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
     select $1, c, h, k, now() - h * interval '1 hour'
     from unnest($2::bigint[]) c, generate_series(1, 20) h, generate_series(1, 2) k`,
    values,
  );
  await pool.query('analyze contacts; analyze contact_events; analyze contact_engagement');
  const within = { count: 30, unit: 'days' };
  for (const name of ['event.ordered', 'email_opened', 'email_clicked']) {
    for (const value of [{}, { within }, { at_least: 2 }, { at_least: 2, within }]) {
      const filter = { name, predicate: 'did', value };
      const condition = await compileFilters(pool, { brandId: own.brandId, asOf: new Date() }, [filter], 3);
      const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) select 1 from contacts c where c.brand_id = $1 and c.id = $2 and ${condition.sql}`,
        [own.brandId, ids[7], ...condition.values],
      );
      const read = rowsRead((rows[0] as (typeof rows)[0])['QUERY PLAN'][0].Plan);
      expect([filter, read < 200 || read]).toEqual([filter, true]);
    }
  }
});

describe('email_sent, asked for one contact', () => {
  const asOf = new Date('2026-03-10T12:00:00Z');
  let own: QueuedAccount;
  let contactId: number;

  /** Inserts mail that was sent to the contact's address of then, as the sender records it. */
  async function sent(daysAgo: number, to = 'ada@example.com'): Promise<void> {
    await test.database.pool.query(
      `with m as (
         insert into messages (account_id, brand_id, channel, status, class, to_address, to_key, contact_id, sent_at,
           from_address, created_at)
         values ($1, $2, 'email', 'delivered', 1, $3, $3, $4, $5, 'a@b.test', $5) returning id
       ), engaged as (
         insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
         select $2, $4, id, 0, $5 from m
       )
       insert into contact_channel_counts as c (contact_id, channel, sent_count) values ($4, 'email', 1)
       on conflict (contact_id, channel) do update set sent_count = c.sent_count + 1`,
      [own.accountId, own.brandId, to, contactId, new Date(asOf.getTime() - 86_400_000 * daysAgo)],
    );
  }

  const holds = (value: object) =>
    flowMatches(
      test.database.pool,
      {
        ...{ brandId: own.brandId, contactId, asOf, trigger: null, received: null },
        steps: () => Promise.resolve(new Map()),
      },
      [{ name: 'email_sent', predicate: 'did', value }],
    );
  const within = (count: number, at_least = 1) => holds({ within: { count, unit: 'days' }, at_least });

  beforeEach(async () => {
    own = await insertAccount(test.database);
    [contactId = 0] = await insertContacts(test.database.pool, own, 1);
    await test.database.pool.query(
      `update contacts set email = 'ada@example.com', email_key = 'ada@example.com' where id = $1`,
      [contactId],
    );
  });

  it('counts mail to its address, and to addresses that it had', async () => {
    expect([await holds({}), await within(30)]).toEqual([false, false]);
    await sent(1);
    await sent(20);
    expect([await holds({}), await holds({ at_least: 2 }), await holds({ at_least: 3 })]).toEqual([
      ...[true, true, false],
    ]);
    expect([await within(2), await within(2, 2), await within(30, 2)]).toEqual([true, false, true]);
    await sent(3, 'former@example.com');
    await test.database.pool.query(
      `insert into contact_former_addresses (contact_id, address_key) values ($1, 'former@example.com')`,
      [contactId],
    );
    expect([await within(2, 2), await within(7, 2), await within(30, 3)]).toEqual([false, true, true]);
  });

  it('counts mail whose messages are no longer kept', async () => {
    await sent(400);
    await sent(1);
    await test.database.pool.query(`delete from messages where contact_id = $1 and sent_at < $2`, [
      contactId,
      new Date('2026-01-01'),
    ]);
    expect([await within(2), await within(30, 2), await within(500, 2)]).toEqual([true, false, true]);
    await sent(20);
    expect([await within(30, 2), await within(500, 3)]).toEqual([true, true]);
  });

  it('does not read the mail of the whole brand', async () => {
    const { pool } = test.database;
    const others = await insertContacts(pool, own, 500, 'others');
    await pool.query(
      `insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
       select $1, c, h, 0, $3::timestamptz - h * interval '1 hour' from unnest($2::bigint[]) c, generate_series(1, 20) h`,
      [own.brandId, others, asOf],
    );
    await sent(1);
    await pool.query('analyze contact_engagement; analyze messages; analyze contact_channel_counts');
    for (const value of [{}, { within: { count: 30, unit: 'days' } }, { at_least: 2 }]) {
      const filter = { name: 'email_sent', predicate: 'did', value };
      const audience = { brandId: own.brandId, asOf, few: true };
      const condition = await compileFilters(pool, audience, [filter], 3);
      const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) select 1 from contacts c where c.brand_id = $1 and c.id = $2 and ${condition.sql}`,
        [own.brandId, contactId, ...condition.values],
      );
      const read = rowsRead((rows[0] as (typeof rows)[0])['QUERY PLAN'][0].Plan);
      expect([filter, read < 200 || read]).toEqual([filter, true]);
    }
  });
});
