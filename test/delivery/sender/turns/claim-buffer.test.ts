// The claim buffer sizes batches by the provider's speed, bounds their bytes, and serves accounts in turns.
import { type ByteBudget, createByteBudget } from '../../../../src/delivery/sender/turns/byte-budget.ts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type ClaimBuffer, createClaimBuffer } from '../../../../src/delivery/sender/turns/claim-buffer.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';

const MIB = 1_048_576;
const A = 1;
const B = 2;
const WORKERS = 16;

let nextId = 0;
let budget: ByteBudget;
let buffer: ClaimBuffer;
beforeEach(() => {
  nextId = 0;
  budget = createByteBudget(64 * MIB);
  buffer = createClaimBuffer(WORKERS, budget);
});

function claims(count: number, accountId = A, more: Partial<Claim> = {}): Claim[] {
  return Array.from({ length: count }, () => ({
    messageId: nextId++,
    epoch: 1,
    accountId,
    class: 0,
    bytes: 1_000,
    weight: 1_000,
    losses: 0,
    ...more,
  }));
}

/** Hands over enough messages for the buffer to know how long one takes. */
const learn = (messageMs: number) => {
  for (let n = 0; n < 50; n += 1) buffer.measure(10, 10 * messageMs);
};

/** The next batch, which must be ready. */
async function next(): Promise<Claim[]> {
  const batch = await Promise.race([buffer.take(), Promise.resolve('none')]);
  if (batch === null || typeof batch === 'string') throw new Error('no batch is ready');
  return batch;
}

const accountsOf = (batch: readonly Claim[]) => batch.map(({ accountId }) => accountId);

/** All batches, each ended at once. */
async function allBatches(): Promise<Claim[][]> {
  const batches: Claim[][] = [];
  for (let left = true; left;) {
    const batch = await next().catch(() => null);
    left = batch !== null;
    if (!batch) continue;
    batches.push(batch);
    buffer.finish(batch);
  }
  return batches;
}

describe('the size of a batch', () => {
  it.each([
    [0.5, 50],
    [5, 50],
    [10, 25],
    [50, 5],
    [2_000, 1],
  ])('is 250 ms of work if a message takes %d ms: %d', async (messageMs, size) => {
    learn(messageMs);
    buffer.add(claims(1_000));
    expect(await next()).toHaveLength(size);
  });

  it('follows the provider when it becomes slow, and when it recovers', async () => {
    learn(1);
    learn(50);
    buffer.add(claims(1_000));
    expect(await next()).toHaveLength(5);
    learn(1);
    expect(await next()).toHaveLength(50);
  });

  it('is small until the provider has been measured', async () => {
    buffer.add(claims(1_000));
    expect(await next()).toHaveLength(10);
  });

  it('is at least 50 ms of work, so that a fast provider needs few intents', async () => {
    learn(5);
    const batches = [1, 2, 3, 4].map(() => buffer.take());
    buffer.add(claims(20));
    expect((await Promise.all(batches.slice(0, 2))).map((batch) => batch?.length)).toEqual([10, 10]);
    buffer.close();
    expect(await Promise.all(batches.slice(2))).toEqual([null, null]);
  });

  it('is an equal share for each waiting worker', async () => {
    learn(10);
    const batches = [1, 2, 3, 4].map(() => buffer.take());
    buffer.add(claims(20));
    expect((await Promise.all(batches)).map((batch) => batch?.length)).toEqual([5, 5, 5, 5]);
  });
});

describe('the number of claims ahead', () => {
  it.each([
    [1, 1_000],
    [50, 160],
    [10_000, 32],
  ])('is half a second of work for all workers if a message takes %d ms: %d', (messageMs, count) => {
    learn(messageMs);
    expect(buffer.wanted()).toBe(count);
  });

  it('is filled up once the buffer is less than half full', async () => {
    learn(50);
    buffer.add(claims(83));
    expect(buffer.wanted()).toBe(0);
    await next();
    expect(buffer.wanted()).toBe(82);
  });

  it('leaves room for accounts that have no claims in a full buffer, but not without bound', () => {
    learn(50);
    expect(buffer.wantedOfOthers()).toBe(0);
    buffer.add(claims(160));
    expect([buffer.has({ class: 0, accountId: A }), buffer.has({ class: 0, accountId: B })]).toEqual([
      true,
      false,
    ]);
    expect(buffer.wantedOfOthers()).toBe(80);
    buffer.add(claims(160, B));
    expect(buffer.wantedOfOthers()).toBe(0);
  });
});

describe('the order of claims', () => {
  it('puts transactional messages before flows before campaigns', async () => {
    learn(250);
    buffer.add([...claims(1, A, { class: 2 }), ...claims(1, A, { class: 1 }), ...claims(1, A, { class: 0 })]);
    expect((await allBatches()).flat().map((claim) => claim.class)).toEqual([0, 1, 2]);
  });

  it('puts messages of flows into batches of their own, because their recipients are checked', async () => {
    learn(1);
    buffer.add([...claims(2, A, { class: 1 }), ...claims(2, B, { class: 1 }), ...claims(2, A)]);
    const batches = await allBatches();
    expect(batches.map((batch) => new Set(batch.map((claim) => claim.class)).size)).toEqual(
      batches.map(() => 1),
    );
    expect(batches.flat()).toHaveLength(6);
  });

  it('gives accounts their turns, message by message, if the provider is slow', async () => {
    learn(50);
    buffer.add([...claims(4, A), ...claims(2, B), ...claims(1, 3)]);
    expect((await allBatches()).map(accountsOf)).toEqual([
      [A, B, 3, A, B],
      [A, A],
    ]);
  });

  it('gives accounts longer turns if the provider is fast, because batches with few accounts cost less', async () => {
    learn(5);
    buffer.add([...claims(60, A), ...claims(60, B)]);
    const turns = Array.from({ length: 5 }, (_each, n) => Array.from({ length: 10 }, () => (n % 2 ? B : A)));
    expect(accountsOf(await next())).toEqual(turns.flat());
  });

  it('makes a new account wait for only one turn of each other account', async () => {
    learn(50);
    buffer.add(claims(160, A));
    await next();
    buffer.add(claims(1, B));
    expect(accountsOf(await next())).toEqual([A, B, A, A, A]);
  });

  it('keeps the order of one account', async () => {
    learn(50);
    buffer.add([...claims(7, A), ...claims(3, B)]);
    const ids = (await allBatches())
      .flat()
      .flatMap(({ accountId, messageId }) => (accountId === A ? messageId : []));
    expect(ids).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('hands over a message that has lost a connection alone', async () => {
    learn(1);
    buffer.add([...claims(2, A), ...claims(1, A, { losses: 1 }), ...claims(2, A), ...claims(2, B)]);
    const ids = (await allBatches()).map((batch) => batch.map(({ messageId }) => messageId));
    expect(ids).toEqual([[0, 1, 5, 6], [2], [3, 4]]);
  });
});

describe('heavy claims', () => {
  const heavy = (count: number, accountId = A, weight = 1_000_000) => claims(count, accountId, { weight });
  const waits = async (batch: Promise<unknown>) =>
    (await Promise.race([batch, Promise.resolve('waits')])) === 'waits';

  it('make batches of their own, of bounded weight', async () => {
    learn(1);
    buffer.add([...heavy(2), ...claims(2), ...heavy(2, B, 100_000), ...claims(1, B)]);
    const batches = (await allBatches()).map((batch) =>
      batch.map(({ accountId, weight }) => [accountId, weight]),
    );
    expect(batches).toEqual([
      [[A, 1_000_000]],
      [
        [A, 1_000],
        [A, 1_000],
        [B, 1_000],
      ],
      [
        [B, 100_000],
        [B, 100_000],
      ],
      [[A, 1_000_000]],
    ]);
  });

  it('have at most two batches not yet composed, while other batches continue', async () => {
    learn(1);
    buffer.add(heavy(5));
    const first = await next();
    await next();
    const third = buffer.take();
    const fourth = buffer.take();
    expect(await waits(third)).toBe(true);
    buffer.add(claims(3, B));
    expect(accountsOf((await third) ?? [])).toEqual([B, B, B]);
    expect(await waits(fourth)).toBe(true);
    buffer.composed(first);
    expect(accountsOf((await fourth) ?? [])).toEqual([A]);
    buffer.finish(first);
    expect(await waits(buffer.take())).toBe(true);
  });

  it('get another batch after one that failed before it was composed', async () => {
    buffer.add(heavy(3));
    const first = await next();
    await next();
    buffer.finish(first);
    expect(await next()).toHaveLength(1);
  });

  it('leave a worker to light claims, if there are two', async () => {
    buffer = createClaimBuffer(2, budget);
    buffer.add(heavy(2));
    await next();
    expect(await waits(buffer.take())).toBe(true);
  });

  it('do not keep other accounts out of the buffer, however many wait', () => {
    learn(1);
    for (let account = 1; account <= 5; account += 1) buffer.add(heavy(1_000, account));
    expect([buffer.wanted(), buffer.wantedOfOthers()]).toEqual([0, 500]);
  });
});

describe('the bytes of a batch', () => {
  it('are 8 MiB at most, and a larger message is alone', async () => {
    learn(1);
    buffer.add([...claims(5, A, { bytes: 3 * MIB }), ...claims(1, A, { bytes: 9 * MIB }), ...claims(1, A)]);
    expect((await allBatches()).map((batch) => batch.length)).toEqual([2, 2, 1, 1, 1]);
  });

  it('are bounded over all batches of the process, while small messages continue', async () => {
    learn(1);
    buffer.add(claims(40, A, { bytes: 3 * MIB }));
    const large: Claim[][] = [];
    for (let n = 0; n < 11; n += 1) large.push(await next());
    expect(large.flat()).toHaveLength(21);
    const waits = buffer.take();
    expect(await Promise.race([waits, Promise.resolve('waits')])).toBe('waits');
    buffer.add(claims(3, B));
    expect(accountsOf((await waits) ?? [])).toEqual([B, B, B]);
    buffer.finish(large[0] ?? []);
    expect(accountsOf(await next())).toEqual([A, A]);
  });

  it('are bounded over several buffers', async () => {
    const other = createClaimBuffer(WORKERS, budget);
    budget.take(62 * MIB);
    other.add(claims(1, A, { bytes: 4 * MIB }));
    const batch = other.take();
    expect(await Promise.race([batch, Promise.resolve('waits')])).toBe('waits');
    budget.giveBack(62 * MIB);
    expect(await batch).toHaveLength(1);
  });

  it('may exceed the bound for a single larger message', async () => {
    buffer.add(claims(1, A, { bytes: 100 * MIB }));
    expect(await next()).toHaveLength(1);
  });
});

describe('a buffer whose workers all hang', () => {
  let now: number;
  beforeEach(() => {
    now = 0;
    buffer = createClaimBuffer(2, budget, () => now);
    buffer.add(claims(30));
  });

  it('stalls after two seconds, and wants claims again once a worker is free', async () => {
    await next();
    now = 1_000;
    await next();
    now = 2_999;
    expect(buffer.isStalled()).toBe(false);
    now = 3_000;
    expect(buffer.isStalled()).toBe(true);
    expect(buffer.drain().length).toBeGreaterThan(0);
    expect([buffer.wanted(), buffer.wantedOfOthers()]).toEqual([0, 0]);
    const waits = buffer.take();
    expect(buffer.isStalled()).toBe(false);
    expect(buffer.wanted()).toBeGreaterThan(0);
    now = 60_000;
    expect(buffer.isStalled()).toBe(false);
    buffer.add(claims(1));
    expect(await waits).toHaveLength(1);
    expect(buffer.isStalled()).toBe(false);
  });

  it('does not stall while one worker still takes batches', async () => {
    await next();
    for (now = 1_500; now < 4_500; now += 1_500) {
      await next();
      expect(buffer.isStalled()).toBe(false);
    }
  });
});
