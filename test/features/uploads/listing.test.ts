// A brand's uploads are listed in pages, newest first, with what the account uses of its quota.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const TEXT = Buffer.from('a text');
const MEGABYTE = 1024 * 1024;

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

async function upload(
  name: string,
  bytes: Buffer,
  options: { keep?: boolean; brand?: number; token?: string } = {},
) {
  const rawBody = new FormData();
  rawBody.append('file', new File([new Uint8Array(bytes)], name));
  if (options.keep) rawBody.append('keep', 'true');
  const headers: Record<string, string> =
    options.brand === undefined ? {} : { 'X-Brand-Id': String(options.brand) };
  return (
    await api.request('POST', '/v1/my/uploads', { rawBody, headers, token: options.token ?? api.apiKey })
  ).body;
}

it('lists the brand’s uploads as they were returned, page by page, and only images on request', async () => {
  const logo = await upload('logo.png', PNG);
  const text = await upload('terms.txt', TEXT);
  const banner = await upload('banner.png', PNG, { keep: true });
  const { list: all, headers } = await api.request('GET', '/v1/my/uploads');
  expect(all).toEqual([banner, text, logo]);
  expect([headers.get('x-total-count'), banner.kept, logo.kept]).toEqual(['3', true, false]);
  const first = await api.request('GET', '/v1/my/uploads?limit=2');
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  expect((await api.request('GET', `/v1/my/uploads${new URL(next).search}`)).list).toEqual([logo]);
  const images = await api.request('GET', '/v1/my/uploads?images=true');
  expect([images.list, images.headers.get('x-total-count')]).toEqual([[banner, logo], '2']);
  await api.request('DELETE', `/v1/my/uploads/${String(text.signed_id)}`);
  expect((await api.request('GET', '/v1/my/uploads')).list).toEqual([banner, logo]);
});

it('shows no uploads of another brand or account, and counts those of all brands of the account', async () => {
  const usage = async () => (await api.request('GET', '/v1/my/uploads/usage')).body;
  const before = await usage();
  expect(before.quota_bytes).toBe(3 * MEGABYTE);
  const { rows } = await api.database.pool.query<{ id: number }>(
    'insert into brands (account_id) values ($1) returning id',
    [api.accountId],
  );
  const brand = rows[0]?.id ?? 0;
  const elsewhere = await upload('b.png', PNG, { brand, token: api.userJwt });
  const listed = await api.request('GET', '/v1/my/uploads');
  expect(listed.list.length).toBeGreaterThan(0);
  expect(listed.text).not.toContain(String(elsewhere.signed_id));
  expect((await usage()).used_bytes).toBe(Number(before.used_bytes) + PNG.length);
  const token = api.other.apiKey;
  expect((await api.request('GET', '/v1/my/uploads', { token })).list).toEqual([]);
  expect((await api.request('GET', '/v1/my/uploads/usage', { token })).body.used_bytes).toBe(0);
});
