// The recorder commits items in groups, waits out database failures, and sets refused items aside.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createRecorder, type Recorder, type RecorderOptions } from '../../../src/platform/queue/recorder.ts';
import { eventually } from '../../support/eventually.ts';

const MAX_GROUP = 3;

let recorder: Recorder<number>;
/** Committed groups, in order. */
let groups: number[][];
/** Items of each call of `commit`, in order. */
let tries: number[][];
let refused: Set<number>;
let unavailable: boolean;
let logged: Record<string, unknown>[];

beforeEach(() => {
  groups = [];
  tries = [];
  refused = new Set();
  unavailable = false;
  logged = [];
  recorder = createRecorder<number>({
    noun: 'numbers',
    maxGroup: MAX_GROUP,
    intervalMs: 0,
    maxRetryMs: 500,
    async commit(items) {
      tries.push([...items]);
      if (unavailable) throw new Error('Connection terminated unexpectedly');
      if (items.some((item) => refused.has(item))) throw new Error('violates a check constraint');
      groups.push([...items]);
    },
    describe: (item) => ({ item }),
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  });
});
afterEach(() => recorder.close());

function add(...items: number[]): void {
  for (const item of items) recorder.add(item);
}

/** A recorder whose groups are limited by time only, unless the options say otherwise. */
const createGathering = (options: Partial<RecorderOptions<number>>) =>
  createRecorder<number>({
    noun: 'numbers',
    maxGroup: 100,
    intervalMs: 0,
    maxRetryMs: 500,
    commit: (items) => Promise.resolve(void groups.push([...items])),
    describe: (item) => ({ item }),
    log: pino({ enabled: false }),
    ...options,
  });

describe('the recorder', () => {
  it('commits a lone item at once, and gathers those that follow within the interval', async () => {
    const gathering = createGathering({ intervalMs: 300 });
    gathering.add(1);
    await eventually(() => expect(groups).toEqual([[1]]));
    gathering.add(2);
    await nextTurn();
    gathering.add(3);
    await gathering.settled();
    expect(groups).toEqual([[1], [2, 3]]);
  });

  it('gathers from the first item on, until the group has its full size', async () => {
    const gathering = createGathering({
      gatherMs: 600_000,
      isFull: (items) => items.reduce((sum, item) => sum + item, 0) >= 50,
    });
    gathering.add(20);
    await nextTurn();
    gathering.add(29);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(groups).toEqual([]);
    gathering.add(1);
    await gathering.settled();
    expect(groups).toEqual([[20, 29, 1]]);
  });

  it('gathers no longer than it should', async () => {
    const gathering = createGathering({ gatherMs: 30 });
    gathering.add(1);
    await eventually(() => expect(groups).toEqual([[1]]));
  });

  it('commits items of one turn of the event loop together, in groups of a limited size', async () => {
    add(1, 2, 3, 4, 5);
    await recorder.settled();
    expect(groups).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('commits one group at a time', async () => {
    let open = 0;
    let most = 0;
    const slow = createRecorder<number>({
      noun: 'numbers',
      maxGroup: 1,
      intervalMs: 0,
      maxRetryMs: 500,
      async commit() {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
      },
      describe: () => ({}),
      log: pino({ level: 'silent' }),
    });
    for (const item of [1, 2, 3, 4]) slow.add(item);
    await slow.settled();
    expect(most).toBe(1);
  });

  it('waits while the database is unavailable, and keeps the group together', async () => {
    unavailable = true;
    add(1, 2);
    await eventually(() => expect(tries.length).toBeGreaterThan(1));
    unavailable = false;
    await recorder.settled();
    expect(groups).toEqual([[1, 2]]);
    expect(new Set(tries.map(String))).toEqual(new Set(['1,2']));
  });

  it('sets an item aside that the database refuses, records the others, and retries it', async () => {
    refused.add(2);
    add(1, 2, 3, 4);
    await eventually(() => expect(groups).toEqual([[1], [3], [4]]));
    await eventually(() => expect(logged).toContainEqual(expect.objectContaining({ item: 2 })));
    refused.clear();
    await recorder.settled();
    expect(groups).toEqual([[1], [3], [4], [2]]);
  });

  it('retries a refused item at ever longer intervals', async () => {
    refused.add(1);
    add(1);
    await eventually(() => expect(tries.length).toBeGreaterThan(3));
    const [first = 0, second = 0, third = 0, fourth = 0] = logged.map(({ time }) => Number(time));
    expect(second - first).toBeGreaterThanOrEqual(245);
    expect(third - second).toBeGreaterThanOrEqual(495);
    expect(fourth - third).toBeGreaterThanOrEqual(495);
  });

  it('gives up refused items when it is closed, after it has recorded all others', async () => {
    refused.add(1);
    add(1, 2);
    await recorder.close();
    expect(groups).toEqual([[2]]);
  });
});
