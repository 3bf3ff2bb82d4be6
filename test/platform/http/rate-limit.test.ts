// Every caller has its own rate limit with correct headers, and login attempts are limited per account and address.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { AppError } from '../../../src/errors.ts';
import { createApiKey } from '../../../src/features/api-keys/service.ts';
import { createRateLimiter, type RateLimiter } from '../../../src/platform/http/rate-limiter.ts';
import { createFleetShare } from '../../../src/platform/processes/fleet.ts';
import { createTokenBuckets } from '../../../src/platform/processes/token-buckets.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { probeRoutes } from '../../support/probe-routes.ts';

/** A limiter whose clock stands still until the test advances it. */
function frozen(processes = 1): { limiter: RateLimiter; pass: (seconds: number) => void } {
  let nowMs = 0;
  const limiter = createRateLimiter(
    () => processes,
    createTokenBuckets(() => nowMs),
  );
  return {
    limiter,
    pass(seconds) {
      nowMs += seconds * 1000;
    },
  };
}

function refusalOf(work: () => unknown): AppError | null {
  try {
    work();
    return null;
  } catch (error) {
    return error as AppError;
  }
}

function allowed(most: number, work: () => unknown): number {
  for (let count = 0; count < most; count += 1) if (refusalOf(work)) return count;
  return most;
}

describe('the limit of a caller', () => {
  it('allows a burst of two seconds, and refills at the rate', () => {
    const { limiter, pass } = frozen();
    const ask = () => limiter.request('key 1', 100);
    expect(allowed(1_000, ask)).toBe(200);
    pass(0.5);
    expect(allowed(1_000, ask)).toBe(50);
    pass(3_600);
    expect(allowed(1_000, ask)).toBe(200);
  });

  it('is separate from that of other callers', () => {
    const { limiter } = frozen();
    expect(allowed(1_000, () => limiter.request('key 1', 10))).toBe(20);
    expect(allowed(1_000, () => limiter.request('key 2', 10))).toBe(20);
  });

  it('counts a request as many at once, or not at all', () => {
    const { limiter, pass } = frozen();
    const ask = (tokens: number) => () => limiter.request('key 1', 10, tokens);
    expect(refusalOf(ask(15))).toBeNull();
    const refusal = refusalOf(ask(15));
    expect(refusal).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' } });
    expect(refusalOf(ask(5))).toBeNull();
    expect(refusalOf(ask(15))).toMatchObject({ headers: { 'Retry-After': '2' } });
    void limiter.giveBack('key 1', 5);
    expect(allowed(20, ask(1))).toBe(5);
    pass(1_000);
    void limiter.giveBack('key 1', 100);
    expect(allowed(100, ask(1))).toBe(20);
  });

  it('does not exist if the rate is 0', () => {
    const { limiter } = frozen();
    expect(allowed(5_000, () => limiter.request('key 1', 0))).toBe(5_000);
    expect(limiter.request('key 1', 0)).toEqual({});
  });

  it('is the share of this process in the limit of the fleet', () => {
    const { limiter } = frozen(4);
    expect(allowed(1_000, () => limiter.request('key 1', 100))).toBe(50);
  });

  it('reports correctly when to try again', () => {
    const { limiter, pass } = frozen();
    const ask = () => limiter.request('key 1', 0.25);
    expect(allowed(10, ask)).toBe(1);
    const refusal = refusalOf(ask);
    expect(refusal?.code).toBe('rate_limited');
    expect(refusal?.headers).toEqual({
      'RateLimit-Limit': '1',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '4',
      'Retry-After': '4',
    });
    pass(3.9);
    expect(allowed(10, ask)).toBe(0);
    pass(0.2);
    expect(allowed(10, ask)).toBe(1);
  });

  it('is forgotten, if there are too many callers, for the one that has been idle for longest', () => {
    const buckets = createTokenBuckets(() => 0, 2);
    const ask = (key: string) => buckets.take(key, 1, 10).remaining;
    expect([ask('a'), ask('b'), ask('a'), ask('c'), ask('a'), ask('b')]).toEqual([9, 9, 8, 9, 7, 9]);
  });

  it('still counts after idle buckets were removed', () => {
    const { limiter, pass } = frozen();
    allowed(1_000, () => limiter.request('slow', 0.01));
    pass(61);
    void limiter.request('key 2', 10);
    expect(allowed(10, () => limiter.request('slow', 0.01))).toBe(0);
  });
});

describe('failed logins', () => {
  it('are ten a minute for an email address from one network', () => {
    const { limiter, pass } = frozen();
    const attempt = () => limiter.login('10.0.0.1', 'victim@a.test');
    expect(allowed(100, attempt)).toBe(10);
    expect(allowed(1, () => limiter.login('10.0.0.1', 'other@a.test'))).toBe(1);
    expect(allowed(1, () => limiter.login('10.0.0.2', 'victim@a.test'))).toBe(1);
    pass(60);
    expect(allowed(100, attempt)).toBe(10);
  });

  it('are a hundred a minute for an email address, from any network', () => {
    const { limiter } = frozen();
    let from = 0;
    expect(allowed(300, () => limiter.login(`10.0.0.${(from += 1)}`, 'victim@a.test'))).toBe(100);
  });

  it('are a hundred a minute from a network, for any address', () => {
    const { limiter } = frozen();
    let account = 0;
    expect(allowed(300, () => limiter.login('10.0.0.1', `user-${(account += 1)}@a.test`))).toBe(100);
    expect(allowed(1, () => limiter.login('10.0.0.2', 'user-1@a.test'))).toBe(1);
  });

  it('are a hundred a minute for a user from a known network, whatever others do', () => {
    const { limiter } = frozen();
    let account = 0;
    allowed(300, () => limiter.login('10.0.0.1', `user-${(account += 1)}@a.test`));
    const attempt = (isKnown: boolean) => limiter.login('10.0.0.1', 'ada@a.test', isKnown);
    expect(allowed(300, () => attempt(false))).toBe(0);
    expect(allowed(300, () => attempt(true))).toBe(100);
    expect(allowed(300, () => limiter.login('10.0.0.2', 'ada@a.test'))).toBe(10);
  });

  it('leave out those that succeed, and those that are refused', () => {
    const { limiter } = frozen();
    const attempt = () => limiter.login('10.0.0.1', 'ada@a.test');
    expect(allowed(50, () => attempt()())).toBe(50);
    expect(allowed(500, attempt)).toBe(10);
    let account = 0;
    expect(allowed(300, () => limiter.login('10.0.0.1', `user-${(account += 1)}@a.test`))).toBe(90);
  });
});

describe('over HTTP', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ extraRoutes: probeRoutes, env: { RATE_LIMIT_PER_KEY: '5' } });
  });
  afterAll(() => api.close());

  const ask = (token: string) => api.request('GET', '/v1/my/probe/tenant', { token });

  it('returns the remaining requests, and with a 429 the time to wait', async () => {
    const first = await ask(api.apiKey);
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(api.apiKey)));
    const good = answers.filter((answer) => answer.status === 200);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(good.length).toBeGreaterThanOrEqual(9);
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect(first.headers.get('ratelimit-limit')).toBe('10');
    expect(first.headers.get('ratelimit-remaining')).toBe('9');
    expect(first.headers.get('ratelimit-reset')).toBe('1');
    const last = refused.at(-1);
    expect(last?.body.code).toBe('rate_limited');
    expect(last?.headers.get('retry-after')).toBe('1');
    expect(last?.headers.get('ratelimit-remaining')).toBe('0');
    expect((await ask(api.other.apiKey)).status).toBe(200);
  });

  it('applies the limit of a key, which may be none', async () => {
    const { pool } = api.database;
    const { accountId } = api;
    const wide = await createApiKey(pool, { accountId, rateLimitPerSecond: 40 });
    const free = await createApiKey(pool, { accountId, rateLimitPerSecond: 0 });
    expect((await ask(wide.key)).headers.get('ratelimit-limit')).toBe('80');
    expect((await ask(free.key)).headers.get('ratelimit-limit')).toBeNull();
  });

  it('limits a session like a key', async () => {
    expect((await ask(api.userJwt)).headers.get('ratelimit-limit')).toBe('10');
  });
});

describe('the fleet', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  it('has the api processes seen in the last 15 seconds, and at least one', async () => {
    const { pool } = api.database;
    const seen = (role: string, ago: string) =>
      pool.query(
        `insert into processes (role, host, pid, seen_at) values ($1, 'h', 1, now() - $2::interval)`,
        [role, ago],
      );
    const count = async () => {
      const fleet = createFleetShare(pool, pino({ level: 'silent' }));
      await fleet.refresh();
      fleet.stop();
      return fleet.processes();
    };
    expect(await count()).toBe(1);
    await seen('api', '1 second');
    await seen('api', '14 seconds');
    await seen('api', '16 seconds');
    await seen('sender', '1 second');
    expect(await count()).toBe(2);
  });
});
