import { BLOCKS_CLASS } from '../../backlog.ts';
import type { Claim } from './claim.ts';
import { createPace, MAX_BATCH, type Pace } from '../intend/pace.ts';
import { BatchCutter, isHeavyClaim } from './batch-cutter.ts';

const MIB = 1_048_576;
/** Bytes of the contents of one batch. */
const MAX_BATCH_BYTES = 8 * MIB;
/** Heavy batches that may be composed at once: as many as there are threads, and at least one worker is left to others. */
const MAX_HEAVY_BATCHES = 2;
/** Bytes of all contents that a process has read and not yet recorded. */
export const MAX_BYTES_IN_HAND = 64 * MIB;

/** Bounds the bytes of contents that the batches of a process have in memory. Its buffers share it. */
export interface ByteBudget {
  /** Whether so many bytes may be taken. If nothing is taken yet, any number may. */
  hasRoom(bytes: number): boolean;
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Calls the listener whenever bytes were given back. @returns a function that ends this */
  onRoom(listener: () => void): () => void;
}

export function createByteBudget(limit: number = MAX_BYTES_IN_HAND): ByteBudget {
  const listeners = new Set<() => void>();
  let taken = 0;
  return {
    hasRoom: (bytes) => taken === 0 || taken + bytes <= limit,
    take(bytes) {
      taken += bytes;
    },
    giveBack(bytes) {
      taken -= bytes;
      for (const listener of listeners) listener();
    },
    onRoom(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * A part of the budget for one of several providers: at most half, so that one that hangs leaves room to the others.
 * Each may always take one batch.
 */
export function partOf(budget: ByteBudget, limit: number = MAX_BYTES_IN_HAND / 2): ByteBudget {
  const own = createByteBudget(limit);
  let taken = 0;
  return {
    hasRoom: (bytes) => taken === 0 || (own.hasRoom(bytes) && budget.hasRoom(bytes)),
    take(bytes) {
      taken += bytes;
      own.take(bytes);
      budget.take(bytes);
    },
    giveBack(bytes) {
      taken -= bytes;
      own.giveBack(bytes);
      budget.giveBack(bytes);
    },
    onRoom: (listener) => budget.onRoom(listener),
  };
}

/** The largest part of the workers that take batches of campaigns. The others are free for all other messages. */
const CAMPAIGN_SHARE = 0.7;
/** Messages of a claimed block: as many as four full buffers have, within these bounds. */
const MIN_BLOCK = 100;
const MAX_BLOCK = 1_000;
/** Accounts of whose blocks a buffer may have claims at once. */
const MAX_BLOCK_ACCOUNTS = 16;

/** How many of the workers of a provider take batches of campaigns: one at least. */
export function campaignWorkers(workers: number): number {
  return Math.max(1, Math.floor(workers * CAMPAIGN_SHARE));
}

/** If claims have waited so long for any worker to be free, they may be sent sooner by another sender. */
const STALL_MS = 2_000;

/**
 * The claims of a provider channel that wait for a worker. They are handed over by class and, within a class, the
 * accounts take turns: a message waits for the batches that were taken before it came, never for another account's
 * backlog.
 */
export interface ClaimBuffer {
  /** How many more to claim: 0 until the buffer is half empty. A full one has half a second of measured work. */
  wanted(): number;
  /**
   * How many to claim of backlogs of which the buffer has no claims (see {@link has}), although it has enough of
   * others: without this, they would wait until it is half empty. 0 if it is empty or twice as full as it should be.
   */
  wantedOfOthers(): number;
  /**
   * How many messages of a block to claim; 0: no block is wanted. Blocks are counted apart, so that they never keep other
   * messages out. Those of an account of which the buffer has no block are wanted sooner.
   */
  wantedOfBlock(accountId: number): number;
  /** Whether blocks of any account are wanted. */
  wantsBlocks(): boolean;
  /** Whether it has no claims. */
  isEmpty(): boolean;
  /** Whether it has claims of this backlog. */
  has(backlog: { class: number; accountId: number }): boolean;
  add(claims: readonly Claim[]): void;
  /** Measures a batch that the provider has worked on. @param ms that the provider took for its messages */
  measure(messages: number, ms: number): void;
  /** Whether the provider takes so long that a batch is at most half as large as it may be. */
  isSlow(): boolean;
  /**
   * Waits for claims and takes a batch: at most 50 claims, 250 ms of measured work and 8 MiB. Workers that wait share
   * the claims, if each share is at least 50 ms of work. Heavy claims make batches of their own; at most two of these
   * are taken and not yet composed, so that the other workers serve the other claims.
   * @param campaigns whether a batch of a campaign may be taken; see {@link campaignWorkers}
   * @returns null once the buffer is closed
   */
  take(campaigns?: boolean): Promise<Claim[] | null>;
  /** Reports that nothing of a batch remains to be composed: another heavy batch may be taken. */
  composed(batch: readonly Claim[]): void;
  /** Ends a batch, whatever its outcome: its contents are no longer in memory. */
  finish(batch: readonly Claim[]): void;
  /**
   * Whether all workers are busy and none has taken a batch for two seconds: the provider may not reply for minutes.
   * Until a worker is free again, the buffer wants no claims, and those in it should be given back.
   */
  isStalled(): boolean;
  /** The same for the workers that take batches of campaigns: blocks in the buffer should be given back. */
  areBlocksStalled(): boolean;
  /** Takes out all claims. */
  drain(): Claim[];
  /** Takes out the claims of blocks. */
  drainBlocks(): Claim[];
  close(): void;
}

interface WaitingWorker {
  campaigns: boolean;
  resolve: (batch: Claim[] | null) => void;
}

const bytesOf = (claims: readonly Claim[]) => claims.reduce((sum, { bytes }) => sum + bytes, 0);

/** The heavy batches that are not yet composed. @param onEnd called when there is one fewer */
function createHeavyBatches(workers: number, onEnd: () => void) {
  const max = Math.max(1, Math.min(MAX_HEAVY_BATCHES, workers - 1));
  const composing = new Set<readonly Claim[]>();
  return {
    hasRoom: () => composing.size < max,
    begin(batch: readonly Claim[]) {
      if (batch.some(isHeavyClaim)) composing.add(batch);
    },
    end(batch: readonly Claim[]) {
      if (composing.delete(batch)) onEnd();
    },
  };
}

/** Watches when workers took batches last. A worker that waits is free: then claims wait for room, or there are none. */
function createStallWatch(waiting: readonly WaitingWorker[], now: () => number) {
  let tookAt = now();
  let tookForCampaignsAt = now();
  return {
    took(campaigns: boolean) {
      tookAt = now();
      if (campaigns) tookForCampaignsAt = tookAt;
    },
    isStalled: () => waiting.length === 0 && now() - tookAt >= STALL_MS,
    areBlocksStalled: () =>
      !waiting.some(({ campaigns }) => campaigns) && now() - tookForCampaignsAt >= STALL_MS,
  };
}

/** Which blocks a buffer wants. */
function createBlockWants(cutter: BatchCutter, pace: Pace, areStalled: () => boolean) {
  const wantsBlocks = () => !areStalled() && cutter.ofBlocks * 2 < pace.ahead();
  return {
    wantsBlocks,
    wantedOfBlock(accountId: number) {
      const further =
        !areStalled() &&
        cutter.accountsOf(BLOCKS_CLASS) < MAX_BLOCK_ACCOUNTS &&
        !cutter.has({ class: BLOCKS_CLASS, accountId });
      return wantsBlocks() || further ? Math.min(MAX_BLOCK, Math.max(MIN_BLOCK, 4 * pace.ahead())) : 0;
    },
  };
}

/** @param share of all claims that a worker should take */
const boundsOf = (pace: Pace, share: number) => ({
  messages: Math.min(pace.batchSize(), Math.max(pace.minShare(), share)),
  bytes: MAX_BATCH_BYTES,
  inARow: pace.inARow(),
});

/** How many claims count as waiting. Heavy ones, which wait for threads, never keep other accounts out. */
const waitingIn = (cutter: BatchCutter, ahead: number) =>
  cutter.length - cutter.ofBlocks - cutter.heavy + Math.min(cutter.heavy, Math.ceil(ahead / 2));

/** @param ahead claims of a full buffer */
const wantedNow = (length: number, ahead: number) => (length * 2 < ahead ? ahead - length : 0);

const wantedOfOthersNow = (length: number, ahead: number) =>
  length > 0 && length < 2 * ahead ? Math.ceil(ahead / 2) : 0;

interface ShareParts {
  pace: Pace;
  cutter: BatchCutter;
  heavy: ReturnType<typeof createHeavyBatches>;
  stalls: ReturnType<typeof createStallWatch>;
  budget: ByteBudget;
}

/** Cuts the batch of a worker: an equal share for each of `takers`, unless that is too little to be worth a batch. */
function createShareCutter({ pace, cutter, heavy, stalls, budget }: ShareParts) {
  return (takers: number, campaigns: boolean): Claim[] => {
    const bounds = boundsOf(pace, Math.ceil(cutter.length / takers));
    const batch = cutter.cut({ ...bounds, hasRoom: budget.hasRoom, heavy: heavy.hasRoom(), campaigns });
    budget.take(bytesOf(batch));
    if (batch.length > 0) stalls.took(campaigns);
    heavy.begin(batch);
    return batch;
  };
}

/** How many claims of the queue a buffer wants. */
function createQueueWants(cutter: BatchCutter, pace: Pace, isStalled: () => boolean) {
  const waiting = () => waitingIn(cutter, pace.ahead());
  return {
    wanted: () => (isStalled() ? 0 : wantedNow(waiting(), pace.ahead())),
    wantedOfOthers: () => (isStalled() ? 0 : wantedOfOthersNow(waiting(), pace.ahead())),
  };
}

/**
 * @param workers how many take batches from it
 * @param budget of the process
 * @param now milliseconds of a monotonic clock
 */
export function createClaimBuffer(
  workers: number,
  budget: ByteBudget = createByteBudget(),
  now: () => number = () => performance.now(),
): ClaimBuffer {
  const pace = createPace(workers);
  const cutter = new BatchCutter();
  const heavy = createHeavyBatches(workers, serve);
  const waiting: WaitingWorker[] = [];
  const stalls = createStallWatch(waiting, now);
  let closed = false;
  const cutShare = createShareCutter({ pace, cutter, heavy, stalls, budget });

  function serve(): void {
    for (let index = 0; index < waiting.length && cutter.length > 0;) {
      const worker = waiting[index] as WaitingWorker;
      const batch = cutShare(waiting.length, worker.campaigns);
      if (batch.length === 0) index += 1;
      else {
        waiting.splice(index, 1);
        worker.resolve(batch);
      }
    }
  }

  const unlisten = budget.onRoom(serve);
  return {
    ...createQueueWants(cutter, pace, stalls.isStalled),
    ...createBlockWants(cutter, pace, stalls.areBlocksStalled),
    isEmpty: () => cutter.length === 0,
    has: (backlog) => cutter.has(backlog),
    add(claims) {
      cutter.add(claims);
      serve();
    },
    measure: (messages, ms) => pace.measure(messages, ms),
    isSlow: () => pace.batchSize() <= MAX_BATCH / 2,
    async take(campaigns = true) {
      if (closed) return null;
      if (cutter.length > 0) {
        const batch = cutShare(Math.max(1, Math.min(waiting.length + 1, workers)), campaigns);
        if (batch.length > 0) return batch;
      }
      return new Promise((resolve) => waiting.push({ campaigns, resolve }));
    },
    isStalled: stalls.isStalled,
    areBlocksStalled: stalls.areBlocksStalled,
    composed: heavy.end,
    finish(batch) {
      heavy.end(batch);
      budget.giveBack(bytesOf(batch));
    },
    drain: () => cutter.drain(),
    drainBlocks: () => cutter.drainBlocks(),
    close() {
      closed = true;
      unlisten();
      for (const { resolve } of waiting.splice(0)) resolve(null);
    },
  };
}
