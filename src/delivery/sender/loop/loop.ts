import type pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionError } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import type { LiveProcess } from '../../../platform/processes/process.ts';
import type { Pulse } from '../../../platform/processes/pulse.ts';
import {
  type ClaimResult,
  createQueueLoop,
  type QueueAdapter,
  type QueueHandle,
  type QueueLoop,
  type QueueState,
} from '../../../platform/queue/loop.ts';
import type { Repeating } from '../../../platform/processes/repeat.ts';
import { createRecorder, type Recorder } from '../../../platform/queue/recorder.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import type { LimitSettings } from '../../ledger/limits/authority.ts';
import { type Backlog, shareName } from '../../terms/backlog.ts';
import { isLetterQueue } from '../../terms/channels/queue-channel.ts';
import { dropUnknownIntents } from '../../ledger/intend/batch.ts';
import { MAX_BATCH } from '../turns/batch-size.ts';
import { type Backlogs, countWaiting, createBacklogs, type DueBacklog } from '../turns/backlogs.ts';
import { ClaimedBlocks } from '../../ledger/blocks/claimed-blocks.ts';
import { createBlockRound, createClaimRound } from '../turns/claim-round.ts';
import { releaseClaims } from '../../ledger/claim/claim.ts';
import type { Claim } from '../../ledger/ownership/claims.ts';
import type { ProviderChannel } from '../compose/provider-channel.ts';
import { type FollowProviders, noNamedProviders } from './named-shares.ts';
import { createIntents } from '../share/batches.ts';
import type { ProviderShare } from '../share/provider-share.ts';
import { type BatchRecord, createBatchRecording, type RecordBatches } from '../../ledger/record/record.ts';
import { startReleasing } from '../../ledger/release/releasing.ts';
import { createPlainBacklogs } from '../turns/plain-backlogs.ts';
import { createServiceOrder } from '../turns/service-order.ts';
import { ProviderShares } from '../share/shares.ts';

export interface SenderDeps {
  pool: pg.Pool;
  process: LiveProcess;
  waker: Waker;
  pulse: Pulse;
  /** The channels of the providers in the settings. */
  channels: ProviderChannel[];
  /** Adds and removes the channels of named providers; by default there are none. */
  followProviders?: FollowProviders;
  limits: LimitSettings;
  /** Recognizes opt-outs that are known only by an HMAC. */
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  events: EventPublisher;
  /** Whether and how letters are sent; by default with {@link DEFAULT_FILES_BYTES}. */
  letters?: LetterSending;
  /** How long a sender pauses hand-over to a provider after the first fault; by default a second. */
  firstBackoffMs?: number;
  log: Logger;
}

/** How a sender sends letters. */
export interface LetterSending {
  /** The most bytes that files take in memory. */
  filesBytes: number;
  /** Why this process cannot send letters now; null: it can. Other senders then send them. */
  problem(): string | null;
}

const DEFAULT_FILES_BYTES = 96 * 1_048_576;
const allLetters: LetterSending = { filesBytes: DEFAULT_FILES_BYTES, problem: () => null };

const concurrencyOf = (channels: readonly ProviderChannel[]) =>
  Math.max(
    1,
    channels.reduce((sum, { concurrency }) => sum + concurrency, 0),
  );

/** A batch that waits for its record to be committed. */
interface PendingRecord {
  batch: BatchRecord;
  done: () => void;
}

const countOutcomes = (pending: readonly PendingRecord[]) =>
  pending.reduce((sum, { batch }) => sum + batch.outcomes.length, 0);

const RETRY_MS = 250;
/**
 * Minimum pause between two claims from other backlogs while the buffers are full; longer if such a claim takes long.
 */
const OTHERS_MS = 25;
const OTHERS_PAUSE_SHARE = 10;
const MAX_BATCHES_PER_RECORD = 32;
/**
 * Outcomes gather for so long, or until they are of so many messages. A record of ten messages costs hardly more than
 * that of one.
 */
const GATHER_MS = 20;
const FULL_RECORD = 100;

/**
 * Sends what is queued: claim, check and intend, hand over, record. Each provider has its own share of the queue, with
 * a buffer of claims and one worker for each batch that it takes at a time.
 */
class SendQueue implements QueueAdapter<Claim> {
  readonly kind = 'send';
  readonly noun = 'messages';
  readonly waiting = `exists (select from send_queue where owner is null)
    or exists (select from campaign_blocks where owner is null and closed_at is null)`;
  readonly owned = `exists (select from send_queue where owner = $1)
    or exists (select from campaign_blocks where owner = $1) or exists (select from handovers where owner = $1)`;
  readonly sweepMs = 2_000;
  /** Under a steady load, claims and therefore intents gather messages. A lone message is claimed at once. */
  readonly claimIntervalMs = 5;
  readonly releaseTries = 8;
  readonly givesBackIn = ['paused', 'draining'] as const;
  readonly loop: QueueLoop & QueueHandle<Claim>;
  readonly #deps: SenderDeps;
  readonly #shares: ProviderShares;
  readonly #backlogs: Backlogs;
  readonly #claimRound: ReturnType<typeof createClaimRound>;
  readonly #blockRound: ReturnType<typeof createBlockRound>;
  readonly #blocks: ClaimedBlocks;
  readonly #recordBatches: RecordBatches;
  readonly #recorder: Recorder<PendingRecord>;
  readonly #intents = createIntents();
  readonly #plain = createPlainBacklogs();
  readonly #order = createServiceOrder();
  readonly #letters: LetterSending;
  #nextScheduledAt: Date | null = null;
  #following: Repeating[] = [];
  /** When to claim from other backlogs next, in milliseconds of a monotonic clock. */
  #othersAt = 0;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    const { pool, process, log } = deps;
    this.#letters = deps.letters ?? allLetters;
    const order = this.#order;
    this.#backlogs = createBacklogs(pool);
    this.#claimRound = createClaimRound(pool, deps.limits, this.#backlogs, order);
    this.#blockRound = createBlockRound(pool, deps.limits, this.#backlogs, order);
    this.#blocks = new ClaimedBlocks(pool, log);
    this.#recordBatches = createBatchRecording(deps);
    // With a single connection, a full batch waits for no other.
    const full = Math.min(FULL_RECORD, MAX_BATCH * concurrencyOf(deps.channels));
    this.#recorder = createRecorder({
      noun: 'outcomes',
      intervalMs: 0,
      gatherMs: GATHER_MS,
      isFull: (pending) => countOutcomes(pending) >= full,
      maxGroup: MAX_BATCHES_PER_RECORD,
      // A worker waits for its record, so retries must stay frequent.
      maxRetryMs: RETRY_MS,
      commit: (pending) => this.#commit(pending),
      describe: ({ batch }) => ({ seq: batch.seq, messages: batch.outcomes.length }),
      log,
    });
    this.loop = createQueueLoop(this, deps);
    const record = (batch: BatchRecord) => this.#record(batch);
    this.#shares = new ProviderShares(
      {
        pool,
        process,
        limits: deps.limits,
        keyring: deps.keyring,
        loop: this.loop,
        order,
        intents: this.#intents,
        record,
        firstBackoffMs: deps.firstBackoffMs,
        log,
        blocks: this.#blocks,
        defaultKind: deps.channels.find(({ channel }) => channel === 'email')?.provider ?? null,
      },
      deps.channels,
      this.#letters.filesBytes,
    );
  }

  idOf(claim: Claim): number {
    return claim.messageId;
  }

  epochOf(claim: Claim): number {
    return claim.epoch;
  }

  hint(names: readonly string[] | null): void {
    this.#backlogs.hint(names);
  }

  start(): void {
    const { followProviders = noNamedProviders } = this.#deps;
    this.#shares.start();
    this.#following = [startReleasing(this.#deps), followProviders(this.#shares, this.#backlogs)];
  }

  /**
   * Fills the buffers that have become half empty. For a full buffer, it only claims from backlogs of which the buffer
   * has no claims: their messages must not wait until enough others have been handed over. The claims of a stalled
   * buffer are given back, so that other senders can send them.
   */
  async claim(owner: number): Promise<ClaimResult | null> {
    const startedAt = performance.now();
    const shares = this.#shares.all();
    this.#giveBackStalled(shares);
    const working = shares.filter(({ breaker }) => breaker.waitMs() === 0);
    const plain = await this.#takePlain(owner, working);
    if (plain && plain.taken > 0) {
      const { claimed } = await this.#claimBlocks(owner, working);
      return { claimed: plain.taken + claimed, nextLookMs: 0 };
    }
    const result = await this.#claimQueued(owner, working, startedAt);
    if (plain && result && result.claimed > 0) this.#plain.leave(plain.backlog);
    return result;
  }

  async #claimQueued(
    owner: number,
    working: readonly ProviderShare[],
    startedAt: number,
  ): Promise<ClaimResult | null> {
    const waitMs = this.#othersAt - startedAt;
    const full = working.filter(({ buffer }) => buffer.wanted() === 0 && buffer.wantedOfOthers() > 0);
    const wanted = new Map<string, number>();
    for (const { name, buffer } of working) {
      const count = buffer.wanted() || (waitMs <= 0 ? buffer.wantedOfOthers() : 0);
      if (count > 0) wanted.set(name, count);
    }
    if (wanted.size === 0) {
      const blocks = await this.#claimBlocks(owner, working);
      if (blocks.claimed > 0 || blocks.more) return { claimed: blocks.claimed, nextLookMs: 0 };
      return full.length > 0 ? { claimed: 0, nextLookMs: waitMs } : null;
    }
    const round = await this.#claimRound(
      owner,
      wanted,
      this.#onClaims,
      (backlog) =>
        !this.#serves(backlog) ||
        full.some(({ name, buffer }) => name === shareName(backlog) && buffer.has(backlog)),
      (tested) => working.some(({ name, breaker }) => name === tested && breaker.report().state !== 'closed'),
    );
    const blocks = await this.#claimBlocks(owner, working);
    const claimed = round.claimed + blocks.claimed;
    const nextDueMs = blocks.more ? 0 : round.nextDueMs;
    if (full.length === 0) return { claimed, nextLookMs: nextDueMs };
    const endedAt = performance.now();
    if (waitMs <= 0) {
      this.#othersAt = endedAt + Math.max(OTHERS_MS, (endedAt - startedAt) * OTHERS_PAUSE_SHARE);
    }
    return { claimed, nextLookMs: Math.min(nextDueMs ?? Infinity, this.#othersAt - endedAt) };
  }

  /**
   * Takes the messages of the only backlog that is due, if they are plain and a worker is idle. A deep backlog is
   * claimed: claims wait for no disk, so they are ahead of the workers.
   * @returns the number of messages, and their backlog; null if it has not looked
   */
  async #takePlain(owner: number, working: readonly ProviderShare[]) {
    await this.#backlogs.refresh();
    const only = this.#onlyDue(working);
    if (!only || !this.#plain.mayBe(only.backlog)) return null;
    const { share, backlog } = only;
    const result = await share.takePlain(owner, backlog).catch((error: unknown) => {
      if (isConnectionError(error)) throw error;
      // The general claim can do without the function, which an older database does not have.
      this.#deps.log.warn({ err: error }, 'plain messages not taken: claiming them');
      this.#plain.leaveFailed(backlog);
      return null;
    });
    if (!result) return null;
    if (result.more) this.#plain.leaveDeep(backlog);
    else if (result.taken > 0) this.#backlogs.emptied(backlog);
    if (result.taken > 0) this.#order.served(backlog.name);
    return { taken: result.taken, backlog };
  }

  /** @returns the backlog that is due; null if there is none, or more than one: there may be thousands */
  #onlyDue(working: readonly ProviderShare[]): { share: ProviderShare; backlog: DueBacklog } | null {
    let only: { share: ProviderShare; backlog: DueBacklog } | null = null;
    for (const share of working) {
      for (const backlog of this.#backlogs.due(share.name)) {
        if (!this.#serves(backlog)) continue;
        if (only) return null;
        only = { share, backlog };
      }
    }
    return only;
  }

  /** Whether this process sends what waits there. */
  #serves({ queue }: DueBacklog | Backlog): boolean {
    return !isLetterQueue(queue) || this.#letters.problem() === null;
  }

  #giveBackStalled(shares: readonly ProviderShare[]): void {
    for (const { buffer } of shares) {
      if (buffer.isStalled()) void this.loop.giveBack(buffer.drain());
      else if (buffer.areBlocksStalled()) void this.loop.giveBack(buffer.drainBlocks());
    }
  }

  /** Claims blocks. While a provider is tested, blocks are claimed only if nothing else waits for it. */
  #claimBlocks(owner: number, working: readonly ProviderShare[]) {
    const shares = working.filter(
      ({ breaker, buffer }) => breaker.report().state === 'closed' || buffer.isEmpty(),
    );
    return this.#blockRound(owner, shares, (share, claims) => {
      this.#blocks.add(owner, claims);
      this.#onClaims(share, claims);
    });
  }

  readonly #onClaims = (share: string, claims: Claim[]): void => {
    const added = this.loop.register(claims);
    const state = this.#shares.get(share);
    if (state && this.loop.acceptsWork()) state.buffer.add(added);
    else void this.loop.giveBack(added);
  };

  takeWaiting(): Claim[] {
    return this.#shares.all().flatMap(({ buffer }) => buffer.drain());
  }

  async release(owner: number, claims: readonly Claim[]): Promise<void> {
    this.#blocks.settle(claims);
    await releaseClaims(
      this.#deps.pool,
      owner,
      claims.filter(({ block }) => !block),
    );
    await this.#blocks.finish();
  }

  async listOwned(owner: number): Promise<Claim[]> {
    const { rows } = await this.#deps.pool.query<Claim>(
      'select message_id as "messageId", claim_epoch as epoch from send_queue where owner = $1',
      [owner],
    );
    return rows;
  }

  async sweep(owner: number): Promise<void> {
    await dropUnknownIntents(this.#deps.pool, owner, this.#intents.live());
    await this.#blocks.sweep(owner);
  }

  async countBacklog(): Promise<Record<string, number>> {
    const { counts, nextScheduledAt } = await countWaiting(this.#deps.pool);
    this.#nextScheduledAt = nextScheduledAt;
    return counts;
  }

  describe(): QueueState {
    const problem = this.#letters.problem();
    const providers = this.#shares.report();
    if (problem !== null) providers.letters = { state: 'open', reason: problem, retryAt: null };
    const next = this.#nextScheduledAt;
    return {
      inFlight: this.loop.registered(),
      providers,
      ...(next ? { nextScheduledAt: next.toISOString() } : {}),
    };
  }

  stop(): void {
    this.#shares.stop();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#following.map((each) => each.stop()));
    await this.#shares.finish();
    // The last batch of a block ends its claim. The reaper ends those that fail here.
    await this.#blocks
      .finish()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'block not given back'));
  }

  close(): Promise<void> {
    return this.#shares.close();
  }

  /** Resolves when the batch's outcomes are committed, however long the database is unavailable. */
  #record(batch: BatchRecord): Promise<void> {
    return new Promise((done) => this.#recorder.add({ batch, done }));
  }

  async #commit(pending: readonly PendingRecord[]): Promise<void> {
    const queued = await this.#recordBatches(pending.map(({ batch }) => batch));
    for (const { done } of pending) done();
    for (const channel of queued.keys()) this.#deps.waker.wake(channel);
  }
}

/**
 * The send loop of a `sender` process. It needs only PostgreSQL and the providers.
 * @param deps the pool needs a connection for each batch that may be intended at once, and two more
 */
export function createSender(deps: SenderDeps): QueueLoop {
  return new SendQueue(deps).loop;
}
