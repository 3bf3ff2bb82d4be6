// The first row of an address wins, over chunks and whatever happens to its contact meanwhile.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { advanceImport } from '../../../src/features/imports/run.ts';
import type { Import } from '../../../src/features/imports/schema.ts';
import { importsUpkeep } from '../../../src/features/imports/upkeep.ts';
import { runTask } from '../../support/housekeeping.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { attendance, importDeps, postImport, runToEnd } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate contacts, imports, import_addresses cascade');
});

/** Rows of two chunks, so that rows before and after them are not in the same one. */
const others = Array.from({ length: 5_000 }, (_, n) => `u${n}@example.com,,`);
const OTHERS = others.length;

const fileOf = (before: readonly string[], after: readonly string[]) =>
  ['email,phone,first_name', ...before, ...others, ...after].join('\n');

async function query(text: string): Promise<unknown[][]> {
  const { rows } = await api.database.pool.query<Record<string, unknown>>(text);
  return rows.map((row) => Object.values(row));
}

async function getImport(id: number): Promise<Import> {
  return (await api.request<Import>('GET', `/v1/my/imports/${id}`)).body;
}

/** Imports the first chunk. @returns the import */
async function importChunk(file: string, options: object = {}): Promise<number> {
  const { body } = await postImport(api, { file, options });
  for (let processed = 0; processed === 0;) {
    await advanceImport({ ...importDeps(api), turnMs: 0 }, body.id, attendance);
    ({ processed_rows: processed } = await getImport(body.id));
  }
  return body.id;
}

async function finish(id: number) {
  const done = await runToEnd(api, id);
  expect(done).toMatchObject({ status: 'completed', processed_rows: done.total_rows });
  expect(await query('select 1 from import_addresses')).toEqual([]);
  return {
    counts: [
      ...[done.created_count, done.updated_count, done.unchanged_count],
      ...[done.duplicate_count, done.failed_count],
    ],
    codes: done.errors.map(({ row, code }) => [row, code]),
  };
}

async function idOf(email: string): Promise<number> {
  const found = await query(`select id from contacts where email = '${email}'`);
  return Number(found[0]?.[0]);
}

const named = () =>
  query(`select email, phone, first_name from contacts where email not like 'u%' order by id`);

it('writes no address of a contact that it creates, but those of contacts that there were', async () => {
  expect((await api.request('POST', '/v1/my/contacts', { body: { email: 'was@example.com' } })).status).toBe(
    201,
  );
  const id = await importChunk(
    fileOf(
      ['was@example.com,,First', 'is@example.com,+14155550100,First'],
      [
        'was@example.com,,Second',
        'is@example.com,,Second',
        ',+14155550100,Second',
        'x@example.com,+14155550100,X',
      ],
    ),
  );
  expect(await query('select address_key from import_addresses')).toEqual([['was@example.com']]);
  expect(await finish(id)).toEqual({
    counts: [OTHERS + 1, 1, 0, 3, 1],
    codes: [[OTHERS + 7, 'phone_conflict']],
  });
  expect(await named()).toEqual([
    ['was@example.com', null, 'First'],
    ['is@example.com', '+14155550100', 'First'],
  ]);
});

it('does not create a contact again that was deleted since its first row', async () => {
  const id = await importChunk(
    fileOf(['a@example.com,+14155550100,First'], ['a@example.com,,Second', ',+14155550100,Third']),
  );
  expect((await api.request('DELETE', `/v1/my/contacts/${await idOf('a@example.com')}`)).status).toBe(200);
  expect(await finish(id)).toEqual({ counts: [OTHERS + 1, 0, 0, 2, 0], codes: [] });
  expect(await named()).toEqual([]);
});

it('knows the former number of a contact, and does not take a number for claimed that a client gave it', async () => {
  const id = await importChunk(
    fileOf(
      ['a@example.com,+14155550100,First'],
      ['b@example.com,+14155550100,Second', ',+14155550101,Third', 'a@example.com,,Fourth'],
    ),
  );
  const body = { phone: '+14155550101' };
  const { status } = await api.request('PATCH', `/v1/my/contacts/${await idOf('a@example.com')}`, { body });
  expect(status).toBe(200);
  expect(await finish(id)).toEqual({
    counts: [OTHERS + 1, 1, 0, 1, 1],
    codes: [[OTHERS + 3, 'phone_conflict']],
  });
  expect(await named()).toEqual([['a@example.com', '+14155550101', 'Third']]);
});

it('finds duplicates over chunks in a dry run, which creates no contact', async () => {
  const id = await importChunk(fileOf(['a@example.com,,First'], ['a@example.com,,Second']), {
    dry_run: true,
  });
  expect(await finish(id)).toEqual({ counts: [OTHERS + 1, 0, 0, 1, 0], codes: [] });
});

it('takes contacts of another import for known ones', async () => {
  await finish(await importChunk(fileOf(['a@example.com,,First'], [])));
  const id = await importChunk(fileOf(['a@example.com,+14155550100,Second'], ['a@example.com,,Third']));
  expect(await finish(id)).toEqual({ counts: [0, 1, OTHERS, 1, 0], codes: [] });
  expect(await named()).toEqual([['a@example.com', '+14155550100', 'Second']]);
});

it('keeps claims of a running import when another one changes its contacts', async () => {
  const first = await importChunk(
    fileOf(
      ['a@example.com,+14155550100,First'],
      ['b@example.com,+14155550100,Second', ',+14155550101,Third'],
    ),
  );
  const file = 'email,phone,first_name\na@example.com,+14155550101,Other\n';
  expect(await runToEnd(api, await importChunk(file))).toMatchObject({ updated_count: 1 });
  expect(await finish(first)).toEqual({
    counts: [OTHERS + 1, 1, 0, 0, 1],
    codes: [[OTHERS + 3, 'phone_conflict']],
  });
  expect(await named()).toEqual([['a@example.com', '+14155550101', 'Third']]);
});

it('refuses a chunk of an older version, which does not know these claims', async () => {
  const id = await importChunk(fileOf([], []));
  const chunk = `update imports set position = '{"offset": 1, "row": 2}', created_count = created_count + 1 where id = ${id}`;
  await expect(query(chunk)).rejects.toMatchObject({ code: '40001' });
  expect((await finish(id)).counts).toEqual([OTHERS, 0, 0, 0, 0]);
});

it('removes claims that a change of a contact left when its import ended, and no others', async () => {
  const ended = await importChunk('email,phone,first_name\na@example.com,,First\n');
  await runToEnd(api, ended);
  const running = await importChunk(fileOf([], []));
  await query(`insert into import_addresses select id, 'a@example.com' from imports`);
  const task = importsUpkeep.tasks?.find(({ name }) => name === 'import_addresses');
  expect(task && (await runTask(api.database, task, new Date()))).toBe(1);
  expect(await query('select import_id from import_addresses')).toEqual([[running]]);
});
