import type { DueDelivery } from '../attempts/attempt.ts';
import type { Endpoint } from '../attempts/endpoint.ts';

/** Maximum number of concurrent attempts of a process at endpoints that respond quickly. */
const FAST_SLOTS = 512;
/** Maximum number of concurrent attempts of a process at all slow endpoints together: a tenth of the above. */
const SLOW_SLOTS = 51;
/** Maximum number of concurrent attempts at one endpoint, by all processes together. */
export const MAX_PER_ENDPOINT = 16;
/**
 * The maximum for an endpoint that has not responded yet, so that many dead ones at once take few slots and TLS
 * handshakes.
 */
const MAX_PER_UNPROVEN = 1;
/** The maximum for an endpoint whose last {@link TIME_OUTS} attempts timed out. */
const MAX_PER_TIMING_OUT = 2;
const TIME_OUTS = 5;
/** An endpoint becomes slow once one of its attempts has been running for longer than this. */
const SLOW_RUNNING_MS = 500;
/** An endpoint also becomes slow if an attempt takes longer than this. A quicker attempt makes it fast again. */
const SLOW_ANSWER_MS = 2_000;
/** Older claims are returned, so that the endpoint's settings are read again. */
const STALE_MS = 1_000;
/** Number of deliveries claimed for an endpoint that has not been measured yet. */
export const FIRST_CLAIM = 8;
/** Limits of the number of deliveries claimed ahead for an endpoint that responds quickly. */
const MIN_AHEAD = 32;
const MAX_AHEAD = 2_000;
/** Interval of {@link AttemptSchedule.tick}. About as many deliveries are claimed ahead as end within it. */
export const TICK_MS = 200;
/** A fast endpoint without work is forgotten after this time. */
const FORGET_FAST_MS = 5_000;
/** A slow one is remembered for longer; otherwise it would get 16 slots again. */
const FORGET_SLOW_MS = 60_000;

/** A claimed delivery, and its endpoint as read after the claim. */
export interface ClaimedDelivery {
  due: DueDelivery;
  endpoint: Endpoint;
  /** When both were read, in milliseconds of a monotonic clock, like all times here. */
  claimedAt: number;
}

type Speed = 'fast' | 'slow';

interface EndpointState {
  id: number;
  waiting: ClaimedDelivery[];
  /** Start times of the running attempts by delivery id, the oldest first. */
  running: Map<number, number>;
  slow: boolean;
  /** Whether the endpoint has ever responded. */
  proven: boolean;
  timeOutsInRow: number;
  /** Number of attempts that ended since the last tick, and in the interval before it. */
  ended: number;
  endedBefore: number;
  /** Whether it is in one of the lists of turns. */
  inTurns: boolean;
  /** When an attempt last began or ended. */
  usedAt: number;
}

export interface EndedAttempt {
  durationMs: number;
  timedOut: boolean;
}

/** A slow endpoint, as operators see it. */
export interface SlowEndpoint {
  webhookId: number;
  timeOutsInRow: number;
}

/**
 * Decides which attempt a process makes next. Endpoints take turns; each has at most the process's share of 16
 * concurrent attempts, or of 2 after 5 time-outs in a row, and all slow endpoints together have a tenth of the slots.
 * Nothing here waits or does I/O.
 */
export class AttemptSchedule {
  readonly #endpoints = new Map<number, EndpointState>();
  /** Endpoints that may begin an attempt, in turn. */
  readonly #turns: Record<Speed, EndpointState[]> = { fast: [], slow: [] };
  readonly #running = { fast: 0, slow: 0 };
  readonly #shareOf: (endpointId: number) => number;
  #waiting = 0;

  /** @param shareOf this process's share of the attempts at an endpoint */
  constructor(shareOf: (endpointId: number) => number = () => MAX_PER_ENDPOINT) {
    this.#shareOf = shareOf;
  }

  /** Number of deliveries that wait or are being attempted. */
  get size(): number {
    return this.#waiting + this.#running.fast + this.#running.slow;
  }

  /** Number of deliveries that are being attempted. */
  get inFlight(): number {
    return this.#running.fast + this.#running.slow;
  }

  /** Whether it knows no endpoint, so that ticks have no effect. */
  get isEmpty(): boolean {
    return this.#endpoints.size === 0;
  }

  add(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      const endpoint = this.#endpoint(delivery.endpoint.id);
      endpoint.waiting.push(delivery);
      this.#waiting += 1;
      this.#enqueue(endpoint);
    }
  }

  /**
   * @param stale receives claims that are too old to be used
   * @returns the delivery to attempt now, already counted as running; null if no attempt may begin
   */
  next(now: number, stale: ClaimedDelivery[]): ClaimedDelivery | null {
    return this.#nextOf('fast', FAST_SLOTS, now, stale) ?? this.#nextOf('slow', SLOW_SLOTS, now, stale);
  }

  end(delivery: ClaimedDelivery, attempt: EndedAttempt, now: number): void {
    const endpoint = this.#endpoint(delivery.endpoint.id);
    if (endpoint.running.delete(delivery.due.deliveryId)) this.#running[endpoint.slow ? 'slow' : 'fast'] -= 1;
    endpoint.timeOutsInRow = attempt.timedOut ? endpoint.timeOutsInRow + 1 : 0;
    endpoint.proven ||= !attempt.timedOut;
    endpoint.ended += 1;
    endpoint.usedAt = now;
    this.#setSlow(endpoint, attempt.timedOut || attempt.durationMs > SLOW_ANSWER_MS);
    this.#enqueue(endpoint);
  }

  /**
   * @returns the number of deliveries to claim by endpoint, if it is not {@link FIRST_CLAIM}; 0 for endpoints that have
   *   enough
   */
  quotas(): Map<number, number> {
    const quotas = new Map<number, number>();
    for (const endpoint of this.#endpoints.values()) {
      const present = endpoint.waiting.length + endpoint.running.size;
      const target = this.#target(endpoint);
      const quota = present * 2 > target ? 0 : target - present;
      if (quota !== FIRST_CLAIM) quotas.set(endpoint.id, quota);
    }
    return quotas;
  }

  /**
   * Call every {@link TICK_MS}, unless {@link isEmpty}. Finds endpoints that have become slow, and forgets those
   * without work.
   * @returns the claims that are too old to be used; they are no longer scheduled
   */
  tick(now: number): ClaimedDelivery[] {
    const stale: ClaimedDelivery[] = [];
    for (const endpoint of this.#endpoints.values()) {
      this.#takeStale(endpoint, now, stale);
      if (!endpoint.slow && this.#hasSlowRunning(endpoint, now)) this.#setSlow(endpoint, true);
      endpoint.endedBefore = endpoint.ended;
      endpoint.ended = 0;
      const idle = endpoint.waiting.length === 0 && endpoint.running.size === 0;
      const forgetMs = endpoint.slow ? FORGET_SLOW_MS : FORGET_FAST_MS;
      if (idle && now - endpoint.usedAt > forgetMs) this.#endpoints.delete(endpoint.id);
    }
    return stale;
  }

  /** Removes and returns all waiting deliveries. */
  drain(): ClaimedDelivery[] {
    const drained = [...this.#endpoints.values()].flatMap((endpoint) => endpoint.waiting.splice(0));
    this.#waiting = 0;
    return drained;
  }

  slowEndpoints(max: number): SlowEndpoint[] {
    const slow = [...this.#endpoints.values()].filter((endpoint) => endpoint.slow);
    return slow
      .slice(0, max)
      .map((endpoint) => ({ webhookId: endpoint.id, timeOutsInRow: endpoint.timeOutsInRow }));
  }

  #endpoint(id: number): EndpointState {
    const known = this.#endpoints.get(id);
    if (known) return known;
    const endpoint: EndpointState = {
      id,
      waiting: [],
      running: new Map(),
      slow: false,
      proven: false,
      timeOutsInRow: 0,
      ended: 0,
      endedBefore: 0,
      inTurns: false,
      usedAt: performance.now(),
    };
    this.#endpoints.set(id, endpoint);
    return endpoint;
  }

  #limit(endpoint: EndpointState): number {
    const share = this.#shareOf(endpoint.id);
    if (endpoint.timeOutsInRow >= TIME_OUTS) return Math.min(share, MAX_PER_TIMING_OUT);
    return endpoint.proven ? share : MAX_PER_UNPROVEN;
  }

  #target(endpoint: EndpointState): number {
    if (endpoint.slow) return Math.min(this.#limit(endpoint), Math.max(0, SLOW_SLOTS - this.#running.slow));
    if (!endpoint.proven) return FIRST_CLAIM;
    return Math.min(MAX_AHEAD, Math.max(MIN_AHEAD, endpoint.ended, endpoint.endedBefore));
  }

  #hasSlowRunning(endpoint: EndpointState, now: number): boolean {
    for (const startedAt of endpoint.running.values()) return now - startedAt > SLOW_RUNNING_MS;
    return false;
  }

  #setSlow(endpoint: EndpointState, slow: boolean): void {
    if (endpoint.slow === slow) return;
    const [from, to] = slow ? (['fast', 'slow'] as const) : (['slow', 'fast'] as const);
    this.#running[from] -= endpoint.running.size;
    this.#running[to] += endpoint.running.size;
    endpoint.slow = slow;
    if (!endpoint.inTurns) return;
    const turns = this.#turns[from];
    turns.splice(turns.indexOf(endpoint), 1);
    this.#turns[to].push(endpoint);
  }

  #enqueue(endpoint: EndpointState): void {
    if (endpoint.inTurns || endpoint.waiting.length === 0 || endpoint.running.size >= this.#limit(endpoint))
      return;
    endpoint.inTurns = true;
    this.#turns[endpoint.slow ? 'slow' : 'fast'].push(endpoint);
  }

  #nextOf(speed: Speed, slots: number, now: number, stale: ClaimedDelivery[]): ClaimedDelivery | null {
    const turns = this.#turns[speed];
    while (turns.length > 0) {
      if (this.#running[speed] >= slots) return null;
      const endpoint = turns.shift();
      if (!endpoint) return null;
      endpoint.inTurns = false;
      const delivery = this.#takeFresh(endpoint, now, stale);
      if (delivery) {
        endpoint.running.set(delivery.due.deliveryId, now);
        endpoint.usedAt = now;
        this.#running[speed] += 1;
      }
      this.#enqueue(endpoint);
      if (delivery) return delivery;
    }
    return null;
  }

  #takeStale(endpoint: EndpointState, now: number, stale: ClaimedDelivery[]): void {
    // The oldest claims come first.
    for (
      let first = endpoint.waiting[0];
      first && now - first.claimedAt > STALE_MS;
      first = endpoint.waiting[0]
    ) {
      endpoint.waiting.shift();
      this.#waiting -= 1;
      stale.push(first);
    }
  }

  #takeFresh(endpoint: EndpointState, now: number, stale: ClaimedDelivery[]): ClaimedDelivery | null {
    if (endpoint.running.size >= this.#limit(endpoint)) return null;
    this.#takeStale(endpoint, now, stale);
    const delivery = endpoint.waiting.shift();
    if (!delivery) return null;
    this.#waiting -= 1;
    return delivery;
  }
}
