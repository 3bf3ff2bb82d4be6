import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { LaneMode, LaneReport } from '../../../workflows/lanes/contract.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { LaneLoop } from '../../platform/lanes/loop.ts';
import type { LiveProcess } from '../../platform/processes/process.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import type { TierAllowances } from '../limits/allowance.ts';
import type { HandOverOutcome } from '../providers/port.ts';
import { dropStrays, intendBatch, type BatchMessage } from './batch.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { type ClaimBuffer, createClaimBuffer } from './claim-buffer.ts';
import { type Claim, releaseClaims, createClaimer } from './claim.ts';
import type { ProviderChannel } from './hand-over.ts';
import { type OutcomeRecord, outcomeRecord, refusalRecord } from './outcomes.ts';
import { createRecorder, type Recorder } from './recorder.ts';

export interface SenderDeps {
  pool: pg.Pool;
  process: LiveProcess;
  waker: Waker;
  routes: ProviderChannel[];
  tiers: TierAllowances;
  events: EventPublisher;
  log: Logger;
}

export interface Sender extends LaneLoop {
  start(): void;
  /** Takes nothing new, finishes the windows at the provider, gives all other claims back. */
  stop(): Promise<void>;
}

interface Line {
  route: ProviderChannel;
  buffer: ClaimBuffer;
  breaker: Breaker;
}

const BUSY_POLL_MS = 25;
const IDLE_POLL_MS = 1_000;
const AWAY_MS = 250;
const GIVE_BACK_TRIES = 8;
const SWEEP_MS = 2_000;
const BACKLOG_MS = 10_000;

/**
 * The one loop that sends whatever is queued: claim, check and intend, hand over, record. It needs PostgreSQL
 * and the providers only; its lane in the workflow engine watches and steers it.
 */
class SendLoop implements Sender {
  readonly kind = 'send';
  readonly #deps: SenderDeps;
  readonly #lines: Line[];
  readonly #claimRound: ReturnType<typeof createClaimer>;
  readonly #recorder: Recorder;
  readonly #working = new Set<Promise<void>>();
  readonly #liveSeqs = new Set<number>();
  /** Claims of ours, by message: their epochs. */
  readonly #inFlight = new Map<number, number>();
  readonly #timers: NodeJS.Timeout[] = [];
  #strays = new Map<number, number>();
  #pump: Repeating | null = null;
  #idleMs = BUSY_POLL_MS;
  #mode: LaneMode = 'running';
  #stopped = false;
  #seq = Date.now() * 1_000;
  #handled = 0;
  #lastHandled = 0;
  #rate = 0;
  #backlog: Record<string, number> = {};
  #unlisten: () => void = () => undefined;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    this.#lines = deps.routes.map((route) => ({
      route,
      buffer: createClaimBuffer(route.concurrency),
      breaker: createBreaker(),
    }));
    this.#claimRound = createClaimer(deps.pool, deps.tiers);
    this.#recorder = createRecorder(deps, deps.log, (channel) => deps.waker.wake(channel));
  }

  start(): void {
    this.#unlisten = this.#deps.waker.listen('send', () => this.#pump?.wake());
    this.#timers.push(
      setInterval(() => void this.#sweep(), SWEEP_MS),
      setInterval(() => this.#measureRate(), 1_000),
      setInterval(() => void this.#countBacklog(), BACKLOG_MS),
    );
    const { log } = this.#deps;
    this.#pump = repeat(() => this.#round(), { log, name: 'claiming messages', retryMs: AWAY_MS });
    for (const line of this.#lines) {
      for (let n = 0; n < line.route.concurrency; n++) this.#keep(this.#work(line));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten();
    for (const timer of this.#timers) clearInterval(timer);
    const pumped = this.#pump?.stop();
    await Promise.all(this.#lines.map((line) => this.#giveBack(line.buffer.drain())));
    for (const line of this.#lines) line.buffer.close();
    await pumped;
    await Promise.all(this.#working);
    await Promise.all(this.#lines.map((line) => this.#giveBack(line.buffer.drain())));
    await Promise.all(this.#lines.map((line) => line.route.close()));
  }

  setMode(mode: LaneMode): void {
    this.#mode = mode;
    if (mode !== 'running') {
      for (const line of this.#lines) void this.#giveBack(line.buffer.drain());
    }
    this.#pump?.wake();
  }

  report(): LaneReport {
    return {
      host: os.hostname(),
      pid: process.pid,
      processId: this.#deps.process.id() ?? 0,
      mode: this.#mode,
      ratePerSecond: Math.round(this.#rate * 10) / 10,
      handledTotal: this.#handled,
      inFlight: this.#inFlight.size,
      backlog: this.#backlog,
      providers: Object.fromEntries(
        this.#lines.map(({ route, breaker }) => [`${route.channel}:${route.provider}`, breaker.report()]),
      ),
    };
  }

  #keep(work: Promise<void>): void {
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  /** Keeps the buffers filled. @returns milliseconds until the next claim, unless woken before */
  async #round(): Promise<number> {
    const owner = this.#deps.process.id();
    const wanted = this.#wanted();
    if (owner === null || this.#mode !== 'running' || wanted.size === 0) return AWAY_MS;
    const { claimed, nextDueMs } = await this.#claim(owner, wanted);
    this.#idleMs = claimed ? BUSY_POLL_MS : Math.min(this.#idleMs * 2, IDLE_POLL_MS);
    return claimed ? 0 : Math.min(this.#idleMs, Math.max(1, nextDueMs ?? IDLE_POLL_MS));
  }

  /** How many to claim, of the channels that have too few. */
  #wanted(): Map<string, number> {
    const hungry = this.#lines.filter(({ buffer, breaker }) => buffer.wanted() > 0 && breaker.waitMs() === 0);
    return new Map(hungry.map(({ route, buffer }) => [route.channel, buffer.wanted()]));
  }

  async #claim(
    owner: number,
    wanted: Map<string, number>,
  ): Promise<{ claimed: boolean; nextDueMs: number | null }> {
    const round = await this.#claimRound(owner, wanted, (channel, claimed) => {
      const claims = claimed.filter(({ messageId, epoch }) => this.#inFlight.get(messageId) !== epoch);
      for (const { messageId, epoch } of claims) this.#inFlight.set(messageId, epoch);
      const line = this.#lines.find((each) => each.route.channel === channel);
      if (this.#stopped || this.#mode !== 'running' || !line) this.#keep(this.#giveBack(claims));
      else line.buffer.add(claims);
    });
    return { claimed: round.claimed > 0, nextDueMs: round.nextDueMs };
  }

  async #work(line: Line): Promise<void> {
    for (;;) {
      const window = await line.buffer.take();
      if (window === null) return;
      if (line.buffer.wanted() > 0) this.#pump?.wake();
      try {
        const leave = line.breaker.tryEnter();
        if (leave) await this.#send(line, window).finally(leave);
        else await this.#giveBack([...window, ...line.buffer.drain()]);
      } catch (error) {
        this.#deps.log.error(
          { err: error, provider: line.route.provider },
          'a window failed before its intent',
        );
        await this.#giveBack(window);
        await sleep(AWAY_MS);
      } finally {
        this.#forget(window);
      }
    }
  }

  async #send(line: Line, claims: Claim[]): Promise<void> {
    const owner = this.#deps.process.id();
    if (owner === null) return;
    const seq = ++this.#seq;
    this.#liveSeqs.add(seq);
    try {
      const messages = await intendBatch(this.#deps.pool, {
        owner,
        seq,
        provider: line.route.provider,
        claims,
      });
      const leaving = messages.filter((message) => message.verdict === 'send');
      const outcomes = leaving.length > 0 ? await this.#handOver(line, leaving) : [];
      line.buffer.handedOver(messages.length);
      const settlements = this.#settle(line.route.provider, messages, leaving, outcomes);
      if (settlements.length > 0) await this.#recorder.record({ owner, seq, settlements });
      this.#handled += leaving.length;
    } finally {
      // An intent whose commit we did not see is swept as soon as it is not listed here.
      this.#liveSeqs.delete(seq);
    }
  }

  async #handOver(line: Line, leaving: BatchMessage[]): Promise<HandOverOutcome[]> {
    let outcomes: HandOverOutcome[];
    try {
      outcomes = await line.route.handOver(leaving);
    } catch (error) {
      // Providers report trouble as outcomes; should one throw, nobody knows what it did.
      outcomes = leaving.map(() => ({ kind: 'unknown', reason: (error as Error).message }));
      this.#deps.log.error({ err: error, provider: line.route.provider }, 'provider threw');
    }
    this.#judge(line, outcomes);
    return outcomes;
  }

  /** What a window tells of its provider: trouble, strain, or that it works. */
  #judge({ breaker, route }: Line, outcomes: HandOverOutcome[]): void {
    const strain = outcomes.find((outcome) => outcome.kind === 'deferred' && outcome.connectionLost);
    const fault = outcomes.find((outcome) => outcome.kind === 'fault');
    const accepted = outcomes.some((outcome) => outcome.kind === 'accepted');
    if (strain?.kind === 'deferred') breaker.strained(strain.response);
    else if (fault?.kind === 'fault' && !accepted) breaker.failed(fault.reason);
    else breaker.succeeded();
    const { state, reason } = breaker.report();
    if (state !== 'closed') this.#deps.log.warn({ provider: route.provider, reason }, 'provider fault');
  }

  #settle(
    provider: string,
    messages: BatchMessage[],
    leaving: BatchMessage[],
    outcomes: HandOverOutcome[],
  ): OutcomeRecord[] {
    const refused = messages.flatMap((message) =>
      message.verdict === 'send' ? [] : [refusalRecord(message, message.verdict)],
    );
    const settled = leaving.map((message, index) =>
      outcomeRecord(message, provider, outcomes[index] ?? { kind: 'unknown', reason: 'no outcome' }),
    );
    return [...refused, ...settled];
  }

  /** A newer claim of the same message stays known. */
  #forget(claims: Claim[]): void {
    for (const { messageId, epoch } of claims) {
      if (this.#inFlight.get(messageId) === epoch) this.#inFlight.delete(messageId);
    }
  }

  async #giveBack(claims: Claim[]): Promise<void> {
    const owner = this.#deps.process.id();
    this.#forget(claims);
    if (owner === null || claims.length === 0) return;
    // What cannot be given back is found by the sweep, or by whoever takes us for dead.
    for (let tries = 0; tries < GIVE_BACK_TRIES; tries++) {
      try {
        return await releaseClaims(this.#deps.pool, owner, claims);
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'claims not given back yet');
        await sleep(AWAY_MS);
      }
    }
  }

  /** Claims and intents of ours in the database that we know nothing of: their answer was lost on the way. */
  async #sweep(): Promise<void> {
    const owner = this.#deps.process.id();
    if (owner === null) return;
    try {
      const { rows: held } = await this.#deps.pool.query<Claim>(
        'select message_id as "messageId", claim_epoch as epoch from send_queue where owner = $1',
        [owner],
      );
      const unknown = held.filter((claim) => this.#inFlight.get(claim.messageId) !== claim.epoch);
      const twice = unknown.filter((claim) => this.#strays.get(claim.messageId) === claim.epoch);
      this.#strays = new Map(unknown.map((claim) => [claim.messageId, claim.epoch]));
      await dropStrays(this.#deps.pool, owner, [...this.#liveSeqs], twice);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'sweep failed');
    }
  }

  #measureRate(): void {
    this.#rate = this.#rate * 0.7 + (this.#handled - this.#lastHandled) * 0.3;
    this.#lastHandled = this.#handled;
  }

  /** At most 100,000 rows are counted: enough for an operator, cheap for the database. */
  async #countBacklog(): Promise<void> {
    const names = ['transactional', 'flow', 'campaign'];
    const counted = await this.#deps.pool
      .query<{ class: number; count: number }>(
        'select class, count(*) as count from (select class from send_queue limit 100000) q group by class',
      )
      .catch(() => null);
    if (!counted) return;
    this.#backlog = Object.fromEntries(counted.rows.map((row) => [names[row.class] ?? row.class, row.count]));
  }
}

/** @param deps the pool needs a connection for each worker that may intend at once, and two more */
export function createSender(deps: SenderDeps): Sender {
  return new SendLoop(deps);
}
