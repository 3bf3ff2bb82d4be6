import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { LiveProcess } from '../../platform/processes/process.ts';
import {
  type ClaimResult,
  createQueueLoop,
  type QueueAdapter,
  type QueueHandle,
  type QueueLoop,
  type QueueState,
} from '../../platform/queue/loop.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { createRecorder, type Recorder } from '../../platform/queue/recorder.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { backlogName } from '../backlog.ts';
import { messageClasses } from '../message.ts';
import type { HandOverOutcome } from '../providers/port.ts';
import { type BatchMessage, dropUnknownIntents, intendBatch } from './batch.ts';
import { type Backlogs, createBacklogs } from './backlogs.ts';
import { type Breaker, createBreaker, hasVerdict, judgeProvider } from './breaker.ts';
import { type ClaimBuffer, createByteBudget, createClaimBuffer } from './claim-buffer.ts';
import { createClaimRound } from './claim-round.ts';
import { type Claim, releaseClaims } from './claim.ts';
import type { ProviderChannel } from './hand-over.ts';
import { chargeLosses, countLosses, endedConnection, isSuspect } from './losses.ts';
import { outcomeRecords } from './outcomes.ts';
import { MAX_BATCH } from './pace.ts';
import { type BatchRecord, createBatchRecording, type RecordBatches } from './record.ts';
import { startReleasing } from './releasing.ts';
import { createServiceOrder } from './service-order.ts';

export interface SenderDeps {
  pool: pg.Pool;
  process: LiveProcess;
  waker: Waker;
  channels: ProviderChannel[];
  limits: LimitSettings;
  events: EventPublisher;
  log: Logger;
}

/** A provider channel with the claims that wait for it, and the breaker that stops handing over while it fails. */
interface ChannelState {
  channel: ProviderChannel;
  buffer: ClaimBuffer;
  breaker: Breaker;
}

/** A batch whose outcomes are known. */
interface HandedOver {
  /** Resolves when the outcomes are committed. */
  recorded: Promise<void>;
}

/** A batch that waits for its record to be committed. */
interface PendingRecord {
  batch: BatchRecord;
  done: () => void;
}

const RETRY_MS = 250;
/** Pause between two looks for other backlogs while the buffers are full; longer if a look takes long. */
const OTHERS_MS = 25;
const OTHERS_PAUSE_SHARE = 10;
const MAX_BATCHES_PER_RECORD = 32;
/** Shortest pause between the starts of two records, in which outcomes gather. */
const RECORD_INTERVAL_MS = 5;

/**
 * Sends whatever is queued: claim, check and intend, hand over, record. Each provider channel has a buffer of claims
 * and as many workers as its provider takes batches at once.
 */
class SendQueue implements QueueAdapter<Claim> {
  readonly kind = 'send';
  readonly noun = 'messages';
  readonly sweepMs = 2_000;
  /** At a steady load claims, and so intents, gather messages. A lone message is claimed at once. */
  readonly claimIntervalMs = 5;
  readonly releaseTries = 8;
  readonly givesBackIn = ['paused', 'draining'] as const;
  readonly loop: QueueLoop & QueueHandle<Claim>;
  readonly #deps: SenderDeps;
  readonly #channels: ChannelState[];
  readonly #backlogs: Backlogs;
  readonly #order = createServiceOrder();
  readonly #claimRound: ReturnType<typeof createClaimRound>;
  readonly #recordBatches: RecordBatches;
  readonly #recorder: Recorder<PendingRecord>;
  readonly #liveSeqs = new Set<number>();
  #workers: Promise<void>[] = [];
  #releasing: Repeating | null = null;
  #seq = Date.now() * 1_000;
  /** When to look for other backlogs next, in milliseconds of a monotonic clock. */
  #othersAt = 0;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    const budget = createByteBudget();
    this.#channels = deps.channels.map((channel) => ({
      channel,
      buffer: createClaimBuffer(channel.concurrency, budget),
      breaker: createBreaker(),
    }));
    this.#backlogs = createBacklogs(deps.pool);
    this.#claimRound = createClaimRound(deps.pool, deps.limits, this.#backlogs, this.#order);
    this.#recordBatches = createBatchRecording(deps);
    this.#recorder = createRecorder({
      noun: 'outcomes',
      intervalMs: RECORD_INTERVAL_MS,
      maxGroup: MAX_BATCHES_PER_RECORD,
      // A worker waits for its record, so retries must not become rare.
      maxRetryMs: RETRY_MS,
      commit: (pending) => this.#commit(pending),
      describe: ({ batch }) => ({ seq: batch.seq, messages: batch.outcomes.length }),
      log: deps.log,
    });
    this.loop = createQueueLoop(this, deps);
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
    this.#releasing = startReleasing(this.#deps);
    this.#workers = this.#channels.flatMap((state) =>
      Array.from({ length: state.channel.concurrency }, () => this.#work(state)),
    );
  }

  /**
   * Fills the buffers that have become half empty. For a full one, it claims only backlogs of which the buffer has no
   * claims: their messages must not wait until enough of the others have been handed over. The claims of a stalled
   * buffer are given back, so that other senders can send them.
   */
  async claim(owner: number): Promise<ClaimResult | null> {
    const startedAt = performance.now();
    const waitMs = this.#othersAt - startedAt;
    for (const { buffer } of this.#channels) if (buffer.isStalled()) void this.loop.giveBack(buffer.drain());
    const working = this.#channels.filter(({ breaker }) => breaker.waitMs() === 0);
    const full = working.filter(({ buffer }) => buffer.wanted() === 0 && buffer.wantedOfOthers() > 0);
    const wanted = new Map<string, number>();
    for (const { channel, buffer } of working) {
      const count = buffer.wanted() || (waitMs <= 0 ? buffer.wantedOfOthers() : 0);
      if (count > 0) wanted.set(channel.channel, count);
    }
    if (wanted.size === 0) return full.length > 0 ? { claimed: 0, nextLookMs: waitMs } : null;
    const { claimed, nextDueMs } = await this.#claimRound(
      owner,
      wanted,
      this.#onClaims,
      (backlog) =>
        full.some(({ channel, buffer }) => channel.channel === backlog.channel && buffer.has(backlog)),
      (name) =>
        working.some(
          ({ channel, breaker }) => channel.channel === name && breaker.report().state !== 'closed',
        ),
    );
    if (full.length === 0) return { claimed, nextLookMs: nextDueMs };
    const endedAt = performance.now();
    if (waitMs <= 0) {
      this.#othersAt = endedAt + Math.max(OTHERS_MS, (endedAt - startedAt) * OTHERS_PAUSE_SHARE);
    }
    return { claimed, nextLookMs: Math.min(nextDueMs ?? Infinity, this.#othersAt - endedAt) };
  }

  readonly #onClaims = (channel: string, claims: Claim[]): void => {
    const added = this.loop.register(claims);
    const state = this.#channels.find((each) => each.channel.channel === channel);
    if (state && this.loop.acceptsWork()) state.buffer.add(added);
    else void this.loop.giveBack(added);
  };

  takeWaiting(): Claim[] {
    return this.#channels.flatMap(({ buffer }) => buffer.drain());
  }

  release(owner: number, claims: readonly Claim[]): Promise<void> {
    return releaseClaims(this.#deps.pool, owner, claims);
  }

  async listOwned(owner: number): Promise<Claim[]> {
    const { rows } = await this.#deps.pool.query<Claim>(
      'select message_id as "messageId", claim_epoch as epoch from send_queue where owner = $1',
      [owner],
    );
    return rows;
  }

  sweep(owner: number): Promise<void> {
    return dropUnknownIntents(this.#deps.pool, owner, [...this.#liveSeqs]);
  }

  /** Counts at most 100,000 rows: enough for an operator, cheap for the database. */
  async countBacklog(): Promise<Record<string, number>> {
    const { rows } = await this.#deps.pool.query<{ class: number; count: number }>(
      'select class, count(*) as count from (select class from send_queue limit 100000) q group by class',
    );
    const names = new Map<number, string>(Object.entries(messageClasses).map(([name, n]) => [n, name]));
    return Object.fromEntries(rows.map((row) => [names.get(row.class) ?? row.class, row.count]));
  }

  describe(): QueueState {
    const providers = this.#channels.map(
      ({ channel, breaker }) => [`${channel.channel}:${channel.provider}`, breaker.report()] as const,
    );
    return { inFlight: this.loop.registered(), providers: Object.fromEntries(providers) };
  }

  async finish(): Promise<void> {
    for (const { buffer } of this.#channels) buffer.close();
    await Promise.all([this.#releasing?.stop(), ...this.#workers]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#channels.map(({ channel }) => channel.close()));
  }

  /**
   * Hands over one batch after another. With a slow provider it does not wait for the record of a batch, so that the
   * connection is busy, but has at most two batches, of 50 messages together, whose intents are open.
   */
  async #work(state: ChannelState): Promise<void> {
    const { buffer } = state;
    let recording = { messages: 0, done: Promise.resolve() };
    for (let claims = await this.#take(buffer); claims !== null; claims = await this.#take(buffer)) {
      const batch = claims;
      if (buffer.wanted() > 0) this.loop.wake();
      if (recording.messages + batch.length > MAX_BATCH) await recording.done;
      const { recorded } = await this.#sendOrGiveBack(state, batch);
      const done = recorded.finally(() => {
        buffer.finish(batch);
        this.loop.forget(batch);
      });
      await recording.done;
      recording = { messages: batch.length, done };
      if (!buffer.isSlow()) await done;
    }
    await recording.done;
  }

  #take(buffer: ClaimBuffer): Promise<Claim[] | null> {
    const stalled = buffer.isStalled();
    const batch = buffer.take();
    // The buffer gave its claims back, and wants some again now that a worker is free.
    if (stalled) this.loop.wake();
    return batch;
  }

  async #sendOrGiveBack(state: ChannelState, claims: Claim[]): Promise<HandedOver> {
    const { channel, buffer, breaker } = state;
    try {
      const leave = breaker.tryEnter();
      if (leave) return await this.#send(state, claims).finally(leave);
      await this.loop.giveBack([...claims, ...buffer.drain()]);
    } catch (error) {
      this.#deps.log.error({ err: error, provider: channel.provider }, 'batch failed before its intent');
      await this.loop.giveBack(claims);
      await sleep(RETRY_MS);
    }
    return { recorded: Promise.resolve() };
  }

  async #send(state: ChannelState, claims: Claim[]): Promise<HandedOver> {
    const { provider } = state.channel;
    const owner = this.#deps.process.id();
    if (owner === null) return { recorded: Promise.resolve() };
    const seq = ++this.#seq;
    // The sweep drops intents that are not listed here: those whose commit succeeded but was never confirmed.
    this.#liveSeqs.add(seq);
    try {
      const plusAddresses = this.#deps.limits.suppress_plus_addresses === 1;
      const request = { owner, seq, provider, claims, plusAddresses };
      const messages = await intendBatch(this.#deps.pool, request);
      const leaving = messages.filter((message) => message.verdict === 'send');
      const outcomes = leaving.length > 0 ? await this.#handOver(state, claims, leaving) : [];
      await countLosses(this.#deps.pool, owner, leaving, outcomes).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, provider }, 'lost connections not counted'),
      );
      const records = outcomeRecords(provider, messages, outcomes);
      const recorded =
        records.length > 0 ? this.#record({ owner, seq, outcomes: records }) : Promise.resolve();
      this.loop.countHandled(leaving.length);
      return { recorded: recorded.finally(() => this.#liveSeqs.delete(seq)) };
    } catch (error) {
      this.#liveSeqs.delete(seq);
      throw error;
    }
  }

  async #handOver(
    { channel, breaker, buffer }: ChannelState,
    claims: Claim[],
    leaving: BatchMessage[],
  ): Promise<HandOverOutcome[]> {
    const suspect = isSuspect(claims);
    let waitedMs = 0;
    const startedAt = performance.now();
    let outcomes: HandOverOutcome[];
    try {
      outcomes = await channel.handOver(leaving, (ms) => {
        waitedMs = ms;
        buffer.composed(claims);
      });
    } catch (error) {
      // Providers report trouble as outcomes. If one throws, it is unknown what it has sent.
      outcomes = leaving.map(() => ({ kind: 'unknown', reason: (error as Error).message }));
      this.#deps.log.error({ err: error, provider: channel.provider }, 'provider threw');
    }
    const given = outcomes.filter(({ kind }) => kind !== 'not_composed');
    if (given.length > 0 && given.every(hasVerdict))
      buffer.measure(given.length, performance.now() - startedAt - waitedMs);
    judgeProvider(breaker, outcomes, suspect);
    for (const message of leaving.filter((_message, index) => endedConnection(outcomes[index])))
      this.#order.lostConnection(backlogName(message));
    const { state, reason } = breaker.report();
    if (state !== 'closed') this.#deps.log.warn({ provider: channel.provider, reason }, 'provider fault');
    return chargeLosses(outcomes, suspect);
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
 * The send loop of a `sender` process. It needs PostgreSQL and the providers only.
 * @param deps the pool needs a connection for each batch that may be intended at once, and two more
 */
export function createSender(deps: SenderDeps): QueueLoop {
  return new SendQueue(deps).loop;
}
