// Files are uploaded for messages that are sent later: privately, for 72 hours, within a quota.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { attachmentsUpkeep } from '../../../src/features/attachments/upkeep.ts';
import { removeUnusedFiles } from '../../../src/features/attachments/removal.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';

const MIB = 1024 * 1024;
const PATH = '/v1/my/attachments';

let api: TestApi;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, ATTACHMENTS_MB: '1', ATTACHMENT_QUOTA_MB: '2' } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

interface UploadOptions {
  name?: string;
  type?: string;
  fields?: Record<string, string>;
  token?: string;
  headers?: Record<string, string>;
}

function upload(content: string | Buffer, options: UploadOptions = {}) {
  const { name = 'a.txt', type = '', fields = {}, ...rest } = options;
  const rawBody = new FormData();
  for (const [field, value] of Object.entries(fields)) rawBody.append(field, value);
  rawBody.append('file', new File([new Uint8Array(Buffer.from(content))], name, { type }));
  return api.request('POST', PATH, { rawBody, ...rest });
}

const blobsOf = (accountId: number) =>
  readdir(join(home, 'blobs', 'attachments', String(accountId))).catch(() => []);
const blobs = () => blobsOf(api.accountId);
const get = (id: unknown, token = api.apiKey) => api.request('GET', `${PATH}/${String(id)}`, { token });
const remove = () => removeUnusedFiles({ pool: api.database.pool, store: createHomeStore(home) });

async function clear(): Promise<void> {
  await api.database.pool.query('delete from attachment_uploads');
  await api.database.pool.query('update attachment_files set kept_until = now()');
  await remove();
}

it('stores equal files once, and returns what was uploaded', async () => {
  await clear();
  const first = await upload('equal', { name: '../Grüße.txt' });
  const second = await upload('equal', { name: 'b.bin', fields: { content_type: 'application/x-own' } });
  expect([first.status, second.status]).toEqual([201, 201]);
  const sha256 = createHash('sha256').update('equal').digest('hex');
  const common = { size: 5, sha256, id: expect.any(Number), expires_at: expect.any(String) };
  expect(first.body).toEqual({ ...common, filename: 'Grüße.txt', content_type: 'text/plain; charset=utf-8' });
  expect(second.body).toEqual({ ...common, filename: 'b.bin', content_type: 'application/x-own' });
  expect(Math.round((Date.parse(String(first.body.expires_at)) - Date.now()) / 3_600_000)).toBe(72);
  expect((await get(first.body.id)).body).toEqual(first.body);
  expect((await blobs()).length).toBe(1);
});

it('is not found by another brand or account, and not offered to test keys', async () => {
  const { body } = await upload('private');
  expect((await get(body.id, api.other.apiKey)).status).toBe(404);
  const { rows } = await api.database.pool.query<{ id: number }>(
    'insert into brands (account_id) values ($1) returning id',
    [api.accountId],
  );
  const headers = { 'X-Brand-Id': String(rows[0]?.id) };
  const path = `${PATH}/${String(body.id)}`;
  expect((await api.request('GET', path, { token: api.userJwt, headers })).status).toBe(404);
  expect((await api.request('DELETE', path, { token: api.userJwt, headers })).status).toBe(404);
  for (const refused of [await upload('test', { token: api.testApiKey }), await get(body.id, api.testApiKey)])
    expect([refused.status, refused.body.code]).toEqual([403, 'test_key']);
});

it.each<[string, string | Buffer, UploadOptions, number, string]>([
  ['an empty file', '', {}, 422, 'is empty'],
  ['a program', `MZ${'\0'.repeat(80)}`, { name: 'a.jpg' }, 422, 'is a Windows program'],
  ['a dangerous name', 'x', { name: 'a.exe' }, 422, 'names a file of the type .exe'],
  ['a mail as a type', 'x', { fields: { content_type: 'message/rfc822' } }, 422, 'must not be multipart'],
  ['an unknown field', 'x', { fields: { keep: 'true' } }, 422, 'is not a known field'],
  ['a file that is too large', Buffer.alloc(MIB + 1, 'x'), {}, 413, 'larger than'],
])('refuses %s and stores nothing', async (_what, content, options, status, message) => {
  await clear();
  const refused = await upload(content, options);
  expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(message)]);
  expect(await blobs()).toEqual([]);
});

it('uses the type that a browser gives only if it says something', async () => {
  const typeOf = async (type: string) => (await upload('x', { type })).body.content_type;
  expect(await typeOf('image/x-own')).toBe('image/x-own');
  for (const vague of ['application/octet-stream', 'message/rfc822', 'nonsense', `a/${'b'.repeat(999)}`])
    expect([vague, await typeOf(vague)]).toEqual([vague, 'text/plain; charset=utf-8']);
});

it('refuses beyond the quota, in which equal files count once', async () => {
  await clear();
  const large = randomBytes(MIB - 10_000);
  const statuses = [];
  for (const content of [large, large, randomBytes(MIB - 10_000), large, randomBytes(100_000)])
    statuses.push((await upload(content)).status);
  expect(statuses).toEqual([201, 201, 201, 422, 422]);
  expect((await blobs()).length).toBe(2);
  await clear();
  const together = await Promise.all(Array.from({ length: 4 }, () => upload(randomBytes(MIB - 10_000))));
  expect(together.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422]);
  expect((await blobs()).length).toBe(2);
  expect((await upload('another account', { token: api.other.apiKey })).status).toBe(201);
  await clear();
});

it('stores a repeated request once', async () => {
  await clear();
  const headers = { 'Idempotency-Key': 'once' };
  const [first, second] = [await upload('once', { headers }), await upload('once', { headers })];
  expect([first.body, (await blobs()).length]).toEqual([second.body, 1]);
  expect((await upload('twice', { headers })).status).toBe(409);
  expect((await blobs()).length).toBe(1);
});

it('expires after 72 h, or when it is deleted, and then its file goes', async () => {
  await clear();
  const [deleted, expired, kept] = [await upload('deleted'), await upload('expired'), await upload('kept')];
  const removed = await api.request('DELETE', `${PATH}/${String(deleted.body.id)}`);
  expect([removed.status, removed.body]).toEqual([200, deleted.body]);
  expect([await remove(), (await blobs()).length]).toEqual([1, 2]);
  await api.database.pool.query(
    `update attachment_uploads set expires_at = now() - interval '1 s' where id = $1`,
    [expired.body.id],
  );
  const statuses = await Promise.all([deleted, expired, kept].map(({ body }) => get(body.id)));
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 200]);
  const [task] = attachmentsUpkeep.tasks ?? [];
  if (!task) throw new Error('no task');
  expect(await runTask(api.database, task, new Date())).toBe(1);
  await api.database.pool.query('update attachment_files set kept_until = now()');
  expect([await remove(), (await blobs()).length]).toEqual([1, 1]);
});
