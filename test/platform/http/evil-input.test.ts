// No input in any body, query or path causes a 500, and oversized bodies are refused before they are parsed.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { z } from 'zod';
import type { RouteDefinition } from '../../../src/platform/http/route.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

/** Values that no field expects. Every field either accepts them or refuses them with a 4xx. */
const evil: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 60,
  '',
  ' ',
  '\0',
  '\ud800',
  '%00',
  "'; drop table messages; --",
  'x'.repeat(100_000),
  '🎉'.repeat(500),
  '../../etc/passwd',
  'a\r\nb',
  '2026-13-45T99:99:99Z',
  'https://user:pass@[::1]:22/',
  [],
  [[[[[]]]]],
  [null],
  {},
  { __proto__: null, constructor: 1, toString: 2 },
  { a: { b: { c: { d: {} } } } },
  { '': '' },
  { ['k'.repeat(2_000)]: 'v' },
];

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

function fieldsOf(schema: z.core.$ZodType | null): string[] {
  if (!schema) return [];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return Object.keys(def.shape);
  if (def.type === 'pipe') return fieldsOf(def.in);
  return [];
}

function pathOf(route: RouteDefinition): string {
  return route.path.replaceAll(/:\w+/g, '1');
}

async function send(route: RouteDefinition, path: string, body: unknown): Promise<void> {
  const options = route.body && route.method !== 'GET' ? { body } : {};
  const response = await api.request(route.method, path, options);
  const request = `${route.method} ${path.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200)}: ${response.text.slice(0, 300)}`;
  if (response.status >= 500) throw new Error(request);
  if (response.status >= 400) {
    expect(Object.keys(response.body).sort()).toEqual(['code', 'error', 'message', 'validation_errors']);
  }
}

/** Valid values for the other fields, so that validation reaches the evil one. */
const plausible: Record<string, unknown> = {
  channel: 'email',
  to: 'ada@example.com',
  subject: 'Hello',
  html: '<p>Hi</p>',
  url: 'https://example.com/hook',
  events: ['email.sent'],
  user: { email: 'a@example.com', password: 'x' },
};

it('never causes a 500 in any field of any body', async () => {
  for (const route of api.routes.filter((each) => each.body && !each.multipart)) {
    const fields = fieldsOf(route.body);
    const base = Object.fromEntries(
      fields.filter((name) => name in plausible).map((name) => [name, plausible[name]]),
    );
    for (const value of evil) {
      await send(route, pathOf(route), value);
      await Promise.all(fields.map((field) => send(route, pathOf(route), { ...base, [field]: value })));
    }
  }
}, 120_000);

const nested = (levels: number) => `${'{"a":'.repeat(levels)}"\\u0041"${'}'.repeat(levels)}`;
const putBrand = (rawBody: string) =>
  api.request('PUT', '/v1/my/brand', { rawBody, headers: { 'Content-Type': 'application/json' } });

it('accepts 100 levels of nesting and refuses more', async () => {
  expect((await putBrand(`{"default_theme":${nested(99)}}`)).status).toBe(200);
  for (const levels of [100, 5_000, 100_000]) {
    const answer = await putBrand(`{"default_theme":${nested(levels)}}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
  }
});

it('refuses the name __proto__ at any depth, instead of losing it', async () => {
  const refusals = await Promise.all([
    putBrand('{"__proto__":{"tone":"kind"}}'),
    putBrand('{"default_theme":{"__proto__":1}}'),
    putBrand('{"default_theme":{"\\u005f_proto__":1}}'),
    api.request('GET', '/v1/my/messages?__proto__=1'),
  ]);
  const fields = refusals.map(({ status, body }) => [status, ...Object.keys(body.validation_errors ?? {})]);
  expect(fields).toEqual([
    [422, '"__proto__"'],
    [422, 'default_theme."__proto__"'],
    [422, 'default_theme."__proto__"'],
    [422, '"__proto__"'],
  ]);
});

it('reports at most 100 wrong fields', async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `"field_${index}":"\\u0000"`);
  const unknown = await putBrand(`{${names.join().replaceAll('\\u0000', '')}}`);
  const unstorable = await putBrand(`{${names.join()}}`);
  for (const { status, body } of [unknown, unstorable]) {
    expect([status, Object.keys(body.validation_errors ?? {}).length]).toEqual([422, 100]);
  }
});

it.each([
  ['values in lists', `{"a":[${'0,'.repeat(20_000)}0]}`, '20000 values'],
  ['lists in lists', `{"a":[${'[],'.repeat(20_000)}0]}`, '20000 values'],
  [
    'fields in an object',
    `{${Array.from({ length: 2_001 }, (_, index) => `"k${index}":1`).join()}}`,
    '2000 fields',
  ],
])('refuses a body with too many %s before it parses them', async (_what, rawBody, limit) => {
  const answer = await putBrand(rawBody);
  expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
  expect(answer.body.message).toContain(limit);
});

it('never causes a 500 in a query or path parameter', async () => {
  const texts = evil.filter((value): value is string => typeof value === 'string' && value.isWellFormed());
  for (const route of api.routes.filter((each) => each.method === 'GET' && each.auth !== 'none')) {
    for (const value of texts.map((text) => encodeURIComponent(text.slice(0, 2_000)))) {
      for (const name of fieldsOf(route.query))
        await send(route, `${pathOf(route)}?${name}=${value}`, undefined);
      if (route.path.includes('/:'))
        await send(route, route.path.replaceAll(/:\w+/g, value || '%20'), undefined);
    }
  }
}, 120_000);
