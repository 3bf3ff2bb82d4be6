// A hostile event body never causes a 5xx, alone or in a batch.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi();
  [contactId = 0] = await insertContacts(api.database.pool, api, 1);
});
afterAll(() => api.close());

/** A small generator with a seed, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const values: unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  5e-324,
  1.7e308,
  2 ** 53,
  '',
  ' ',
  'a',
  '\u0000',
  '\ud800',
  '\u2028',
  '💥'.repeat(80),
  "'; drop table contact_events; --",
  '$1',
  '{"a":1}',
  '::ffff:1.2.3.4',
  '1.2.3.4/8',
  '127.1',
  'http://[',
  'javascript:alert(1)?utm_source=%00%ff',
  `https://a.co/?${'utm_source=x&'.repeat(100)}`,
  `Mozilla/5.0 ${'('.repeat(900)}`,
  `${'Version/'.repeat(100)} Safari`,
  '"a b"@example.com',
  'é@exämple.com',
  '2024-02-30T00:00:00Z',
  '2024-02-29T23:59:60Z',
  '9999-12-31T23:59:59.999999999+15:59',
  '2020-01-01T00:00:00+23:59',
  [],
  [[[]]],
  {},
  { __proto__: 1, constructor: 2 },
  { 'a.b': [null, { '': '\u0001' }] },
];

const fields = [
  'event',
  'contact_id',
  'contact_email',
  'idempotency_key',
  'amount',
  'resource_uid',
  'resource_url',
  'test',
  'data',
  'utm_term',
  'ip',
  'user_agent',
  'referrer',
  'occurred_at',
  'id',
  'extra',
];

function fuzzed(next: () => number): Record<string, unknown> {
  const pick = <T>(from: readonly T[]) => from[Math.floor(next() * from.length)] as T;
  const body: Record<string, unknown> = { event: 'fuzzed', contact_id: contactId };
  for (let left = 1 + Math.floor(next() * 3); left > 0; left -= 1) body[pick(fields)] = pick(values);
  return body;
}

describe('a hostile body', () => {
  it('never causes a 5xx', async () => {
    const next = random(11);
    const bodies = Array.from({ length: 600 }, () => fuzzed(next));
    const statuses = new Map<number, number>();
    for (let from = 0; from < bodies.length; from += 20) {
      const group = bodies.slice(from, from + 20);
      const answers = await Promise.all(group.map((body) => api.request('POST', '/v1/my/events', { body })));
      for (const [index, { status }] of answers.entries()) {
        expect({ body: group[index], bad: status >= 500 }).toEqual({ body: group[index], bad: false });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    expect([...statuses.keys()].sort()).toEqual([201, 422]);
  }, 60_000);

  it('never causes a 5xx in a batch, and each item has the same result as alone', async () => {
    const next = random(12);
    for (let round = 0; round < 5; round += 1) {
      const events: unknown[] = Array.from({ length: 60 }, () => fuzzed(next));
      events.push(...values.filter((value) => !['\u0000', '\ud800'].includes(value as string)));
      const storable = events.filter((event) => !/\\u0000|\\ud800/.test(JSON.stringify(event)));
      const body = { events: storable };
      const { status, body: answer } = await api.request('POST', '/v1/my/events/batch', { body });
      expect([status, (answer.results as unknown as unknown[]).length]).toEqual([200, storable.length]);
    }
  }, 60_000);

  it('is refused if it is not JSON, not an object or too large', async () => {
    const post = async (rawBody: string, path = '/v1/my/events') => {
      const headers = { 'Content-Type': 'application/json' };
      return (await api.request('POST', path, { rawBody, headers })).status;
    };
    expect(await post('{"event":')).toBe(400);
    expect(await post('[]')).toBe(422);
    expect(await post('null')).toBe(422);
    expect(await post(`{"event":"${'x'.repeat(6_000_000)}"}`)).toBe(413);
    expect(await post(`{"events":[${'[],'.repeat(20_001)}1]}`, '/v1/my/events/batch')).toBe(413);
  });
});
