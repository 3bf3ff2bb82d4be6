// A page of large items is complete, is read as the client reads it, and is cut off visibly if it fails midway.
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pino from 'pino';
import { z } from 'zod';
import { pageOf, pageQuery } from '../../../src/platform/db/paging.ts';
import { createLargeLists, slicesOf } from '../../../src/platform/http/large-lists.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

const COUNT = 12;
const TEXT = '\u{1f514}é'.repeat(500_000);

let api: TestApi;
let reads: number[][] = [];
let lost: number | null = null;
let itemText = TEXT;
let logged: string[] = [];

const lists = (options = {}) => createLargeLists({ waitMs: 1, ...options });
let probed = lists();

const route = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/large',
  operationId: 'listLargeProbes',
  tag: 'Probes',
  summary: 'List large items',
  auth: 'brand',
  testKeys: 'allowed',
  query: z.strictObject(pageQuery),
  paginated: true,
  responses: {
    200: { description: 'A page.', schema: z.array(z.object({ id: z.int(), text: z.string() })) },
  },
  handler(input) {
    const page = pageOf(input.query);
    const all = Array.from({ length: COUNT }, (_, index) => ({
      id: COUNT - index,
      bytes: Buffer.byteLength(itemText),
    }));
    const items = all.slice(page.offset, page.offset + page.limit);
    return probed.reply(input, page, items, { total: COUNT }, (ids) => {
      reads.push(ids);
      if (lost !== null && ids.includes(lost)) return Promise.reject(new Error('the database is gone'));
      return Promise.resolve(ids.map((id) => ({ id, text: itemText })));
    });
  },
});

beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
  api = await startTestApi({ extraRoutes: [route], log });
});
afterAll(() => api.close());
beforeEach(() => {
  reads = [];
  lost = null;
  itemText = TEXT;
  logged = [];
  probed = lists();
});

/** Requests the list, and reads nothing of the body yet. */
function open(token = api.apiKey, query = ''): Promise<http.IncomingMessage> {
  const headers = { Authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    http
      .get(`${api.baseUrl}/v1/my/probe/large${query}`, { headers, agent: false }, resolve)
      .on('error', reject);
  });
}

it('divides a page by bytes, and gives an item that is too large a slice of its own', () => {
  const items = [5, 4, 30, 2, 8, 1].map((bytes, index) => ({ id: 6 - index, bytes }));
  expect(slicesOf(items, 10)).toEqual([[6, 5], [4], [3, 2], [1]]);
  expect(slicesOf([], 10)).toEqual([]);
});

it('returns every item of a page, with the headers of a list', async () => {
  const { status, headers, list } = await api.request('GET', '/v1/my/probe/large?limit=10');
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(list.map(({ id }) => Number(id))).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  expect(list.every((item) => String(item.text) === TEXT)).toBe(true);
  expect(reads.length).toBeGreaterThan(3);
  expect([headers.get('x-total-count'), headers.get('x-total-pages')]).toEqual(['12', '2']);
  expect(headers.get('link')).toContain('after=3>; rel="next"');
});

it('returns a small page with its length', async () => {
  itemText = 'x'.repeat(250_000);
  const { headers, list } = await api.request('GET', '/v1/my/probe/large?limit=1&page=3');
  expect(list.map(({ id }) => Number(id))).toEqual([10]);
  expect(headers.get('content-length')).not.toBeNull();
});

it.each([
  ['has stopped', { stallMs: 200 }],
  ['is too slow for the size of the page', { leewayMs: 200, minBytesPerSecond: 1e12 }],
])('reads no more than the client takes, and disconnects one that %s', async (_, options) => {
  probed = lists(options);
  const stopped = await Promise.all([open(), open()]);
  let count = stopped.length;
  // The turns of both are free once they are disconnected.
  await eventually(async () => {
    const opened = await Promise.all([open(), open()]);
    count += opened.length;
    for (const response of opened) response.destroy();
    expect(opened.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  });
  // A whole page takes more.
  expect(reads.length).toBeLessThan(4 * count);
  const ends = stopped.map((response) =>
    text(response).then(
      () => 'complete',
      (error: Error) => error.message,
    ),
  );
  expect(await Promise.all(ends)).toEqual(['aborted', 'aborted']);
  expect(logged.some((line) => line.includes('client disconnected'))).toBe(true);
  expect(logged.filter((line) => line.includes('unhandled error'))).toEqual([]);
});

it('breaks the connection if it fails midway', async () => {
  lost = 2;
  await expect(text(await open())).rejects.toThrow('aborted');
});

it('fails as every request does if its first slice fails', async () => {
  lost = COUNT;
  expect((await api.request('GET', '/v1/my/probe/large')).status).toBe(500);
  lost = null;
  const opened = await Promise.all([open(), open()]);
  expect(opened.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  for (const response of opened) response.destroy();
});

it('writes two to an account at once, and begins another when one has ended', async () => {
  const [first, second] = [await open(), await open()];
  const third = await api.request('GET', '/v1/my/probe/large');
  expect([third.status, third.body.code]).toEqual([429, 'rate_limited']);
  expect(third.headers.get('retry-after')).toBe('5');
  expect((await api.request('GET', '/v1/my/probe/large?limit=1')).status).toBe(200);
  const other = await open(api.other.apiKey);
  expect(other.statusCode).toBe(200);
  other.destroy();
  expect(JSON.parse(await text(first))).toHaveLength(COUNT);
  await eventually(async () => {
    const again = await open();
    again.destroy();
    expect(again.statusCode).toBe(200);
  });
  second.destroy();
});

it('writes four pages of one slice to an account at once', async () => {
  itemText = 'x'.repeat(20_000_000);
  const four = [];
  for (let n = 0; n < 4; n += 1) four.push(await open(api.apiKey, '?limit=1'));
  expect(four.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const fifth = await api.request('GET', '/v1/my/probe/large?limit=1');
  expect([fifth.status, fifth.body.code]).toEqual([429, 'rate_limited']);
  for (const response of four) response.destroy();
});
