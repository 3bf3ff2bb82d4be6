// An import is accepted once for its key and within the quotas, and removes its file when it has ended.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Import } from '../../../src/features/imports/schema.ts';
import { MAX_UNFINISHED } from '../../../src/features/imports/service.ts';
import { importsUpkeep } from '../../../src/features/imports/upkeep.ts';
import { advanceImport } from '../../../src/features/imports/run.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { attendance, importDeps, importFile, postImport, runToEnd } from '../../support/imports.ts';
import { waitForLocks } from '../../support/lock-order.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('truncate imports, contacts, outbox cascade');
});

const pool = () => api.database.pool;
const file = 'email\nada@example.com\n';

const fieldsOf = (response: { body: unknown }) =>
  Object.keys((response.body as { validation_errors?: object }).validation_errors ?? {});

async function blobOf(id: number): Promise<string | null> {
  const { rows } = await pool().query<{ storage_key: string | null }>(
    'select storage_key from imports where id = $1',
    [id],
  );
  return rows[0]?.storage_key ?? null;
}

const exists = (key: string | null) =>
  key !== null && existsSync(join(api.config.CARILLON_HOME, 'blobs', key));

describe('POST /imports', () => {
  it('needs an API key', async () => {
    expect((await postImport(api, { file }, { token: null })).status).toBe(401);
  });

  it.each([
    ['resource', { file, resource: 'messages' }],
    ['options', { file, options: '{' }],
    ['options', { file, options: [] }],
    ['options.list_ids', { file, options: { list_ids: [999_999] } }],
    ['options.dry', { file, options: { dry: true } }],
    ['options.mapping.Name', { file, options: { mapping: { Name: 'nickname' } } }],
    ['options.mapping."a\\u0000b"', { file, options: { mapping: { 'a\0b': 'email' } } }],
    ['options.mapping.name', { file, options: { mapping: { name: 'data.\ud83d' } } }],
    ['options.subscribe', { file, options: { subscribe: 'yes' } }],
    ['options.status', { file, options: { status: 'subscribed' } }],
    [
      'options.mapping.email.invert',
      { file, options: { mapping: { email: { field: 'confirmed', invert: true } } } },
    ],
    ['options.status', { file, resource: 'suppressions', options: { status: 'unsubscribed' } }],
    ['options.mapping.email', { file, options: { mapping: { email: 'reason' } } }],
    [
      'options.mapping.email',
      { file, resource: 'suppressions', options: { mapping: { email: 'subscribed' } } },
    ],
    ['options.mapping.Nickname', { file, options: { mapping: { Nickname: 'data.nick' } } }],
  ])('refuses an invalid %s and keeps no file', async (field, given) => {
    const response = await postImport(api, given);
    expect([response.status, fieldsOf(response)]).toEqual([422, [field]]);
    expect((await api.request('GET', '/v1/my/imports')).list).toEqual([]);
  });

  it('accepts an import, which waits for its workflow', async () => {
    const { status, body } = await postImport(api, {
      file,
      filename: 'people.csv',
      options: { dry_run: true },
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: body.id,
      resource: 'contacts',
      filename: 'people.csv',
      status: 'queued',
      total_rows: null,
      processed_rows: 0,
      created_count: 0,
      updated_count: 0,
      unchanged_count: 0,
      duplicate_count: 0,
      failed_count: 0,
      warning_count: 0,
      warnings: [],
      encoding: null,
      errors: [],
      errors_url: null,
      options: {
        ...{ list_ids: [], mapping: {}, update_existing: true, subscribe: true, status: null, dry_run: true },
      },
      columns: [],
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    });
    expect(exists(await blobOf(body.id))).toBe(true);
    const { rows } = await pool().query('select kind, workflow_id, workflow_type from outbox');
    expect(rows).toEqual([{ kind: 'start', workflow_id: `import/${body.id}`, workflow_type: 'runImport' }]);
  });

  it('returns the same import for the same Idempotency-Key, and refuses another file', async () => {
    const headers = { 'Idempotency-Key': 'march' };
    const first = await postImport(api, { file }, { headers });
    const again = await postImport(api, { file }, { headers });
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect((await postImport(api, { file: `${file}x@y.org` }, { headers })).status).toBe(409);
    expect((await api.request('GET', '/v1/my/imports')).list).toHaveLength(1);
  });

  it('refuses more than 20 unfinished imports of an account', async () => {
    const one = await postImport(api, { file });
    await pool().query(
      `insert into imports (account_id, brand_id, resource, filename, options)
       select account_id, brand_id, resource, filename, options from imports, generate_series(2, $1)`,
      [MAX_UNFINISHED],
    );
    expect((await postImport(api, { file })).status).toBe(409);
    await api.request('POST', `/v1/my/imports/${one.body.id}/cancel`);
    expect((await postImport(api, { file })).status).toBe(201);
  });
});

describe('the quota of import files', () => {
  it('refuses a file while waiting files have reached it', async () => {
    const { body } = await postImport(api, { file });
    await pool().query('update imports set file_bytes = 5000::bigint * 1024 * 1024 where id = $1', [body.id]);
    const response = await postImport(api, { file });
    expect([response.status, fieldsOf(response)]).toEqual([422, ['file']]);
    await runToEnd(api, body.id);
    expect((await postImport(api, { file })).status).toBe(201);
  });
});

describe('the quota of import files and failed rows', () => {
  const quotaBytes = () => api.config.IMPORT_QUOTA_MB * 1024 * 1024;

  it('applies to files that arrive together', async () => {
    const { body } = await postImport(api, { file });
    await pool().query('update imports set file_bytes = $2 where id = $1', [body.id, quotaBytes() - 1_500]);
    const each = `email\n${'a@b.co\n'.repeat(142)}`;
    const posted = await inTransaction(pool(), async (trx) => {
      await trx.query(`select pg_advisory_xact_lock(hashtextextended('imports ' || $1::text, 0))`, [
        api.accountId,
      ]);
      const sent = [postImport(api, { file: each }), postImport(api, { file: each })];
      await waitForLocks(pool(), () => 2);
      return sent;
    });
    const [accepted, refused] = (await Promise.all(posted)).sort((one, other) => one.status - other.status);
    expect([accepted?.status, refused?.status]).toEqual([201, 422]);
    expect(refused && fieldsOf(refused)).toEqual(['file']);
  });

  it('counts failed rows as long as they are kept', async () => {
    const { id } = await importFile(api, { file: 'email\nbad\n' });
    const { rows } = await pool().query<{ error_bytes: number }>('select error_bytes from imports');
    expect(rows[0]?.error_bytes).toBeGreaterThan(100);
    await pool().query('update imports set error_bytes = $2 where id = $1', [id, quotaBytes()]);
    expect((await postImport(api, { file })).status).toBe(422);
    await pool().query(`update imports set finished_at = now() - interval '31 days' where id = $1`, [id]);
    expect((await postImport(api, { file })).status).toBe(201);
  });
});

describe('an import', () => {
  it('is found by id and in lists, with filters', async () => {
    const done = await importFile(api, { file });
    const waiting = (await postImport(api, { file, resource: 'suppressions' })).body;
    const ids = async (query: string) =>
      (await api.request('GET', `/v1/my/imports${query}`)).list.map(({ id }) => Number(id));
    expect(await ids('')).toEqual([waiting.id, done.id]);
    expect(await ids('?status=completed')).toEqual([done.id]);
    expect(await ids('?resource=suppressions')).toEqual([waiting.id]);
    expect(done).toMatchObject({ status: 'completed', total_rows: 1, created_count: 1 });
    expect(done.finished_at).not.toBeNull();
  });

  it('removes its file when it has ended', async () => {
    const { body } = await postImport(api, { file });
    const key = await blobOf(body.id);
    await runToEnd(api, body.id);
    expect([exists(key), await blobOf(body.id)]).toEqual([false, null]);
  });

  it('waits while two others of the account run', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await postImport(api, { file })).body.id);
    const phases = [];
    for (const id of ids) phases.push((await advanceImport(importDeps(api), id, attendance)).phase);
    expect(phases).toEqual(['inspecting', 'inspecting', 'waiting']);
    await runToEnd(api, ids[0] ?? 0);
    expect((await runToEnd(api, ids[2] ?? 0)).status).toBe('completed');
  });

  it('begins the import that has waited longest, which is woken when another one ends', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 4; n += 1) ids.push((await postImport(api, { file })).body.id);
    const [first = 0, second = 0, third = 0, fourth = 0] = ids;
    const advance = async (id: number) => (await advanceImport(importDeps(api), id, attendance)).phase;
    const woken = async () => {
      const { rows } = await pool().query<{ workflow_id: string }>(
        `delete from outbox where signal_name = 'wake' returning workflow_id`,
      );
      return rows.map(({ workflow_id: id }) => id).toSorted();
    };
    // The fourth may have the second place only after the second and third have begun.
    expect([await advance(first), await advance(fourth), await advance(second)]).toEqual([
      ...['inspecting', 'waiting', 'inspecting'],
    ]);
    await runToEnd(api, first);
    expect(await woken()).toEqual([`import/${third}`, `import/${fourth}`]);
    expect([await advance(fourth), await advance(third)]).toEqual(['waiting', 'inspecting']);
    expect((await api.request('POST', `/v1/my/imports/${second}/cancel`)).status).toBe(200);
    expect(await woken()).toEqual([`import/${second}`, `import/${fourth}`]);
    expect(await advance(fourth)).toBe('inspecting');
  });

  it('stops at the next chunk when it is canceled, and keeps the imported rows', async () => {
    const rows = Array.from({ length: 6_000 }, (_, n) => `p${n}@example.com`);
    const { body } = await postImport(api, { file: `email\n${rows.join('\n')}` });
    const deps = importDeps(api);
    await advanceImport(deps, body.id, attendance);
    await advanceImport(deps, body.id, attendance);
    let canceled: Promise<{ status: number }> | undefined;
    const progress = () => (canceled ??= api.request('POST', `/v1/my/imports/${body.id}/cancel`));
    // The first chunk cancels the import. The second one is committed before the cancellation or not at all.
    await advanceImport({ ...deps }, body.id, { ...attendance, progress: () => void progress() });
    expect((await canceled)?.status).toBe(200);
    const done = await runToEnd(api, body.id);
    expect(done).toMatchObject({ status: 'canceled', failed_count: 0 });
    const { rows: found } = await pool().query<{ count: number }>('select count(*) from contacts');
    expect(found[0]?.count).toBe(done.created_count);
    expect(done.processed_rows).toBe(done.created_count);
    expect((await pool().query('select 1 from import_addresses')).rowCount).toBe(0);
    expect((await api.request('POST', `/v1/my/imports/${body.id}/cancel`)).status).toBe(200);
  });

  it('cannot be canceled when it has ended', async () => {
    const { id } = await importFile(api, { file });
    const { status, body } = await api.request('POST', `/v1/my/imports/${id}/cancel`);
    expect([status, body.code]).toEqual([422, 'invalid_transition']);
  });

  it('fails if its file is missing', async () => {
    const { body } = await postImport(api, { file });
    await importDeps(api).store.remove((await blobOf(body.id)) ?? '');
    expect(await runToEnd(api, body.id)).toMatchObject({
      status: 'failed',
      errors: [{ row: null, column: null, code: 'file_missing', message: 'the file is gone' }],
    });
  });

  it('fails after ten tries with an internal error, and retries after any other', async () => {
    const { body } = await postImport(api, { file: 'email\na@example.com\n' });
    const deps = importDeps(api);
    const attempt = (error: Error, number: number) => {
      const store = { ...deps.store, open: () => Promise.reject(error) };
      return advanceImport({ ...deps, store }, body.id, { ...attendance, attempt: number });
    };
    await advanceImport(deps, body.id, attendance);
    const bug = new Error('a row has no outcome');
    const outside = [
      new Error('Connection terminated unexpectedly'),
      Object.assign(new Error('I/O error'), { code: 'EIO' }),
    ];
    for (const error of outside) await expect(attempt(error, 1_000)).rejects.toBe(error);
    await expect(attempt(bug, 9)).rejects.toBe(bug);
    await attempt(bug, 10);
    const { body: failed } = await api.request<Import>('GET', `/v1/my/imports/${body.id}`);
    expect(failed).toMatchObject({ status: 'failed', errors: [{ row: null, code: 'internal_error' }] });
  });

  it('keeps failed rows up to its limit, and reports which ones are left out', async () => {
    const { body } = await postImport(api, { file: `email,name\n${'bad,Ada\n'.repeat(3_000)}` });
    const done = await runToEnd(api, body.id, { maxErrorBytes: 5_000 });
    const { rows } = await pool().query<{ kept: number; last: number; bytes: number }>(
      `select count(*)::int as kept, max(row_number)::int as last,
         sum(octet_length(message) + octet_length(array_to_string(fields, '')))::int as bytes from import_errors`,
    );
    const { kept = 0, last = 0, bytes = 0 } = rows[0] ?? {};
    expect(kept).toBeGreaterThan(10);
    expect(bytes).toBeLessThan(5_000);
    expect([done.failed_count, last]).toEqual([3_000, kept + 1]);
    expect(done.errors[0]).toMatchObject({ row: null, column: null, code: 'errors_left_out' });
    const leftOut = `${3_000 - kept} failed rows, from row ${last + 1} on, are not in this report`;
    expect(done.errors[0]?.message).toContain(leftOut);
    expect(done.errors).toHaveLength(kept + 1);
    const report = await api.request('GET', `/v1/my/imports/${done.id}/errors`);
    const lines = report.text.trimEnd().split('\r\n');
    const mended = lines.map((line, n) => line.replace(/^bad,/, `p${n}@example.com,`)).join('\n');
    expect(await importFile(api, { file: mended })).toMatchObject({ created_count: kept, failed_count: 0 });
    expect(lines).toHaveLength(kept + 1);
    expect(lines.filter((line) => line.includes(leftOut))).toEqual([lines[1]]);
  });

  it('shows the first 100 errors, and keeps them for 30 days', async () => {
    const done = await importFile(api, { file: `email\n${'bad\n'.repeat(150)}` });
    expect([done.errors.length, done.errors[0]?.row, done.failed_count]).toEqual([100, 2, 150]);
    const task = importsUpkeep.tasks?.find(({ name }) => name === 'import_errors');
    const run = (days: number) =>
      task?.run(
        { database: api.database } as never,
        new Date(Date.now() + days * 86_400_000),
        () => undefined,
      );
    expect(await run(29)).toBe(0);
    expect(await run(31)).toBe(150);
    const later = await api.request<Import>('GET', `/v1/my/imports/${done.id}`);
    expect(later.body).toMatchObject({ errors: [], failed_count: 150 });
  });
});
