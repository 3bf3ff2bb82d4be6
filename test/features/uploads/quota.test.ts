// Uploads never exceed an account's quota, and a file in use cannot be removed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

const MEGABYTE = 1024 * 1024;
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let api: TestApi;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  api = await startTestApi({ env: { CARILLON_HOME: home, UPLOAD_QUOTA_MB: '3' } });
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});
beforeEach(async () => {
  await api.database.pool.query(
    'update accounts set avatar = null, banner = null; update brands set logo = null',
  );
  await api.database.pool.query('delete from uploads');
});

function upload(bytes: Buffer, token = api.apiKey, fields: Record<string, string> = {}) {
  const rawBody = new FormData();
  rawBody.append('file', new File([new Uint8Array(bytes)], 'a.png'));
  for (const [name, value] of Object.entries(fields)) rawBody.append(name, value);
  return api.request('POST', '/v1/my/uploads', { rawBody, token });
}

const remove = (signedId: unknown, token = api.apiKey) =>
  api.request('DELETE', `/v1/my/uploads/${String(signedId)}`, { token });
const download = async (signedId: unknown) =>
  (await fetch(`${api.baseUrl}/uploads/${String(signedId)}`)).status;

describe('the quota of an account for uploads', () => {
  it('refuses a file that would exceed it, and leaves other accounts alone', async () => {
    const { body: first } = await upload(Buffer.alloc(2 * MEGABYTE, 1));
    const refused = await upload(Buffer.alloc(2 * MEGABYTE, 2));
    expect([refused.status, refused.body.code]).toEqual([422, 'validation_error']);
    expect(refused.body.validation_errors?.file?.[0]).toMatch(/quota of 3 MB/);
    expect((await upload(Buffer.alloc(2 * MEGABYTE, 3), api.other.apiKey)).status).toBe(201);
    expect((await remove(first.signed_id)).status).toBe(200);
    expect((await upload(Buffer.alloc(2 * MEGABYTE, 4))).status).toBe(201);
  });

  it('applies to concurrent uploads together', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => upload(Buffer.alloc(MEGABYTE, n + 1))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 422, 422, 422]);
  });
});

describe('DELETE /v1/my/uploads/:signed_id', () => {
  it('removes the upload with its file, and returns it', async () => {
    const { body } = await upload(PNG);
    expect(await download(body.signed_id)).toBe(200);
    const removed = await remove(body.signed_id);
    expect([removed.status, removed.body]).toEqual([200, body]);
    expect(await download(body.signed_id)).toBe(404);
    expect((await remove(body.signed_id)).status).toBe(404);
  });

  it('does not remove an upload of another account', async () => {
    const { body } = await upload(PNG);
    expect((await remove(body.signed_id, api.other.apiKey)).status).toBe(404);
    expect((await remove('1-1-x')).status).toBe(404);
    expect(await download(body.signed_id)).toBe(200);
  });

  it.each([
    ['avatar', 'PATCH', '/v1/my/account'],
    ['banner', 'PATCH', '/v1/my/account'],
    ['logo', 'PUT', '/v1/my/brand'],
  ])('is a conflict while the upload is the %s', async (field, method, path) => {
    const { body } = await upload(PNG);
    await api.request(method, path, { body: { [field]: body.signed_id } });
    const refused = await remove(body.signed_id);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    await api.request(method, path, { body: { [field]: null } });
    expect((await remove(body.signed_id)).status).toBe(200);
  });
});

it('removes uploads after 30 days unless they are kept, or an avatar, banner or logo refers to them', async () => {
  const ids: Record<string, unknown> = {};
  for (const name of ['avatar', 'banner', 'logo', 'unused']) ids[name] = (await upload(PNG)).body.signed_id;
  ids.kept = (await upload(PNG, api.apiKey, { keep: 'true' })).body.signed_id;
  ids.young = (await upload(PNG)).body.signed_id;
  const { avatar, banner, logo } = ids;
  await api.request('PATCH', '/v1/my/account', { body: { avatar, banner } });
  await api.request('PUT', '/v1/my/brand', { body: { logo } });
  const { pool } = api.database;
  await pool.query(`update uploads set created_at = now() - interval '30 days 1 minute'
    where id <> (select max(id) from uploads)`);
  const task = upkeep.tasks.find(({ name }) => name === 'unused_uploads');
  const deps = { ...upkeep, config: api.config, database: api.database, log: pino({ level: 'silent' }) };
  expect(await task?.run(deps, new Date(), () => undefined)).toBe(1);
  const left = await Promise.all(Object.entries(ids).map(async ([name, id]) => [name, await download(id)]));
  expect(Object.fromEntries(left)).toEqual({
    avatar: 200,
    banner: 200,
    logo: 200,
    unused: 404,
    kept: 200,
    young: 200,
  });
});
