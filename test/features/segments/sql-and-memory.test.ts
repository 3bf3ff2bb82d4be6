// Segment filters select the same contacts in SQL and in memory.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  compileFilters,
  loadConditions,
  matches,
  type ContactInMemory,
} from '../../../src/features/segments/index.ts';
import { parseEmailAddress } from '../../../src/delivery/terms/addresses/email.ts';
import { explainMatch } from '../../../src/features/segments/explain.ts';
import type { Filter } from '../../../src/features/segments/parse.ts';
import { emailParts, emails, firstNumber, phoneParts, phones } from './address-filters.ts';
import { CAMPAIGNS, ENGAGEMENT, engagementOf, storeMail } from './campaign-mail.ts';
import { days, madeTimes, numbers, numberTexts, texts, times } from './json-scalars.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** Number of filter sets that one statement compares, and of statements. */
const IN_ONE_STATEMENT = 100;
const STATEMENTS = 30;
const CONTACTS = 60;
const SEED = Number(process.env.SEGMENTS_SEED ?? Date.now() % 2 ** 31);

const AS_OF = new Date('2026-03-31T12:00:00.000Z');
const BRAND = 7;
const LISTS = [1, 2, 3];
const EVENTS = ['order_placed', 'signed_up', 'never_happened'];
const units = ['minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;

const scalars = fc.oneof(
  texts,
  days,
  times,
  madeTimes,
  numberTexts,
  numbers,
  fc.boolean(),
  fc.constantFrom('true', 'false', 'TRUE'),
);
const keys = [
  'a',
  'b',
  'c',
  'n',
  '__x',
  'constructor',
  'a b',
  '0',
  'x.y',
  'q"',
  'z\\',
  "o'k",
  '$1',
  'a[0]',
  '.',
];
/** As a part of a name. */
const named = (key: string) => (/[.\\]/.test(key) ? JSON.stringify(key) : key);
const json: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: scalars },
  { weight: 1, arbitrary: fc.constantFrom(null, [], {}, [1], ['a'], [[30]], { a: {} }) },
  {
    weight: 3,
    arbitrary: fc.array(fc.oneof(scalars, fc.constantFrom(null, [], ['a'], [['a']], { a: 1 }, { a: [1] })), {
      maxLength: 3,
    }),
  },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...keys), scalars, { maxKeys: 3 }) },
);

const recent = fc
  .oneof(
    fc.constantFrom(0, 1, 60_000, 3_600_000, 86_400_000, 30 * 86_400_000, 31 * 86_400_000, 365 * 86_400_000),
    fc.integer({ min: 0, max: 400 * 86_400_000 }),
  )
  .map((ago) => new Date(AS_OF.getTime() - ago));
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 3 });

const contact = fc.record({
  first_name: orNull(texts),
  source: orNull(texts),
  country_code: orNull(fc.constantFrom('DE', 'de', 'FR')),
  /** Without the number of the contact, which keeps addresses apart. */
  email: orNull(
    fc.constantFrom(
      'Ada@example.com',
      'bob@xn--bcher-kva.com',
      'x_y@example.org',
      'JÖRG@example.com',
      'İ+tag@example.com',
      'ΟΔΟΣ@xn--nxasmm1c.com',
      'stra\u{df}e%@example.com',
      '"a b"@example.com',
    ),
  ),
  phone: orNull(fc.constantFrom('+1415555', '+4930', '+4420', '+39066')),
  email_subscribed: fc.boolean(),
  email_verified: fc.boolean(),
  verdict: orNull(fc.constantFrom('deliverable', 'undeliverable', 'risky', 'unknown')),
  /** Whether the verdict is for the present address of the contact. */
  verdict_is_current: fc.boolean(),
  suppressed: fc.boolean(),
  enriched_at: orNull(recent),
  email_opt_in_at: orNull(recent),
  last_interacted_at: orNull(recent),
  created_at: recent,
  data: fc.dictionary(fc.constantFrom(...keys), json, { maxKeys: 5 }),
  lists: fc.subarray(LISTS),
  events: fc.array(
    fc.record({ name: fc.constantFrom(...EVENTS.slice(0, 2)), at: recent, test: fc.boolean() }),
    { maxLength: 6 },
  ),
  engagement: fc.array(fc.record({ kind: fc.constantFrom(0, 1, 2), at: recent }), { maxLength: 4 }),
  /** Its messages of campaigns, one each. */
  mail: fc.uniqueArray(
    fc.record({
      campaign: fc.constantFrom(...CAMPAIGNS),
      email_sent: orNull(recent),
      email_opened: orNull(recent),
      email_clicked: orNull(recent),
      /** Whether it was sent to an address that the contact no longer has. */
      former: fc.boolean(),
    }),
    { selector: ({ campaign }) => campaign },
  ),
});
type GivenContact = typeof contact extends fc.Arbitrary<infer T> ? T : never;

const period = fc.record({ count: fc.constantFrom(1, 2, 12, 30, 60, 90), unit: fc.constantFrom(...units) });
const filter = (name: fc.Arbitrary<string>, predicate: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>) =>
  fc.record({ name, predicate, value });
const is = (...predicates: string[]) => fc.constantFrom(...predicates);
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { minLength: 1, maxLength: 3 });
const nothing = fc.constant(null);

const textNames = fc.constantFrom('first_name', 'last_name', 'email', 'phone', 'source', 'country_code');
const timeNames = fc.constantFrom('created_at', 'last_interacted_at', 'email_opt_in_at', 'email_opt_out_at');
const jsonNames = fc.oneof(
  fc.constantFrom(...keys).map((key) => `data.${named(key)}`),
  fc
    .tuple(fc.constantFrom(...keys), fc.constantFrom(...keys))
    .map(([a, b]) => `data.${named(a)}.${named(b)}`),
);
const parts = texts.filter((text) => text !== '');
const timeTexts = fc.constantFrom(
  '2026-03-31T12:00:00Z',
  '2026-03-01',
  '2026-03-31T11:59:59.999Z',
  '2024-02-29',
  '2026-03-01T00:00:00+02:00',
);
const between = <T>(values: fc.Arbitrary<T>, order: (value: T) => number) =>
  fc.tuple(values, values).map((pair) => [...pair].sort((one, other) => order(one) - order(other)));

const leaf = fc.oneof(
  filter(textNames, is('eq', 'not_eq'), texts),
  filter(textNames, is('in', 'not_in'), some(texts)),
  filter(textNames, is('cont', 'not_cont', 'start', 'end'), parts),
  filter(textNames, is('present', 'blank'), nothing),
  filter(is('email'), is('eq', 'not_eq'), emails),
  filter(is('email'), is('in', 'not_in'), some(emails)),
  filter(is('email'), is('cont', 'not_cont', 'start', 'end'), emailParts),
  filter(is('phone'), is('eq', 'not_eq'), phones),
  filter(is('phone'), is('in', 'not_in'), some(phones)),
  filter(is('phone'), is('cont', 'not_cont', 'start', 'end'), phoneParts),
  filter(is('subscribed_email', 'subscribed_phone'), is('true', 'false'), nothing),
  filter(is('subscribed_email', 'subscribed_phone'), is('eq', 'not_eq'), fc.boolean()),
  filter(
    is('verification_status'),
    is('in', 'not_in'),
    some(fc.constantFrom('verified', 'suppressed', 'unverified')),
  ),
  filter(is('enrichment_status'), is('eq', 'not_eq'), fc.constantFrom('enriched', 'not_enriched')),
  filter(is('email_verdict'), is('eq', 'not_eq'), fc.constantFrom('deliverable', 'risky')),
  filter(is('email_verdict'), is('in', 'not_in'), some(fc.constantFrom('undeliverable', 'unknown', 'risky'))),
  filter(is('email_verdict'), is('present', 'blank'), nothing),
  filter(timeNames, is('gt', 'gteq', 'lt', 'lteq'), timeTexts),
  filter(timeNames, is('between'), between(timeTexts, Date.parse)),
  filter(timeNames, is('within_last', 'older_than'), period),
  filter(timeNames, is('present', 'blank'), nothing),
  filter(is('id'), is('eq', 'not_eq'), fc.integer({ min: 1, max: 70 })),
  filter(is('id'), is('in', 'not_in'), some(fc.integer({ min: 1, max: 70 }))),
  filter(
    is('id'),
    is('gt', 'gteq', 'lt', 'lteq'),
    fc.oneof(fc.integer({ min: -1, max: 70 }), fc.constant(30.5)),
  ),
  filter(jsonNames, is('eq', 'not_eq'), scalars),
  filter(jsonNames, is('in', 'not_in'), some(scalars)),
  filter(jsonNames, is('cont', 'not_cont', 'start', 'end'), parts),
  filter(jsonNames, is('cont', 'not_cont'), fc.oneof(numbers, fc.boolean(), madeTimes)),
  filter(jsonNames, is('eq', 'not_eq'), fc.array(fc.oneof(scalars, fc.constant(null)), { maxLength: 2 })),
  filter(jsonNames, is('eq', 'not_eq'), fc.constantFrom([], [1], ['a'], [[30]], [{ a: 1 }], [-0])),
  filter(jsonNames, is('gt', 'gteq', 'lt', 'lteq'), fc.oneof(numbers, timeTexts)),
  filter(jsonNames, is('between'), between(numbers, Number)),
  filter(jsonNames, is('between'), between(timeTexts, Date.parse)),
  filter(jsonNames, is('within_last', 'older_than'), period),
  filter(jsonNames, is('present', 'blank', 'true', 'false'), nothing),
  filter(is('list'), is('in', 'not_in'), some(fc.constantFrom(...LISTS, 99))),
  filter(is('list'), is('eq', 'not_eq'), fc.constantFrom(...LISTS)),
  period.map((value) => ({
    name: 'any',
    predicate: 'or',
    value: [
      { name: 'last_interacted_at', predicate: 'blank' },
      { name: 'last_interacted_at', predicate: 'older_than', value },
    ],
  })),
  filter(is('segment'), is('in', 'not_in'), some(fc.constantFrom(1, 2, 3))),
  filter(
    fc.oneof(
      fc.constantFrom(...EVENTS).map((name) => `event.${name}`),
      fc.constantFrom(...ENGAGEMENT),
    ),
    is('did', 'did_not'),
    fc.record({ at_least: fc.constantFrom(1, 2, 3), within: period }, { requiredKeys: [] }),
  ),
  filter(
    fc.constantFrom(...ENGAGEMENT),
    is('did', 'did_not'),
    fc.record(
      { campaign_id: fc.constantFrom(...CAMPAIGNS, 99), within: period },
      { requiredKeys: ['campaign_id'] },
    ),
  ),
);
const group = (inner: fc.Arbitrary<unknown>) =>
  fc.oneof(
    filter(is('any'), is('or'), fc.array(inner, { minLength: 1, maxLength: 4 })),
    filter(is('all'), is('and'), fc.array(inner, { minLength: 1, maxLength: 4 })),
  );
/** A reference adds up to twelve filters: three times the third segment below. */
const fits = (set: unknown[]) => {
  const json = JSON.stringify(set);
  return json.split('"name"').length + 12 * json.split('"segment"').length <= 50;
};
const filters = fc
  .array(
    fc.oneof({ weight: 5, arbitrary: leaf }, { weight: 1, arbitrary: group(fc.oneof(leaf, group(leaf))) }),
    { minLength: 1, maxLength: 3 },
  )
  .filter(fits);

/** Referenced by the filters above. */
const SEGMENTS = [
  [{ name: 'subscribed_email', predicate: 'true' }],
  [{ name: 'data.a', predicate: 'eq', value: 'a' }],
  [
    { name: 'segment', predicate: 'not_in', value: [1, 2] },
    { name: 'event.order_placed', predicate: 'did' },
  ],
];

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const column = <K extends keyof GivenContact>(contacts: GivenContact[], name: K) =>
  contacts.map((one) => one[name]);

const emailOf = ({ email }: GivenContact, index: number) =>
  email && email.replace(/^"?/, `$&${index + firstNumber}.`);
const phoneOf = ({ phone }: GivenContact, index: number) => phone && `${phone}${index + firstNumber}`;

const keyOf = (one: GivenContact, index: number) => {
  const email = parseEmailAddress(emailOf(one, index) ?? '');
  return 'key' in email ? email.key : null;
};

async function store(contacts: GivenContact[]): Promise<void> {
  const { pool } = test.database;
  await pool.query(
    `insert into contacts (id, account_id, brand_id, first_name, source, country_code, email, email_key, phone,
       email_subscribed, email_verified, enriched_at, email_opt_in_at, created_at, data)
     select n, 0, $1, c.*, d::jsonb from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $14::text[], $8::boolean[], $9::boolean[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::text[])
       as c0 (n, a, b, c1, d1, e, p, f, g, h, i, j, d), lateral (select a, b, c1, d1, e, p, f, g, h, i, j) c`,
    [
      BRAND,
      contacts.map((_, index) => index + 1),
      column(contacts, 'first_name'),
      column(contacts, 'source'),
      column(contacts, 'country_code'),
      contacts.map(emailOf),
      contacts.map(keyOf),
      column(contacts, 'email_subscribed'),
      column(contacts, 'email_verified'),
      column(contacts, 'enriched_at'),
      column(contacts, 'email_opt_in_at'),
      column(contacts, 'created_at'),
      contacts.map(({ data }) => JSON.stringify(data)),
      contacts.map(phoneOf),
    ],
  );
  await pool.query(
    `insert into suppressions (account_id, address_key, email, reason)
     select 0, c.email_key, c.email_key, 'manual' from contacts c where c.email_key is not null and c.id = any($1)`,
    [contacts.flatMap(({ suppressed }, index) => (suppressed ? [index + 1] : []))],
  );
  await pool.query(
    `insert into contact_verdicts (contact_id, email_key, verdict, reusable, checked_at)
     select c.id, case when is_current then c.email_key else 'former@example.com' end, verdict, false, now()
     from unnest($1::int[], $2::text[], $3::boolean[]) v (id, verdict, is_current) join contacts c on c.id = v.id
     where verdict is not null and (c.email_key is not null or not is_current)`,
    [
      contacts.map((_, index) => index + 1),
      column(contacts, 'verdict'),
      column(contacts, 'verdict_is_current'),
    ],
  );
  await pool.query('insert into event_names (id, brand_id, name) values (1, $1, $2), (2, $1, $3)', [
    BRAND,
    ...EVENTS.slice(0, 2),
  ]);
  await pool.query(
    `insert into lists (id, account_id, brand_id, name) select n, 0, $1, 'l' from unnest($2::int[]) n`,
    [BRAND, LISTS],
  );
  for (const [index, one] of contacts.entries()) {
    const id = index + 1;
    await pool.query('insert into list_members (contact_id, list_id) select $1, unnest($2::bigint[])', [
      id,
      one.lists,
    ]);
    if (one.last_interacted_at)
      await pool.query('insert into contact_activity values ($1, $2)', [id, one.last_interacted_at]);
    await pool.query(
      `insert into contact_events (account_id, brand_id, contact_id, name_id, test, created_at)
       select 0, $1, $2, e.* from unnest($3::int[], $4::boolean[], $5::timestamptz[]) e`,
      [
        BRAND,
        id,
        one.events.map((e) => EVENTS.indexOf(e.name) + 1),
        one.events.map((e) => e.test),
        one.events.map((e) => e.at),
      ],
    );
    await pool.query(
      `insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
       select $1, $2, 1, e.* from unnest($3::int[], $4::timestamptz[]) e`,
      [BRAND, id, engagementOf(one).map((e) => e.kind), engagementOf(one).map((e) => e.at)],
    );
    // Senders count sent mail in the statement that records it.
    await pool.query(
      `insert into contact_channel_counts (contact_id, channel, sent_count)
       select contact_id, 'email', count(*) from contact_engagement where contact_id = $1 and kind = 0 group by 1`,
      [id],
    );
  }
  for (const [index, given] of SEGMENTS.entries()) {
    await pool.query(
      `insert into segments (id, account_id, brand_id, name, filters) values ($1, 0, $2, 's', $3)`,
      [index + 1, BRAND, JSON.stringify(given)],
    );
  }
}

function factsOf(one: GivenContact, index: number): ContactInMemory {
  const active = one.suppressed && one.email !== null;
  const status = one.email_verified ? 'verified' : 'unverified';
  return {
    columns: {
      id: index + 1,
      first_name: one.first_name,
      last_name: null,
      email: emailOf(one, index),
      phone: phoneOf(one, index),
      source: one.source,
      country_code: one.country_code,
      subscribed_email: one.email !== null && one.email_subscribed,
      subscribed_phone: false,
      verification_status: active ? 'suppressed' : status,
      enrichment_status: one.enriched_at ? 'enriched' : 'not_enriched',
      email_verdict: one.email !== null && one.verdict_is_current ? one.verdict : null,
      email_opt_in_at: one.email_opt_in_at,
      email_opt_out_at: null,
      phone_opt_in_at: null,
      phone_opt_out_at: null,
      last_interacted_at: one.last_interacted_at,
      created_at: one.created_at,
      updated_at: AS_OF,
    },
    data: one.data,
    listIds: new Set(one.lists),
    count(activity, since) {
      const times =
        'event' in activity
          ? one.events.filter((event) => event.name === activity.event && !event.test)
          : activity.campaignId === null
            ? engagementOf(one).filter(({ kind }) => kind === ENGAGEMENT.indexOf(activity.engagement))
            : one.mail
                .filter(({ campaign }) => campaign === activity.campaignId)
                .flatMap((mail) => mail[activity.engagement] ?? [])
                .map((at) => ({ at }));
      return times.filter(({ at }) => !since || at >= since).length;
    },
    asOf: AS_OF,
  };
}

/** Runs many filter sets in one statement. @returns the ids of the contacts for each set */
async function selectAll(sets: unknown[][]): Promise<number[][]> {
  const values: unknown[] = [BRAND];
  const columns: string[] = [];
  for (const [index, set] of sets.entries()) {
    // SQL that is written for a few contacts must find the same.
    const audience = { brandId: BRAND, asOf: AS_OF, few: index % 2 === 1 };
    const condition = await compileFilters(test.database.pool, audience, set, values.length + 1);
    values.push(...condition.values);
    columns.push(
      `array(select c.id from contacts c where c.brand_id = $1 and ${condition.sql} order by c.id)`,
    );
  }
  const { rows } = await test.database.pool.query<{ found: number[][] }>(
    `select ${columns.map((sql) => `to_jsonb(${sql})`).join(', ')}`.replace(
      'select ',
      'select jsonb_build_array(',
    ) + ') as found',
    values,
  );
  return rows[0]?.found ?? [];
}

const given: GivenContact[] = [];
beforeAll(async () => {
  given.push(...fc.sample(contact, { numRuns: CONTACTS, seed: SEED }));
  await store(given);
  await storeMail(test.database.pool, BRAND, given);
});

it('selects with SQL exactly the contacts that match in memory', async () => {
  const facts = given.map(factsOf);
  let selected = 0;
  for (let round = 0; round < STATEMENTS; round += 1) {
    const sets = fc.sample(filters, { numRuns: IN_ONE_STATEMENT, seed: SEED + round }) as unknown[][];
    const bySql = await selectAll(sets);
    for (const [index, set] of sets.entries()) {
      const conditions = await loadConditions(test.database.pool, { brandId: BRAND }, set);
      const inMemory = facts.filter((one) => matches(conditions, one)).map((one) => one.columns.id);
      const compared = { seed: SEED, set: JSON.stringify(set) };
      expect({ ...compared, ids: bySql[index] }).toEqual({ ...compared, ids: inMemory });
      selected += inMemory.length;
    }
  }
  expect(selected).toBeGreaterThan(0);
});

/** Each filter by its path, with those inside groups. */
const filtersByPath = (set: readonly Filter[], at: string): [path: string, filter: Filter][] =>
  set.flatMap((one, index) => {
    const path = `${at}.${index}`;
    const isGroup = one.name === 'any' || one.name === 'all';
    return [[path, one], ...(isGroup ? filtersByPath(one.value as Filter[], `${path}.value`) : [])];
  });

it('explains for each filter whether one contact matches it in memory', async () => {
  const { pool } = test.database;
  const audience = { brandId: BRAND, asOf: AS_OF };
  const facts = given.map(factsOf);
  const seen = new Set<string>();
  const sets = fc.sample(filters, { numRuns: IN_ONE_STATEMENT, seed: SEED + STATEMENTS }) as Filter[][];
  for (const [index, set] of sets.entries()) {
    const one = facts[index % facts.length] as ContactInMemory;
    const holds = async (part: readonly Filter[]) => matches(await loadConditions(pool, audience, part), one);
    const expected = [];
    for (const [path, part] of filtersByPath(set, 'filters')) {
      expected.push({ path, matches: await holds([part]) });
    }
    const explained = await explainMatch(pool, audience, set, Number(one.columns.id));
    const compared = { seed: SEED, set: JSON.stringify(set) };
    const { columns } = one;
    expect({ ...compared, ...explained }).toEqual({
      ...compared,
      contact_id: columns.id,
      matches: await holds(set),
      filters: expected,
    });
    for (const { path, matches: isMatch } of expected) seen.add(`${path.includes('value')} ${isMatch}`);
  }
  expect(seen.size).toBe(4);
});
