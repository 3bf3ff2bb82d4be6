// The encoding of an imported file is decided once, shown with values, and used by all workers that know it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { advanceImport } from '../../../src/features/imports/run.ts';
import { forgetImportedContact } from '../../../src/features/imports/service.ts';
import { importsUpkeep } from '../../../src/features/imports/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { attendance, importDeps, importFile, postImport, runToEnd } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('truncate contacts, imports cascade');
});

const pool = () => api.database.pool;

async function names(): Promise<unknown[]> {
  const { rows } = await pool().query<{ first_name: string }>('select first_name from contacts order by id');
  return rows.map(({ first_name: name }) => name);
}

/** "Иван", "Ольга" and "Юлия" in windows-1251. */
const cyrillic = Buffer.concat([
  Buffer.from('email,first_name\na@x.org,'),
  Buffer.from([0xc8, 0xe2, 0xe0, 0xed]),
  Buffer.from('\nb@x.org,'),
  Buffer.from([0xce, 0xeb, 0xfc, 0xe3, 0xe0]),
  Buffer.from('\nc@x.org,'),
  Buffer.from([0xde, 0xeb, 0xe8, 0xff]),
  Buffer.from('\n'),
]);

describe('the encoding of an import', () => {
  it('is detected, and shown with values', async () => {
    const done = await importFile(api, { file: cyrillic });
    expect(done.encoding).toEqual({
      name: 'windows-1251',
      detected: true,
      samples: ['Иван', 'Ольга', 'Юлия'],
    });
    expect(await names()).toEqual(['Иван', 'Ольга', 'Юлия']);
  });

  it('is what the client says, by any of its names', async () => {
    const options = { encoding: 'Mac Roman' };
    const done = await importFile(api, {
      file: Buffer.from('email,first_name\na@x.org,Jos\x8e\n', 'latin1'),
      options,
    });
    expect(done.encoding).toEqual({ name: 'macintosh', detected: false, samples: ['José'] });
    expect(done.options).toMatchObject({ encoding: 'macintosh' });
    expect(await names()).toEqual(['José']);
  });

  it('is UTF-8 for plain ASCII, without values', async () => {
    const done = await importFile(api, { file: 'email\na@x.org\n' });
    expect(done.encoding).toEqual({ name: 'utf-8', detected: true, samples: [] });
  });

  it('is a 422 if it is unknown, and a failure if the file has the mark of another', async () => {
    const { status, body } = await postImport(api, { file: cyrillic, options: { encoding: 'klingon' } });
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('must be one of utf-8')]);
    const done = await importFile(api, { file: '\ufeffemail\na@x.org\n', options: { encoding: 'gbk' } });
    expect(done).toMatchObject({ status: 'failed', errors: [{ code: 'wrong_encoding' }] });
  });

  it('is shown without values of rows without an address, and without those of a deleted contact', async () => {
    const file = 'email,first_name,Город\na@x.org,Иван,\n,Ольга,\nb@x.org,Юлия,\n';
    const { id } = await importFile(api, { file });
    const shown = async (): Promise<unknown> => {
      const { body } = await api.request('GET', `/v1/my/imports/${id}`);
      return body.encoding?.samples;
    };
    expect(await shown()).toEqual(['Город', 'Иван', 'Юлия']);
    const { rows } = await pool().query<{ account_id: number; brand_id: number }>('select * from imports');
    const [row] = rows;
    if (!row) throw new Error('no import');
    const { account_id: accountId, brand_id: brandId } = row;
    const removed = { accountId, brandId, contactId: 1, addressKeys: ['b@x.org'], requestedAt: new Date() };
    await forgetImportedContact(pool(), removed, 200);
    expect(await shown()).toEqual([]);
  });

  it('shows no values after 30 days', async () => {
    const { id } = await importFile(api, { file: cyrillic });
    const task = importsUpkeep.tasks?.find(({ name }) => name === 'import_examples');
    const run = (days: number) =>
      task?.run(
        { database: api.database } as never,
        new Date(Date.now() + days * 86_400_000),
        () => undefined,
      );
    expect([await run(29), await run(31)]).toEqual([0, 1]);
    const { body } = await api.request('GET', `/v1/my/imports/${id}`);
    expect(body.encoding).toEqual({ name: 'windows-1251', detected: true, samples: [] });
  });
});

describe('a worker of an older version', () => {
  /** What such a worker does after it has read a part of the file. */
  const moveOn = (id: number) =>
    pool().query(`update imports set position = '{"offset": 1}', total_rows = 3 where id = $1`, [id]);

  it('neither inspects the file nor imports a chunk', async () => {
    const { body } = await postImport(api, { file: cyrillic });
    await expect(moveOn(body.id)).rejects.toMatchObject({ code: '40001' });
    await advanceImport(importDeps(api), body.id, attendance);
    await advanceImport(importDeps(api), body.id, attendance);
    await expect(moveOn(body.id)).rejects.toMatchObject({ code: '40001' });
    expect(await runToEnd(api, body.id)).toMatchObject({ status: 'completed', created_count: 3 });
  });
});
