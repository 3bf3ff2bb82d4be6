// Importing an exported contact file changes only edited values, and restores the types of data.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readDataCell } from '../../../src/features/imports/data-cell.ts';
import { createExportWriter } from '../../../src/features/exports/service.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { guardCell, unguardCell } from '../../../src/platform/csv/guard.ts';
import { typedCell } from '../../../src/platform/csv/typed-cell.ts';
import { importFile } from '../../support/imports.ts';

const turn = { progress: () => undefined, stopping: new AbortController().signal };

const data = {
  plan: 'pro',
  visits: 42,
  ratio: -0.5,
  large: 1e21,
  vip: true,
  tags: ['a', 'b, c', '"d"'],
  address: { city: 'Köln', floors: [1, 2] },
  zip: '01234',
  price: '1.50',
  note: '=1+1',
};

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate contacts, imports, exports cascade');
});

async function addContact(values: object): Promise<void> {
  const body = { email: 'ada@example.com', data: values };
  const { status } = await api.request('POST', '/v1/my/contacts', { body });
  expect(status).toBe(201);
}

async function dataOf(): Promise<unknown> {
  return (await api.request('GET', '/v1/my/contacts')).list[0]?.data;
}

/** Exports all contacts, and returns the file. */
async function exportContacts(): Promise<string> {
  const { body } = await api.request('POST', '/v1/my/exports', { body: { resource: 'contacts' } });
  const store = createHomeStore(api.config.CARILLON_HOME);
  const writer = createExportWriter({ pool: api.database.pool, store, quotaBytes: 1e9 });
  const id = Number(body.id);
  await writer.begin(id, new Date());
  await writer.plan(id, new Date(), turn);
  await writer.write(id, new Date(), turn);
  return (await api.request('GET', `/v1/my/exports/${id}/file`)).text;
}

describe('an export of contacts that is imported again', () => {
  it('does not change contacts that still exist', async () => {
    await addContact(data);
    const file = await exportContacts();
    const done = await importFile(api, { file });
    expect([done.updated_count, done.unchanged_count]).toEqual([0, 1]);
    expect(await dataOf()).toEqual(data);
  });

  it('changes only edited values', async () => {
    await addContact(data);
    const file = (await exportContacts()).replace(',42,', ',43,');
    const done = await importFile(api, { file });
    expect(done.updated_count).toBe(1);
    expect(await dataOf()).toEqual({ ...data, visits: 43 });
  });

  it('creates contacts with the numbers, booleans, arrays and objects that they had', async () => {
    await addContact(data);
    const file = await exportContacts();
    await api.database.pool.query('truncate contacts cascade');
    await importFile(api, { file });
    expect(await dataOf()).toEqual(data);
  });

  it('counts existing data of contacts only once against their limit', async () => {
    await addContact({ list: Array.from({ length: 6_000 }, (_, n) => n + 10_000) });
    const done = await importFile(api, { file: await exportContacts() });
    expect([done.unchanged_count, done.failed_count]).toEqual([1, 0]);
  });
});

/** Texts that a reader may take for something else: another type, another text, a formula, or the end of a cell. */
const oddTexts = [
  ...[
    '',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\u00a0',
    '\ufeff',
    ' a',
    'a ',
    '\na',
    'a\n',
    'a\r',
    '\u00a0a',
    'a\u2028b',
    '\u3000a',
  ],
  ...[
    'true',
    'false',
    'null',
    'True',
    'TRUE',
    'undefined',
    'NaN',
    'Infinity',
    '-Infinity',
    'N/A',
    '\\N',
    'yes',
    'no',
  ],
  ...[
    '0',
    '-0',
    '1',
    '01',
    '007',
    '42',
    '-42',
    '+42',
    '4.20',
    '4.2',
    '.5',
    '5.',
    '1e3',
    '1E3',
    '1e+21',
    '1e21',
    '-1.5e-7',
  ],
  ...['0x10', '1_000', '1,000', '1.000,5', '12345678901234567890', '0.1', '0.10', '1e999', '९', '１２'],
  ...[
    '"',
    '""',
    '"a"',
    '"42"',
    '"a',
    'a"',
    '"a" b',
    "'",
    "''",
    "'a'",
    "'=1",
    "''=1",
    '"\\"',
    '"\\u0041"',
    '\\',
    '\\"',
  ],
  ...[
    '[',
    ']',
    '[]',
    '[1]',
    '[1,2]',
    '[1, 2]',
    '[ 1 ]',
    '[a]',
    '["a"]',
    '[draft] letter',
    '[[]]',
    '["a;=1"]',
    '[1e999]',
  ],
  ...[
    '{',
    '{}',
    '{"a":1}',
    '{"a": 1}',
    '{ }',
    '{"a":1,"a":2}',
    '{"n": 1.50}',
    '{{ name }}',
    '{"city": "Pune"}',
    '{a}',
  ],
  ...[
    '=1+1',
    '=1',
    '+1',
    '-1',
    '@a',
    '+a',
    '-a',
    '- a',
    '+ a',
    '-',
    '+',
    '=',
    '@',
    '＝1',
    '－1',
    '＠a',
    '＋a',
    '=HYPERLINK("x")',
  ],
  ...[
    ';=1',
    'a;=1',
    "a;'=1",
    'a;"=1',
    'a\t=1',
    'a\n=1',
    'a\n- b',
    'a\n- b(c',
    'a\r\n=1',
    ';',
    ',',
    '\t',
    '|',
    'a|=1',
    'a,=1',
    ";''=1",
  ],
  ...[
    '2024-01-31',
    '31/01/2024',
    '2024-01-31 10:00:00',
    '10:00',
    '1706695200',
    '2024-01-31T10:00:00Z',
    '1-2',
    '3/4',
    'JAN-1',
  ],
  ...[
    '\ufffd',
    'a\ufffdb',
    'é',
    'e\u0301',
    '👩‍👩‍👧',
    '\u200b',
    '\u202ea',
    'عربي',
    '日本語',
    '\u0001',
    '\u001f',
    '\u007f',
    '\u0085',
    '\ud83d\ude00',
  ],
  ...[
    'sep=;',
    '#a',
    '<b>',
    '&amp;',
    '%41',
    '$1',
    '${a}',
    '`a`',
    '--',
    '/*',
    'x'.repeat(5_000),
    'constructor',
    '__proto__',
  ],
];
const oddValues = [
  ...[
    0,
    -1,
    1.5,
    1e21,
    1e-7,
    -0.5,
    9007199254740991,
    5e-324,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    [''],
    ['a', 1, null, true],
  ],
  ...[
    { a: null },
    { '': 1 },
    { 'a.b': 1 },
    { a: { b: { c: [1, { d: '"' }] } } },
    [' a '],
    ['=1', ';=1', '\n=1'],
    { '=1': '=1' },
  ],
];
const oddKeys = [
  ...[
    'a b',
    ' a',
    'a ',
    '',
    '=1',
    '-a',
    '@',
    'a;=1',
    'a,b',
    'a"b',
    '"',
    'a\nb',
    'data.a',
    'Data.a',
    'data.',
    '.',
    'a.b',
    'a.0',
  ],
  ...[
    'email',
    'id',
    'uuid',
    'error',
    'status',
    'subscribed',
    'other_data',
    'list_ids',
    'unsubscribed',
    'opt-in',
    'constructor',
  ],
  ...[
    'Ä',
    '日本',
    '👋',
    '1',
    '01',
    'true',
    'k'.repeat(190),
    'l'.repeat(196),
    'm'.repeat(200),
    'n'.repeat(300),
    'o'.repeat(195),
  ],
];

describe('odd values', () => {
  const valuesOf = (values: readonly unknown[]) =>
    Object.fromEntries(values.map((value, n) => [`k${n}`, value]));
  const contacts: Record<string, unknown>[] = [
    { data: valuesOf(oddTexts.slice(0, 100)), source: 'web' },
    { data: valuesOf([...oddTexts.slice(100), ...oddValues]), source: 'web' },
    { data: Object.fromEntries(oddKeys.map((key, n) => [key, n])), source: 'web' },
    { data: { plan: '42' }, first_name: ' Ada ', last_name: 'N/A', source: '"quoted"', country_code: 'UK' },
    { data: { plan: 42 }, first_name: '-', last_name: '=1+1', source: ' ', country_code: 'XX' },
    { data: { plan: ' ' }, first_name: '42', last_name: 'true', source: '[1]', country_code: 'NA' },
  ];
  const columns = 'email, first_name, last_name, source, country_code, data';
  const stored = async () =>
    (await api.database.pool.query(`select ${columns} from contacts order by email`)).rows;

  it('are unchanged in contacts that exist, and restored in those that do not', async () => {
    for (const [n, contact] of contacts.entries()) {
      const body = { ...contact, email: `p${n}@example.com` };
      const { status, text } = await api.request('POST', '/v1/my/contacts', { body });
      expect([status, text.slice(0, 200)]).toEqual([201, expect.anything()]);
    }
    const before = await stored();
    const file = await exportContacts();
    const again = await importFile(api, { file });
    expect(again).toMatchObject({ unchanged_count: contacts.length, failed_count: 0, warning_count: 0 });
    expect(await stored()).toEqual(before);
    await api.database.pool.query('truncate contacts cascade');
    const restored = await importFile(api, { file });
    expect(restored).toMatchObject({ created_count: contacts.length, failed_count: 0, warning_count: 0 });
    expect(await stored()).toEqual(before);
  });

  it('are read back from the cells that are written for them, whatever they are', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom(...'0123456789.eE+-"\'[]{}:, \n\t;=@atruefls\\') }),
      fc
        .jsonValue({ maxDepth: 3 })
        // The API refuses this name of a field.
        .filter((json) => json !== null && !JSON.stringify(json).includes('__proto__')),
    );
    fc.assert(
      fc.property(value, (given) => {
        // A number may have a zero with a sign, which JSON has not.
        const expected: unknown = JSON.parse(JSON.stringify(given));
        const cell = guardCell(typedCell(given) ?? '');
        expect(readDataCell(unguardCell(cell).trim(), true)).toEqual(expected);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('a file that is not an export', () => {
  const cells = 'email,visits,vip,tags,spaced,deep\nada@example.com,42,true,"[""a"",1]","[1, 2]",';

  it('has numbers and booleans as text, and arrays and objects as such if they are written like our JSON', async () => {
    const deep = '['.repeat(21) + ']'.repeat(21);
    await importFile(api, { file: `${cells}${deep}\n` });
    expect(await dataOf()).toEqual({ visits: '42', vip: 'true', tags: ['a', 1], spaced: [1, 2], deep });
  });

  it.each<[string, unknown]>([
    ['{"city": "Pune"}', { city: 'Pune' }],
    ['{}', {}],
    ['{"tags": ["a", "b"], "vip": true, "n": null}', { tags: ['a', 'b'], vip: true, n: null }],
    ['{ "price" : 1.50 }', { price: 1.5 }],
    ['{"city": "K\\u00f6ln"}', { city: 'Köln' }],
    ['["a", "b"]', ['a', 'b']],
    ['{"id": 12345678901234567890}', '{"id": 12345678901234567890}'],
    ['{"a": 1, "a": 2}', '{"a": 1, "a": 2}'],
    ["{'city': 'Pune'}", "{'city': 'Pune'}"],
    ['[draft] letter', '[draft] letter'],
    ['"quoted"', '"quoted"'],
    ['[a] and [b]', '[a] and [b]'],
  ])('has objects as PostgreSQL and others print them: %s', async (cell, value) => {
    await importFile(api, { file: `email,attributes\nada@example.com,"${cell.replaceAll('"', '""')}"\n` });
    expect(await dataOf()).toEqual({ attributes: value });
  });

  it('keeps the number of a contact whose cell has the same text', async () => {
    await addContact({ visits: 42, vip: true, plan: 'free' });
    const done = await importFile(api, {
      file: 'email,visits,vip,plan\nada@example.com,42,true,pro\n',
    });
    expect(done.updated_count).toBe(1);
    expect(await dataOf()).toEqual({ visits: 42, vip: true, plan: 'pro' });
  });

  it.each(['{"__proto__":1}', '["\\u0000"]', '["\\ud800"]', `${'['.repeat(30_000)}`])(
    'keeps a cell that cannot be stored as JSON as text: %.30s',
    async (cell) => {
      const file = `email,x\nada@example.com,"${cell.replaceAll('"', '""')}"\n`;
      const done = await importFile(api, { file });
      expect([done.created_count, done.failed_count]).toEqual([1, 0]);
      expect(await dataOf()).toEqual({ x: cell });
    },
  );
});
