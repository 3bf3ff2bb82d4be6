// List responses are paged with valid links, and new items do not shift the following pages.
import net from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pageOf } from '../../../src/platform/db/paging.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { probeRoutes } from '../../support/probe-routes.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ extraRoutes: probeRoutes, env: { PUBLIC_URL: 'https://mail.example/' } });
});
afterAll(() => api.close());

const list = (query = '') => api.request('GET', `/v1/my/probe/pages${query}`);

function linksOf(header: string | null): Record<string, string> {
  const found = (header ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return Object.fromEntries([...found].map(([, url, rel]) => [rel, url]));
}

it('returns 25 items and the headers of the page', async () => {
  const answer = await list();
  expect(answer.list.map((item) => item.id)).toEqual(Array.from({ length: 25 }, (_, index) => 40 - index));
  expect(answer.headers.get('x-total-count')).toBe('40');
  expect(answer.headers.get('x-total-pages')).toBe('2');
  expect(answer.headers.get('x-page-number')).toBe('1');
  expect(answer.headers.get('x-total-count-estimated')).toBeNull();
});

it('accepts page and limit, and returns an empty list past the end', async () => {
  const second = await list('?page=2&limit=30');
  expect(second.list).toHaveLength(10);
  expect(second.headers.get('x-page-number')).toBe('2');
  const past = await list('?page=9');
  expect([past.status, past.text, past.headers.get('x-page-number')]).toEqual([200, '[]', '9']);
  expect((await list('?page=999999999999999&limit=200')).text).toBe('[]');
});

it('treats a limit above 200 as 200', async () => {
  expect(pageOf({ limit: 201 }).limit).toBe(200);
  expect((await list('?limit=100000')).headers.get('x-total-pages')).toBe('1');
});

it.each(['page', 'limit', 'after'])('refuses a %s that is not a positive integer', async (name) => {
  for (const value of ['0', '-1', '1.5', 'abc', '', '1e2', '0x10', ' 1', '9999999999999999999']) {
    const answer = await list(`?${name}=${encodeURIComponent(value)}`);
    expect([value, answer.status, answer.body.validation_errors]).toEqual([
      value,
      422,
      { [name]: ['must be an integer from 1 to 999999999999999'] },
    ]);
  }
});

it('links to the next page by `after`, which new items do not shift, and keeps the filters', async () => {
  const first = linksOf((await list('?limit=15&odd=true')).headers.get('link'));
  expect(first).toEqual({
    first: 'https://mail.example/v1/my/probe/pages?limit=15&odd=true',
    next: 'https://mail.example/v1/my/probe/pages?limit=15&odd=true&after=11',
    last: 'https://mail.example/v1/my/probe/pages?limit=15&odd=true&page=2',
  });
  const next = await list(new URL(first.next ?? '').search);
  expect(next.list.map((item) => item.id)).toEqual([9, 7, 5, 3, 1]);
  expect(next.headers.get('x-page-number')).toBeNull();
  expect(Object.keys(linksOf(next.headers.get('link')))).toEqual(['first']);
  const second = linksOf((await list('?limit=15&page=2')).headers.get('link'));
  expect(second.prev).toBe('https://mail.example/v1/my/probe/pages?limit=15&page=1');
});

it('has no link to a next page if the last page is full', async () => {
  const rels = async (query: string) => Object.keys(linksOf((await list(query)).headers.get('link')));
  expect(await rels('?limit=20')).toContain('next');
  expect(await rels('?limit=20&page=2')).toEqual(['first', 'prev', 'last']);
});

it.each(['', 'Host: a b<c>\r\n'])('has valid links even if the client sent %j', async (host) => {
  const plain = await startTestApi({ extraRoutes: probeRoutes });
  const socket = net.connect(plain.port, '127.0.0.1');
  socket.write(`GET /v1/my/probe/pages HTTP/1.0\r\n${host}\r\n`);
  let seen = '';
  for await (const data of socket) seen += String(data);
  await plain.close();
  expect(seen).toMatch(
    /^HTTP\/1.1 200 [\s\S]*\r\nLink: <http:\/\/localhost\/v1\/my\/probe\/pages>; rel="first"/,
  );
});

it('links to the address that the client used if PUBLIC_URL is not set', async () => {
  const plain = await startTestApi({ extraRoutes: probeRoutes });
  const answer = await plain.request('GET', '/v1/my/probe/pages', {
    headers: { Origin: 'https://evil.test' },
  });
  await plain.close();
  expect(linksOf(answer.headers.get('link')).first).toBe(`${plain.baseUrl}/v1/my/probe/pages`);
});

it('marks an estimated total', async () => {
  expect((await list('?odd=true')).headers.get('x-total-count-estimated')).toBe('true');
});
