// The coalescer writes concurrent items in bounded groups, and gives each caller its own result or error.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createCoalescer } from '../../../src/platform/db/coalescer.ts';

/** A group that is being written; the test ends the write. */
interface Write {
  group: number[];
  end: (error?: Error) => void;
}

function createTestCoalescer(maxGroupSize = 100, intervalMs = 0) {
  const writes: Write[] = [];
  const coalescer = createCoalescer<number, number>({
    maxGroupSize,
    concurrency: 1,
    intervalMs,
    run: (group) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(group.map((each) => each * 2)));
        writes.push({ group, end });
      }),
  });
  /** Resolves once a group has been passed to `run`, counted from 0. */
  const started = async (index: number): Promise<Write> => {
    for (;;) {
      const write = writes[index];
      if (write) return write;
      await nextTurn();
    }
  };
  return { coalescer, writes, started };
}

it('writes items together that arrive during a write, and gives each caller its own result', async () => {
  const { coalescer, writes, started } = createTestCoalescer(3);
  const first = coalescer.submit(1);
  const write = await started(0);
  const rest = Promise.all([2, 3, 4, 5].map((each) => coalescer.submit(each)));
  write.end();
  expect(await first).toBe(2);
  (await started(1)).end();
  (await started(2)).end();
  expect(await rest).toEqual([4, 6, 8, 10]);
  expect(writes.map(({ group }) => group)).toEqual([[1], [2, 3, 4], [5]]);
});

it('starts the next group before the callers of the last group run', async () => {
  const { coalescer, writes, started } = createTestCoalescer();
  const first = coalescer.submit(1);
  const write = await started(0);
  const second = coalescer.submit(2);
  write.end();
  await first;
  expect(writes).toHaveLength(2);
  (await started(1)).end();
  expect(await second).toBe(4);
});

it('fails only the callers of the group that failed', async () => {
  const { coalescer, started } = createTestCoalescer();
  const failing = Promise.allSettled([coalescer.submit(1), coalescer.submit(2)]);
  const write = await started(0);
  const next = coalescer.submit(3);
  write.end(new Error('no'));
  expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  (await started(1)).end();
  expect(await next).toBe(6);
});

it('ends a group before the item with which it would be too large', async () => {
  const groups: number[][] = [];
  const coalescer = createCoalescer<number, number>({
    maxGroupSize: 100,
    bytes: { of: (item) => item, max: 10 },
    concurrency: 1,
    run: async (group) => {
      groups.push(group);
      return group;
    },
  });
  await Promise.all([4, 6, 1, 12, 3, 3].map((each) => coalescer.submit(each)));
  expect(groups).toEqual([[4, 6], [1], [12], [3, 3]]);
});

it('writes a lone item at once, and gathers those that follow within the interval', async () => {
  const { coalescer, writes, started } = createTestCoalescer(100, 300);
  const first = coalescer.submit(1);
  (await started(0)).end();
  await first;
  const second = coalescer.submit(2);
  await nextTurn();
  const third = coalescer.submit(3);
  (await started(1)).end();
  await Promise.all([second, third]);
  expect(writes.map(({ group }) => group)).toEqual([[1], [2, 3]]);
});

it('does not keep a full group waiting', async () => {
  const { coalescer, writes, started } = createTestCoalescer(2, 60_000);
  const first = coalescer.submit(1);
  (await started(0)).end();
  await first;
  const rest = Promise.all([2, 3].map((each) => coalescer.submit(each)));
  (await started(1)).end();
  await rest;
  expect(writes.map(({ group }) => group)).toEqual([[1], [2, 3]]);
});
