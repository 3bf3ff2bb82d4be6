import { BLOCKS_CLASS } from '../../terms/backlog.ts';
import type { Claim } from '../../ledger/ownership/claims.ts';
import { isLetterQueue, type QueueChannel } from '../../terms/channels/queue-channel.ts';
import { createBatchSizes, MAX_BATCH, type BatchSizes } from './batch-size.ts';
import { BatchCutter, isHeavyClaim } from './batch-cutter.ts';
import { type FileRoom, unboundedFiles } from './file-room.ts';
import { type ByteBudget, createByteBudget } from './byte-budget.ts';

const MIB = 1_048_576;
/** Maximum bytes of the contents of one batch. */
const MAX_BATCH_BYTES = 8 * MIB;
/**
 * Maximum number of heavy batches composed at once: one for each thread. At least one worker is left for light batches.
 */
const MAX_HEAVY_BATCHES = 2;
/** Maximum share of workers that take batches of campaigns. The other workers are reserved for all other messages. */
const CAMPAIGN_SHARE = 0.7;
/** Bounds of the number of messages claimed from a block, which is that of four full buffers. */
const MIN_BLOCK = 100;
const MAX_BLOCK = 1_000;
/** Maximum number of accounts with claimed blocks in a buffer. */
const MAX_BLOCK_ACCOUNTS = 16;

/** How many workers of a provider take batches of campaigns: at least one. */
export function campaignWorkers(workers: number): number {
  return Math.max(1, Math.floor(workers * CAMPAIGN_SHARE));
}

/** How long no worker must have been free before claims are given back: another sender may send them sooner. */
const STALL_MS = 2_000;

/**
 * The claims of a provider channel that wait for a worker. They are handed over by class, and within a class the
 * accounts take turns: a message waits for batches taken before it arrived, never for another account's backlog.
 */
export interface ClaimBuffer {
  /**
   * How many more messages to claim: 0 until the buffer is half empty. A full buffer has half a second of measured
   * work.
   */
  wanted(): number;
  /**
   * How many messages to claim from backlogs that have no claims in the buffer (see {@link has}), although it has
   * enough others: otherwise these backlogs would wait until the buffer is half empty. 0 if it is empty or twice as
   * full as it should be.
   */
  wantedOfOthers(): number;
  /**
   * How many messages of a block to claim; 0: no block is wanted. Blocks are counted separately, so that they never
   * keep out other messages. A block of an account that has none in the buffer is wanted sooner.
   */
  wantedOfBlock(accountId: number): number;
  /** Whether blocks of any account are wanted. */
  wantsBlocks(): boolean;
  /** Whether the buffer has no claims. */
  isEmpty(): boolean;
  /** Whether the buffer has claims of this backlog, or enough letters with files if it is one of letters. */
  has(backlog: { class: number; accountId: number; queue?: QueueChannel }): boolean;
  add(claims: readonly Claim[]): void;
  /** Measures a batch that the provider has processed. @param ms that the provider took for its messages */
  measure(messages: number, ms: number): void;
  /**
   * Waits for claims and takes a batch: at most 50 claims, 250 ms of measured work and 8 MiB. Waiting workers share the
   * claims, if each share is at least 50 ms of work. Heavy claims make batches of their own. At most two heavy batches
   * may be taken and not yet composed, so that the other workers serve light claims.
   * @param campaigns whether a batch of a campaign may be taken; see {@link campaignWorkers}
   * @param room how many messages a batch may have that {@link reserve} leads to; by default 50
   * @returns null once the buffer is closed
   */
  take(campaigns?: boolean, room?: number): Promise<Claim[] | null>;
  /**
   * Takes a waiting worker out of the buffer, for claims that do not wait in it. The caller gives it a batch of at most
   * `room` messages and these bytes, or puts it back.
   * @returns null if the buffer has claims, no worker waits, or memory has no room for the bytes
   */
  reserve(bytes: number): ReservedWorker | null;
  /** Reports that a batch is completely composed, so that another heavy batch may be taken. */
  composed(batch: readonly Claim[]): void;
  /** Reports that a batch has ended, whatever its outcome: its contents are no longer in memory. */
  finish(batch: readonly Claim[]): void;
  /**
   * Whether all workers are busy and none has taken a batch for two seconds: the provider may not reply for minutes.
   * Until a worker is free again, the buffer wants no claims, and its claims should be given back.
   */
  isStalled(): boolean;
  /** The same for workers that take batches of campaigns: claims of blocks should be given back. */
  areBlocksStalled(): boolean;
  /** Takes out all claims. */
  drain(): Claim[];
  /** Takes out the claims of blocks. */
  drainBlocks(): Claim[];
  close(): void;
}

/** A worker that waits for a batch outside of the buffer. */
export interface ReservedWorker {
  readonly room: number;
  give(batch: Claim[]): void;
  putBack(): void;
}

interface WaitingWorker {
  campaigns: boolean;
  room: number;
  resolve: (batch: Claim[] | null) => void;
}

const bytesOf = (claims: readonly Claim[]) => claims.reduce((sum, { bytes }) => sum + bytes, 0);

/** The heavy batches that are not composed yet. @param onEnd called when one has been composed */
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

/**
 * Tracks when workers last took batches. A waiting worker is free, so the buffer is not stalled: its claims wait for
 * room, or it has none.
 */
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
function createBlockWants(cutter: BatchCutter, sizes: BatchSizes, areStalled: () => boolean) {
  const wantsBlocks = () => !areStalled() && cutter.ofBlocks * 2 < sizes.ahead();
  return {
    wantsBlocks,
    wantedOfBlock(accountId: number) {
      const further =
        !areStalled() &&
        cutter.accountsOf(BLOCKS_CLASS) < MAX_BLOCK_ACCOUNTS &&
        !cutter.has({ class: BLOCKS_CLASS, accountId });
      return wantsBlocks() || further ? Math.min(MAX_BLOCK, Math.max(MIN_BLOCK, 4 * sizes.ahead())) : 0;
    },
  };
}

/** @param share the number of claims that a worker should take */
const boundsOf = (sizes: BatchSizes, share: number) => ({
  messages: Math.min(sizes.batchSize(), Math.max(sizes.minShare(), share)),
  bytes: MAX_BATCH_BYTES,
  inARow: sizes.inARow(),
});

/** How many claims count as waiting. Slow ones, which wait for threads, memory or connections, never keep out others. */
const waitingIn = (cutter: BatchCutter, ahead: number) =>
  cutter.length - cutter.ofBlocks - cutter.slow + Math.min(cutter.slow, Math.ceil(ahead / 2));

/** @param ahead number of claims in a full buffer */
const wantedNow = (length: number, ahead: number) => (length * 2 < ahead ? ahead - length : 0);

const wantedOfOthersNow = (length: number, ahead: number) =>
  length > 0 && length < 2 * ahead ? Math.ceil(ahead / 2) : 0;

interface ShareParts {
  sizes: BatchSizes;
  cutter: BatchCutter;
  heavy: ReturnType<typeof createHeavyBatches>;
  stalls: ReturnType<typeof createStallWatch>;
  budget: ByteBudget;
  files: FileRoom;
}

/** Cuts the batch of a worker: an equal share for each of `takers`, unless that is too little to be worth a batch. */
function createShareCutter({ sizes, cutter, heavy, stalls, budget, files }: ShareParts) {
  return (takers: number, campaigns: boolean): Claim[] => {
    const bounds = boundsOf(sizes, Math.ceil(cutter.length / takers));
    const rooms = { hasRoom: budget.hasRoom, hasFileRoom: files.hasRoom };
    const kinds = { heavy: heavy.hasRoom(), long: files.mayBeLong(), campaigns };
    const batch = cutter.cut({ ...bounds, ...rooms, ...kinds });
    budget.take(bytesOf(batch));
    files.begin(batch);
    if (batch.length > 0) stalls.took(campaigns);
    heavy.begin(batch);
    return batch;
  };
}

/** How many claims of queue rows a buffer wants. */
function createQueueWants(cutter: BatchCutter, sizes: BatchSizes, isStalled: () => boolean) {
  const waiting = () => waitingIn(cutter, sizes.ahead());
  return {
    wanted: () => (isStalled() ? 0 : wantedNow(waiting(), sizes.ahead())),
    wantedOfOthers: () => (isStalled() ? 0 : wantedOfOthersNow(waiting(), sizes.ahead())),
    has: (backlog: Parameters<ClaimBuffer['has']>[0]) =>
      cutter.has(backlog) || (isLetterQueue(backlog.queue) && cutter.slow >= 2 * sizes.ahead()),
  };
}

/** Gives batches to the workers that wait, as long as there are claims for them. */
function serveWaiting(
  waiting: WaitingWorker[],
  cutter: BatchCutter,
  cutShare: (takers: number, campaigns: boolean) => Claim[],
): void {
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

/** @param putBack called with a worker that got no batch */
function createReserve(
  waiting: WaitingWorker[],
  { sizes, budget, stalls }: Pick<ShareParts, 'sizes' | 'budget' | 'stalls'>,
  putBack: (worker: WaitingWorker) => void,
) {
  return (bytes: number): ReservedWorker | null => {
    const worker = budget.hasRoom(bytes) ? waiting.shift() : undefined;
    if (!worker) return null;
    return {
      room: Math.min(worker.room, sizes.batchSize()),
      give(batch) {
        budget.take(bytesOf(batch));
        stalls.took(worker.campaigns);
        worker.resolve(batch);
      },
      putBack: () => putBack(worker),
    };
  };
}

/**
 * @param workers how many workers take batches from the buffer
 * @param budget of the process
 * @param files bounds the files of letters
 * @param now returns milliseconds of a monotonic clock
 */
export function createClaimBuffer(
  workers: number,
  budget: ByteBudget = createByteBudget(),
  now: () => number = () => performance.now(),
  files: FileRoom = unboundedFiles,
): ClaimBuffer {
  const sizes = createBatchSizes(workers);
  const cutter = new BatchCutter();
  const heavy = createHeavyBatches(workers, () => serve());
  const waiting: WaitingWorker[] = [];
  const stalls = createStallWatch(waiting, now);
  let closed = false;
  const cutShare = createShareCutter({ sizes, cutter, heavy, stalls, budget, files });
  const serve = () => serveWaiting(waiting, cutter, cutShare);

  const reserve = createReserve(waiting, { sizes, budget, stalls }, (worker) => {
    if (closed) return worker.resolve(null);
    waiting.unshift(worker);
    serve();
  });
  const unlisten = [budget.onRoom(serve), files.onRoom(serve)];
  return {
    ...createQueueWants(cutter, sizes, stalls.isStalled),
    ...createBlockWants(cutter, sizes, stalls.areBlocksStalled),
    isEmpty: () => cutter.length === 0,
    add(claims) {
      cutter.add(claims);
      serve();
    },
    measure: (messages, ms) => sizes.measure(messages, ms),
    async take(campaigns = true, room = MAX_BATCH) {
      if (closed) return null;
      if (cutter.length > 0) {
        const batch = cutShare(Math.max(1, Math.min(waiting.length + 1, workers)), campaigns);
        if (batch.length > 0) return batch;
      }
      return new Promise((resolve) => waiting.push({ campaigns, room, resolve }));
    },
    reserve: (bytes) => (closed || cutter.length > 0 ? null : reserve(bytes)),
    isStalled: stalls.isStalled,
    areBlocksStalled: stalls.areBlocksStalled,
    composed: heavy.end,
    finish(batch) {
      heavy.end(batch);
      files.end(batch);
      budget.giveBack(bytesOf(batch));
    },
    drain: () => cutter.drain(),
    drainBlocks: () => cutter.drainBlocks(),
    close() {
      closed = true;
      for (const each of unlisten) each();
      for (const { resolve } of waiting.splice(0)) resolve(null);
    },
  };
}
