// Equal bytes of an account are one stored file, which stays for as long as a message or an upload names it.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { removeUnusedFiles } from '../../../src/features/attachments/removal.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import {
  type AttachmentStage,
  callerOf,
  createAttachmentStage,
  readFileOf,
} from '../../support/attachments.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const DAY_MS = 86_400_000;

let db: TestDatabase;
let stage: AttachmentStage;
let tenant: TestTenant;
let tenants = 0;
let messages = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  stage = await createAttachmentStage(db.database);
});
afterAll(() => Promise.all([stage.close(), db.drop()]));
beforeEach(async () => {
  tenant = await createTestTenant(db.database, `Files ${(tenants += 1)}`);
});

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;
const store = (...texts: string[]) => stage.attachments.storeFiles(callerOf(tenant), texts.map(readFileOf));
const blobs = () => stage.blobs(tenant.accountId);
const rows = () =>
  query<{ key: string; kept_until: Date }>(
    `select storage_key as key, kept_until from attachment_files where account_id = $1 order by storage_key`,
    [tenant.accountId],
  );
const keys = async () => (await rows()).map(({ key }) => key);
const days = (count: number) => new Date(Date.now() + count * DAY_MS);
const remove = (asOf: Date | null = null, files = stage.store) =>
  removeUnusedFiles({ pool: db.database.pool, store: files }, asOf);
/** Makes the files of the account due. */
const expire = () =>
  query(`update attachment_files set kept_until = now() - interval '1 s' where account_id = $1`, [
    tenant.accountId,
  ]);
/** Writes the row of a message's file. */
const name = (text: string, pool: Pick<typeof db.database.pool, 'query'> = db.database.pool) =>
  pool.query(
    `insert into message_attachments (message_id, n, account_id, filename, content_type, disposition, size, sha256, stored)
     values ($1, 1, $2, 'a', 'text/plain', 'attachment', 1, $3, true)`,
    [(messages += 1), tenant.accountId, readFileOf(text).sha256],
  );
const read = async (text: string, form: 'bytes' | 'folded') => {
  const opened = await stage.attachments.openFile(tenant, readFileOf(text).sha256, form);
  if (!opened) return null;
  const pieces = (await opened.stream.toArray()) as Buffer[];
  const bytes = Buffer.concat(pieces);
  expect(opened.size).toBe(bytes.length);
  return bytes.toString();
};

it('stores equal files once, and returns them as bytes and as mails have them', async () => {
  const stored = await store('one', 'two', 'one');
  expect(stored.map(({ size, stored: isStored }) => [size, isStored])).toEqual([
    [3, true],
    [3, true],
    [3, true],
  ]);
  await store('two');
  expect(await keys()).toEqual(await blobs());
  expect((await blobs()).length).toBe(2);
  expect([await read('one', 'bytes'), await read('one', 'folded')]).toEqual(['one', 'b25l\r\n']);
  expect(await read('three', 'bytes')).toBe(null);
});

it('two writers of one file keep one blob', async () => {
  await Promise.all(Array.from({ length: 8 }, () => store('same', 'other')));
  expect((await blobs()).length).toBe(2);
  expect(await keys()).toEqual(await blobs());
});

it('raises the time until which a file is kept at most once a day', async () => {
  await store('often');
  const [first] = await rows();
  const retained = stage.config.MESSAGE_CONTENT_RETENTION_DAYS + 15;
  expect(Math.round(((first?.kept_until.getTime() ?? 0) - Date.now()) / DAY_MS)).toBeGreaterThanOrEqual(
    retained - 1,
  );
  const version = () =>
    query('select xmin::text, kept_until from attachment_files where account_id = $1', [tenant.accountId]);
  const before = await version();
  await store('often');
  expect(await version()).toEqual(before);
  await expire();
  await store('often');
  expect(await rows()).toEqual([first]);
});

it('removes a row before its blob, and the blob as soon as the storage allows', async () => {
  await store('gone');
  const kept = await blobs();
  expect([await remove(), await keys()]).toEqual([0, kept]);
  await expire();
  const broken = { remove: () => Promise.reject(new Error('the disk is gone')) };
  await expect(remove(null, { ...stage.store, ...broken })).rejects.toThrow('the disk is gone');
  expect([await keys(), await blobs()]).toEqual([[], kept]);
  expect([await remove(), await blobs()]).toEqual([1, []]);
  expect(await query('select from attachment_removed_files')).toEqual([]);
});

it('takes a new key when a file comes back', async () => {
  await store('again');
  const [first] = await blobs();
  await expire();
  await remove(null, { ...stage.store, remove: () => Promise.resolve() });
  await store('again');
  expect(await read('again', 'bytes')).toBe('again');
  expect(await keys()).not.toContain(first);
});

it('stores a file again whose blob is lost', async () => {
  await store('lost');
  const [key = ''] = await blobs();
  await stage.store.remove(key);
  await store('lost');
  expect([await read('lost', 'bytes'), await keys()]).toEqual(['lost', [key]]);
});

it('never removes what a message names, even if the retention was raised', async () => {
  await store('named', 'unnamed');
  await name('named');
  await remove(days(100));
  expect((await blobs()).length).toBe(1);
  expect([await read('named', 'bytes'), await read('unnamed', 'bytes')]).toEqual(['named', null]);
  const [{ kept_until: until = new Date(0) } = {}] = await rows();
  expect(Math.round((until.getTime() - Date.now()) / DAY_MS)).toBe(101);
});

it('leaves a file to the message that is being accepted with it', async () => {
  await store('wanted');
  await expire();
  await inTransaction(db.database.pool, async (trx) => {
    await trx.query('select from attachment_files where account_id = $1 for key share', [tenant.accountId]);
    expect(await remove()).toBe(0);
    await name('wanted', trx);
  });
  expect([await remove(), await read('wanted', 'bytes')]).toEqual([0, 'wanted']);
});

it('refuses a file that should be stored and is gone', async () => {
  await store('there');
  const again = ['there', 'away'].map((text, n) => ({
    ...readFileOf(text),
    ...{ folded: null, field: `attachments.${n}.attachment_id` },
  }));
  await expect(stage.attachments.storeFiles(callerOf(tenant), again)).rejects.toMatchObject({
    validationErrors: { 'attachments.1.attachment_id': ['has expired'] },
  });
  expect((await stage.attachments.storeFiles(callerOf(tenant), again.slice(0, 1))).length).toBe(1);
});

it('does not store files of test keys', async () => {
  const [file] = await stage.attachments.storeFiles(callerOf(tenant, true), [readFileOf('test')]);
  expect([file?.stored, await blobs(), await rows()]).toEqual([false, [], []]);
});

it('removes the files of a deleted account', async () => {
  await store('last');
  await query(
    `insert into attachment_uploads (account_id, brand_id, filename, content_type, size, sha256, expires_at)
     values ($1, $2, 'a', 'text/plain', 4, $3, now())`,
    [tenant.accountId, tenant.brandId, readFileOf('last').sha256],
  );
  await expire();
  expect([await remove(), (await blobs()).length]).toEqual([0, 1]);
  await query('delete from accounts where id = $1', [tenant.accountId]);
  expect([await remove(), await blobs()]).toEqual([1, []]);
});
