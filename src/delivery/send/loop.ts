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
import { createRecorder, type Recorder } from '../../platform/queue/recorder.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { messageClasses } from '../message.ts';
import type { HandOverOutcome } from '../providers/port.ts';
import { type BatchMessage, dropUnknownIntents, intendBatch } from './batch.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { type ClaimBuffer, createClaimBuffer } from './claim-buffer.ts';
import { createClaimRound } from './claim-round.ts';
import { type Claim, releaseClaims } from './claim.ts';
import type { ProviderChannel } from './hand-over.ts';
import { type OutcomeRecord, outcomeRecord, refusalRecord } from './outcomes.ts';
import { type BatchRecord, createBatchRecording, type RecordBatches } from './record.ts';

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

/** A batch that waits for its record to be committed. */
interface PendingRecord {
  batch: BatchRecord;
  done: () => void;
}

const RETRY_MS = 250;
const MAX_BATCHES_PER_RECORD = 32;

/**
 * Sends whatever is queued: claim, check and intend, hand over, record. Each provider channel has a buffer of claims
 * and as many workers as its provider takes batches at once.
 */
class SendQueue implements QueueAdapter<Claim> {
  readonly kind = 'send';
  readonly noun = 'messages';
  readonly sweepMs = 2_000;
  readonly claimIntervalMs = 0;
  readonly releaseTries = 8;
  readonly givesBackIn = ['paused', 'draining'] as const;
  readonly loop: QueueLoop & QueueHandle<Claim>;
  readonly #deps: SenderDeps;
  readonly #channels: ChannelState[];
  readonly #claimRound: ReturnType<typeof createClaimRound>;
  readonly #recordBatches: RecordBatches;
  readonly #recorder: Recorder<PendingRecord>;
  readonly #liveSeqs = new Set<number>();
  #workers: Promise<void>[] = [];
  #seq = Date.now() * 1_000;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    this.#channels = deps.channels.map((channel) => ({
      channel,
      buffer: createClaimBuffer(channel.concurrency),
      breaker: createBreaker(),
    }));
    this.#claimRound = createClaimRound(deps.pool, deps.limits);
    this.#recordBatches = createBatchRecording(deps);
    this.#recorder = createRecorder({
      noun: 'outcomes',
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

  start(): void {
    this.#workers = this.#channels.flatMap((state) =>
      Array.from({ length: state.channel.concurrency }, () => this.#work(state)),
    );
  }

  /** Fills the buffers that have become half empty. */
  async claim(owner: number): Promise<ClaimResult | null> {
    const wanted = this.#wanted();
    if (wanted.size === 0) return null;
    const { claimed, nextDueMs } = await this.#claimRound(owner, wanted, (channel, claims) => {
      const added = this.loop.register(claims);
      const state = this.#channels.find((each) => each.channel.channel === channel);
      if (state && this.loop.acceptsWork()) state.buffer.add(added);
      else void this.loop.giveBack(added);
    });
    return { claimed, nextLookMs: nextDueMs };
  }

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
    await Promise.all(this.#workers);
  }

  async close(): Promise<void> {
    await Promise.all(this.#channels.map(({ channel }) => channel.close()));
  }

  /** How many to claim, by channel; channels with enough claims or a failing provider are left out. */
  #wanted(): Map<string, number> {
    const hungry = this.#channels.filter(
      ({ buffer, breaker }) => buffer.wanted() > 0 && breaker.waitMs() === 0,
    );
    return new Map(hungry.map(({ channel, buffer }) => [channel.channel, buffer.wanted()]));
  }

  async #work(state: ChannelState): Promise<void> {
    const { channel, buffer, breaker } = state;
    for (;;) {
      const claims = await buffer.take();
      if (claims === null) return;
      if (buffer.wanted() > 0) this.loop.wake();
      try {
        const leave = breaker.tryEnter();
        if (leave) await this.#send(state, claims).finally(leave);
        else await this.loop.giveBack([...claims, ...buffer.drain()]);
      } catch (error) {
        this.#deps.log.error({ err: error, provider: channel.provider }, 'batch failed before its intent');
        await this.loop.giveBack(claims);
        await sleep(RETRY_MS);
      } finally {
        this.loop.forget(claims);
      }
    }
  }

  async #send(state: ChannelState, claims: Claim[]): Promise<void> {
    const { provider } = state.channel;
    const owner = this.#deps.process.id();
    if (owner === null) return;
    const seq = ++this.#seq;
    this.#liveSeqs.add(seq);
    try {
      const messages = await intendBatch(this.#deps.pool, { owner, seq, provider, claims });
      const leaving = messages.filter((message) => message.verdict === 'send');
      const outcomes = leaving.length > 0 ? await this.#handOver(state, leaving) : [];
      state.buffer.handedOver(messages.length);
      const records = outcomeRecords(provider, messages, outcomes);
      if (records.length > 0) await this.#record({ owner, seq, outcomes: records });
      this.loop.countHandled(leaving.length);
    } finally {
      // The sweep drops intents that are not listed here: those whose commit succeeded but was never confirmed.
      this.#liveSeqs.delete(seq);
    }
  }

  async #handOver({ channel, breaker }: ChannelState, leaving: BatchMessage[]): Promise<HandOverOutcome[]> {
    let outcomes: HandOverOutcome[];
    try {
      outcomes = await channel.handOver(leaving);
    } catch (error) {
      // Providers report trouble as outcomes. If one throws, it is unknown what it has sent.
      outcomes = leaving.map(() => ({ kind: 'unknown', reason: (error as Error).message }));
      this.#deps.log.error({ err: error, provider: channel.provider }, 'provider threw');
    }
    judgeProvider(breaker, outcomes);
    const { state, reason } = breaker.report();
    if (state !== 'closed') this.#deps.log.warn({ provider: channel.provider, reason }, 'provider fault');
    return outcomes;
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

/** Opens or closes the breaker by what a batch shows of its provider: a fault, strain, or that it works. */
function judgeProvider(breaker: Breaker, outcomes: readonly HandOverOutcome[]): void {
  const strain = outcomes.find((outcome) => outcome.kind === 'deferred' && outcome.connectionLost);
  const fault = outcomes.find((outcome) => outcome.kind === 'fault');
  const accepted = outcomes.some((outcome) => outcome.kind === 'accepted');
  if (strain?.kind === 'deferred') breaker.strained(strain.response);
  else if (fault?.kind === 'fault' && !accepted) breaker.failed(fault.reason);
  else breaker.succeeded();
}

/** @param outcomes of the messages whose verdict is `send`, in their order */
function outcomeRecords(
  provider: string,
  messages: readonly BatchMessage[],
  outcomes: readonly HandOverOutcome[],
): OutcomeRecord[] {
  const refused = messages.flatMap((message) =>
    message.verdict === 'send' ? [] : [refusalRecord(message, message.verdict)],
  );
  const handedOver = messages.filter((message) => message.verdict === 'send');
  const recorded = handedOver.map((message, index) =>
    outcomeRecord(message, provider, outcomes[index] ?? { kind: 'unknown', reason: 'no outcome' }),
  );
  return [...refused, ...recorded];
}

/**
 * The send loop of a `sender` process. It needs PostgreSQL and the providers only.
 * @param deps the pool needs a connection for each batch that may be intended at once, and two more
 */
export function createSender(deps: SenderDeps): QueueLoop {
  return new SendQueue(deps).loop;
}
