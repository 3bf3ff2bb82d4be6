// A query that was one of too many is sent again when the service allows it, and not before.
import { describe, expect, it } from '@jest/globals';
import { errorOf } from '../../console/src/api/errors.ts';
import { retryWhenAllowed } from '../../console/src/api/query-client.ts';

const { retry, retryDelay } = retryWhenAllowed;
const refused = (status: number, headers: Record<string, string> = {}) =>
  errorOf(new Response('{}', { status, headers }), { code: 'any', message: 'no' });

describe('a query that is refused', () => {
  it('because there were too many is sent again after Retry-After', () => {
    const error = refused(429, { 'Retry-After': '7' });
    expect(retry(0, error)).toBe(true);
    expect(retryDelay(0, error)).toBe(7_000);
    expect(retryDelay(1, error)).toBe(7_000);
    expect(retry(2, error)).toBe(false);
  });

  it('is not sent again where that would take longer than someone waits', () => {
    expect(retry(0, refused(429, { 'Retry-After': '3600' }))).toBe(false);
  });

  it('waits a moment if it is not said how long', () => {
    expect(retry(0, refused(429))).toBe(true);
    expect(retryDelay(0, refused(429))).toBe(1_000);
  });

  it('for what it asks is not sent again', () => {
    expect(retry(0, refused(422))).toBe(false);
  });

  it('because the service fails is sent again, each time later', () => {
    expect([0, 1, 2].map((count) => retry(count, refused(503)))).toEqual([true, true, false]);
    expect([0, 1].map((count) => retryDelay(count, refused(503)))).toEqual([1_000, 2_000]);
  });
});
