// Importing an exported suppression file extends no suppression and revives none.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { exportSources, scopeOf } from '../../../src/features/exports/sources.ts';
import type { ExportRow } from '../../../src/features/exports/model.ts';
import { csvRecord } from '../../../src/platform/csv/writer.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { importFile } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
}, 60_000);
afterAll(() => api.close());

const ROWS = 'address_key, reason, expires_at, released_at, created_at';

async function stored(): Promise<unknown[]> {
  const { rows } = await api.database.pool.query(`select ${ROWS} from suppressions order by address_key`);
  return rows;
}

/** The file of an export, without its workflow. */
async function exportedFile(): Promise<string> {
  const { pool } = api.database;
  const { accountId: account_id, brandId: brand_id } = api;
  const scope = scopeOf({ account_id, brand_id, created_at: new Date() } as ExportRow);
  const { rows } = await pool.query<{ id: number }>('select id from suppressions order by id');
  const ids = rows.map(({ id }) => id);
  const records = await exportSources.suppressions.records(pool, scope, ids, []);
  return [exportSources.suppressions.header([]), ...records].map(csvRecord).join('');
}

it('imports an exported file of suppressions without extending or reviving any', async () => {
  await api.database.pool.query(
    `insert into suppressions (account_id, address_key, email, reason, expires_at, released_at)
     select $1, email, email, reason, expires_at, released_at from (values
       ('ended@example.com', 'manual', null, now()),
       ('hard@example.com', 'hard_bounce', null, null),
       ('over@example.com', 'soft_bounce', now() - interval '1 day', null),
       ('soft@example.com', 'soft_bounce', now() + interval '7 days', null)
     ) as s (email, reason, expires_at, released_at)`,
    [api.accountId],
  );
  const file = await exportedFile();
  const before = await stored();
  const again = await importFile(api, { resource: 'suppressions', file });
  expect(again).toMatchObject({ unchanged_count: 4, updated_count: 0, created_count: 0, failed_count: 0 });
  expect(await stored()).toEqual(before);

  await api.database.pool.query('truncate suppressions');
  const elsewhere = await importFile(api, { resource: 'suppressions', file });
  expect(elsewhere).toMatchObject({ created_count: 2, unchanged_count: 2 });
  const { rows } = await api.database.pool.query(
    `select address_key, expires_at > now() + interval '6 days' as for_days from suppressions order by address_key`,
  );
  expect(rows).toEqual([
    { address_key: 'hard@example.com', for_days: null },
    { address_key: 'soft@example.com', for_days: true },
  ]);
}, 60_000);
