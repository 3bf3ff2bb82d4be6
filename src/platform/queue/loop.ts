import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { LaneKind, LaneMode, LaneReport } from '../../../workflows/lanes/contract.ts';
import type { Waker } from '../db/wake.ts';
import type { LiveProcess } from '../processes/process.ts';
import type { Pulse } from '../processes/pulse.ts';
import { repeat, type Repeating } from '../processes/repeat.ts';
import { type ClaimKey, KnownClaims } from './claims.ts';

/** A process's loop, as its lane sees it. The loop belongs to the process and outlives the lane's activity. */
export interface LaneLoop {
  readonly kind: LaneKind;
  setMode(mode: LaneMode): void;
  report(): LaneReport;
}

export interface QueueLoop extends LaneLoop {
  start(): void;
  /** Claims and begins nothing more, finishes and records the work that has begun, and releases all other claims. */
  stop(): Promise<void>;
}

/** The adapter's part of a lane's report. */
export type QueueState = Pick<LaneReport, 'inFlight' | 'providers' | 'nextScheduledAt'>;

/** The result of polling the queue once. */
export interface ClaimResult {
  claimed: number;
  /** Longest pause in milliseconds before the next poll if nothing was claimed; null: only the idle backoff counts. */
  nextLookMs: number | null;
}

/**
 * One queue: how its rows are claimed, processed and released. The loop calls these functions; the adapter reports back
 * through {@link QueueHandle}.
 */
export interface QueueAdapter<Claim> extends ClaimKey<Claim> {
  readonly kind: LaneKind;
  /** What is claimed, in the plural, for the log: `messages`. */
  readonly noun: string;
  /** SQL condition: whether there are rows that no process has claimed, due or not. */
  readonly waiting: string;
  /** SQL condition: whether the process with the id `$1` has claims or other leftovers, which a sweep would find. */
  readonly owned: string;
  /** Shortest pause between two sweeps for stray claims. */
  readonly sweepMs: number;
  /** Shortest pause between two claims. */
  readonly claimIntervalMs: number;
  /** Maximum number of tries of a release; after that the sweep takes over. */
  readonly releaseTries: number;
  /** Modes in which waiting claims are released instead of processed. */
  readonly givesBackIn: readonly LaneMode[];

  /** Starts the workers; called once. */
  start?(): void;
  /** Remembers where new rows are, before the claim that a wake-up causes. @param hints null: anywhere */
  hint?(hints: readonly string[] | null): void;
  /** Claims rows for the process. @returns null if the process has enough work already */
  claim(owner: number): Promise<ClaimResult | null>;
  /** Removes and returns the claims on which no work has begun. */
  takeWaiting(): Claim[];
  /** Releases claims in the database, unless another process has them already. */
  release(owner: number, claims: readonly Claim[]): Promise<void>;
  /** @returns all claims that the database lists under the process */
  listOwned(owner: number): Promise<Claim[]>;
  /** Removes other leftovers of the process; called in each sweep, before strays are released. */
  sweep?(owner: number): Promise<void>;
  /** @returns the numbers of rows in the queue, under names that operators know */
  countBacklog(): Promise<Record<string, number>>;
  describe(): QueueState;
  /** Begins no work on claims any more, even if they were taken already. Called first at the stop. */
  stop?(): void;
  /** Resolves when all work that has begun is done and recorded. Called after the waiting claims were removed. */
  finish(): Promise<void>;
  /** Closes connections; called last. */
  close(): Promise<void>;
}

/** The functions of the loop that an adapter calls. */
export interface QueueHandle<Claim> {
  /** Polls the queue now, or as soon as the pause between two claims is over. */
  wake(): void;
  /** Registers claims as this process's own. @returns the new ones; the process is already working on the others */
  register<Claimed extends Claim>(claims: readonly Claimed[]): Claimed[];
  /** Number of claims that are registered and neither forgotten nor released. */
  registered(): number;
  /** Whether new claims may be processed; if not, the adapter releases them. */
  acceptsWork(): boolean;
  /** Removes claims whose work is done and recorded. */
  forget(claims: readonly Claim[]): void;
  /** Forgets claims and releases them. Never throws: the sweep retries a release that fails. */
  giveBack(claims: readonly Claim[]): Promise<void>;
  /** Counts finished work for the rate in the report. */
  countHandled(count: number): void;
}

export interface QueueLoopDeps {
  process: LiveProcess;
  waker: Pick<Waker, 'listen'>;
  pulse: Pulse;
  log: Logger;
}

const BUSY_POLL_MS = 25;
const IDLE_POLL_MS = 1_000;
/** Pause if nothing may be claimed now, or if the database fails. */
const RETRY_MS = 250;
const RATE_MS = 1_000;
const BACKLOG_MS = 10_000;

/** The loop of one process over one queue. It needs PostgreSQL only; a lane in the engine shows and steers it. */
class Loop<Claim> implements QueueLoop, QueueHandle<Claim> {
  readonly kind: LaneKind;
  readonly #deps: QueueLoopDeps;
  readonly #adapter: QueueAdapter<Claim>;
  readonly #known: KnownClaims<Claim>;
  readonly #releases = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #claiming: Repeating | null = null;
  #sweeping: Repeating | null = null;
  #claimedAt = 0;
  #wakeTimer: NodeJS.Timeout | null = null;
  #idleMs = BUSY_POLL_MS;
  #mode: LaneMode = 'running';
  #stopping = false;
  #handled = 0;
  #handledBefore = 0;
  #rate = 0;
  #backlog: Record<string, number> = {};
  #unlisten: (() => void)[] = [];

  constructor(adapter: QueueAdapter<Claim>, deps: QueueLoopDeps) {
    this.kind = adapter.kind;
    this.#adapter = adapter;
    this.#deps = deps;
    this.#known = new KnownClaims(adapter);
  }

  start(): void {
    const { waker, pulse, log } = this.#deps;
    const { noun, waiting, owned, sweepMs } = this.#adapter;
    this.#unlisten = [
      waker.listen(this.kind, (hints) => {
        this.#adapter.hint?.(hints);
        this.wake();
      }),
      pulse.watch(waiting, () => this.wake()),
    ];
    this.#timers.push(
      setInterval(() => this.#measureRate(), RATE_MS),
      setInterval(() => void this.#countBacklog(), BACKLOG_MS),
    );
    this.#claiming = repeat(() => this.#claimOnce(), { log, name: `claiming ${noun}`, retryMs: RETRY_MS });
    const sweep = { name: `sweep of ${noun}`, waiting: owned };
    this.#sweeping = pulse.repeat(sweep, () => this.#sweep(), sweepMs);
    this.#adapter.start?.();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#adapter.stop?.();
    for (const unlisten of this.#unlisten) unlisten();
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#wakeTimer) clearTimeout(this.#wakeTimer);
    const stopped = this.#claiming?.stop();
    await this.giveBack(this.#adapter.takeWaiting());
    await stopped;
    await this.#adapter.finish();
    // Until then, it releases claims that could not be released: the work may take minutes to finish.
    await this.#sweeping?.stop();
    await this.giveBack(this.#known.all());
    await Promise.all(this.#releases);
    await this.#adapter.close();
  }

  setMode(mode: LaneMode): void {
    this.#mode = mode;
    if (this.#adapter.givesBackIn.includes(mode)) void this.giveBack(this.#adapter.takeWaiting());
    this.#claiming?.wake();
  }

  report(): LaneReport {
    return {
      host: os.hostname(),
      pid: process.pid,
      processId: this.#deps.process.id() ?? 0,
      mode: this.#mode,
      ratePerSecond: Math.round(this.#rate * 10) / 10,
      handledTotal: this.#handled,
      backlog: this.#backlog,
      ...this.#adapter.describe(),
    };
  }

  wake(): void {
    const waitMs = this.#claimedAt + this.#adapter.claimIntervalMs - performance.now();
    if (waitMs <= 0) this.#claiming?.wake();
    else if (!this.#wakeTimer && !this.#stopping) {
      this.#wakeTimer = setTimeout(() => {
        this.#wakeTimer = null;
        this.#claiming?.wake();
      }, waitMs);
    }
  }

  register<Claimed extends Claim>(claims: readonly Claimed[]): Claimed[] {
    return this.#known.add(claims);
  }

  registered(): number {
    return this.#known.size;
  }

  acceptsWork(): boolean {
    return this.#mode === 'running' && !this.#stopping;
  }

  forget(claims: readonly Claim[]): void {
    this.#known.forget(claims);
  }

  giveBack(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return Promise.resolve();
    const releasing = this.#release(claims).finally(() => this.#releases.delete(releasing));
    this.#releases.add(releasing);
    return releasing;
  }

  countHandled(count: number): void {
    this.#handled += count;
  }

  /** @returns milliseconds until the next claim, unless the loop is woken earlier */
  async #claimOnce(): Promise<number> {
    const owner = this.#deps.process.id();
    if (owner === null || this.#mode !== 'running') return RETRY_MS;
    const result = await this.#adapter.claim(owner);
    if (result === null) return RETRY_MS;
    this.#claimedAt = performance.now();
    if (result.claimed > 0) {
      this.#idleMs = BUSY_POLL_MS;
      return this.#adapter.claimIntervalMs;
    }
    this.#idleMs = Math.min(this.#idleMs * 2, IDLE_POLL_MS);
    // The pulse finds new rows as soon as another poll would. Claims may have to be given back in the next round.
    const isIdle = this.#idleMs === IDLE_POLL_MS && result.nextLookMs === null && this.#known.size === 0;
    if (isIdle) return Infinity;
    return Math.min(this.#idleMs, Math.max(1, result.nextLookMs ?? IDLE_POLL_MS));
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    this.#known.forget(claims);
    const owner = this.#deps.process.id();
    // Without an id the process may have been reaped, and its claims released.
    if (owner === null) return;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#adapter.release(owner, claims);
      } catch (error) {
        this.#deps.log.warn({ err: error, claims: claims.length }, `${this.#adapter.noun} not released yet`);
        // The next sweep releases them, or the reaper does if this process dies.
        if (tries >= this.#adapter.releaseTries) return this.#known.markStray(owner, claims);
        await sleep(RETRY_MS);
      }
    }
  }

  /** @returns whether it has found a claim that may be a stray, so that another sweep is needed */
  async #sweep(): Promise<boolean> {
    const owner = this.#deps.process.id();
    if (owner === null) return false;
    const strays = this.#known.findStrays(owner, await this.#adapter.listOwned(owner));
    await this.#adapter.sweep?.(owner);
    if (strays.length > 0) await this.#adapter.release(owner, strays);
    return this.#known.hasSuspects;
  }

  #measureRate(): void {
    this.#rate = this.#rate * 0.7 + (this.#handled - this.#handledBefore) * 0.3;
    this.#handledBefore = this.#handled;
  }

  async #countBacklog(): Promise<void> {
    this.#backlog = await this.#adapter.countBacklog().catch(() => this.#backlog);
  }
}

export function createQueueLoop<Claim>(
  adapter: QueueAdapter<Claim>,
  deps: QueueLoopDeps,
): QueueLoop & QueueHandle<Claim> {
  return new Loop(adapter, deps);
}
