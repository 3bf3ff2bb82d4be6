// An import that finds no known contact for a while, and then creates contacts without looking, still notices known ones.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ImportRunDeps } from '../../../src/features/imports/run.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { importDeps, postImport, runToEnd } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate lists, contacts, imports, import_addresses, opt_outs cascade');
});

const CHUNK = 1_000;

/** Rows of new contacts. */
const fresh = (name: string, count = CHUNK) =>
  Array.from({ length: count }, (_, n) => `${name}${n}@example.com,,`);

/** A chunk that begins with these rows. */
const chunkOf = (name: string, rows: readonly string[]) => [...rows, ...fresh(name, CHUNK - rows.length)];

async function importRows(rows: readonly string[], deps: Partial<ImportRunDeps> = {}, options: object = {}) {
  const file = ['email,phone,subscribed', ...rows].join('\n');
  const { status, body } = await postImport(api, { file, options });
  expect(status).toBe(201);
  const done = await runToEnd(api, body.id, deps);
  expect(done).toMatchObject({ status: 'completed', processed_rows: rows.length });
  const { created_count: created, updated_count: updated, unchanged_count: unchanged } = done;
  const { duplicate_count: duplicate, failed_count: failed } = done;
  const codes = done.errors.map(({ row, code }) => [row, code]);
  return { created, updated, unchanged, duplicate, failed, codes };
}

const count = async (table: string) =>
  (await api.database.pool.query<{ count: number }>(`select count(*) from ${table}`)).rows[0]?.count;

async function idOf(email: string) {
  const text = 'select id from contacts where email = $1';
  return (await api.database.pool.query<{ id: number }>(text, [email])).rows[0]?.id;
}

/** Runs `work` after the first chunk, which has an opt-out. */
function afterFirst(work: () => Promise<unknown>): Partial<ImportRunDeps> {
  let isFirst = true;
  const { fence } = importDeps(api);
  const wait = async (accountId: number) => {
    await fence.wait(accountId);
    if (isFirst) await work();
    isFirst = false;
  };
  return { fence: { ...fence, wait } };
}

const request = async (method: string, path: string, body?: object) => {
  const { status } = await api.request(method, `/v1/my${path}`, body ? { body } : {});
  expect([200, 201]).toContain(status);
};

it('changes contacts that exist, and counts rows whose addresses the import has seen as duplicates', async () => {
  await request('POST', '/contacts', { email: 'known@example.com' });
  const rows = [
    ...chunkOf('a', ['first@example.com,+14155550100,']),
    ...chunkOf('b', ['known@example.com,+14155550101,', 'first@example.com,,']),
    ...fresh('c'),
    ...chunkOf('d', [',+14155550100,', 'other@example.com,+14155550100,']),
    ...fresh('e'),
    ...fresh('f'),
  ];
  expect(await importRows(rows)).toEqual({
    ...{ created: rows.length - 4, updated: 1, unchanged: 0, duplicate: 2, failed: 1 },
    codes: [[3 * CHUNK + 3, 'phone_conflict']],
  });
  expect(await count('contacts')).toBe(rows.length - 3);
  expect(await count(`contacts where email = 'known@example.com' and phone = '+14155550101'`)).toBe(1);
});

it('looks for contacts while each chunk has a row that conflicts with one', async () => {
  await request('POST', '/contacts', { email: 'known@example.com', phone: '+14155550100' });
  const names = ['a', 'b', 'c', 'd'];
  const rows = names.flatMap((name) => chunkOf(name, [`other${name}@example.com,+14155550100,`]));
  expect(await importRows(rows)).toMatchObject({ created: rows.length - names.length, failed: names.length });
  // Contacts whose insert is rolled back would use up ids, too.
  const used = await api.database.pool.query<{ used: number }>(
    'select max(id) - min(id) as used from contacts',
  );
  expect(used.rows[0]?.used).toBeLessThanOrEqual(rows.length);
});

it('takes a row for a duplicate if an earlier one has its email address, whatever its phone number', async () => {
  const rows = [
    ...chunkOf('a', ['first@example.com,,']),
    ...chunkOf('b', ['other@example.com,+14155550100,', 'first@example.com,+14155550100,']),
  ];
  expect(await importRows(rows)).toMatchObject({ created: rows.length - 1, duplicate: 1, failed: 0 });
});

it('does not create a contact again that was removed or changed since its first row', async () => {
  const change = afterFirst(async () => {
    await request('DELETE', `/contacts/${await idOf('gone@example.com')}`);
    await request('PATCH', `/contacts/${await idOf('moved@example.com')}`, { phone: '+14155550102' });
  });
  const rows = [
    ...chunkOf('a', ['gone@example.com,,', 'moved@example.com,+14155550101,', 'out@example.com,,no']),
    ...chunkOf('b', ['gone@example.com,,', ',+14155550101,']),
  ];
  expect(await importRows(rows, change)).toMatchObject({ created: rows.length - 2, duplicate: 2, failed: 0 });
  expect(await count(`contacts where email = 'gone@example.com' or phone = '+14155550101'`)).toBe(0);
});

it('subscribes no address that has opted out, records the opt-outs of rows, and adds contacts to lists', async () => {
  const { body: list } = await api.request('POST', '/v1/my/lists', { body: { name: 'All' } });
  const email = 'later@example.com';
  const optOut = afterFirst(async () => {
    await request('POST', '/contacts', { email });
    const id = await idOf(email);
    await request('PATCH', `/contacts/${id}`, {
      channels_attributes: [{ kind: 'email', subscribed: false }],
    });
    await request('DELETE', `/contacts/${id}`);
  });
  const rows = [
    ...chunkOf('a', ['out@example.com,,no']),
    ...chunkOf('b', [`${email},+14155550100,`, 'no@example.com,,no']),
  ];
  const options = { list_ids: [list.id] };
  expect(await importRows(rows, optOut, options)).toMatchObject({ created: rows.length, failed: 0 });
  const { rows: unsubscribed } = await api.database.pool.query(
    `select email, phone_subscribed from contacts where not email_subscribed order by email`,
  );
  expect(unsubscribed).toEqual([
    { email, phone_subscribed: true },
    { email: 'no@example.com', phone_subscribed: false },
    { email: 'out@example.com', phone_subscribed: false },
  ]);
  expect(await count('opt_outs')).toBe(3);
  expect(await count('list_members')).toBe(rows.length);
});
