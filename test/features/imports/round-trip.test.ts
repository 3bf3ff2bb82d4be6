// Importing an exported contact file changes only edited values, and restores the types of data.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createExportWriter } from '../../../src/features/exports/service.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
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

describe('a file that is not an export', () => {
  const cells = 'email,visits,vip,tags,spaced,deep\nada@example.com,42,true,"[""a"",1]","[1, 2]",';

  it('has numbers and booleans as text, and arrays and objects as such if they are written like our JSON', async () => {
    const deep = '['.repeat(21) + ']'.repeat(21);
    await importFile(api, { file: `${cells}${deep}\n` });
    expect(await dataOf()).toEqual({ visits: '42', vip: 'true', tags: ['a', 1], spaced: '[1, 2]', deep });
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
