// Who said no in another tool is never mailed: imports read the columns about subscriptions, and what is unknown stops them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { advanceImport } from '../../../../src/features/imports/run.ts';
import { forgetImportedContact } from '../../../../src/features/imports/service.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../../support/api.ts';
import {
  attendance,
  importDeps,
  importFile,
  type ImportGiven,
  postImport,
  runToEnd,
} from '../../../support/imports.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate lists, contacts, opt_outs, suppressions, imports cascade');
});

const keyring = createKeyring(TEST_SECRET);
const isOut = (address: string, channel: 'email' | 'sms' = 'email') =>
  isOptedOut(api.database.pool, keyring, { brandId: api.brandId, channel, address });

/** What became of people, by the first letters of their addresses. */
async function people(columns = 'email_subscribed as is'): Promise<Record<string, unknown>> {
  const { rows } = await api.database.pool.query<{ name: string; is: unknown }>(
    `select split_part(email, '@', 1) as name, ${columns} from contacts where email is not null order by email`,
  );
  return Object.fromEntries(rows.map(({ name, is }) => [name, is]));
}

async function suppressed(): Promise<unknown[][]> {
  const { rows } = await api.database.pool.query<{ email: string; reason: string }>(
    'select email, reason from suppressions order by email',
  );
  return rows.map(({ email, reason }) => [email, reason]);
}

const imported = async (file: string | readonly string[], options: object = {}): Promise<Imported> =>
  importFile(api, { file: typeof file === 'string' ? file : file.join('\n'), options });
type Imported = Awaited<ReturnType<typeof importFile>>;

async function known(email: string, rest: object = {}): Promise<number> {
  const { status, body } = await api.request<{ id: number }>('POST', '/v1/my/contacts', {
    body: { email, ...rest },
  });
  expect(status).toBe(201);
  return body.id;
}

describe('a file of contacts', () => {
  it('subscribes no one who said no, whatever the tool calls it', async () => {
    await imported('Email,Accepts Email Marketing\nno@a.test,no\nyes@a.test,yes\n');
    await imported('email,status\nenabled@a.test,enabled\nblocklisted@a.test,blocklisted\n');
    await imported('Email,Unsubscribed from all email\nopted-out@a.test,Yes\nmay@a.test,No\n');
    await imported('EMAIL;EMAIL_BLACKLISTED\nblack@a.test;Yes\nwhite@a.test;No\n');
    expect(await people()).toEqual({
      ...{ no: false, yes: true, enabled: true, blocklisted: false },
      ...{ 'opted-out': false, may: true, black: false, white: true },
    });
    expect(
      await Promise.all(['no', 'blocklisted', 'opted-out', 'black'].map((name) => isOut(`${name}@a.test`))),
    ).toEqual([true, true, true, true]);
  });

  it('takes dates of opt-outs and opt-ins for evidence, and keeps them as data', async () => {
    await imported([
      'Email Address,OPTIN_TIME,UNSUB_TIME,UNSUB_REASON',
      'in@a.test,2023-01-05 10:00:00,,',
      'out@a.test,2023-01-05 10:00:00,2024-03-02 09:15:44,NORMAL',
      'why@a.test,,,spam',
      'odd@a.test,,3/4/24,',
    ]);
    expect(await people()).toEqual({ in: true, odd: false, out: false, why: false });
    expect(await people('email_opt_in_at as is')).toMatchObject({ in: new Date('2023-01-05T10:00:00Z') });
    expect(await people('email_opt_out_at as is')).toMatchObject({
      in: null,
      out: new Date('2024-03-02T09:15:44Z'),
      odd: expect.any(Date),
    });
    expect(await people('data as is')).toMatchObject({
      out: { OPTIN_TIME: '2023-01-05 10:00:00', UNSUB_TIME: '2024-03-02 09:15:44', UNSUB_REASON: 'NORMAL' },
    });
  });

  it('can be one of unsubscribed people as a whole', async () => {
    await known('b@a.test');
    const done = await imported('Email Address\na@a.test\nb@a.test\n', { status: 'unsubscribed' });
    expect(done).toMatchObject({ created_count: 1, updated_count: 1, options: { status: 'unsubscribed' } });
    expect(await people()).toEqual({ a: false, b: false });
    expect([await isOut('a@a.test'), await isOut('b@a.test')]).toEqual([true, true]);
  });

  it('neither opts out nor subscribes those who are pending or were never subscribed', async () => {
    await known('known@a.test');
    await imported([
      'email,email subscriber status',
      ...['never@a.test,Never subscribed', 'pending@a.test,Pending', 'known@a.test,Never subscribed'],
      'in@a.test,Subscribed',
    ]);
    expect(await people()).toEqual({ in: true, known: true, never: false, pending: false });
    expect([await isOut('never@a.test'), await isOut('pending@a.test')]).toEqual([false, false]);
  });

  it('suppresses those who bounced or complained for the account, and opts out who complained', async () => {
    await known('known@a.test');
    await imported([
      'email,status',
      ...['bounced@a.test,Bounced', 'junk@a.test,junk', 'active@a.test,active', 'known@a.test,bounced'],
    ]);
    expect(await people()).toEqual({ active: true, bounced: false, junk: false, known: true });
    expect(await suppressed()).toEqual([
      ['bounced@a.test', 'hard_bounce'],
      ['junk@a.test', 'complaint'],
      ['known@a.test', 'hard_bounce'],
    ]);
    expect([await isOut('bounced@a.test'), await isOut('junk@a.test')]).toEqual([false, true]);
  });

  it('suppresses no address of the account for a caller who sees some of its brands, and opts it out instead', async () => {
    const { body } = await postImport(api, { file: 'email,status\nx@a.test,cleaned\ny@a.test,subscribed\n' });
    await api.database.pool.query('update imports set may_suppress = false where id = $1', [body.id]);
    await runToEnd(api, body.id);
    expect(await suppressed()).toEqual([]);
    expect([await people(), await isOut('x@a.test')]).toEqual([{ x: false, y: true }, true]);
  });

  it('keeps the channels apart', async () => {
    await imported(
      'Email,Phone,Accepts Email Marketing,Accepts SMS Marketing\na@a.test,+14155550101,no,yes\nb@a.test,+14155550102,yes,no\n',
    );
    expect(await people('array[email_subscribed, phone_subscribed] as is')).toEqual({
      a: [false, true],
      b: [true, false],
    });
    expect(await isOut('+14155550102', 'sms')).toBe(true);
  });

  it('lets a no count if columns or rows of the file contradict each other, even if the row fails', async () => {
    await known('failed@a.test');
    const done = await imported([
      'email,phone,subscribed,unsubscribed at',
      ...['a@a.test,,yes,2024-05-01', 'b@a.test,,yes,', 'b@a.test,,no,', 'failed@a.test,12,no,'],
    ]);
    expect(done).toMatchObject({ created_count: 2, duplicate_count: 1 });
    expect(await people()).toEqual({ a: false, b: false, failed: false });
  });
});

describe('a contact that is known', () => {
  it('loses its subscription by a no, with the import and the time in the file, and never gets one back', async () => {
    const id = await known('in@a.test');
    const out = await known('out@a.test');
    const channels_attributes = [{ kind: 'email', subscribed: false }];
    await api.request('PATCH', `/v1/my/contacts/${out}`, { body: { channels_attributes } });
    const done = await imported('Email,Unsubscribed\nin@a.test,2031-01-01\nout@a.test,no\n');
    expect(done).toMatchObject({ updated_count: 1, unchanged_count: 1 });
    expect(await people()).toEqual({ in: false, out: false });
    const { rows } = await api.database.pool.query(
      'select subscribed, source, import_id from contact_subscriptions where contact_id = $1 order by created_at',
      [id],
    );
    expect(rows).toEqual([
      { subscribed: true, source: 'api', import_id: null },
      { subscribed: false, source: 'import', import_id: done.id },
    ]);
    const timeline = await api.request('GET', `/v1/my/contacts/${id}/timeline`);
    expect(timeline.list[0]).toMatchObject({ subscription: { source: 'import', import_id: done.id } });
    const ledger = await api.database.pool.query(
      `select source, import_id, opted_out_at <= now() as past from opt_outs where import_id is not null`,
    );
    expect(ledger.rows).toEqual([{ source: 'import', import_id: done.id, past: true }]);
    await imported('Email,Subscribed\nin@a.test,yes\nout@a.test,yes\n');
    expect(await people()).toEqual({ in: false, out: false });
  });

  it('loses it by a no of another address of the same recipient, if tags do not count', async () => {
    await known('a+news@a.test');
    await known('b+news@a.test');
    const { body } = await postImport(api, { file: 'email,subscribed\na+shop@a.test,no\nb@a.test,never\n' });
    await runToEnd(api, body.id, { consent: { keyring, plusAddresses: true } });
    expect(await people()).toEqual({ 'a+news': false, 'a+shop': false, b: false, 'b+news': true });
  });

  it('loses it without other changes, too, even with update_existing: false', async () => {
    await known('in@a.test', { first_name: 'Ina' });
    await imported('Email,First name,Opt-out\nin@a.test,Otto,yes\n', { update_existing: false });
    expect([await people(), await people('first_name as is')]).toEqual([{ in: false }, { in: 'Ina' }]);
  });

  it('is repaired by importing the file again with a corrected mapping, towards opted out only', async () => {
    const file = 'Email,Werbung\nno@a.test,N\npending@a.test,W\nyes@a.test,J\n';
    await known('mine@a.test');
    await imported(file);
    expect(await people()).toEqual({ mine: true, no: true, pending: true, yes: true });
    const words = { n: 'unsubscribed', W: 'pending', J: 'subscribed' };
    const again = await imported(`${file}mine@a.test,W\n`, {
      mapping: { Werbung: { field: 'subscribed', words } },
    });
    expect(again).toMatchObject({ updated_count: 2, unchanged_count: 2, failed_count: 0 });
    expect(await people()).toEqual({ mine: true, no: false, pending: false, yes: true });
    await imported(file, {
      mapping: { Werbung: { field: 'subscribed', words: { n: null, w: null, j: 'subscribed' } } },
    });
    expect(await people()).toEqual({ mine: true, no: false, pending: false, yes: true });
  });

  it('keeps its subscription in a dry run, which counts it', async () => {
    await known('in@a.test');
    const done = await imported('Email,subscribed,status\nin@a.test,no,bounced\n', { dry_run: true });
    expect(done).toMatchObject({ updated_count: 1, unchanged_count: 0 });
    expect([await people(), await isOut('in@a.test'), await suppressed()]).toEqual([{ in: true }, false, []]);
  });
});

describe('a column that may be about subscriptions', () => {
  it('stops the import before its first row if none of its words are known, and names them', async () => {
    const done = await imported('Email,Marketing Permission 2020\na@a.test,blue\nb@a.test,"green"\n');
    expect(done).toMatchObject({ status: 'failed', processed_rows: 0 });
    expect(done.errors).toMatchObject([{ row: null, code: 'unknown_consent_words' }]);
    expect(done.errors[0]?.message).toMatch(/"Marketing Permission 2020".*"blue", "green".*options\.mapping/);
    expect(await people()).toEqual({});
  });

  it('fails the rows with unknown words if others are known', async () => {
    const done = await imported('Email,Subscribed\na@a.test,yes\nb@a.test,perhaps\nc@a.test,\n');
    expect(done.errors).toMatchObject([{ row: 3, column: 'Subscribed', code: 'invalid_subscribed' }]);
    expect(await people()).toEqual({ a: true, c: true });
  });

  it('is data with a warning if its heading is ambiguous and no tool has all of its words', async () => {
    const done = await imported('Email,Status\na@a.test,active\nb@a.test,gold\n');
    expect(done.columns).toMatchObject([
      { name: 'Email', used_as: 'email', examples: ['a@a.test', 'b@a.test'], ignored_because: null },
      { name: 'Status', used_as: 'data.Status', examples: ['active', 'gold'] },
    ]);
    expect(done.columns?.[1]?.ignored_because).toMatch(/not a subscription status.*"active", "gold"/);
    expect(await people('data as is')).toEqual({ a: { Status: 'active' }, b: { Status: 'gold' } });
  });

  it('is read by words of subscriptions in other languages, and warns of a no that it does not read', async () => {
    await imported('Email,Statut\nja@a.test,Abonné\nnein@a.test,Désabonné\n');
    await imported('Email,Status\nyes@a.test,angemeldet\nno@a.test,abgemeldet\n');
    expect(await people()).toEqual({ ja: true, nein: false, yes: true, no: false });
    const { warnings } = await imported(
      'Email,Status\na@b.test,active\nc@b.test,unsubscribed\nd@b.test,VIP\n',
    );
    expect(warnings).toEqual([
      expect.objectContaining({ row: null, column: 'Status', code: 'unread_consent' }),
    ]);
    expect((await imported('Email,Status\ne@b.test,paid\nf@b.test,refunded\n')).warnings).toEqual([]);
  });

  it('is missed in a suppression list of another service, which is no list of contacts', async () => {
    const file = 'email,reason,created\na@b.test,550 5.1.1 no such user,1714557600\n';
    expect(await imported(file)).toMatchObject({ status: 'failed', errors: [{ code: 'suppression_list' }] });
    expect(await people()).toEqual({});
    await imported(file, { status: 'bounced' });
    expect(await people()).toEqual({ a: false });
  });

  it('has its words also in rows whose other cells cannot be read', async () => {
    const name = Buffer.from([0x4d, 0xfc, 0xff, 0x6c]);
    const row = (text: string) => Buffer.concat([Buffer.from(text), name, Buffer.from('\n')]);
    const file = Buffer.concat([
      Buffer.from('Email,Status,First Name\n'),
      row('no@a.test,unsubscribed,'),
      row('yes@a.test,subscribed,'),
    ]);
    await importFile(api, { file, options: { encoding: 'utf-8' } });
    expect([await people(), await isOut('no@a.test')]).toEqual([{ no: false, yes: true }, true]);
  });

  it('is no data because of the cells of rows that are out of line or cannot be read', async () => {
    const file = Buffer.concat([
      Buffer.from('Email,Last Name,Status\nno@a.test,Doe,unsubscribed\nyes@a.test,Roe,subscribed\n'),
      Buffer.from('long@a.test,Doe, John,subscribed\nodd@a.test,Moe,unsub'),
      Buffer.from([0xff, 0xfe, 0x0a]),
    ]);
    const done = await importFile(api, { file, options: { encoding: 'utf-8' } });
    expect(done.errors).toMatchObject([
      { row: 4, code: 'too_many_columns' },
      { row: 5, code: 'invalid_encoding' },
    ]);
    expect([await people(), await isOut('no@a.test')]).toEqual([{ no: false, yes: true }, true]);
  });

  it('is no data because the header is repeated in the file', async () => {
    await imported('Email,Status\nno@a.test,unsubscribed\nEmail,Status\nyes@a.test,subscribed\n');
    expect([await people(), await isOut('no@a.test')]).toEqual([{ no: false, yes: true }, true]);
  });

  it('does not override subscribe: false by a yes under an ambiguous heading', async () => {
    await imported('Email,Status\na@a.test,active\nb@a.test,unsubscribed\n', { subscribe: false });
    expect(await people()).toEqual({ a: false, b: false });
    expect([await isOut('a@a.test'), await isOut('b@a.test')]).toEqual([false, true]);
  });

  it('is data if the mapping says so', async () => {
    const done = await imported('Email,Unsubscribed\na@a.test,yes\n', {
      mapping: { Unsubscribed: 'data.flag' },
    });
    expect(done.columns).toMatchObject([{}, { used_as: 'data.flag' }]);
    expect([await people(), await people('data as is')]).toEqual([{ a: true }, { a: { flag: 'yes' } }]);
  });

  it('can be mapped with its words, and inverted', async () => {
    const done = await imported(
      'Email,Sperre,Kanal\na@a.test,ja,rot\nb@a.test,nein,grün\nc@a.test,nein,rot\n',
      {
        mapping: {
          Sperre: { field: 'subscribed_email', invert: true },
          Kanal: { field: 'subscribed', words: { Rot: 'never_subscribed', grün: 'subscribed' } },
        },
      },
    );
    expect(await people()).toEqual({ a: false, b: true, c: false });
    expect(done.columns).toMatchObject([
      { used_as: 'email', words: null },
      { used_as: 'unsubscribed_email', words: { ja: 'unsubscribed', nein: null } },
      { used_as: 'subscribed', words: { rot: 'never_subscribed', grün: 'subscribed' } },
    ]);
  });

  it('is decided by the whole file, for whichever process continues after the scan', async () => {
    const rows = Array.from(
      { length: 1_100 },
      (_, n) => `p${n}@a.test,${n === 1_050 ? 'blocklisted' : 'enabled'}`,
    );
    const { body } = await postImport(api, { file: ['email,status', ...rows].join('\n') });
    const deps = importDeps(api);
    await advanceImport(deps, body.id, attendance);
    await advanceImport(deps, body.id, attendance);
    const { rows: scanned } = await api.database.pool.query<{ words: object }>(
      `select layout #> '{columns,1,use,consent,words}' as words from imports where id = $1`,
      [body.id],
    );
    expect(scanned).toEqual([{ words: { enabled: null, blocklisted: 'unsubscribed' } }]);
    expect(await runToEnd(api, body.id, { turnMs: 0 })).toMatchObject({ created_count: 1_100 });
    expect(await people()).toMatchObject({ p1050: false, p1049: true });
  });
});

describe('an import', () => {
  it('is refused if its mapping names a column that the file does not have', async () => {
    const given: ImportGiven = {
      file: 'Email,Name\na@a.test,A\n',
      options: { mapping: { Kontakt: 'email', NAME: null } },
    };
    const { status, body } = await postImport(api, given);
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { validation_errors: { 'options.mapping.Kontakt': [expect.stringMatching(/Email, Name/)] } },
    });
  });

  it('shows its columns before the first row is imported, and why it ignores some', async () => {
    const { body } = await postImport(api, {
      file: 'Email,Mail,Secret,error\na@a.test,x,1,2\n',
      options: { mapping: { Secret: null, mail: 'email', Email: 'email' } },
    });
    expect(body.columns).toEqual([]);
    await advanceImport(importDeps(api), body.id, attendance);
    await advanceImport(importDeps(api), body.id, attendance);
    const { body: scanned } = await api.request('GET', `/v1/my/imports/${body.id}`);
    expect(scanned).toMatchObject({
      processed_rows: 0,
      columns: [
        { used_as: 'email', examples: ['a@a.test'] },
        { used_as: null, ignored_because: 'the column Email is email already' },
        { used_as: null, ignored_because: 'options.mapping ignores it' },
        { used_as: null, ignored_because: expect.any(String) },
      ],
    });
    await runToEnd(api, body.id);
  });

  it('forgets the examples of a contact that is deleted', async () => {
    const { id } = await imported('Email,Plan\na@a.test,pro\n');
    const forget = (key: string) =>
      forgetImportedContact(
        api.database.pool,
        { accountId: api.accountId, brandId: api.brandId, contactId: 1, addressKeys: [key] } as never,
        10,
      );
    const examples = async () => {
      const { body } = await api.request<Imported>('GET', `/v1/my/imports/${id}`);
      return body.columns?.map((column) => column.examples);
    };
    await forget('other@a.test');
    expect(await examples()).toEqual([['a@a.test'], ['pro']]);
    await forget('a@a.test');
    expect(await examples()).toEqual([[], []]);
  });

  it('is not continued by a worker of a version that does not know these columns', async () => {
    const { body } = await postImport(api, { file: 'email,status\na@a.test,blocklisted\n' });
    const { pool } = api.database;
    await advanceImport(importDeps(api), body.id, attendance);
    const begin = `update imports set layout = '{}', position = '{"offset": 1}' where id = $1`;
    await expect(pool.query(begin, [body.id])).rejects.toMatchObject({ code: '40001' });
    await advanceImport(importDeps(api), body.id, attendance);
    const next = `update imports set position = '{"offset": 40}' where id = $1`;
    await expect(pool.query(next, [body.id])).rejects.toMatchObject({ code: '40001' });
    expect(await runToEnd(api, body.id)).toMatchObject({ status: 'completed' });
    expect(await people()).toEqual({ a: false });
  });
});
