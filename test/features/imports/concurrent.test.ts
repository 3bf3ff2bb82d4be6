// Imports that overlap with each other and with API requests create each contact once, without deadlock.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { bulkUpsertContacts } from '../../../src/features/contacts/service.ts';
import { advanceImport } from '../../../src/features/imports/run.ts';
import type { Import } from '../../../src/features/imports/schema.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { eventually } from '../../support/eventually.ts';
import { attendance, importDeps, postImport } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('truncate lists, contacts, imports cascade');
  await pool().query('truncate audience_counts, audience_count_changes');
});

const pool = () => api.database.pool;

const ROWS = 3_000;
/** Number of rows after which the API creates, tracks and lists a contact of the files. */
const STEP = 100;
/** Number of contacts in one bulk change of the list. */
const LISTED = 500;

const addressOf = (n: number) => `p${String(n).padStart(5, '0')}@example.com`;

const fileOf = (numbers: readonly number[], name: string) =>
  ['email,first_name', ...numbers.map((n) => `${addressOf(n)},${name}`)].join('\n');

const numbers = Array.from({ length: ROWS }, (_, n) => n);
const some = numbers.filter((n) => n % STEP === 0);

async function begin(file: string, listId: number): Promise<number> {
  const { status, body } = await postImport(api, { file, options: { list_ids: [listId] } });
  expect(status).toBe(201);
  return body.id;
}

async function run(id: number): Promise<Import> {
  for (let phase = ''; phase !== 'done';) ({ phase } = await advanceImport(importDeps(api), id, attendance));
  return (await api.request<Import>('GET', `/v1/my/imports/${id}`)).body;
}

const post = async (path: string, body: object) =>
  (await api.request('POST', `/v1/my${path}`, { body })).status;

/** @returns the statuses of requests that create, track and list contacts of the files, one after another */
async function requests(listId: number): Promise<number[]> {
  const found: number[] = [];
  for (const n of some.toReversed()) {
    found.push(await post('/contacts', { email: addressOf(n) }));
    found.push(await post('/events', { event: 'seen', contact_email: addressOf(n + 1) }));
    const add = numbers.slice(n, n + LISTED).map(addressOf);
    found.push(await post(`/lists/${listId}/contacts/bulk`, { add }));
  }
  return found;
}

const countOf = async (sql: string) =>
  (await pool().query<{ count: number }>(`select count(*) from ${sql}`)).rows[0]?.count;

it('imports two files in opposite orders while the API creates, tracks and lists their contacts', async () => {
  const { body: list } = await api.request('POST', '/v1/my/lists', { body: { name: 'Both' } });
  const listId = Number(list.id);
  const ids = [
    await begin(fileOf(numbers, 'Ada'), listId),
    await begin(fileOf(numbers.toReversed(), 'Grace'), listId),
  ];
  const [first, second, statuses] = await Promise.all([...ids.map(run), requests(listId)] as [
    Promise<Import>,
    Promise<Import>,
    Promise<number[]>,
  ]);
  // 409: an import was faster.
  expect(statuses.filter((status) => ![200, 201, 409].includes(status))).toEqual([]);
  for (const done of [first, second]) {
    expect(done).toMatchObject({
      status: 'completed',
      processed_rows: ROWS,
      duplicate_count: 0,
      failed_count: 0,
    });
  }
  expect(await countOf('contacts')).toBe(ROWS);
  expect(await countOf('list_members')).toBe(ROWS);
  expect(await countOf(`contacts where first_name in ('Ada', 'Grace')`)).toBe(ROWS);
  const { body } = await api.request('GET', `/v1/my/lists/${listId}`);
  expect(body.contacts_count).toBe(ROWS);
  const { rows } = await pool().query<{ count: number }>(
    `select sum(count)::bigint as count from (select count from audience_counts where subject = 'brand'
       union all select change from audience_count_changes where subject = 'brand') c`,
  );
  expect(rows[0]?.count).toBe(ROWS);
}, 120_000);

it('continues if another transaction creates a contact between its look-up and its insert', async () => {
  const { accountId, brandId } = api;
  const contact = (key: string) => ({
    email: { address: key, key },
    ...{ phone: null, firstName: 'Ada', lastName: null, countryCode: null, source: null },
    ...{ subscribed: { email: null, phone: null }, optedInAt: { email: null, phone: null }, data: null },
  });
  const deps = importDeps(api);
  const options = { updateExisting: true, subscribe: true, source: 'import', importId: 1 };
  const rows = ['c0@example.com', 'c1@example.com', 'c2@example.com'].map(contact);
  const other = await inTransaction(pool(), async (trx) => {
    await insertContacts(trx, api, 2, 'c');
    const upserting = inTransaction(pool(), (own) =>
      bulkUpsertContacts(own, deps.consent, { accountId, brandId }, rows, options),
    );
    await eventually(async () => {
      const { rowCount } = await pool().query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });
    return { upserting };
  });
  expect((await other.upserting).map(({ status }) => status)).toEqual(['updated', 'updated', 'created']);
  expect(await countOf('contacts')).toBe(3);
});
