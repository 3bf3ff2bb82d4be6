// The queue loop claims due rows promptly, never starts one twice, and gives back what it does not finish.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pino from 'pino';
import { createPulse } from '../../../src/platform/processes/pulse.ts';
import {
  type ClaimResult,
  createQueueLoop,
  type QueueAdapter,
  type QueueHandle,
  type QueueLoop,
  type QueueState,
} from '../../../src/platform/queue/loop.ts';

interface Claim {
  id: number;
  epoch: number;
}

interface Row extends Claim {
  owner: number | null;
}

const OWNER = 7;
const SWEEP_MS = 2_000;
const CLAIM_INTERVAL_MS = 4;

/** A queue in memory. The test does the work: it takes claims out of `claims` and calls `complete`. */
class MemoryQueue implements QueueAdapter<Claim> {
  readonly kind = 'send';
  readonly noun = 'rows';
  readonly waiting = 'true';
  readonly owned = 'true';
  readonly sweepMs = SWEEP_MS;
  readonly claimIntervalMs = CLAIM_INTERVAL_MS;
  readonly releaseTries = 1;
  readonly givesBackIn = ['paused'] as const;
  readonly rows: Row[] = [];
  readonly claims: Claim[] = [];
  /** What happened, in order. */
  readonly events: string[] = [];
  /** When the queue was looked at, in milliseconds since the start. */
  readonly looks: number[] = [];
  loop!: QueueLoop & QueueHandle<Claim>;
  /** Claims wait for this before their response arrives. */
  response: Promise<void> = Promise.resolve();
  unavailable = false;
  nextLookMs: number | null = null;

  idOf(claim: Claim): number {
    return claim.id;
  }

  epochOf(claim: Claim): number {
    return claim.epoch;
  }

  start(): void {
    this.events.push('start');
  }

  /** The answer to the pulse, which asks whether any rows wait, and whether the process owns any. */
  answer(): object {
    const are = [null, processId].map((by) => this.rows.some(({ owner }) => owner === by));
    return { rows: [{ are }] };
  }

  async claim(owner: number): Promise<ClaimResult> {
    this.looks.push(performance.now() - startedAt);
    const free = this.rows.filter((row) => row.owner === null);
    for (const row of free) Object.assign(row, { owner, epoch: row.epoch + 1 });
    const claims = free.map(({ id, epoch }) => ({ id, epoch }));
    await this.response;
    const added = this.loop.register(claims);
    if (this.loop.acceptsWork()) this.claims.push(...added);
    else void this.loop.giveBack(added);
    return { claimed: claims.length, nextLookMs: this.nextLookMs };
  }

  takeWaiting(): Claim[] {
    return this.claims.splice(0);
  }

  async release(owner: number, claims: readonly Claim[]): Promise<void> {
    if (this.unavailable) throw new Error('connection terminated');
    this.events.push(`release ${claims.map(({ id, epoch }) => `${id}/${epoch}`).join(' ')}`);
    for (const { id, epoch } of claims) {
      const row = this.rows.find((each) => each.id === id && each.epoch === epoch && each.owner === owner);
      if (row) row.owner = null;
    }
  }

  async listOwned(owner: number): Promise<Claim[]> {
    return this.rows.filter((row) => row.owner === owner).map(({ id, epoch }) => ({ id, epoch }));
  }

  async countBacklog(): Promise<Record<string, number>> {
    return { rows: this.rows.length };
  }

  describe(): QueueState {
    return { inFlight: this.loop.registered(), providers: {} };
  }

  async finish(): Promise<void> {
    this.events.push('finish');
  }

  async close(): Promise<void> {
    this.events.push('close');
  }

  complete(claim: Claim): void {
    this.rows.splice(
      this.rows.findIndex((row) => row.id === claim.id),
      1,
    );
    this.loop.forget([claim]);
    this.loop.countHandled(1);
  }
}

const log = pino({ level: 'silent' });
let queue: MemoryQueue;
let processId: number | null;
let ring: () => void;
let startedAt: number;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  queue = new MemoryQueue();
  processId = OWNER;
  startedAt = performance.now();
  queue.loop = createQueueLoop(queue, {
    process: { id: () => processId, close: async () => undefined },
    waker: {
      listen(_channel, listener) {
        ring = () => listener(null);
        return () => (ring = () => undefined);
      },
    },
    pulse: createPulse({ db: { query: () => Promise.resolve(queue.answer() as never) }, log }),
    log,
  });
});
afterEach(async () => {
  await queue.loop.stop();
  jest.useRealTimers();
});

const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

function add(count: number, owner: number | null = null): Row[] {
  const rows = Array.from({ length: count }, (_each, index) => ({
    id: queue.rows.length + index + 1,
    epoch: 0,
    owner,
  }));
  queue.rows.push(...rows);
  return rows;
}

const owners = () => queue.rows.map((row) => row.owner);

describe('claiming', () => {
  it('looks at an empty queue at ever longer intervals, and then only if the pulse finds rows', async () => {
    queue.loop.start();
    await pass(4_400);
    expect(queue.looks).toEqual([0, 50, 150, 350, 750, 1_550]);
    add(1);
    await pass(700);
    expect(queue.looks.slice(6)).toEqual([5_000, 5_004, 5_054]);
    expect(owners()).toEqual([OWNER]);
  });

  it('looks at least once a second while it has claims, which may have to be given back', async () => {
    add(1);
    queue.loop.start();
    await pass(10_000);
    expect(queue.looks.filter((at) => at > 5_000)).toHaveLength(5);
  });

  it('looks when the next row is due', async () => {
    queue.nextLookMs = 30;
    queue.loop.start();
    await pass(100);
    expect(queue.looks).toEqual([0, 30, 60, 90]);
  });

  it('looks at once when it is woken', async () => {
    queue.loop.start();
    await pass(700);
    add(2);
    ring();
    await pass(0);
    expect(queue.looks.at(-1)).toBe(700);
    expect(queue.claims).toHaveLength(2);
  });

  it('looks often again after it found something', async () => {
    queue.loop.start();
    await pass(700);
    add(1);
    ring();
    await pass(200);
    expect(queue.looks.slice(-4)).toEqual([700, 704, 754, 854]);
  });

  it('keeps the shortest pause between two claims, however often it is woken', async () => {
    queue.loop.start();
    await pass(0);
    for (let n = 0; n < 10; n += 1) ring();
    await pass(CLAIM_INTERVAL_MS);
    expect(queue.looks).toEqual([0, CLAIM_INTERVAL_MS]);
  });

  it('waits while the process has no id', async () => {
    processId = null;
    add(1);
    queue.loop.start();
    await pass(1_000);
    expect(queue.looks).toEqual([]);
    processId = OWNER;
    await pass(250);
    expect(owners()).toEqual([OWNER]);
  });

  it('does not begin work twice on a row that it claims again', async () => {
    const [row] = add(1);
    queue.loop.start();
    await pass(0);
    const [claim] = queue.takeWaiting();
    // The database forgot the claim in a crash.
    Object.assign(row ?? {}, { owner: null, epoch: 0 });
    await pass(CLAIM_INTERVAL_MS);
    expect(owners()).toEqual([OWNER]);
    expect(queue.claims).toEqual([]);
    expect(claim).toEqual({ id: 1, epoch: 1 });
  });
});

describe('stray claims', () => {
  it('are given back when they are unknown in two sweeps in a row', async () => {
    add(1, OWNER);
    queue.loop.start();
    await pass(SWEEP_MS - 1);
    expect(queue.events).toEqual(['start']);
    await pass(1);
    expect(queue.events).toEqual(['start', 'release 1/0']);
  });

  it('are not claims whose response arrives between two sweeps', async () => {
    const arrived = Promise.withResolvers<void>();
    queue.response = arrived.promise;
    add(1);
    queue.loop.start();
    await pass(SWEEP_MS / 2);
    expect(owners()).toEqual([OWNER]);
    arrived.resolve();
    await pass(3 * SWEEP_MS);
    expect(queue.claims).toHaveLength(1);
    expect(queue.events).toEqual(['start']);
  });

  it('are recognized by their epoch, while the work on an older claim of the same row goes on', async () => {
    const [row] = add(1);
    queue.loop.start();
    await pass(0);
    Object.assign(row ?? {}, { epoch: 2 });
    await pass(2 * SWEEP_MS);
    expect(queue.events).toContain('release 1/2');
    expect(queue.events).not.toContain('release 1/1');
    expect(queue.claims[0]).toEqual({ id: 1, epoch: 1 });
  });

  it('are not counted across a change of the process id', async () => {
    const [row] = add(1, OWNER);
    queue.loop.start();
    await pass(1);
    processId = OWNER + 1;
    Object.assign(row ?? {}, { owner: processId });
    await pass(SWEEP_MS);
    expect(queue.events).toEqual(['start']);
    await pass(SWEEP_MS);
    expect(queue.events).toEqual(['start', 'release 1/0']);
  });

  it('are also claims that could not be given back: the next sweep does it', async () => {
    add(1);
    queue.loop.start();
    await pass(0);
    queue.unavailable = true;
    await queue.loop.giveBack(queue.takeWaiting());
    queue.unavailable = false;
    expect(queue.loop.registered()).toBe(0);
    await pass(SWEEP_MS);
    expect(queue.events).toContain('release 1/1');
  });
});

describe('modes', () => {
  it('gives waiting claims back while paused, and claims them again when resumed', async () => {
    add(2);
    queue.loop.start();
    await pass(0);
    queue.loop.setMode('paused');
    await pass(1_000);
    expect(owners()).toEqual([null, null]);
    expect(queue.loop.report()).toMatchObject({ mode: 'paused', inFlight: 0 });
    queue.loop.setMode('running');
    await pass(0);
    expect(owners()).toEqual([OWNER, OWNER]);
  });

  it('keeps waiting claims while draining, and claims no more, if the adapter says so', async () => {
    add(2);
    queue.loop.start();
    await pass(0);
    queue.loop.setMode('draining');
    add(1);
    await pass(1_000);
    expect(queue.claims).toHaveLength(2);
    expect(owners()).toEqual([OWNER, OWNER, null]);
  });

  it('gives back a claim whose response arrives after the pause', async () => {
    const arrived = Promise.withResolvers<void>();
    queue.response = arrived.promise;
    add(2);
    queue.loop.start();
    await pass(0);
    queue.loop.setMode('paused');
    arrived.resolve();
    await pass(0);
    expect(owners()).toEqual([null, null]);
    expect(queue.claims).toEqual([]);
  });
});

describe('stopping', () => {
  it('gives waiting claims back, finishes the work, releases the rest, and then closes', async () => {
    add(3);
    queue.loop.start();
    await pass(0);
    // One claim is being worked on, and is never recorded.
    queue.claims.shift();
    await queue.loop.stop();
    expect(queue.events).toEqual(['start', 'release 2/1 3/1', 'finish', 'release 1/1', 'close']);
    expect(owners()).toEqual([null, null, null]);
  });

  it('gives back a claim whose response arrives while it stops', async () => {
    const arrived = Promise.withResolvers<void>();
    queue.response = arrived.promise;
    add(1);
    queue.loop.start();
    await pass(0);
    const stopped = queue.loop.stop();
    arrived.resolve();
    await stopped;
    expect(queue.claims).toEqual([]);
    expect(owners()).toEqual([null]);
    expect(queue.events.at(-1)).toBe('close');
  });

  it('claims nothing afterwards', async () => {
    queue.loop.start();
    await pass(0);
    await queue.loop.stop();
    const looks = queue.looks.length;
    queue.loop.wake();
    await pass(10_000);
    expect(queue.looks).toHaveLength(looks);
  });
});

describe('the report', () => {
  it('shows the present process id, mode, total, rate and backlog', async () => {
    add(20);
    queue.loop.start();
    await pass(0);
    for (const claim of queue.takeWaiting().slice(0, 10)) queue.complete(claim);
    await pass(1_000);
    expect(queue.loop.report()).toMatchObject({
      processId: OWNER,
      mode: 'running',
      handledTotal: 10,
      ratePerSecond: 3,
      inFlight: 10,
      backlog: {},
    });
    processId = OWNER + 1;
    await pass(9_000);
    expect(queue.loop.report()).toMatchObject({
      processId: OWNER + 1,
      handledTotal: 10,
      backlog: { rows: 10 },
    });
    processId = null;
    expect(queue.loop.report().processId).toBe(0);
  });
});
