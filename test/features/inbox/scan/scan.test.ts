// A mail arrives after its scan, once and never with a virus, and each of its files gets a result even if scans fail.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { saveResult, saveVirus } from '../../../../src/features/inbox/scan/results.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { type FakeClamd, startFakeClamd } from '../../../support/fake-clamd.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createTestStore, insertMailToScan, mailScan, type TestStore } from '../../../support/mail-scans.ts';
import { addWebhook } from '../../../support/webhooks.ts';

const DAY_MS = 24 * 3_600_000;
const running = new AbortController().signal;
const virus = (file: Buffer) => (file.includes('virus') ? 'stream: Test.Virus FOUND' : 'stream: OK');

let api: TestApi;
let clamd: FakeClamd;
let files: TestStore;
let inboxId: number;

beforeAll(async () => {
  [api, clamd, files] = await Promise.all([startTestApi(), startFakeClamd(), createTestStore()]);
  inboxId = await insertInbox(api.database, api, 'support@acme.test');
  await addWebhook(api.database, api, 'https://hooks.example.com/', ['email.received']);
});
afterAll(async () => {
  await Promise.all([api.close(), clamd.close(), files.remove()]);
});
beforeEach(() => {
  clamd.files.length = 0;
  clamd.verdict = virus;
});

const query = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
  (await api.database.pool.query<Row>(text, values)).rows;

const insert = (mail: Omit<Parameters<typeof insertMailToScan>[3], 'inboxId'> = {}) =>
  insertMailToScan(api.database, files.store, api, { inboxId, ...mail });
const advance = (id: number, asOf = new Date(), url: string | null = clamd.url) =>
  mailScan(api.database, files.store, url).advance(id, asOf, running);
const report = (id: number) => mailScan(api.database, files.store, clamd.url).report(id);

interface Mail {
  scan_state: string;
  arrived: boolean;
  reason: string | null;
  detail: string | null;
  expected: boolean;
}

const mailOf = async (id: number) =>
  (
    await query<Mail>(
      `select scan_state, arrived_at is not null as arrived, quarantine ->> 'reason' as reason,
         quarantine ->> 'detail' as detail, engine_expected_by is not null as expected
       from conversation_messages where id = $1`,
      [id],
    )
  )[0];

const results = async (id: number) =>
  (
    await query<{ result: string }>(
      `select concat_ws(' ', scan_status, scan_reason, case when storage_key is null then '(removed)' end) as result
       from conversation_attachments where conversation_message_id = $1 order by id`,
      [id],
    )
  ).map(({ result }) => result);

interface ReportedAttachment {
  scanned: boolean;
}

const reportsOf = async (id: number) =>
  (
    await query<{ attachments: ReportedAttachment[] }>(
      `select data -> 'attachments' as attachments from events
       where type = 'email.received' and data ->> 'conversation_message_id' = $1`,
      [String(id)],
    )
  ).map(({ attachments }) => attachments.map(({ scanned }) => scanned));

const removedFiles = async (keys: string[]) =>
  (await query<{ key: string }>('select key from inbox_removed_files where key = any($1)', [keys])).length;

const keysOf = async (id: number) =>
  (
    await query<{ key: string }>(
      'select storage_key as key from conversation_attachments where conversation_message_id = $1 order by id',
      [id],
    )
  ).map(({ key }) => key);

const arrived = { scan_state: 'done', arrived: true, reason: null, detail: null, expected: false };
const quarantined = {
  scan_state: 'done',
  arrived: false,
  reason: 'virus',
  detail: 'Test.Virus',
  expected: false,
};

describe('a clean mail', () => {
  it('arrives after its attachments and the mail itself have been scanned', async () => {
    const { id } = await insert({ attachments: ['one', 'two'], raw: 'all of it' });
    expect(await advance(id)).toEqual({ phase: 'done', problem: null, files: 3, finished: 3 });
    expect(clamd.files.map(String)).toEqual(['one', 'two', 'all of it']);
    expect(await mailOf(id)).toEqual(arrived);
    expect(await results(id)).toEqual(['clean', 'clean']);
    expect(await reportsOf(id)).toEqual([[true, true]]);
  });

  it('is neither scanned nor reported a second time', async () => {
    const { id } = await insert({ attachments: ['one'] });
    await advance(id);
    clamd.files.length = 0;
    expect(await advance(id)).toMatchObject({ phase: 'done' });
    await report(id);
    expect(clamd.files).toEqual([]);
    expect(await reportsOf(id)).toHaveLength(1);
  });

  it('arrives once if two processes scan it', async () => {
    const { id } = await insert({ attachments: ['one', 'two'] });
    await Promise.all([advance(id), advance(id), report(id)]);
    expect(await mailOf(id)).toEqual(arrived);
    expect(await results(id)).toEqual(['clean', 'clean']);
    expect(await reportsOf(id)).toHaveLength(1);
  });

  it('arrives with files that cannot be scanned, and says so', async () => {
    const replies: Record<string, string> = {
      locked: 'stream: Heuristics.Encrypted.Zip FOUND',
      huge: 'INSTREAM size limit exceeded. ERROR',
      nested: 'stream: Heuristics.Limits.Exceeded.MaxRecursion FOUND',
    };
    clamd.verdict = (file) => replies[String(file)] ?? 'stream: OK';
    const { id } = await insert({ attachments: ['locked', 'huge', 'nested', 'fine'] });
    await advance(id);
    expect(await results(id)).toEqual([
      'skipped encrypted',
      'skipped too_large',
      'skipped limit_exceeded',
      'clean',
    ]);
    expect(await reportsOf(id)).toEqual([[false, false, false, true]]);
  });

  it('arrives although a file is gone', async () => {
    const { id } = await insert({ attachments: ['one', 'two'] });
    await files.store.remove((await keysOf(id))[0] ?? '');
    await advance(id);
    expect(await results(id)).toEqual(['skipped missing', 'clean']);
    expect(await mailOf(id)).toEqual(arrived);
  });
});

describe('a mail with a virus', () => {
  it('goes to quarantine without the infected file, and is not reported', async () => {
    const { id } = await insert({ attachments: ['fine', 'a virus', 'fine, too'] });
    const keys = await keysOf(id);
    expect(await advance(id)).toMatchObject({ phase: 'done' });
    expect(await mailOf(id)).toEqual(quarantined);
    expect(await results(id)).toEqual(['clean', 'infected Test.Virus (removed)', 'clean']);
    // The mail itself has it, too.
    expect(clamd.files.map(String)).toEqual(['fine', 'a virus', 'fine, too']);
    expect(await removedFiles(keys)).toBe(1);
    expect(await reportsOf(id)).toEqual([]);
    await report(id);
    expect(await reportsOf(id)).toEqual([]);
  });

  it('loses all attachments if only the mail itself has it', async () => {
    const { id } = await insert({ attachments: ['one', 'two'], raw: 'a virus between them' });
    const keys = await keysOf(id);
    await advance(id);
    expect(await mailOf(id)).toEqual(quarantined);
    expect(await results(id)).toEqual(['infected Test.Virus (removed)', 'infected Test.Virus (removed)']);
    expect(await removedFiles(keys)).toBe(2);
  });

  it('stays where it is if it has arrived, and loses the file', async () => {
    const { id } = await insert({ attachments: ['a virus'] });
    await report(id);
    await advance(id);
    expect(await mailOf(id)).toEqual(arrived);
    expect(await results(id)).toEqual(['infected Test.Virus (removed)']);
    expect(await reportsOf(id)).toEqual([[false]]);
  });

  it('goes to quarantine once more after it was released as spam', async () => {
    const released = { reason: 'spam', detail: null, at: 'then', released_at: 'now' };
    const { id } = await insert({ attachments: ['a virus'], quarantine: released });
    await advance(id);
    expect(await mailOf(id)).toEqual(quarantined);
    const clean = await insert({ attachments: ['fine'], quarantine: released });
    await advance(clean.id);
    expect(await mailOf(clean.id)).toEqual({ ...arrived, reason: 'spam' });
  });

  it('stays infected whatever is found later', async () => {
    const { id, attachments } = await insert({ attachments: ['a virus'] });
    const attachmentId = attachments[0] ?? 0;
    await inTransaction(api.database.pool, (trx) => saveVirus(trx, id, { attachmentId, signature: 'First' }));
    await saveResult(api.database.pool, attachmentId, { status: 'clean' });
    expect(await results(id)).toEqual(['infected First (removed)']);
  });

  it('does not lose its reason if the same is found twice', async () => {
    const { id, attachments } = await insert({ attachments: ['a virus'] });
    const found = { attachmentId: attachments[0] ?? 0, signature: 'First' };
    await inTransaction(api.database.pool, (trx) => saveVirus(trx, id, found));
    await inTransaction(api.database.pool, (trx) => saveVirus(trx, id, { ...found, signature: 'Second' }));
    expect(await mailOf(id)).toMatchObject({ reason: 'virus', detail: 'First' });
    expect(await results(id)).toEqual(['infected First (removed)']);
  });
});

describe('while the scanner is unavailable', () => {
  it('waits, and continues after the last file with a result', async () => {
    clamd.verdict = (file) => (String(file) === 'two' ? 'out of memory ERROR' : 'stream: OK');
    const { id } = await insert({ attachments: ['one', 'two', 'three'] });
    expect(await advance(id)).toEqual({
      phase: 'waiting',
      problem: 'the virus scanner failed: out of memory ERROR',
      files: 4,
      finished: 1,
    });
    expect(await mailOf(id)).toMatchObject({ scan_state: 'pending', arrived: false, expected: true });
    expect(await reportsOf(id)).toEqual([]);
    clamd.files.length = 0;
    clamd.verdict = virus;
    expect(await advance(id)).toMatchObject({ phase: 'done' });
    expect(clamd.files.map(String)).toEqual(['two', 'three', 'the mail']);
    expect(await reportsOf(id)).toEqual([[true, true, true]]);
  });

  it('lets mail arrive unscanned, and stores later results without another report', async () => {
    const { id } = await insert({ attachments: ['one'] });
    const gone = await startFakeClamd();
    await gone.close();
    expect(await advance(id, new Date(), gone.url)).toMatchObject({ phase: 'waiting' });
    await report(id);
    expect(await reportsOf(id)).toEqual([[false]]);
    expect(await results(id)).toEqual(['pending']);
    await advance(id);
    expect(await results(id)).toEqual(['clean']);
    expect(await mailOf(id)).toEqual(arrived);
    expect(await reportsOf(id)).toEqual([[false]]);
  });

  it('gives up after seven days', async () => {
    const receivedAt = new Date(Date.now() - 6.9 * DAY_MS);
    const { id } = await insert({ attachments: ['one'], receivedAt });
    clamd.verdict = () => 'out of memory ERROR';
    expect(await advance(id)).toMatchObject({ phase: 'waiting' });
    expect(await advance(id, new Date(Date.now() + 0.2 * DAY_MS))).toMatchObject({ phase: 'done' });
    expect(await results(id)).toEqual(['skipped scanner_unavailable']);
    expect(await mailOf(id)).toEqual(arrived);
  });

  it('gives up at once if there is no scanner any more', async () => {
    const { id } = await insert({ attachments: ['one'] });
    expect(await advance(id, new Date(), null)).toMatchObject({ phase: 'done' });
    expect(await results(id)).toEqual(['skipped no_scanner']);
    expect(await reportsOf(id)).toEqual([[false]]);
  });
});

it('ends if the mail was deleted', async () => {
  const { id } = await insert({ attachments: ['one'] });
  await query('delete from conversation_messages where id = $1', [id]);
  expect(await advance(id)).toMatchObject({ phase: 'done', files: 0 });
  await report(id);
  expect(clamd.files).toEqual([]);
});
