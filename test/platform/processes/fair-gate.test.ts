// A gate bounds what runs at once, shares its slots fairly, and neither loses nor leaks a slot.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { FairGate, type GateOptions } from '../../../src/platform/processes/fair-gate.ts';
import { action, GateModel, limits, REFUSED } from './gate-model.ts';

/** Work that ends when `end` is called, and the names of what has begun. */
function stage(options: GateOptions) {
  const gate = new FairGate<string>(options);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, signal?: AbortSignal, order?: number) =>
    gate.run(
      // A name is that of its key, and a number.
      name.slice(0, 1),
      () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      },
      { signal, order },
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { gate, begun, start, end };
}

describe('a gate', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
  afterEach(() => void jest.useRealTimers());

  it('agrees with its model, whatever begins, ends, fails, is aborted or waits too long', async () => {
    const actions = fc.array(action, { maxLength: 60, size: 'max' });
    const check = fc.asyncProperty(limits, actions, async (given, todo) => {
      const gate = new FairGate({ ...given, refusal: () => new Error(REFUSED) });
      const model = new GateModel(given, (key, work, signal) => gate.run(key, work, { signal }));
      for (const each of todo) await model.do(each);
      await model.finish();
      expect(model.problems).toEqual([]);
    });
    await fc.assert(check, { numRuns: 500 });
  });
});

describe('a free slot', () => {
  it('goes to the key with the fewest, and among equals to the one served longest ago', async () => {
    const { begun, start, end } = stage({ slots: 4, perKey: 3 });
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3', 'c1'].map((name) => start(name));
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
    for (let n = 0; n < all.length; n += 1) await end(begun[n] ?? '');
    expect(begun.slice(4)).toEqual(['c1', 'a4', 'b2', 'a5', 'b3']);
    await Promise.all(all);
  });

  it('goes within a key to the work that asks to be first', async () => {
    const { gate, begun, start, end } = stage({ slots: 2, perKey: 1 });
    const orders = { a1: 9, b1: 0, a2: 3, a3: -Infinity, a4: 2, a5: 2, a6: undefined };
    const all = Object.entries(orders).map(([name, order]) => start(name, undefined, order));
    expect([gate.isAwaited('a'), gate.isAwaited('b')]).toEqual([false, true]);
    for (let n = 0; n < all.length; n += 1) await end(begun[n] ?? '');
    expect(begun).toEqual(['a1', 'b1', 'a3', 'a6', 'a4', 'a5', 'a2']);
    expect(gate.isAwaited('b')).toBe(false);
    await Promise.all(all);
  });

  it('goes in turn to keys with the same number, even if all work of one came before that of the other', async () => {
    const { begun, start, end } = stage({ slots: 1, perKey: 1 });
    const all = ['c1', 'a1', 'a2', 'a3', 'b1', 'b2'].map((name) => start(name));
    for (let n = 0; n < all.length; n += 1) await end(begun[n] ?? '');
    expect(begun).toEqual(['c1', 'a1', 'b1', 'a2', 'b2', 'a3']);
  });
});

describe('a slot that is entered', () => {
  it('is taken until it is given back', async () => {
    const { gate, begun, start } = stage({ slots: 1, perKey: 1, maxWaiting: 1 });
    const leave = await gate.enter('a');
    void start('a1');
    expect([begun, gate.stateOf('a')]).toEqual([[], { running: 1, waiting: 1, isFull: true }]);
    await expect(gate.enter('a', { refusal: () => new Error('no') })).rejects.toThrow('no');
    leave();
    await new Promise(setImmediate);
    expect(begun).toEqual(['a1']);
  });
});

it('does not begin work whose signal is aborted, even if there is a slot', async () => {
  const { begun, start } = stage({ slots: 1, perKey: 1 });
  await expect(start('a1', AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  expect(begun).toEqual([]);
});
