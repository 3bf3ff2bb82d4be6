// Heavy reads share turns fairly between accounts, have a time limit, and free their turn on failure.
import { describe, expect, it } from '@jest/globals';
import { createAccountTurns, withDeadline } from '../../../src/platform/processes/heavy-reads.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';

const LONG_MS = 600_000;
const limits = { total: 4, perAccount: 2, waiting: 3, waitMs: LONG_MS };

/** Work that ends when `end` is called. */
function stage(given = limits) {
  const inTurn = createAccountTurns(given);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (accountId: number, name: string) => {
    const work = inTurn(accountId, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
    // Work that still waits when its test ends is refused in the middle of another one.
    work.catch(() => undefined);
    return work;
  };
  const end = async (name: string, work: Promise<string>) => {
    ends.get(name)?.();
    await work;
  };
  return { begun, start, end };
}

describe('heavy reads', () => {
  it('give an account two turns, and others the rest', async () => {
    const { begun, start, end } = stage();
    const a1 = start(1, 'a1');
    void start(1, 'a2');
    const a3 = start(1, 'a3');
    void start(2, 'b1');
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    await end('a1', a1);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
    await end('a3', a3);
  });

  it('begin in their order, past those whose account has no turn', async () => {
    const { begun, start, end } = stage({ ...limits, total: 3 });
    const a1 = start(1, 'a1');
    void start(1, 'a2');
    const b1 = start(2, 'b1');
    void start(1, 'a3');
    void start(3, 'c1');
    await end('b1', b1);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1']);
    await end('a1', a1);
    expect(begun.at(-1)).toBe('a3');
  });

  it('begin with an account that runs nothing, before older work of one that runs some', async () => {
    const { begun, start, end } = stage({ ...limits, total: 3 });
    const a1 = start(1, 'a1');
    void start(1, 'a2');
    void start(2, 'b1');
    void start(1, 'a3');
    void start(2, 'b2');
    void start(3, 'c1');
    await end('a1', a1);
    expect(begun.slice(3)).toEqual(['c1']);
  });

  it('run no statement after their time, and leave no transaction open', async () => {
    const statements: unknown[] = [];
    const client = {
      query(statement: unknown) {
        statements.push(statement);
        return Promise.resolve({ rows: [] } as never);
      },
    };
    const work = (db: Queryable) => db.query('select 1');
    await withDeadline(client, LONG_MS, work);
    await expect(withDeadline(client, -1, work)).rejects.toMatchObject({ code: 'unavailable' });
    expect(statements).toEqual(['select 1', 'rollback']);
  });

  it('are refused if too many of the account wait', async () => {
    const { start } = stage();
    for (let n = 0; n < limits.perAccount + limits.waiting; n += 1) void start(1, `a${n}`);
    await expect(start(1, 'one more')).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('are refused if they wait too long, and leave their place', async () => {
    const { begun, start, end } = stage({ ...limits, perAccount: 1, waitMs: 1 });
    const a1 = start(1, 'a1');
    await expect(start(1, 'a2')).rejects.toMatchObject({
      code: 'rate_limited',
      headers: { 'Retry-After': '5' },
    });
    await end('a1', a1);
    const a3 = start(1, 'a3');
    expect(begun).toEqual(['a1', 'a3']);
    await end('a3', a3);
  });

  it('free their turn if they fail', async () => {
    const inTurn = createAccountTurns({ ...limits, perAccount: 1 });
    await expect(inTurn(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(inTurn(1, () => Promise.resolve('yes'))).resolves.toBe('yes');
  });
});
