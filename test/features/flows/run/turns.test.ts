// One slow account cannot take all the slots of run transactions or webhook requests.
import { describe, expect, it } from '@jest/globals';
import { createAdvanceTurns } from '../../../../src/features/flows/run/advance-turns.ts';
import { CallWaitsError, createCallTurns } from '../../../../src/features/flows/run/call-turns.ts';

/** A clock that the test moves, and work that ends when the test says so. */
function createStage() {
  let time = 0;
  const ends = new Map<string, () => void>();
  const begun: string[] = [];
  return {
    now: () => time,
    pass: (ms: number) => void (time += ms),
    begun,
    work: (name: string) => () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    },
    async end(name: string) {
      ends.get(name)?.();
      // Those who waited begin in the microtasks that follow.
      await new Promise(setImmediate);
    },
  };
}

describe('the turns of transactions of runs', () => {
  it('leaves half of the slots to other accounts', async () => {
    const { now, begun, work, end } = createStage();
    const turns = createAdvanceTurns(now);
    const a = [1, 2, 3, 4, 5].map((n) => turns.run(1, work(`a${n}`)));
    const b = turns.run(2, work('b1'));
    await new Promise(setImmediate);
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
    await end('a1');
    expect(begun).toContain('a5');
    for (const name of ['a2', 'a3', 'a4', 'a5', 'b1']) await end(name);
    expect(await Promise.all([...a, b])).toHaveLength(6);
  });

  it('postpones runs of a slow account, one behind the other, and accepts those of others', async () => {
    const { now, pass, begun, work, end } = createStage();
    const turns = createAdvanceTurns(now);
    const slow = [1, 2, 3, 4].map((n) => turns.run(1, work(`a${n}`)));
    pass(20_000);
    const waits = await Promise.all([5, 6, 7].map((n) => turns.run(1, work(`a${n}`))));
    expect(waits).toEqual([{ laterMs: 5_000 }, { laterMs: 10_000 }, { laterMs: 15_000 }]);
    const others = [2, 3, 4].map((account) => turns.run(account, work(`b${account}`)));
    await new Promise(setImmediate);
    expect(begun.slice(4)).toEqual(['b2', 'b3', 'b4']);
    for (const name of begun) await end(name);
    expect(await Promise.all([...slow, ...others])).toHaveLength(7);
    expect(await turns.run(1, () => Promise.resolve('done'))).toEqual({ done: 'done' });
  });

  it('remembers how long runs of an account took while any is left', async () => {
    const { now, pass, begun, work, end } = createStage();
    const turns = createAdvanceTurns(now);
    const run = async (name: string) => {
      const running = turns.run(1, work(name));
      await new Promise(setImmediate);
      return { running };
    };
    for (const name of ['a1', 'a2', 'a3', 'a4']) await run(name);
    pass(20_000);
    await end('a1');
    await run('b1');
    // The mean of these four is 11,808 ms.
    for (const name of ['a2', 'a3', 'a4']) await end(name);
    for (const name of ['b2', 'b3', 'b4']) await run(name);
    expect(await turns.run(1, work('away'))).toEqual({ laterMs: 5_000 });
    expect(await turns.run(1, work('away'))).toEqual({ laterMs: 5_904 });
    for (const name of ['b1', 'b2', 'b3', 'b4']) await end(name);
    for (const name of ['c1', 'c2', 'c3', 'c4']) await run(name);
    const { running } = await run('c5');
    await end('c1');
    await end('c5');
    expect(await running).toEqual({ done: 'c5' });
    expect(begun).not.toContain('away');
  });

  it('gives a free slot to the account with the fewest transactions', async () => {
    const { now, begun, work, end } = createStage();
    const turns = createAdvanceTurns(now);
    const all = [1, 2].flatMap((account) =>
      [1, 2, 3, 4].map((n) => turns.run(account, work(`${account}-${n}`))),
    );
    all.push(turns.run(1, work('1-5')), turns.run(3, work('3-1')));
    await new Promise(setImmediate);
    await end('2-1');
    expect(begun.at(-1)).toBe('3-1');
    for (const name of [...begun, '1-5']) await end(name);
    for (const name of [...begun, '1-5']) await end(name);
    expect(await Promise.all(all)).toHaveLength(10);
  });

  it('frees the slot of work that fails', async () => {
    const turns = createAdvanceTurns(() => 0);
    for (let n = 0; n < 20; n += 1) {
      await expect(turns.run(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    }
  });
});

describe('the turns of webhook requests', () => {
  it('are 20 per account and 50 per host, and others come back one behind the other', async () => {
    const { now, work, begun } = createStage();
    const turns = createCallTurns(now);
    const run = (accountId: number, host: string) => turns.run(accountId, host, work('request'));
    const delayOf = async (accountId: number, host: string) => {
      const error: unknown = await run(accountId, host).catch((reason: unknown) => reason);
      return error instanceof CallWaitsError ? error.delayMs : null;
    };
    for (let n = 0; n < 20; n += 1) void run(1, `host-${n}`);
    expect([await delayOf(1, 'a'), await delayOf(1, 'a')]).toEqual([1_000, 1_000]);
    for (let n = 0; n < 50; n += 1) void run(100 + n, 'shared');
    expect(await delayOf(7, 'shared')).toBe(1_000);
    for (let n = 0; n < 100; n += 1) await delayOf(1, 'a');
    expect(await delayOf(1, 'a')).toBeGreaterThan(5_000);
    void run(7, 'other');
    expect(begun).toHaveLength(71);
  });

  it('are at most 15 of an account for cohorts, so that its other runs find some', async () => {
    const { now, work, begun } = createStage();
    const turns = createCallTurns(now);
    const run = (ofCohort: boolean) => turns.run(1, 'a', work('request'), { ofCohort });
    for (let n = 0; n < 15; n += 1) void run(true);
    await expect(run(true)).rejects.toThrow('waits: 15 requests of the account are under way');
    for (let n = 0; n < 5; n += 1) void run(false);
    await expect(run(false)).rejects.toThrow(CallWaitsError);
    expect(begun).toHaveLength(20);
  });

  it('make refused requests wait behind those that come back together', async () => {
    const { now, work } = createStage();
    const turns = createCallTurns(now);
    for (let n = 0; n < 20; n += 1) void turns.run(1, 'a', work('request'));
    const refused = async () => {
      const error: unknown = await turns.run(1, 'a', work('request')).catch((reason: unknown) => reason);
      if (!(error instanceof CallWaitsError)) throw error;
      return error;
    };
    const first = await refused();
    first.bring(999);
    expect([first.delayMs, (await refused()).delayMs]).toEqual([1_000, 50_050]);
  });
});
