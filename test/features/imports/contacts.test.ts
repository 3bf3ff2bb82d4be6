// An import creates and updates contacts, gives no existing contact a subscription, and reports each failed row.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOptedOut, recordOptOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import type { Import } from '../../../src/features/imports/schema.ts';
import { forgetImportedContact } from '../../../src/features/imports/service.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { importFile, postImport, runToEnd } from '../../support/imports.ts';
import { addWebhook } from '../../support/webhooks.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool().query('truncate lists, contacts, opt_outs, suppressions, imports cascade');
});

const pool = () => api.database.pool;
const keyring = createKeyring(TEST_SECRET);

const countsOf = (done: Import) => [
  done.created_count,
  done.updated_count,
  done.unchanged_count,
  done.duplicate_count,
  done.failed_count,
];
const errorsOf = (done: Import) => done.errors.map(({ row, column, code }) => [row, column, code]);

interface Row {
  [column: string]: unknown;
}

async function contacts(columns: string): Promise<unknown[][]> {
  const { rows } = await pool().query<Row>(`select ${columns} from contacts order by id`);
  return rows.map((row) => Object.values(row));
}

async function addContact(values: Row): Promise<number> {
  const row = {
    account_id: api.accountId,
    brand_id: api.brandId,
    ...(typeof values.email === 'string' ? { email_key: values.email, email_created_at: new Date() } : {}),
    ...values,
  };
  const names = Object.keys(row);
  const { rows } = await pool().query<{ id: number }>(
    `insert into contacts (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id`,
    Object.values(row),
  );
  return rows[0]?.id ?? 0;
}

describe('a date-time in data without a zone', () => {
  const file =
    'email,trial_ends,born,seen,order\n' +
    'a@example.com,2027-06-30 12:00:00,1990-01-31,2027-06-30 12:00:00 +0100,12-04-2022 10:00:00\n' +
    'b@example.com,"Jan 5, 2027 1:05 PM",,1814356800,\n';

  it('is completed by the offset of the brand, and nothing else changes', async () => {
    await pool().query(`update brands set timezone = 'Europe/Berlin' where id = $1`, [api.brandId]);
    await importFile(api, { file });
    expect(await contacts('data')).toEqual([
      [
        {
          trial_ends: '2027-06-30T12:00:00+02:00',
          born: '1990-01-31',
          seen: '2027-06-30 12:00:00 +0100',
          order: '12-04-2022 10:00:00',
        },
      ],
      [{ trial_ends: '2027-01-05T13:05:00+01:00', seen: '1814356800' }],
    ]);
    await pool().query('update brands set timezone = null where id = $1', [api.brandId]);
  });

  it('stays as it is in a brand without a time zone, and in an export', async () => {
    await importFile(api, { file: 'email,at\na@example.com,2027-06-30 12:00:00\n' });
    await pool().query(`update brands set timezone = 'Europe/Berlin' where id = $1`, [api.brandId]);
    const marks = 'uuid,subscribed_email,subscribed_phone,list_ids';
    await importFile(api, { file: `email,${marks},data.at\nb@example.com,,,,,2027-06-30 12:00:00\n` });
    await pool().query('update brands set timezone = null where id = $1', [api.brandId]);
    expect(await contacts('data')).toEqual([
      [{ at: '2027-06-30 12:00:00' }],
      [{ at: '2027-06-30 12:00:00' }],
    ]);
  });
});

describe('an import of contacts', () => {
  it('creates subscribed contacts with an opt-in, names, phone and data', async () => {
    const done = await importFile(api, {
      file: 'Email Address,Given name,Surname,Mobile,Country,Plan\nAda@Example.com,Ada,Lovelace,07400 123456,gb,pro\n',
    });
    expect(done).toMatchObject({
      status: 'completed',
      total_rows: 1,
      processed_rows: 1,
      errors: [],
      errors_url: null,
    });
    expect(countsOf(done)).toEqual([1, 0, 0, 0, 0]);
    expect(
      await contacts(
        'email, email_key, first_name, last_name, phone, country_code, data, source, email_subscribed, phone_subscribed',
      ),
    ).toEqual([
      [
        ...['Ada@example.com', 'ada@example.com', 'Ada', 'Lovelace', '+447400123456', 'GB', { Plan: 'pro' }],
        ...['import', true, true],
      ],
    ]);
    const { rows } = await pool().query<Row>(
      'select email_opt_in_at is not null as at, email_opt_in_source as source from contacts',
    );
    expect(rows).toEqual([{ at: true, source: 'import' }]);
  });

  it('never subscribes an existing contact, and unsubscribes it by a no', async () => {
    await addContact({ email: 'out@example.com', email_subscribed: false });
    await addContact({ email: 'in@example.com', email_subscribed: true });
    const done = await importFile(api, {
      file: 'email,subscribed,first_name\nout@example.com,true,Otto\nin@example.com,false,Ina\n',
    });
    expect(countsOf(done)).toEqual([0, 2, 0, 0, 0]);
    expect(await contacts('email_subscribed, first_name')).toEqual([
      [false, 'Otto'],
      [false, 'Ina'],
    ]);
  });

  it('keeps the subscription when it replaces a number unless the row says no, and opts the new number out if the old one was', async () => {
    const phones = { out: '+14155550126', in: '+14155550127', no: '+14155550129' };
    await addContact({ email: 'out@example.com', phone: '+14155550123', phone_subscribed: false });
    await addContact({ email: 'in@example.com', phone: '+14155550124', phone_subscribed: true });
    await addContact({ email: 'no@example.com', phone: '+14155550128', phone_subscribed: true });
    const rows = [
      `out@example.com,${phones.out},yes`,
      `in@example.com,${phones.in},`,
      `no@example.com,${phones.no},no`,
    ];
    await importFile(api, { file: ['email,phone,subscribed', ...rows].join('\n') });
    expect(await contacts('phone, phone_subscribed')).toEqual([
      [phones.out, false],
      [phones.in, true],
      [phones.no, false],
    ]);
    const optedOut = (address: string) =>
      isOptedOut(pool(), keyring, { brandId: api.brandId, channel: 'sms', address });
    expect(await Promise.all(Object.values(phones).map(optedOut))).toEqual([true, false, true]);
  });

  it('does not subscribe an address that has unsubscribed from the brand', async () => {
    for (const [channel, address] of [
      ['email', 'gone@example.com'],
      ['sms', '+14155550123'],
    ] as const) {
      const { accountId, brandId } = api;
      await recordOptOut(pool(), keyring, {
        ...{ accountId, brandId, channel, address, source: 'one_click', messageId: null },
      });
    }
    await importFile(api, { file: 'email,phone\nGone@example.com,\nb@example.com,+14155550123\n' });
    expect(
      await contacts('email, email_subscribed, phone_subscribed, email_opt_out_at is null as o'),
    ).toEqual([
      ['b@example.com', true, false, true],
      ['Gone@example.com', false, false, false],
    ]);
  });

  it('opts out new contacts permanently if their row says so', async () => {
    await importFile(api, { file: 'email,subscribed\na@example.com,no\nb@example.com,yes\n' });
    await pool().query('delete from contacts');
    await importFile(api, { file: 'email\na@example.com\nb@example.com\n' });
    expect(await contacts('email, email_subscribed')).toEqual([
      ['a@example.com', false],
      ['b@example.com', true],
    ]);
  });

  it('keeps each channel of an exported contact as it was', async () => {
    const header = 'id,uuid,email,phone,subscribed_email,subscribed_phone,list_ids,created_at';
    const file = `${header}\n1,u,a@x.org,+14155550123,true,false,,\n2,v,b@x.org,+14155550124,false,true,,\n3,w,c@x.org,,true,,,\n`;
    await importFile(api, { file });
    expect(await contacts('email_subscribed, phone_subscribed, data')).toEqual([
      [true, false, {}],
      [false, true, {}],
      [true, false, {}],
    ]);
    const { rows } = await pool().query<Row>('select channel from opt_outs order by channel');
    expect(rows).toEqual([{ channel: 'email' }, { channel: 'sms' }]);
  });

  it('imports the address of a row whose phone number failed an earlier one', async () => {
    const done = await importFile(api, {
      file: 'email,phone\na@x.org,+14155550123\nb@x.org,+14155550123\nb@x.org,\n',
    });
    expect(countsOf(done)).toEqual([2, 0, 0, 0, 1]);
  });

  it('imports the next row of an address whose first row failed', async () => {
    await addContact({ email: 'known@x.org', phone: '+14155550123', phone_created_at: new Date() });
    const done = await importFile(api, {
      // The second row has the phone number of another contact. The last one is a duplicate.
      file: 'email,phone,name\nfirst@x.org,,1\nb@x.org,+14155550123,2\nb@x.org,,3\nb@x.org,,4\n',
    });
    expect(countsOf(done)).toEqual([2, 0, 0, 1, 1]);
    expect(errorsOf(done)).toEqual([[3, null, 'email_conflict']]);
    expect(await contacts('email, data')).toEqual([
      ['known@x.org', {}],
      ['first@x.org', { name: '1' }],
      ['b@x.org', { name: '3' }],
    ]);
  });

  it('imports the next row of an address whose first row failed thousands of rows before', async () => {
    await addContact({ email: 'known@x.org', phone: '+14155550123', phone_created_at: new Date() });
    const others = Array.from({ length: 3_000 }, (_, n) => `u${n}@x.org,`);
    const file = ['email,phone', 'b@x.org,+14155550123', ...others, 'b@x.org,', ''].join('\n');
    expect(countsOf(await importFile(api, { file }))).toEqual([3_001, 0, 0, 0, 1]);
  });

  it('tries five rows of an address, and fails the others of the chunk if these fail', async () => {
    await addContact({ email: 'known@x.org', phone: '+14155550123', phone_created_at: new Date() });
    const file = ['email,phone', ...Array.from({ length: 1_000 }, () => 'b@x.org,+14155550123'), ''].join(
      '\n',
    );
    const done = await importFile(api, { file });
    expect(countsOf(done)).toEqual([0, 0, 0, 0, 1_000]);
    const codes = errorsOf(done).map(([, , code]) => code);
    expect(codes.slice(0, 6)).toEqual([...Array<string>(5).fill('email_conflict'), 'earlier_rows_failed']);
  });

  it('waits for the recipient fence before it ends if it opts a contact out', async () => {
    await pool().query('update accounts set recipients_changed_at = null');
    const { body } = await postImport(api, { file: 'email,subscribed\na@x.org,no\n' });
    await runToEnd(api, body.id);
    const { rows } = await pool().query<Row>(
      `select recipients_changed_at >= (select min(started_at) from imports) as fenced from accounts where id = $1`,
      [api.accountId],
    );
    expect(rows).toEqual([{ fenced: true }]);
  });

  it('leaves new contacts unsubscribed with subscribe: false, without an opt-out', async () => {
    await importFile(api, { file: 'email\na@example.com\n', options: { subscribe: false } });
    expect(await contacts('email_subscribed, email_opt_in_at, email_opt_out_at')).toEqual([
      [false, null, null],
    ]);
    expect((await pool().query('select 1 from opt_outs')).rowCount).toBe(0);
  });

  it('counts existing contacts as updated only if something changes', async () => {
    await addContact({ email: 'a@example.com', first_name: 'Ada', data: { plan: 'pro', since: 2019 } });
    await addContact({ email: 'b@example.com', first_name: 'Bob', data: {} });
    const file = 'email,first_name,plan\na@example.com,Ada,pro\nb@example.com,,free\n';
    expect(countsOf(await importFile(api, { file }))).toEqual([0, 1, 1, 0, 0]);
    expect(await contacts('first_name, data')).toEqual([
      ['Ada', { plan: 'pro', since: 2019 }],
      ['Bob', { plan: 'free' }],
    ]);
    expect(countsOf(await importFile(api, { file }))).toEqual([0, 0, 2, 0, 0]);
  });

  it('changes no contact with update_existing: false, and adds it to the lists', async () => {
    const id = await addContact({ email: 'a@example.com' });
    const list = Number((await api.request('POST', '/v1/my/lists', { body: { name: 'VIP' } })).body.id);
    const done = await importFile(api, {
      file: 'email,first_name\na@example.com,Ada\nnew@example.com,New\n',
      options: { update_existing: false, list_ids: [list] },
    });
    expect(countsOf(done)).toEqual([1, 0, 1, 0, 0]);
    expect(await contacts('first_name')).toEqual([[null], ['New']]);
    expect((await api.request('GET', `/v1/my/lists/${list}`)).body.contacts_count).toBe(2);
    const { rows } = await pool().query<{ contact_id: number }>('select contact_id from list_members');
    expect(rows.map((row) => row.contact_id)).toContain(id);
  });

  it('lets the first row of an address win, whatever its case', async () => {
    const done = await importFile(api, {
      file: 'email,phone,first_name\na@x.org,,First\nA@X.ORG,,Second\n,+14155550123,Third\n,+14155550123,Fourth\n',
    });
    expect(countsOf(done)).toEqual([2, 0, 0, 2, 0]);
    expect(await contacts('first_name')).toEqual([['First'], ['Third']]);
  });

  it('finds duplicates of rows thousands of rows before', async () => {
    const rows = Array.from({ length: 6_000 }, (_, n) => `p${n}@example.com,${n}`);
    const file = ['email,n', ...rows, 'p1@example.com,again', 'p5999@example.com,again'].join('\n');
    const done = await importFile(api, { file });
    expect(countsOf(done)).toEqual([6_000, 0, 0, 2, 0]);
    expect(done.processed_rows).toBe(done.total_rows);
    const { rows: found } = await pool().query(`select 1 from contacts where data->>'n' = 'again'`);
    expect(found).toEqual([]);
    expect((await pool().query('select 1 from import_addresses')).rowCount).toBe(0);
  });

  it('fails a row whose email and phone belong to different contacts', async () => {
    await addContact({ email: 'a@example.com' });
    await addContact({ phone: '+14155550123', phone_created_at: new Date() });
    await addContact({ email: 'c@example.com', phone: '+14155550124', phone_created_at: new Date() });
    const done = await importFile(api, {
      file: 'email,phone\na@example.com,+14155550123\nd@example.com,+14155550124\ne@example.com,+14155550125\nf@example.com,+14155550125\n',
    });
    expect(countsOf(done)).toEqual([1, 0, 0, 0, 3]);
    expect(errorsOf(done)).toEqual([
      [2, null, 'phone_conflict'],
      [3, null, 'email_conflict'],
      [5, null, 'phone_conflict'],
    ]);
  });

  it('adds a missing channel to a contact, and records the former number of a changed one', async () => {
    await addContact({ email: 'a@example.com' });
    await addContact({ phone: '+14155550123', phone_created_at: new Date() });
    const id = await addContact({ email: 'c@example.com', phone: '+14155550124', phone_subscribed: true });
    const done = await importFile(api, {
      file: 'email,phone\na@example.com,+14155550120\nb@example.com,+14155550123\nc@example.com,+14155550125\n',
    });
    expect(countsOf(done)).toEqual([0, 3, 0, 0, 0]);
    expect(await contacts('email, phone, email_subscribed, phone_subscribed')).toEqual([
      ['a@example.com', '+14155550120', false, true],
      ['b@example.com', '+14155550123', true, false],
      ['c@example.com', '+14155550125', false, true],
    ]);
    const { rows } = await pool().query('select contact_id, address_key from contact_former_addresses');
    expect(rows).toEqual([{ contact_id: id, address_key: '+14155550124' }]);
  });

  it('applies rows of one contact in their order', async () => {
    await addContact({ email: 'a@example.com', phone: '+14155550123', phone_created_at: new Date() });
    const done = await importFile(api, {
      file: 'email,phone,first_name\n,+14155550123,One\na@example.com,,Two\n',
    });
    expect(countsOf(done)).toEqual([0, 2, 0, 0, 0]);
    expect(await contacts('first_name')).toEqual([['Two']]);
  });

  it('reports each failed row with its column and the reason, and returns them as CSV to correct', async () => {
    const done = await importFile(api, {
      file:
        'email;phone;country;subscribed;note\r\nnot an address;;;;"=1+1"\r\n;123;;;\r\n;0170 1234567;;;\r\n' +
        'c@x.org;;;perhaps;\r\n;;;;only a note\r\nd@x.org;;;;;;extra\r\nok@x.org;;;;\r\n',
    });
    expect(countsOf(done)).toEqual([1, 0, 0, 0, 6]);
    expect(errorsOf(done)).toEqual([
      [2, 'email', 'invalid_email'],
      [3, 'phone', 'invalid_phone'],
      [4, 'phone', 'invalid_phone'],
      [5, 'subscribed', 'invalid_subscribed'],
      [6, null, 'no_address'],
      [7, null, 'too_many_columns'],
    ]);
    expect(done.errors_url).toBe(`${api.baseUrl}/v1/my/imports/${done.id}/errors`);
    const errors = await api.request('GET', `/v1/my/imports/${done.id}/errors`);
    expect(errors.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const lines = errors.text.split('\r\n');
    expect(lines).toHaveLength(8);
    expect(lines[0]).toBe('email,phone,country,subscribed,note,error');
    expect(lines[1]).toBe(`not an address,,,,'=1+1,email is not an email address`);
    const mended = errors.text.replace('not an address', 'z@x.org').replace(',123,', ',+14155550123,');
    const again = await importFile(api, { file: mended });
    expect(countsOf(again)).toEqual([2, 0, 0, 0, 4]);
    expect(await contacts('email, data')).toEqual([
      ['ok@x.org', {}],
      ['z@x.org', { note: '=1+1' }],
      [null, {}],
    ]);
  });

  it('follows options.mapping, and keeps a second column for the same field in data', async () => {
    await importFile(api, {
      file: 'Kontakt,email,Phone,Mobile,Secret,tag,tag\na@x.org,b@x.org,,+14155550123,s,1,2\n',
      options: { mapping: { kontakt: 'email', Secret: null } },
    });
    expect(await contacts('email, phone, data')).toEqual([
      ['a@x.org', null, { email: 'b@x.org', Mobile: '+14155550123', tag: '1', tag_2: '2' }],
    ]);
  });

  it('only counts with dry_run', async () => {
    await addContact({ email: 'a@example.com' });
    const file = 'email,first_name\na@example.com,Ada\nb@example.com,Bob\nb@example.com,Bob\nnone,\n';
    const options = { dry_run: true };
    expect(countsOf(await importFile(api, { file, options }))).toEqual([1, 1, 0, 1, 1]);
    expect(await contacts('email, first_name')).toEqual([['a@example.com', null]]);
    expect(countsOf(await importFile(api, { file }))).toEqual([1, 1, 0, 1, 1]);
  });

  it('publishes its end once, with the counts', async () => {
    await pool().query('truncate events cascade');
    await addWebhook(api.database, api, 'https://hooks.example.com/', ['import.completed', 'import.failed']);
    const done = await importFile(api, { file: 'email\na@x.org\na@x.org\n', filename: 'people.csv' });
    await importFile(api, { file: 'name\nAda\n', options: { dry_run: true } });
    const { rows } = await pool().query<Row>('select type, data from events order by occurred_at');
    expect(rows).toMatchObject([
      {
        type: 'import.completed',
        data: {
          import_id: done.id,
          resource: 'contacts',
          filename: 'people.csv',
          dry_run: false,
          total_rows: 2,
          created_count: 1,
          duplicate_count: 1,
        },
      },
      {
        type: 'import.failed',
        data: {
          resource: 'contacts',
          dry_run: true,
          reason: expect.stringContaining('no column of email addresses'),
        },
      },
    ]);
  });
});

describe('failed rows', () => {
  it('are deleted with the contact that has their address', async () => {
    await importFile(api, { file: 'email,phone\nA@x.org,123\nb@x.org,123\n,+14155550123,surplus\n' });
    const { accountId, brandId } = api;
    const addressKeys = ['a@x.org', '+14155550199'];
    const removed = { accountId, brandId, contactId: 1, addressKeys, requestedAt: new Date() };
    expect(await forgetImportedContact(pool(), removed, 200)).toBe(false);
    const { rows } = await pool().query<Row>('select email_key from import_errors order by row_number');
    expect(rows).toEqual([{ email_key: 'b@x.org' }, { email_key: null }]);
  });

  it('keep their addresses, whatever is wrong with them or with a cell', async () => {
    const file = Buffer.concat([
      Buffer.from(
        'note,email,phone,country\nn,a@x.org,,,surplus\nN\0,b@x.org,+14155550123,\nn,bad,+14155550124,Germany\n',
      ),
      ...[Buffer.from('üü'), Buffer.from([0xff]), Buffer.from(',D@x.org,,\n')],
      Buffer.from('e@x.org,"n"n,,\n'),
    ]);
    await importFile(api, { file });
    const { rows } = await pool().query<Row>(
      'select code, email_key, phone from import_errors order by row_number',
    );
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['too_many_columns', 'a@x.org', null],
      // Imported without the cell that is at fault.
      ['invalid_character', 'b@x.org', '+14155550123'],
      ['invalid_email', null, '+14155550124'],
      ['invalid_encoding', 'd@x.org', null],
      ['text_after_quote', 'e@x.org', null],
    ]);
  });
});

describe('an import of suppressions', () => {
  it('suppresses addresses with their reasons, and keeps existing suppressions', async () => {
    await api.request('POST', '/v1/my/suppressions', { body: { email: 'known@example.com' } });
    const done = await importFile(api, {
      resource: 'suppressions',
      file: 'email,phone,reason\nknown@example.com,,\na@example.com,,hard bounce\n,+14155550123,complaint\nb@x.org,,bored\n',
    });
    expect(countsOf(done)).toEqual([3, 0, 1, 0, 0]);
    const { rows } = await pool().query<Row>(
      'select address_key, reason from suppressions order by address_key desc',
    );
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['known@example.com', 'manual'],
      ['b@x.org', 'manual'],
      ['a@example.com', 'hard_bounce'],
      ['+14155550123', 'complaint'],
    ]);
  });
});
