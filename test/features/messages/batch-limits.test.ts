// A batch costs tokens by its size, and is bounded by the limits of its account.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '3', RATE_LIMIT_PER_KEY: '0' } });
});
afterAll(() => api.close());

const email = { channel: 'email', to: 'ada@example.com', subject: 'Your receipt', body: 'Thank you.' };
const letter = { ...email, to: ['ada@example.com', 'bob@example.com'] };

const post = (
  messages: readonly unknown[],
  { atomic = false, key, token = api.apiKey }: { atomic?: boolean; key?: string; token?: string } = {},
) =>
  api.request('POST', `/v1/my/messages/batch?atomic=${String(atomic)}`, {
    token,
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
    body: { messages },
  });

const select = async (sql: string, ...values: unknown[]) =>
  (await api.database.pool.query<Record<string, unknown>>(sql, values)).rows;

const statusesOf = (body: TestBody) =>
  (body.results as unknown as TestBody[]).map(({ status, error }) => error?.code ?? status);

/** A key that no other test uses. */
async function newKey(rate: number): Promise<string> {
  const { body } = await api.request('POST', '/v1/my/api_keys', {
    token: api.userJwt,
    body: { name: 'of a batch', rate_limit_per_second: rate },
  });
  return String(body.key);
}

describe('the cost', () => {
  const wrong = (count: number) => Array.from({ length: count }, () => ({ channel: 'email' }));
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('ratelimit-remaining'));

  it('is one request for ten messages', async () => {
    const token = await newKey(20);
    // The bucket fills by a token in 50 ms.
    const cost = async (count: number) => {
      const before = remaining(await post([], { token }));
      return before - remaining(await post(wrong(count), { token }));
    };
    expect(await cost(10)).toBeLessThanOrEqual(1);
    const many = await cost(151);
    expect(many).toBeGreaterThan(10);
    expect(many).toBeLessThanOrEqual(16);
    const refused = await post(wrong(390), { token });
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // Nothing but the request itself was counted.
    expect((await post(wrong(90), { token })).status).toBe(200);
  });

  it('is refused for good if it is more than the burst', async () => {
    const token = await newKey(20);
    const { status, body } = await post(wrong(401), { token });
    expect([status, body.validation_errors]).toEqual([
      422,
      { messages: ['costs 41 requests, and the burst of this key is 40: send at most 400 messages at once'] },
    ]);
    expect((await post(wrong(390), { token })).status).toBe(200);
  });

  it('is given back for a batch whose fields are wrong, and not asked of a replay', async () => {
    const token = await newKey(20);
    for (let n = 0; n < 4; n += 1) {
      expect((await post(wrong(300), { token, atomic: true })).status).toBe(422);
    }
    // To render messages, and to find that not all can be written, is the work that it pays for.
    const costly = [...wrong(299), { ...email, from: 'ada@strange.example' }];
    const other = await newKey(20);
    const refused = () => post(costly, { token: other, atomic: true });
    expect([(await refused()).status, (await refused()).status]).toEqual([422, 429]);
    expect((await post(wrong(300), { token, key: 'cost' })).status).toBe(200);
    const again = await post(wrong(300), { token, key: 'cost' });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  });
});

describe('the limits of the account', () => {
  beforeEach(() => select('delete from sandbox_usage'));

  it('refuse the messages that are too many', async () => {
    const { body } = await post([email, letter, email]);
    // Ordinary messages are written first.
    expect(statusesOf(body)).toEqual(['created', 'sandbox_limit_reached', 'created']);
  });

  it.each<[string, object]>([
    ['messages', email],
    ['letters', letter],
  ])('refuse an atomic batch of too many %s', async (_name, message) => {
    const [before] = await select('select count(*)::int as count from messages');
    const { status, body } = await post([message, email, message, message], { atomic: true });
    expect([status, body.code]).toEqual([422, 'sandbox_limit_reached']);
    expect(body.message).toMatch(/^messages\.[0-3]: /);
    expect(await select('select count(*)::int as count from messages')).toEqual([before]);
    expect((await post([email, letter], { atomic: true })).body.created).toBe(2);
  });

  it.each([
    [true, 32],
    [false, 128],
  ])('bound what the messages have together (atomic: %s)', async (atomic, megabytes) => {
    const body = {
      default: { ...email, to: undefined, html: 'x'.repeat(1024 * 1024) },
      messages: Array(megabytes + 1).fill({ to: email.to }),
    };
    const answer = await api.request('POST', `/v1/my/messages/batch?atomic=${String(atomic)}`, { body });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      { messages: [`have more than ${megabytes} MB together; send fewer at once`] },
    ]);
    expect(await select('select * from sandbox_usage')).toEqual([]);
  });

  it('bound the messages of test keys as a whole', async () => {
    const token = api.testApiKey;
    expect(statusesOf((await post([email, letter], { token, key: 'tests' })).body)).toEqual([
      'created',
      'created',
    ]);
    const { status, body } = await post(
      Array(380)
        .fill(letter.to)
        .map((to) => ({ ...email, to: [...to, 'c@example.com'] })),
      { token },
    );
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect((await post([email, letter], { token, key: 'tests' })).status).toBe(200);
  });
});
