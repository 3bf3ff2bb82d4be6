// A repeated POST with the same Idempotency-Key does the work once and returns the same resource.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fingerprintOf } from '../../../src/platform/db/idempotency.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { probeRoutes } from '../../support/probe-routes.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ extraRoutes: probeRoutes });
});
afterAll(() => api.close());

const make = (key: string | null, body: object, token = api.apiKey) =>
  api.request<{ id: number; code: string }>('POST', '/v1/my/probe/uploads', {
    token,
    body,
    ...(key === null ? {} : { headers: { 'Idempotency-Key': key } }),
  });

async function countOf(filename: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'select count(*)::int as count from uploads where filename = $1',
    [filename],
  );
  return rows[0]?.count ?? 0;
}

describe('a POST with an Idempotency-Key', () => {
  it('is replayed with the original status and the current resource', async () => {
    const first = await make('again', { filename: 'again' });
    const second = await make('again', { filename: 'again' });
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(second.body).toEqual({ id: first.body.id, loaded: true, path: '/v1/my/probe/uploads' });
    expect(await countOf('again')).toBe(1);
  });

  it('matches a payload with another order of fields, and with defaults left out', async () => {
    await make('order', { filename: 'order', kind: 'one' });
    const again = await make('order', { wait_ms: 0, fail: false, filename: 'order' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('does the work separately for a test key and for a live key of the brand', async () => {
    const live = await make('apart', { filename: 'apart' });
    const test = await make('apart', { filename: 'apart-test' }, api.testApiKey);
    expect([live.status, test.status]).toEqual([201, 201]);
    expect(test.body.id).not.toBe(live.body.id);
    const again = await make('apart', { filename: 'apart-test' }, api.testApiKey);
    expect([again.body.id, again.headers.get('idempotent-replayed')]).toEqual([test.body.id, 'true']);
  });

  it('is 409 with another payload, and changes nothing', async () => {
    await make('other', { filename: 'other' });
    const answer = await make('other', { filename: 'other-2' });
    expect([answer.status, answer.body.code]).toEqual([409, 'idempotency_conflict']);
    expect(await countOf('other-2')).toBe(0);
  });

  it('is 409 with a payload that its schema refuses, if the key is known', async () => {
    await make('refused', { filename: 'refused' });
    for (const body of [{ filename: 1 }, { filename: 'refused', surplus: true }, {}]) {
      const known = await make('refused', body);
      expect([known.status, known.body.code]).toEqual([409, 'idempotency_conflict']);
      const unknown = await make('refused-new', body);
      expect([unknown.status, unknown.body.code]).toEqual([422, 'validation_error']);
    }
    expect((await make('refused', { filename: 1 }, api.testApiKey)).status).toBe(422);
  });

  it('does the work once for concurrent requests; the others wait and are replayed', async () => {
    const pair = await Promise.all(
      ['a', 'b', 'c', 'd'].map(() => make('race', { filename: 'race', wait_ms: 300 })),
    );
    expect(pair.map((each) => each.status)).toEqual([201, 201, 201, 201]);
    expect(new Set(pair.map((each) => each.body.id)).size).toBe(1);
    expect(pair.filter((each) => each.headers.get('idempotent-replayed') === 'true')).toHaveLength(3);
    expect(await countOf('race')).toBe(1);
  });

  it('lets a waiting request do the work if the first one fails', async () => {
    const failing = make('fails', { filename: 'fails', wait_ms: 300, fail: true });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const waiting = make('fails', { filename: 'works' });
    expect((await failing).status).toBe(409);
    expect((await waiting).status).toBe(201);
    expect([await countOf('fails'), await countOf('works')]).toEqual([0, 1]);
  });

  it('keeps only a success', async () => {
    expect((await make('retry', { filename: 1 })).status).toBe(422);
    expect((await make('retry', { filename: 'retry', fail: true })).status).toBe(409);
    expect((await make('retry', { filename: 'retry' })).status).toBe(201);
    expect(await countOf('retry')).toBe(1);
  });

  it('is separate for each brand', async () => {
    const own = await make('shared', { filename: 'own' });
    const others = await make('shared', { filename: 'others' }, api.other.apiKey);
    expect([own.status, others.status]).toEqual([201, 201]);
    expect(others.headers.get('idempotent-replayed')).toBeNull();
    expect((await make('shared', { filename: 'own' })).body.id).toBe(own.body.id);
    expect((await make('shared', { filename: 'others' }, api.other.apiKey)).body.id).toBe(others.body.id);
  });

  it('is forgotten after seven days', async () => {
    await make('old', { filename: 'old' });
    await api.database.pool.query(
      `update idempotency_keys set created_at = now() - interval '7 days 1 minute' where key = 'old'`,
    );
    const again = await make('old', { filename: 'new' });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect((await make('old', { filename: 'new' })).headers.get('idempotent-replayed')).toBe('true');
  });

  it.each([
    ['129 characters', 'k'.repeat(129)],
    ['a tab', 'a\tb'],
    ['a letter beyond ASCII', 'clé'],
  ])('is 422 if the key has %s', async (_what, key) => {
    const answer = await api.request('POST', '/v1/my/probe/uploads', {
      body: { filename: 'bad-key' },
      headers: { 'Idempotency-Key': key },
    });
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([
      422,
      ['Idempotency-Key'],
    ]);
    expect(await countOf('bad-key')).toBe(0);
  });

  it('accepts a key of 128 characters', async () => {
    expect((await make('k'.repeat(128), { filename: 'long-key' })).status).toBe(201);
  });

  it('does the work each time without a key', async () => {
    await make(null, { filename: 'no-key' });
    await make(null, { filename: 'no-key' });
    expect(await countOf('no-key')).toBe(2);
  });
});

it('computes different fingerprints for different payloads', () => {
  const of = (payload: unknown) => fingerprintOf(payload).toString('hex');
  expect(of({ a: 1, b: { c: [1, 2], d: 'x' } })).toBe(of({ b: { d: 'x', c: [1, 2] }, a: 1, e: undefined }));
  const different = [{ a: 1 }, { a: '1' }, { a: [1] }, { a: null }, { b: 1 }, [{ a: 1 }], { a: 1, b: 1 }];
  expect(new Set(different.map(of)).size).toBe(different.length);
  expect(of([1, 2])).not.toBe(of([2, 1]));
});
