import os from 'node:os';
import type { Logger } from 'pino';
import type { LaneMode, LaneReport } from '../../../../workflows/lanes/contract.ts';
import type { Config } from '../../../config.ts';
import { systemSender } from '../../../delivery/sender-identity.ts';
import type { Database } from '../../../platform/db/database.ts';
import { keepPartitionsOf } from '../../../platform/db/partitions.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../platform/egress/client.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import type { LaneLoop } from '../../../platform/lanes/loop.ts';
import type { LiveProcess } from '../../../platform/processes/process.ts';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { hasEvent, type FoundDelivery, attemptDelivery, WEBHOOK_USER_AGENT } from '../attempts/attempt.ts';
import { type Endpoint, createEndpointReader, type ReadEndpoints } from '../attempts/endpoint.ts';
import type { DroppedDelivery } from '../attempts/record.ts';
import { createAttemptRecorder, type AttemptRecorder } from '../attempts/recorder.ts';
import { claimDeliveries, claimedDeliveries, countWaiting, releaseDeliveries } from './claim.ts';
import { type ClaimedDelivery, AHEAD_MS, AttemptSchedule, FIRST_CLAIM } from './schedule.ts';

/** Which deliveries may be attempted: their webhook is on, and was never off since the event, which is there. */
export function sortClaims(
  due: readonly FoundDelivery[],
  endpoints: ReadonlyMap<number, Endpoint>,
  claimedAt: number,
): { deliveries: ClaimedDelivery[]; dropped: DroppedDelivery[] } {
  const deliveries: ClaimedDelivery[] = [];
  const dropped: DroppedDelivery[] = [];
  for (const each of due) {
    const endpoint = endpoints.get(each.webhookId);
    if (!endpoint) dropped.push({ due: each, reason: 'webhook_gone' });
    else if (!endpoint.enabled || endpoint.generation !== each.generation) {
      dropped.push({ due: each, reason: 'webhook_off' });
    } else if (!hasEvent(each)) dropped.push({ due: each, reason: 'event_gone' });
    else deliveries.push({ due: each, endpoint, claimedAt });
  }
  return { deliveries, dropped };
}

export interface WebhookLoopDeps {
  config: Pick<Config, 'EGRESS_ALLOW' | 'WEBHOOK_RETRY_SCHEDULE' | 'MAIL_DOMAIN' | 'SYSTEM_FROM'>;
  database: Database;
  keyring: Keyring;
  resolver: Resolver;
  process: LiveProcess;
  waker: Waker;
  events: EventPublisher;
  log: Logger;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
}

export interface WebhookLoop extends LaneLoop {
  start(): void;
  /** Takes nothing new, ends and records the attempts that run, gives all other claims back. */
  stop(): Promise<void>;
}

const ENDPOINTS_A_CLAIM = 64;
const MOST_HELD = 4_000;
const BUSY_POLL_MS = 25;
const IDLE_POLL_MS = 1_000;
const AWAY_MS = 250;
/** Claims follow one another no faster. */
const CLAIM_INTERVAL_MS = 4;
const SWEEP_MS = 5_000;
const BACKLOG_MS = 10_000;
const REPORTED_ENDPOINTS = 10;

/**
 * The first attempt of every webhook delivery: claim fairly, attempt, record. It needs PostgreSQL only; its lane in
 * the workflow engine watches and steers it, and what fails is the recovery workflow's.
 */
class AttemptLoop implements WebhookLoop {
  readonly kind = 'webhook';
  readonly #deps: WebhookLoopDeps;
  readonly #egress: Egress;
  readonly #readEndpoints: ReadEndpoints;
  readonly #recorder: AttemptRecorder;
  readonly #schedule = new AttemptSchedule();
  /** Claimed by us and not recorded yet. */
  readonly #held = new Set<number>();
  readonly #running = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #pump: Repeating | null = null;
  #claimedAt = 0;
  #wakeTimer: NodeJS.Timeout | null = null;
  #idleMs = BUSY_POLL_MS;
  #strays = new Set<number>();
  #mode: LaneMode = 'running';
  #stopped = false;
  #after = 0;
  #handled = 0;
  #lastHandled = 0;
  #rate = 0;
  #waiting = 0;
  #unlisten: () => void = () => undefined;

  constructor(deps: WebhookLoopDeps) {
    const { config, database, keyring, resolver, waker, events, log, ca } = deps;
    this.#deps = deps;
    const options = { resolver, allow: config.EGRESS_ALLOW, userAgent: WEBHOOK_USER_AGENT };
    this.#egress = createEgress(ca ? { ...options, ca } : options);
    this.#readEndpoints = createEndpointReader(keyring);
    this.#recorder = createAttemptRecorder({
      pool: database.pool,
      schedule: config.WEBHOOK_RETRY_SCHEDULE,
      systemFrom: systemSender(config),
      waker,
      events,
      log,
      onRecorded: (ids) => ids.forEach((id) => this.#held.delete(id)),
    });
  }

  start(): void {
    void this.#keepPartitions();
    this.#unlisten = this.#deps.waker.listen('webhook', () => this.#wake());
    this.#timers.push(
      setInterval(() => this.#tick(), AHEAD_MS),
      setInterval(() => this.#measureRate(), 1_000),
      setInterval(() => void this.#sweep(), SWEEP_MS),
      setInterval(() => void this.#countBacklog(), BACKLOG_MS),
    );
    this.#pump = repeat(() => this.#round(), {
      log: this.#deps.log,
      name: 'claiming webhook deliveries',
      retryMs: AWAY_MS,
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten();
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#wakeTimer) clearTimeout(this.#wakeTimer);
    await this.#pump?.stop();
    await this.#giveBack(this.#schedule.drain());
    await Promise.all(this.#running);
    await this.#recorder.close();
    await this.#giveBack([...this.#held].map((deliveryId) => ({ due: { deliveryId } })));
    await this.#egress.close();
  }

  setMode(mode: LaneMode): void {
    this.#mode = mode;
    if (mode === 'paused') void this.#giveBack(this.#schedule.drain());
    this.#pump?.wake();
  }

  report(): LaneReport {
    const slow = this.#schedule.slowEndpoints(REPORTED_ENDPOINTS);
    return {
      host: os.hostname(),
      pid: process.pid,
      processId: this.#deps.process.id() ?? 0,
      mode: this.#mode,
      ratePerSecond: Math.round(this.#rate * 10) / 10,
      handledTotal: this.#handled,
      inFlight: this.#schedule.inFlight,
      backlog: { deliveries: this.#waiting },
      providers: Object.fromEntries(
        slow.map(({ webhookId, timeOutsInRow }) => [
          `webhook:${webhookId}`,
          { state: 'half_open' as const, reason: `slow, ${timeOutsInRow} time-outs in a row`, retryAt: null },
        ]),
      ),
    };
  }

  #wake(): void {
    const wait = this.#claimedAt + CLAIM_INTERVAL_MS - performance.now();
    if (wait <= 0) this.#pump?.wake();
    else if (!this.#wakeTimer) this.#wakeTimer = setTimeout(() => this.#wakeLate(), wait);
  }

  #wakeLate(): void {
    this.#wakeTimer = null;
    this.#pump?.wake();
  }

  /** Keeps every endpoint supplied. @returns milliseconds until the next claim, unless woken before */
  async #round(): Promise<number> {
    const owner = this.#deps.process.id();
    if (owner === null || this.#mode !== 'running' || this.#held.size >= MOST_HELD) return AWAY_MS;
    const claimed = await this.#claim(owner);
    this.#claimedAt = performance.now();
    this.#idleMs = claimed > 0 ? BUSY_POLL_MS : Math.min(this.#idleMs * 2, IDLE_POLL_MS);
    if (claimed > 0) return CLAIM_INTERVAL_MS;
    return this.#held.size > 0 ? BUSY_POLL_MS : this.#idleMs;
  }

  /** One claim, from the endpoints after those of the last one. */
  async #claim(owner: number): Promise<number> {
    const { pool } = this.#deps.database;
    const quotas = this.#schedule.quotas();
    const order = { owner, after: this.#after, endpoints: ENDPOINTS_A_CLAIM, quantum: FIRST_CLAIM, quotas };
    const { deliveries: due, next } = await claimDeliveries(pool, order);
    this.#after = next;
    // From the start again, where there was nothing from here to the end.
    if (due.length === 0) return order.after > 0 && next === 0 ? this.#claim(owner) : 0;
    await this.#accept(due);
    this.#startAttempts();
    return due.length;
  }

  /** Claims are read with their webhooks, or given back: none is held that nothing is done about. */
  async #accept(claimed: readonly FoundDelivery[]): Promise<void> {
    // What is held already was given back by whoever took us for dead. We go on with it: its record ends its queue row.
    const due = claimed.filter((each) => !this.#held.has(each.deliveryId));
    if (due.length === 0) return;
    for (const each of due) this.#held.add(each.deliveryId);
    try {
      const ids = [...new Set(due.map((each) => each.webhookId))];
      const endpoints = await this.#readEndpoints(this.#deps.database.pool, ids);
      const { deliveries, dropped } = sortClaims(due, endpoints, performance.now());
      this.#recorder.dropped(dropped);
      if (this.#stopped || this.#mode !== 'running') await this.#giveBack(deliveries);
      else this.#schedule.add(deliveries);
    } catch (error) {
      await this.#giveBack(due.map((each) => ({ due: each })));
      throw error;
    }
  }

  #startAttempts(): void {
    const stale: ClaimedDelivery[] = [];
    for (;;) {
      const delivery = this.#schedule.next(performance.now(), stale);
      if (!delivery) break;
      const running = this.#attempt(delivery);
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    }
    if (stale.length > 0) void this.#giveBack(stale);
  }

  async #attempt(delivery: ClaimedDelivery): Promise<void> {
    const { due, endpoint } = delivery;
    const outcome = await attemptDelivery(this.#egress, endpoint, due, new Date());
    this.#handled += 1;
    this.#recorder.made({ due, url: endpoint.url, outcome });
    this.#schedule.end(delivery, outcome, performance.now());
    if (this.#stopped) return;
    this.#startAttempts();
    if (this.#schedule.size < this.#schedule.inFlight * 2) this.#wake();
  }

  async #giveBack(deliveries: readonly { due: Pick<FoundDelivery, 'deliveryId'> }[]): Promise<void> {
    const owner = this.#deps.process.id();
    const ids = deliveries.map((delivery) => delivery.due.deliveryId);
    for (const id of ids) this.#held.delete(id);
    if (owner === null || ids.length === 0) return;
    try {
      await releaseDeliveries(this.#deps.database.pool, owner, ids);
    } catch (error) {
      // The next sweep does it, or whoever takes us for dead.
      for (const id of ids) this.#strays.add(id);
      this.#deps.log.warn({ err: error }, 'webhook claims not given back yet');
    }
  }

  #tick(): void {
    const stale = this.#schedule.tick(performance.now());
    if (stale.length > 0) void this.#giveBack(stale);
    this.#startAttempts();
  }

  /** Claims of ours in the database that we know nothing of: their answer was lost on the way. */
  async #sweep(): Promise<void> {
    const owner = this.#deps.process.id();
    if (owner === null) return;
    try {
      const { pool } = this.#deps.database;
      const unknown = (await claimedDeliveries(pool, owner)).filter((id) => !this.#held.has(id));
      const twice = unknown.filter((id) => this.#strays.has(id));
      this.#strays = new Set(unknown);
      await releaseDeliveries(pool, owner, twice);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'sweep of webhook claims failed');
    }
  }

  /** Housekeeping does it hourly; where that has not run for two weeks, a start of a process does. */
  async #keepPartitions(): Promise<void> {
    try {
      await keepPartitionsOf(this.#deps.database.pool);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'partitions of the days to come not made yet');
    }
  }

  #measureRate(): void {
    this.#rate = this.#rate * 0.7 + (this.#handled - this.#lastHandled) * 0.3;
    this.#lastHandled = this.#handled;
  }

  async #countBacklog(): Promise<void> {
    this.#waiting = await countWaiting(this.#deps.database.pool).catch(() => this.#waiting);
  }
}

/** @param deps the pool needs three connections */
export function createWebhookLoop(deps: WebhookLoopDeps): WebhookLoop {
  return new AttemptLoop(deps);
}
