// A cell that cannot be read costs a row with a good address this cell alone, and the import reports it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { forgetImportedContact } from '../../../src/features/imports/service.ts';
import type { Import } from '../../../src/features/imports/schema.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { importFile, postImport, runToEnd } from '../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('truncate contacts, suppressions, imports cascade');
});

const pool = () => api.database.pool;

async function contacts(columns: string): Promise<unknown[][]> {
  const { rows } = await pool().query<Record<string, unknown>>(`select ${columns} from contacts order by id`);
  return rows.map((row) => Object.values(row));
}

const warningsOf = (done: Import) => done.warnings.map(({ row, column, code }) => [row, column, code]);

describe('an optional cell that cannot be read', () => {
  it.each<[string, string, string, string, string]>([
    ['a country that is none', 'country', 'XX', 'country_code', 'invalid_country_code'],
    ['a region', 'country', 'Europe', 'country_code', 'invalid_country_code'],
    ['a placeholder for a country', 'country', 'N/A', 'country_code', 'no_value'],
    ['a placeholder for a number', 'phone', 'n/a', 'phone', 'no_value'],
    ['a dash for a number', 'mobile', '--', 'phone', 'no_value'],
    ['a null of a database', 'mobile', '\\N', 'phone', 'no_value'],
    ['a national number of an unknown country', 'phone', '(415) 555-0123', 'phone', 'invalid_phone'],
    ['a number that a spreadsheet has rounded', 'phone', '3.36E+10', 'phone', 'invalid_phone'],
    ['two numbers', 'phone', '+14155550123 / +14155550124', 'phone', 'invalid_phone'],
    ['a number with an extension', 'phone', '+1 415 555 0123 ext. 5', 'phone', 'invalid_phone'],
    ['a text as number', 'phone', 'call me', 'phone', 'invalid_phone'],
    ['a placeholder for a name', 'first_name', '#N/A', 'first_name', 'no_value'],
    ['a name of two lines', 'last_name', '"A\nB"', 'last_name', 'invalid_character'],
    ['a name that is too long', 'first_name', 'x'.repeat(300), 'first_name', 'too_long'],
    ['a source that is too long', 'source', 'x'.repeat(101), 'source', 'too_long'],
    ['a NUL in a name', 'first_name', 'A\0', 'first_name', 'invalid_character'],
    ['a NUL in data', 'note', 'A\0', `data->'note' as note`, 'invalid_character'],
  ])('is left out: %s', async (_what, column, cell, field, code) => {
    const done = await importFile(api, { file: `email,${column},plan\na@x.org,${cell},pro\n` });
    expect(done).toMatchObject({ created_count: 1, failed_count: 0, warning_count: 1, errors: [] });
    expect(warningsOf(done)).toEqual([[2, column, code]]);
    expect(await contacts(`email, ${field}, data->'plan' as plan`)).toEqual([
      ['a@x.org', field === 'source' ? 'import' : null, 'pro'],
    ]);
  });

  it('is left out if it has characters that are not in the encoding of the file', async () => {
    const file = Buffer.concat([
      Buffer.from('email,first_name,note\nu@x.org,ä,\na@x.org,A'),
      Buffer.from([0xff]),
      Buffer.from(',ü\nb@x.org,B,ö'),
      Buffer.from([0xff]),
      Buffer.from('\nc'),
      Buffer.from([0xff]),
      Buffer.from('@x.org,C,ä\n'),
    ]);
    const done = await importFile(api, { file });
    expect(warningsOf(done)).toEqual([
      [3, 'first_name', 'invalid_encoding'],
      [4, 'note', 'invalid_encoding'],
    ]);
    expect(done.errors.map(({ row, column, code }) => [row, column, code])).toEqual([
      [5, 'email', 'invalid_encoding'],
    ]);
    expect(await contacts(`email, first_name, data`)).toEqual([
      ['a@x.org', null, { note: 'ü' }],
      ['b@x.org', 'B', {}],
      ['u@x.org', 'ä', {}],
    ]);
  });

  it('is an address if the row has another one', async () => {
    const done = await importFile(api, {
      file: 'email,phone\nN/A,+14155550123\nada@,+14155550124\nb@x.org,123\nc@,123\nN/A,\n',
    });
    expect(done).toMatchObject({ created_count: 3, failed_count: 2, warning_count: 3 });
    expect(warningsOf(done)).toEqual([
      [2, 'email', 'no_value'],
      [3, 'email', 'invalid_email'],
      [4, 'phone', 'invalid_phone'],
    ]);
    expect(done.errors.map(({ row, column, code }) => [row, column, code])).toEqual([
      [5, 'email', 'invalid_email'],
      [6, 'email', 'no_value'],
    ]);
  });

  it('changes nothing of a contact that exists', async () => {
    await importFile(api, { file: 'email,phone,country,first_name\na@x.org,+14155550123,US,Ada\n' });
    const done = await importFile(api, { file: 'email,phone,country,first_name\na@x.org,123,Nowhere,N/A\n' });
    expect(done).toMatchObject({ unchanged_count: 1, failed_count: 0, warning_count: 1 });
    expect(done.warnings).toHaveLength(3);
    expect(await contacts('phone, country_code, first_name')).toEqual([['+14155550123', 'US', 'Ada']]);
  });

  it('is never a cell of consent, whose row fails', async () => {
    const done = await importFile(api, { file: 'email,subscribed\na@x.org,perhaps\n' });
    expect(done).toMatchObject({ created_count: 0, failed_count: 1, warning_count: 0 });
  });

  it('does not keep the suppression of its row away', async () => {
    const done = await importFile(api, {
      resource: 'suppressions',
      file: 'email,phone,country\na@x.org,123,Nowhere\n',
    });
    expect(done).toMatchObject({ created_count: 1, failed_count: 0, warning_count: 1 });
  });
});

describe('countries and phone numbers', () => {
  it('reads countries by their codes and names', async () => {
    const cells = ['Germany', 'deu', 'UK', 'Österreich', 'us', 'Korea, Republic of'];
    const file = `email;country\n${cells.map((cell, n) => `${n}@x.org;${cell}`).join('\n')}\n`;
    expect(await importFile(api, { file })).toMatchObject({ created_count: 6, warning_count: 0 });
    expect((await contacts('country_code')).flat()).toEqual(['DE', 'DE', 'GB', 'AT', 'US', 'KR']);
  });

  it.each([
    'Country/Region',
    'Country Name',
    'Default Address Country Code',
    'Land',
    'Pays',
    'País',
    'Страна',
  ])('recognizes the column %s', async (column) => {
    await importFile(api, { file: `email;${column}\na@x.org;Spain\n` });
    expect(await contacts('country_code')).toEqual([['ES']]);
  });

  it('reads national numbers by the country of their row, or else of the file', async () => {
    const file =
      'email,phone,country\na@x.org,07400 123456,United Kingdom\nb@x.org,0170 1234567,\nc@x.org,0170 1234568,N/A\n' +
      'd@x.org,+14155550123,\ne@x.org,0044 7400 123457,\n';
    const done = await importFile(api, { file, options: { country_code: 'DE' } });
    expect(done).toMatchObject({ created_count: 5, warning_count: 1 });
    expect(await contacts('phone, country_code')).toEqual([
      ['+447400123456', 'GB'],
      ['+491701234567', null],
      ['+491701234568', null],
      ['+14155550123', null],
      ['+447400123457', null],
    ]);
  });

  it.each([
    ['Phone', '0033 6 12 34 56 78', '+33612345678'],
    ['Phone', `'+33612345678`, '+33612345678'],
    ['Phone', '+33 (0)6 12 34 56 78', '+33612345678'],
    ['Phone', 'tel:+33-6-12-34-56-78', '+33612345678'],
    ['SMS', '33612345678', '+33612345678'],
    ['WHATSAPP', '33612345678', null],
    ['msisdn', '33612345678', '+33612345678'],
    ['SMS', '33612345678.0', '+33612345678'],
    ['Phone', '33612345678', null],
  ])('reads a number without a country: %s %s', async (column, cell, phone) => {
    await importFile(api, { file: `email,${column}\na@x.org,${cell}\n` });
    expect(await contacts('phone')).toEqual([[phone]]);
  });

  it('refuses a country of the file that is none', async () => {
    const file = 'email\na@x.org\n';
    for (const code of ['XX', 'Germany', 'de', 4]) {
      const { status, body } = await postImport(api, { file, options: { country_code: code } });
      const { validation_errors: faults = {} } = body as { validation_errors?: object };
      expect([status, Object.keys(faults)]).toEqual([422, ['options.country_code']]);
    }
  });
});

describe('the report of cells that were left out', () => {
  const file = 'email,country,note\na@x.org,Nowhere,=1\nbad,,\nc@x.org,FR,\n';

  it('is in the file of problems, whose corrected rows may be imported again', async () => {
    const done = await importFile(api, { file });
    expect(done.warnings).toEqual([
      {
        row: 2,
        column: 'country',
        code: 'invalid_country_code',
        message: expect.stringContaining('country'),
      },
    ]);
    expect(done.errors_url).not.toBeNull();
    const { text } = await api.request('GET', `/v1/my/imports/${done.id}/errors`);
    const lines = text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^a@x\.org,Nowhere,'?=1,"?imported without country: /);
    expect(lines[2]).toMatch(/^bad,,,email is not an email address/);
    const again = await importFile(api, {
      file: text.replace('Nowhere', 'Norway').replace('bad', 'b@x.org'),
    });
    expect(again).toMatchObject({ created_count: 1, updated_count: 1, warning_count: 0, errors_url: null });
  });

  it('does not count rows that are duplicates or that fail for another reason', async () => {
    await importFile(api, { file: 'phone\n+14155550123\n' });
    const done = await importFile(api, {
      file: 'email,phone,country\na@x.org,,X1\nA@x.org,,X2\nb@x.org,+14155550125,\nc@x.org,+14155550125,X3\n',
    });
    expect(done).toMatchObject({ created_count: 2, duplicate_count: 1, failed_count: 1, warning_count: 1 });
    expect(warningsOf(done)).toEqual([[2, 'country', 'invalid_country_code']]);
    expect(done.errors).toHaveLength(1);
  });

  it('is there after a dry run, too', async () => {
    const done = await importFile(api, { file, options: { dry_run: true } });
    expect(done).toMatchObject({ created_count: 2, failed_count: 1, warning_count: 1 });
    expect(await contacts('email')).toEqual([]);
  });

  it('is kept up to a limit, without taking the room of failed rows', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `${n}@x.org,Nowhere`);
    const { body } = await postImport(api, { file: `email,country\n${rows.join('\n')}\nbad,\n` });
    const done = await runToEnd(api, body.id, { maxWarningBytes: 5_000 });
    expect(done).toMatchObject({ created_count: 300, failed_count: 1, warning_count: 300 });
    const kept = done.warnings.length - 1;
    expect(kept).toBeGreaterThan(10);
    expect(done.warnings[0]).toEqual({
      row: null,
      column: null,
      code: 'warnings_left_out',
      message: `${300 - kept} more rows were imported without some of their cells`,
    });
    expect(done.errors.map(({ code }) => code)).toEqual(['invalid_email']);
    const { text } = await api.request('GET', `/v1/my/imports/${done.id}/errors`);
    expect(text.trimEnd().split('\r\n')).toHaveLength(1 + kept + 1);
  });

  it('is deleted with the contact whose address it has', async () => {
    await importFile(api, { file });
    const { accountId, brandId } = api;
    const removed = { accountId, brandId, contactId: 1, addressKeys: ['a@x.org'], requestedAt: new Date() };
    await forgetImportedContact(pool(), removed, 200);
    const { rows } = await pool().query('select row_number from import_errors');
    expect(rows).toEqual([{ row_number: 3 }]);
  });
});
