// An import of a malformed file keeps the rows that it can read, and reports the others.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { failedRecords } from '../../../src/features/imports/error-rows.ts';
import { chunkRows } from '../../../src/features/imports/read-chunks.ts';
import { advanceImport } from '../../../src/features/imports/run.ts';
import type { Import } from '../../../src/features/imports/schema.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { attendance, importDeps, importFile, postImport, runToEnd } from '../../support/imports.ts';
import { addWebhook } from '../../support/webhooks.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate imports, contacts cascade');
});

const record = (done: Import) => ({
  status: done.status,
  rows: [done.processed_rows, done.total_rows],
  created: done.created_count,
  errors: done.errors.map(({ row, code }) => [row, code]),
});

const megabytes = (count: number) => 'x'.repeat(count * 1024 * 1024);

describe('an import of a nasty file', () => {
  it.each<[string, string | Buffer, string]>([
    ['empty', '', 'empty'],
    ['only of blank lines', '\r\n\n\n', 'empty'],
    ['a ZIP named .csv', Buffer.from('PK\x03\x04\x14\x00etc', 'latin1'), 'compressed'],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0]), 'compressed'],
    ['without addresses', 'name,plan\nAda,pro\n', 'no_address_column'],
    ['without a readable header', '"email\na@x.org\n', 'unreadable_header'],
    [
      'binary',
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]),
      'no_address_column',
    ],
  ])('fails with a reason if the file is %s', async (_what, file, code) => {
    expect(record(await importFile(api, { file }))).toMatchObject({
      status: 'failed',
      created: 0,
      errors: [[null, code]],
    });
  });

  it('completes without rows if the file has only a header', async () => {
    const done = record(await importFile(api, { file: 'email,first_name' }));
    expect(done).toEqual({ status: 'completed', rows: [0, 0], created: 0, errors: [] });
  });

  it.each<[string, string | Buffer, number, [number, string][]]>([
    ['ragged rows', 'email,a,b\n1@x.org\n2@x.org,1,2,3\n3@x.org,1,2,,\n', 2, [[3, 'too_many_columns']]],
    ['a value of 10 MB', `email,a\n1@x.org,${megabytes(10)}\n2@x.org,b\n`, 1, [[2, 'record_too_long']]],
    ['quoted 10 MB', `email,a\n1@x.org,"${megabytes(10)}"\n2@x.org,b\n`, 1, [[2, 'record_too_long']]],
    ['a quote never closed', 'email,a\n1@x.org,"open\n2@x.org,b\n3@x.org,c\n', 2, [[2, 'unclosed_quote']]],
    ['a value followed by text', 'email,a\n1@x.org,"a"b\n2@x.org,c\n', 1, [[2, 'text_after_quote']]],
    ['a NUL in an address', 'email,a\n1@x.org,a\n2\0@x.org,b\n3@x.org,c\n', 2, [[3, 'invalid_character']]],
    ['mixed line ends', 'email\r1@x.org\n2@x.org\r\n3@x.org', 3, []],
    ['duplicate headers', 'email,email,a,a\n1@x.org,2@x.org,3,4\n', 1, []],
    ['UTF-16', Buffer.from('\ufeffemail\tname\r\n1@x.org\tJörg\r\n', 'utf16le'), 1, []],
    [
      'broken UTF-8',
      Buffer.concat([
        Buffer.from('email,n\n1@x.org,ü\n'.padEnd(70_000, 'a')),
        Buffer.from([0xff]),
        Buffer.from('@x.org,\n'),
      ]),
      1,
      [[3, 'invalid_encoding']],
    ],
    ['a NUL in a name of a column', 'email,a\0b\n1@x.org,v\n', 1, []],
    ['a long name that a cut would split', `email,${'x'.repeat(199)}😀\n1@x.org,v\n`, 1, []],
    [
      'names of JavaScript as values',
      'email,subscribed\n1@x.org,constructor\n2@x.org,toString\n3@x.org,__proto__\n',
      0,
      [
        [2, 'invalid_subscribed'],
        [3, 'invalid_subscribed'],
        [4, 'invalid_subscribed'],
      ],
    ],
    ['names of prototypes', 'email,__proto__,constructor\n1@x.org,a,b\n', 1, []],
    [
      'too much data',
      `email,a,b\n1@x.org,${'a'.repeat(40_000)},${'b'.repeat(40_000)}\n`,
      0,
      [[2, 'data_too_large']],
    ],
  ])(
    'imports the readable rows and reports the others of a file with %s',
    async (_what, file, created, errors) => {
      const done = record(await importFile(api, { file }));
      const total = created + errors.length;
      expect(done).toEqual({ status: 'completed', rows: [total, total], created, errors });
    },
  );

  it('keeps keys that are special names in JavaScript', async () => {
    await importFile(api, { file: 'email,__proto__,constructor\n1@x.org,a,b\n' });
    const { rows } = await api.database.pool.query<{ data: string }>(
      'select data::text as data from contacts',
    );
    expect(JSON.stringify(rows[0]?.data)).toContain('__proto__');
  });

  it('keeps the beginning of a column name of a megabyte', async () => {
    const name = 'n'.repeat(900_000);
    await importFile(api, { file: `email,${name}\n1@x.org,v\n2@x.org,a\0b\n` });
    const { rows } = await api.database.pool.query<{ sizes: number[] }>(
      `select array[length(i.layout::text), length(e.column_name), length(e.message)] as sizes
       from imports i join import_errors e on e.import_id = i.id`,
    );
    expect(rows[0]?.sizes[1]).toBe(200);
    expect(Math.max(...(rows[0]?.sizes ?? []))).toBeLessThan(1_000);
  });
});

describe('a large import', () => {
  it('ends when too many rows have failed, and keeps the imported rows', async () => {
    const file = `email\n1@x.org\n${'x\n'.repeat(2_600)}`;
    const { body } = await postImport(api, { file });
    const done = await runToEnd(api, body.id, { maxFailedRows: 100 });
    expect(done).toMatchObject({
      status: 'failed',
      total_rows: 2_601,
      processed_rows: 1_000,
      created_count: 1,
    });
    expect(done.errors[0]).toMatchObject({ row: null, code: 'too_many_errors' });
  });

  it('lets others have their turn during many blank lines', async () => {
    const { body } = await postImport(api, { file: `email\n${'\n'.repeat(4.5 * 1024 * 1024)}1@x.org\n` });
    const given = { ...importDeps(api), turnMs: 0 };
    const offsets: number[] = [];
    for (;;) {
      const { phase } = await advanceImport(given, body.id, attendance);
      if (phase === 'done') break;
      const { rows } = await api.database.pool.query<{ position: { offset: number } | null }>(
        'select position from imports',
      );
      offsets.push(rows[0]?.position?.offset ?? 0);
    }
    expect(new Set(offsets).size).toBeGreaterThanOrEqual(3);
    const { body: done } = await api.request<Import>('GET', `/v1/my/imports/${body.id}`);
    expect(done).toMatchObject({ status: 'completed', created_count: 1, total_rows: 1 });
  });

  it('has small chunks if each row is much work', () => {
    const columns = (count: number, length: number) =>
      Array.from({ length: count }, (_, n) => ({ name: `${n}`, use: { data: 'n'.repeat(length) } }));
    expect(chunkRows(columns(20, 10), 5)).toBe(1_000);
    expect(chunkRows(columns(20, 10), 100)).toBe(500);
    expect(chunkRows(columns(2_000, 200), 0)).toBe(20);
  });

  it('returns failed rows of many megabytes, each once and in order', async () => {
    const wide = 'w'.repeat(900_000);
    const rows = Array.from({ length: 12 }, (_, n) => `bad${n},${wide}`);
    const done = await importFile(api, { file: `email,note\n${rows.join('\n')}\n${'bad\n'.repeat(120)}` });
    const { text } = await api.request('GET', `/v1/my/imports/${done.id}/errors`);
    const lines = text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(133);
    expect(lines.slice(1, 13).map((line) => line.slice(0, line.indexOf(',')))).toEqual(
      rows.map((_, n) => `bad${n}`),
    );
    const page = await failedRecords(api.database.pool, done.id, 0, { rows: 1_000, bytes: 1024 * 1024 });
    expect(page).toHaveLength(2);
  });
});

describe('an import that the database refuses', () => {
  const rows = Array.from({ length: 20 }, (_, n) => `${n}@x.org,${n === 7 ? 'poison' : 'Ada'}`);
  const file = `email,first_name\n${rows.join('\n')}\n`;
  const query = (sql: string) => api.database.pool.query(sql);
  afterEach(async () => {
    await query('drop trigger if exists refuses on contacts');
    await query('drop trigger if exists refuses on imports');
  });
  const refuse = async (table: string, condition: string, code: string) => {
    await query(`create or replace function refuses() returns trigger language plpgsql as
      $$ begin if ${condition} then raise exception 'refused' using errcode = '${code}'; end if; return new; end $$`);
    await query(
      `create trigger refuses before insert or update on ${table} for each row execute function refuses()`,
    );
  };

  it.each([
    ['22P05', 'refused'],
    ['54000', 'refused'],
    ['57014', 'timeout'],
  ])('fails the row that ends with %s, and imports the others', async (code, reason) => {
    await refuse('contacts', `new.first_name = 'poison'`, code);
    expect(record(await importFile(api, { file }))).toEqual({
      ...{ status: 'completed', rows: [20, 20], created: 19, errors: [[9, reason]] },
    });
  });

  it('fails once as a whole, with its event', async () => {
    await addWebhook(api.database, api, 'https://hooks.example.com/', ['import.failed']);
    await refuse('imports', `old.layout is null and new.layout is not null`, '22P05');
    expect(record(await importFile(api, { file }))).toMatchObject({
      ...{ status: 'failed', created: 0, errors: [[null, 'refused']] },
    });
    expect((await query(`select 1 from events where type = 'import.failed'`)).rowCount).toBe(1);
  });
});
