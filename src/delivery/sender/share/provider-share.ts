import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { LiveProcess } from '../../../platform/processes/process.ts';
import type { QueueHandle } from '../../../platform/queue/loop.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { type Backlog, backlogName, shareName } from '../../terms/backlog.ts';
import { LETTER_QUEUE, RAW_QUEUE } from '../../terms/channels/queue-channel.ts';
import type { LimitSettings } from '../../ledger/limits/authority.ts';
import { type HandOverResult, isOpen, onceKnown, untried } from '../../wire/adapters/port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import {
  createUnrecorded,
  divideBatch,
  type DividedBatch,
  type IntendedBatch,
  type Intents,
  unknownOutcome,
} from './batches.ts';
import type { BatchMessage, BatchRequest } from '../../ledger/intend/batch.ts';
import { createBlockIntents } from '../../ledger/intend/block-intents.ts';
import type { ClaimedBlocks } from '../../ledger/blocks/claimed-blocks.ts';
import { divideIntent } from '../../ledger/intend/divide.ts';
import { type Breaker, createBreaker, hasVerdict, judgeProvider } from './breaker.ts';
import { intendMessages } from '../../ledger/intend/queue-batch.ts';
import type { ByteBudget } from '../turns/byte-budget.ts';
import { campaignWorkers, type ClaimBuffer, createClaimBuffer } from '../turns/claim-buffer.ts';
import { fileBytesOf } from '../turns/batch-cutter.ts';
import { createFileRoom } from '../turns/file-room.ts';
import { providerFacts } from '../../terms/provider-facts.ts';
import { repeatableKinds } from '../../wire/providers/index.ts';
import type { Claim } from '../../ledger/ownership/claims.ts';
import { MAX_TAKEN_BYTES, type Taken, takePlainMessages } from '../../ledger/claim/take.ts';
import type { ProviderChannel } from '../compose/provider-channel.ts';
import { chargeLoss, countLosses, endedConnection, isSuspect } from '../../ledger/record/losses.ts';
import { outcomeRecords, recordsOfBlock } from '../../ledger/record/outcomes.ts';
import { MAX_BATCH } from '../turns/batch-size.ts';
import type { BatchRecord } from '../../ledger/record/record.ts';
import type { ServiceOrder } from '../turns/service-order.ts';

/** Pause after a batch that failed before its intent. */
const RETRY_MS = 250;

/** What all shares of a sender have in common. */
export interface ShareDeps {
  pool: pg.Pool;
  process: LiveProcess;
  limits: LimitSettings;
  /** Recognizes opt-outs that are known only by an HMAC. */
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  loop: QueueHandle<Claim>;
  order: ServiceOrder;
  intents: Intents;
  blocks: ClaimedBlocks;
  /** The kind of the email provider in the settings; null: there is none. */
  defaultKind: string | null;
  /** Resolves when the batch's outcomes are committed, however long the database is unavailable. */
  record(batch: BatchRecord): Promise<void>;
  /** As in `BreakerOptions`. */
  firstBackoffMs?: number | undefined;
  log: Logger;
}

/**
 * Returns a function that checks a batch and writes its intent. The claims of a batch are of one kind: messages of one
 * block, or rows of the queue of one class.
 */
function createIntend(pool: pg.Pool) {
  const intendBlock = createBlockIntents(pool);
  return (request: BatchRequest, claims: readonly Claim[]): Promise<BatchMessage[]> => {
    const block = claims[0]?.block;
    return block ? intendBlock(request, block) : intendMessages(pool, { ...request, claims });
  };
}

const queueOf = ({ channel, letter }: BatchMessage) => {
  if (!letter) return channel;
  return letter.opaque ? RAW_QUEUE : LETTER_QUEUE;
};

/** A sweep gives back claims that it has found unknown twice, two seconds apart. */
const LATE_MS = 1_500;

/** Bound what batches have in memory: the contents of messages, and the files of letters. */
export interface Budgets {
  contents: ByteBudget;
  files: ByteBudget;
}

/** A batch whose outcomes are known. */
interface HandedOver {
  /** Resolves when the outcomes are committed. */
  recorded: Promise<void>;
}

/**
 * A provider with its share of the queue: the claims that wait for it, one worker for each batch that it takes at a
 * time, and the breaker that stops the hand-over while it fails. A provider that fails or hangs therefore stops only
 * its own messages.
 */
export class ProviderShare {
  readonly name: string;
  readonly channel: ProviderChannel;
  readonly buffer: ClaimBuffer;
  readonly breaker: Breaker;
  readonly #deps: ShareDeps;
  readonly #intend: ReturnType<typeof createIntend>;
  readonly #intended = new WeakMap<Claim[], IntendedBatch>();
  #workers: Promise<void>[] = [];
  #stopping = false;

  constructor(channel: ProviderChannel, budgets: Budgets, deps: ShareDeps) {
    this.name = shareName(channel);
    this.channel = channel;
    const { concurrency, kind = channel.provider } = channel;
    const files = createFileRoom(concurrency, providerFacts[kind]?.streams ?? false, budgets.files);
    this.buffer = createClaimBuffer(concurrency, budgets.contents, undefined, files);
    const { firstBackoffMs } = deps;
    this.breaker = createBreaker({ firstBackoffMs });
    this.#deps = deps;
    this.#intend = createIntend(deps.pool);
  }

  start(): void {
    const { concurrency } = this.channel;
    const forCampaigns = campaignWorkers(concurrency);
    this.#workers = Array.from({ length: concurrency }, (_, n) => this.#work(n < forCampaigns));
  }

  /** Intends and hands over nothing more. What the provider may have without a reply is finished; the rest is given back. */
  stop(): void {
    this.#stopping = true;
    this.buffer.close();
    this.channel.stop?.();
  }

  /** Stops. Resolves when the outcomes of all batches are recorded. Drain the buffer first. */
  async finish(): Promise<void> {
    this.stop();
    await Promise.all(this.#workers);
  }

  /**
   * Hands over one batch after another. It does not wait until a batch is recorded, but it has at most 50 messages with
   * open intents.
   * @param campaigns whether it takes batches of campaigns
   */
  async #work(campaigns: boolean): Promise<void> {
    const { buffer } = this;
    const { loop, blocks } = this.#deps;
    const unrecorded = createUnrecorded();
    const take = async () => {
      // A worker that has no room for a batch leaves it to the others.
      await unrecorded.makeRoom(MAX_BATCH / 2);
      return this.#take(campaigns, MAX_BATCH - unrecorded.messages());
    };
    for (let claims = await take(); claims !== null; claims = await take()) {
      const batch = claims;
      if (buffer.wanted() > 0 || (batch[0]?.block && buffer.wantsBlocks())) loop.wake();
      await unrecorded.makeRoom(batch.length);
      const { recorded } = await this.#sendOrGiveBack(batch);
      const done = recorded.finally(() => {
        buffer.finish(batch);
        loop.forget(batch);
        blocks.settle(batch);
      });
      unrecorded.add(batch.length, done);
    }
    await unrecorded.settled();
  }

  #take(campaigns: boolean, room: number): Promise<Claim[] | null> {
    const { buffer } = this;
    const stalled = buffer.isStalled() || buffer.areBlocksStalled();
    const batch = buffer.take(campaigns, room);
    // A stalled buffer has given its claims back. Now that a worker is free, it wants claims again.
    if (stalled) this.#deps.loop.wake();
    return batch;
  }

  /**
   * Claims and intends plain messages of a backlog in one call, for a worker that is idle.
   * @returns how many it has taken, and whether it left more because a worker takes no more; null if it has not looked
   */
  async takePlain(owner: number, backlog: Backlog): Promise<{ taken: number; more: boolean } | null> {
    const { channel, buffer, breaker } = this;
    const { pool, limits, loop, intents } = this.#deps;
    if (breaker.report().state !== 'closed') return null;
    const worker = buffer.reserve(MAX_TAKEN_BYTES);
    if (!worker) return null;
    const seq = intents.begin();
    const startedAt = performance.now();
    let taken: Taken | null = null;
    try {
      const { accountId, providerId } = backlog;
      const { provider, reportSeconds = 0 } = channel;
      const request = { owner, seq, provider, reportSeconds, accountId, providerId, messages: worker.room };
      taken = await takePlainMessages(pool, request, limits);
    } finally {
      if (!taken) {
        intents.end(seq);
        worker.putBack();
      }
    }
    if (!taken) return { taken: 0, more: false };
    loop.register(taken.claims);
    const { claims, messages } = taken;
    const isLate = performance.now() - startedAt > LATE_MS;
    this.#intended.set(claims, { owner, seq, messages, leaving: messages, isLate });
    worker.give(claims);
    return { taken: claims.length, more: claims.length === worker.room };
  }

  async #sendOrGiveBack(claims: Claim[]): Promise<HandedOver> {
    const { channel, buffer, breaker } = this;
    const { loop, log } = this.#deps;
    const intended = this.#intended.get(claims);
    try {
      const leave = intended?.isLate || this.#stopping ? null : breaker.tryEnter();
      if (leave) return await this.#send(claims, intended).finally(leave);
      if (intended) {
        return this.#record(claims, intended, untried(intended.leaving));
      }
      await loop.giveBack([...claims, ...buffer.drain()]);
    } catch (error) {
      log.error({ err: error, provider: channel.provider }, 'batch failed before its intent');
      await loop.giveBack(claims);
      await sleep(RETRY_MS);
    }
    return { recorded: Promise.resolve() };
  }

  async #send(claims: Claim[], intended: IntendedBatch | undefined): Promise<HandedOver> {
    const { intents } = this.#deps;
    const batch = intended ?? (await this.#intendBatch(claims));
    if (!batch) return { recorded: Promise.resolve() };
    try {
      const results = batch.leaving.length > 0 ? await this.#handOver(claims, batch.leaving) : [];
      const divided = divideBatch(batch, results, () => intents.begin());
      if (divided.open) return this.#settleDivided(claims, divided);
      return await this.#settle(claims, batch, divided.outcomes);
    } catch (error) {
      intents.end(batch.seq);
      throw error;
    }
  }

  async #settle(
    claims: Claim[],
    batch: IntendedBatch,
    outcomes: readonly HandOverOutcome[],
  ): Promise<HandedOver> {
    const { pool, log } = this.#deps;
    if (!claims[0]?.block) {
      await countLosses(pool, batch.owner, batch.leaving, outcomes).catch((error: unknown) =>
        log.warn({ err: error, provider: this.channel.provider }, 'lost connections not counted'),
      );
    }
    return this.#record(claims, batch, outcomes);
  }

  /** Records what is known now, so that the other messages of the batch need not wait, and the rest later. */
  #settleDivided(claims: Claim[], { known, outcomes, open, later }: DividedBatch): HandedOver {
    const settleKnown = async () => {
      if (known.messages.length > 0) await this.#divideIntent(open, known);
      const { recorded } = await this.#settle(claims, known, outcomes);
      await recorded;
      const ids = new Set(known.messages.map(({ messageId }) => messageId));
      this.#deps.loop.forget(claims.filter(({ messageId }) => ids.has(messageId)));
    };
    const settleOpen = async () => {
      const { recorded } = await this.#settle(claims, open, await later);
      await recorded;
    };
    // The second record ends the intent, so it must not come before the division.
    return { recorded: settleKnown().then(settleOpen) };
  }

  /** Tries until it succeeds, as a record does. */
  async #divideIntent(open: IntendedBatch, known: IntendedBatch): Promise<void> {
    const { pool, log } = this.#deps;
    for (;;) {
      try {
        return await divideIntent(
          pool,
          { owner: open.owner, seq: open.seq, messages: open.leaving },
          { seq: known.seq, messages: known.leaving },
        );
      } catch (error) {
        log.warn({ err: error, provider: this.channel.provider }, 'intent not divided yet');
        await sleep(RETRY_MS);
      }
    }
  }

  /** @returns null if the process has no id now */
  async #intendBatch(claims: Claim[]): Promise<IntendedBatch | null> {
    const { provider, reportSeconds } = this.channel;
    const { limits, keyring, intents, defaultKind } = this.#deps;
    const owner = this.#deps.process.id();
    if (owner === null) return null;
    // The sweep drops intents that are not live: their commit succeeded, but the reply was lost.
    const seq = intents.begin();
    try {
      const plusAddresses = limits.suppress_plus_addresses === 1;
      const routes = { repeatableKinds, defaultKind };
      const request = { owner, seq, provider, reportSeconds, claims, plusAddresses, keyring, routes };
      const messages = await this.#intend(request, claims);
      return { owner, seq, messages, leaving: messages.filter(({ verdict }) => verdict === 'send') };
    } catch (error) {
      intents.end(seq);
      throw error;
    }
  }

  /** @param outcomes of the messages that may leave, in their order */
  #record(
    claims: Claim[],
    { owner, seq, messages, leaving }: IntendedBatch,
    outcomes: readonly HandOverOutcome[],
  ): HandedOver {
    const { provider, reportSeconds, repeatable } = this.channel;
    const { intents, loop, record } = this.#deps;
    const records = outcomeRecords(provider, messages, outcomes, reportSeconds, repeatable);
    const block = claims[0]?.block;
    const batch = block
      ? { owner, seq, block, outcomes: recordsOfBlock(records, leaving, outcomes, claims[0]?.bytes) }
      : { owner, seq, outcomes: records };
    const recorded = records.length > 0 ? record(batch) : Promise.resolve();
    loop.countHandled(leaving.length);
    return { recorded: recorded.finally(() => intents.end(seq)) };
  }

  async #handOver(claims: Claim[], leaving: BatchMessage[]): Promise<HandOverResult[]> {
    if (this.#stopping) return untried(leaving);
    const { channel, buffer } = this;
    const suspect = isSuspect(claims);
    let waitedMs = 0;
    const startedAt = performance.now();
    let results: HandOverResult[];
    try {
      results = await channel.handOver(leaving, (ms) => {
        waitedMs = ms;
        buffer.composed(claims);
      });
    } catch (error) {
      results = leaving.map(unknownOutcome);
      this.#deps.log.error({ err: error, provider: channel.provider }, 'provider threw');
    }
    const outcomes = results.filter((result) => !isOpen(result));
    const given = outcomes.filter(({ kind }) => kind !== 'not_composed');
    // How long a file takes says nothing about other messages.
    if (given.length > 0 && given.every(hasVerdict) && fileBytesOf(claims) === 0)
      buffer.measure(given.length, performance.now() - startedAt - waitedMs);
    if (!this.#stopping) this.#judge(leaving, outcomes, suspect);
    return results.map((result) => onceKnown(result, (outcome) => chargeLoss(outcome, suspect)));
  }

  #judge(leaving: readonly BatchMessage[], outcomes: readonly HandOverOutcome[], suspect: boolean): void {
    const { channel, breaker } = this;
    const { log, order } = this.#deps;
    judgeProvider(breaker, outcomes, suspect);
    for (const message of leaving.filter((_message, index) => endedConnection(outcomes[index])))
      order.lostConnection(backlogName({ ...message, queue: queueOf(message) }));
    const { state, reason } = breaker.report();
    if (state !== 'closed') log.warn({ provider: channel.provider, reason }, 'provider fault');
  }
}
