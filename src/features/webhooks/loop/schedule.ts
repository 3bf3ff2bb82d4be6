import type { DueDelivery } from '../attempts/attempt.ts';
import type { Endpoint } from '../attempts/endpoint.ts';

/** Attempts of a process at once, of endpoints that answer quickly. */
const SLOTS = 512;
/** And of all slow endpoints together: a tenth. */
const SLOW_SLOTS = 51;
const PER_ENDPOINT = 16;
/** Of an endpoint that has not answered yet, so that many dead ones at once take few slots and TLS handshakes. */
const PER_UNPROVEN = 1;
/** Of an endpoint that let this many attempts in a row time out. */
const PER_TIMING_OUT = 2;
const TIME_OUTS = 5;
/** An endpoint with an attempt that runs longer is a slow one until an attempt ends. */
const SLOW_RUNNING_MS = 500;
/** And one that takes longer to answer, until an answer takes less. */
const SLOW_ANSWER_MS = 2_000;
/** A claim older than this is given back, so that its webhook is read anew. */
const STALE_MS = 1_000;
/** What is claimed for an endpoint of which nothing is known yet. */
export const FIRST_CLAIM = 8;
/** Least that is claimed ahead for an endpoint that answers quickly. */
const LEAST_AHEAD = 32;
const MOST_AHEAD = 2_000;
/** Deliveries claimed ahead are about this long's work. */
export const AHEAD_MS = 200;

/** A claimed delivery with its webhook, as both were read together. */
export interface ClaimedDelivery {
  due: DueDelivery;
  endpoint: Endpoint;
  claimedAt: number;
}

interface Line {
  id: number;
  waiting: ClaimedDelivery[];
  /** When each attempt that runs began; the first is the oldest. */
  running: Map<number, number>;
  slow: boolean;
  /** Whether any attempt was answered. */
  proven: boolean;
  timeOutsInRow: number;
  /** Attempts that ended within this and the last {@link AHEAD_MS}. */
  ended: number;
  endedBefore: number;
  /** Whether it stands in one of the rings. */
  queued: boolean;
  usedAt: number;
}

export interface EndedAttempt {
  durationMs: number;
  timedOut: boolean;
}

/** One endpoint that an operator should know of. */
export interface SlowEndpoint {
  webhookId: number;
  timeOutsInRow: number;
}

/**
 * Which attempt of a process is the next: endpoints in turn, each at most 16 at once, one with 5 time-outs in a row
 * only 2, slow ones together a tenth of the slots. Nothing here waits or does I/O.
 */
export class AttemptSchedule {
  readonly #lines = new Map<number, Line>();
  /** Endpoints with something waiting, in the order of their turns. */
  readonly #rings: Record<'fast' | 'slow', Line[]> = { fast: [], slow: [] };
  readonly #running = { fast: 0, slow: 0 };
  #waiting = 0;

  /** Claimed and not ended. */
  get size(): number {
    return this.#waiting + this.#running.fast + this.#running.slow;
  }

  get inFlight(): number {
    return this.#running.fast + this.#running.slow;
  }

  add(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      const line = this.#line(delivery.endpoint.id);
      line.waiting.push(delivery);
      this.#waiting += 1;
      this.#enqueue(line);
    }
  }

  /**
   * @returns what to attempt now, already counted as running; null where nothing may. Claims that are too old are
   *   added to `stale` instead
   */
  next(now: number, stale: ClaimedDelivery[]): ClaimedDelivery | null {
    return this.#nextOf('fast', SLOTS, now, stale) ?? this.#nextOf('slow', SLOW_SLOTS, now, stale);
  }

  end(delivery: ClaimedDelivery, attempt: EndedAttempt, now: number): void {
    const line = this.#line(delivery.endpoint.id);
    if (line.running.delete(delivery.due.deliveryId)) this.#running[line.slow ? 'slow' : 'fast'] -= 1;
    line.timeOutsInRow = attempt.timedOut ? line.timeOutsInRow + 1 : 0;
    line.proven ||= !attempt.timedOut;
    line.ended += 1;
    line.usedAt = now;
    this.#setSlow(line, attempt.timedOut || attempt.durationMs > SLOW_ANSWER_MS);
    this.#enqueue(line);
  }

  /** What may be claimed now, where it is not {@link FIRST_CLAIM}; 0 for endpoints that have enough. */
  quotas(): Map<number, number> {
    const quotas = new Map<number, number>();
    for (const line of this.#lines.values()) {
      const held = line.waiting.length + line.running.size;
      const target = this.#target(line);
      const quota = held * 2 > target ? 0 : target - held;
      if (quota !== FIRST_CLAIM) quotas.set(line.id, quota);
    }
    return quotas;
  }

  /**
   * Call every {@link AHEAD_MS}: finds endpoints that have become slow, forgets those without work.
   * @returns claims that are too old, taken out
   */
  tick(now: number): ClaimedDelivery[] {
    const stale: ClaimedDelivery[] = [];
    for (const line of this.#lines.values()) {
      this.#takeStale(line, now, stale);
      if (!line.slow && this.#hasSlowRunning(line, now)) this.#setSlow(line, true);
      line.endedBefore = line.ended;
      line.ended = 0;
      const idle = line.waiting.length === 0 && line.running.size === 0;
      // What is known of a slow endpoint is kept for a while, or it would be given 16 slots again.
      if (idle && now - line.usedAt > (line.slow ? 60_000 : 5_000)) this.#lines.delete(line.id);
    }
    return stale;
  }

  /** Take out everything that does not run. */
  drain(): ClaimedDelivery[] {
    const drained = [...this.#lines.values()].flatMap((line) => line.waiting.splice(0));
    this.#waiting = 0;
    return drained;
  }

  slowEndpoints(most: number): SlowEndpoint[] {
    const slow = [...this.#lines.values()].filter((line) => line.slow);
    return slow.slice(0, most).map((line) => ({ webhookId: line.id, timeOutsInRow: line.timeOutsInRow }));
  }

  #line(id: number): Line {
    const known = this.#lines.get(id);
    if (known) return known;
    const line: Line = {
      id,
      waiting: [],
      running: new Map(),
      slow: false,
      proven: false,
      timeOutsInRow: 0,
      ended: 0,
      endedBefore: 0,
      queued: false,
      usedAt: performance.now(),
    };
    this.#lines.set(id, line);
    return line;
  }

  #limit(line: Line): number {
    if (line.timeOutsInRow >= TIME_OUTS) return PER_TIMING_OUT;
    return line.proven ? PER_ENDPOINT : PER_UNPROVEN;
  }

  #target(line: Line): number {
    if (line.slow) return Math.min(this.#limit(line), Math.max(0, SLOW_SLOTS - this.#running.slow));
    if (!line.proven) return FIRST_CLAIM;
    return Math.min(MOST_AHEAD, Math.max(LEAST_AHEAD, line.ended, line.endedBefore));
  }

  #hasSlowRunning(line: Line, now: number): boolean {
    for (const startedAt of line.running.values()) return now - startedAt > SLOW_RUNNING_MS;
    return false;
  }

  #setSlow(line: Line, slow: boolean): void {
    if (line.slow === slow) return;
    const [from, to] = slow ? (['fast', 'slow'] as const) : (['slow', 'fast'] as const);
    this.#running[from] -= line.running.size;
    this.#running[to] += line.running.size;
    line.slow = slow;
    if (!line.queued) return;
    const ring = this.#rings[from];
    ring.splice(ring.indexOf(line), 1);
    this.#rings[to].push(line);
  }

  #enqueue(line: Line): void {
    if (line.queued || line.waiting.length === 0 || line.running.size >= this.#limit(line)) return;
    line.queued = true;
    this.#rings[line.slow ? 'slow' : 'fast'].push(line);
  }

  #nextOf(
    kind: 'fast' | 'slow',
    slots: number,
    now: number,
    stale: ClaimedDelivery[],
  ): ClaimedDelivery | null {
    const ring = this.#rings[kind];
    while (ring.length > 0) {
      if (this.#running[kind] >= slots) return null;
      const line = ring.shift();
      if (!line) return null;
      line.queued = false;
      const delivery = this.#takeFresh(line, now, stale);
      if (delivery) {
        line.running.set(delivery.due.deliveryId, now);
        line.usedAt = now;
        this.#running[kind] += 1;
      }
      this.#enqueue(line);
      if (delivery) return delivery;
    }
    return null;
  }

  #takeStale(line: Line, now: number, stale: ClaimedDelivery[]): void {
    // The oldest are first.
    for (let first = line.waiting[0]; first && now - first.claimedAt > STALE_MS; first = line.waiting[0]) {
      line.waiting.shift();
      this.#waiting -= 1;
      stale.push(first);
    }
  }

  #takeFresh(line: Line, now: number, stale: ClaimedDelivery[]): ClaimedDelivery | null {
    if (line.running.size >= this.#limit(line)) return null;
    this.#takeStale(line, now, stale);
    const delivery = line.waiting.shift();
    if (!delivery) return null;
    this.#waiting -= 1;
    return delivery;
  }
}
