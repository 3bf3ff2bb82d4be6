import type { Logger } from 'pino';
import type { Config } from '../../../config.ts';
import { systemSender } from '../../../delivery/terms/sender-identity.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { createFleetShare, type FleetShare } from '../../../platform/processes/fleet.ts';
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
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { attemptDelivery, type WebhookDelivery, hasEvent } from '../attempts/attempt.ts';
import { createEndpointReader, type Endpoint, type ReadEndpoints } from '../attempts/endpoint.ts';
import type { DroppedDelivery } from '../attempts/record.ts';
import { type AttemptRecorder, createAttemptRecorder } from '../attempts/recorder.ts';
import {
  claimDeliveries,
  countWaiting,
  findOwnedDeliveries,
  type OwnedDelivery,
  releaseDeliveries,
} from './claim.ts';
import { AttemptSchedule, type ClaimedDelivery, FIRST_CLAIM, MAX_PER_ENDPOINT, TICK_MS } from './schedule.ts';

/**
 * Drops the claims whose delivery must not be attempted: the endpoint is deleted, is off or was off since the event, or
 * the event's data are deleted.
 */
export function sortClaims(
  due: readonly WebhookDelivery[],
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
  config: Pick<Config, 'WEBHOOK_RETRY_SCHEDULE' | 'MAIL_DOMAIN' | 'SYSTEM_FROM'>;
  database: Database;
  keyring: Keyring;
  /** Closed when the loop stops. */
  egress: Egress;
  process: LiveProcess;
  waker: Waker;
  pulse: Pulse;
  events: EventPublisher;
  log: Logger;
  /** Interval of the search for claims whose responses were lost. Default: five seconds. */
  sweepMs?: number;
}

const ENDPOINTS_PER_CLAIM = 64;
const MAX_CLAIMED = 4_000;
const SWEEP_MS = 5_000;
/** Pause after a claim that found nothing while attempts are still running. */
const BUSY_POLL_MS = 25;
const REPORTED_ENDPOINTS = 10;

/**
 * Makes the first attempt of every webhook delivery: claim fairly, attempt, record. Retries are made by the recovery
 * workflow.
 */
class AttemptQueue implements QueueAdapter<OwnedDelivery> {
  readonly kind = 'webhook';
  readonly noun = 'webhook deliveries';
  readonly waiting = 'exists (select from webhook_queue where owner is null)';
  readonly owned = 'exists (select from webhook_queue where owner = $1)';
  readonly sweepMs: number;
  readonly claimIntervalMs = 4;
  readonly releaseTries = 1;
  readonly givesBackIn = ['paused'] as const;
  readonly loop: QueueLoop & QueueHandle<OwnedDelivery>;
  readonly #deps: WebhookLoopDeps;
  readonly #readEndpoints: ReadEndpoints;
  readonly #recorder: AttemptRecorder;
  readonly #fleet: FleetShare;
  /** Resolves when the share of this process is known. */
  readonly #counted: Promise<void>;
  readonly #schedule = new AttemptSchedule((id) => this.#fleet.share(MAX_PER_ENDPOINT, id));
  readonly #attempts = new Set<Promise<void>>();
  /** Runs while the schedule has endpoints. */
  #ticks: NodeJS.Timeout | null = null;
  /** The endpoint after which the next claim begins. */
  #after = 0;

  constructor(deps: WebhookLoopDeps) {
    const { config, database, keyring, waker, events, log } = deps;
    this.#deps = deps;
    this.sweepMs = deps.sweepMs ?? SWEEP_MS;
    this.#readEndpoints = createEndpointReader(keyring);
    this.#recorder = createAttemptRecorder({
      pool: database.pool,
      schedule: config.WEBHOOK_RETRY_SCHEDULE,
      systemFrom: systemSender(config),
      waker,
      events,
      log,
      onRecorded: (results) => this.loop.forget(results.map(({ due }) => due)),
    });
    this.#fleet = createFleetShare(database.pool, log, 'sender', () => deps.process.id());
    this.#counted = this.#fleet.refresh();
    this.loop = createQueueLoop(this, deps);
  }

  idOf({ deliveryId }: OwnedDelivery): number {
    return deliveryId;
  }

  /** Webhook deliveries are fenced by their owner alone. */
  epochOf(): number {
    return 0;
  }

  /** Claims for the endpoints after those of the last claim. */
  async claim(owner: number): Promise<ClaimResult | null> {
    if (this.loop.registered() >= MAX_CLAIMED) return null;
    await this.#counted;
    const claimed = await this.#claimFrom(owner, this.#after);
    return { claimed, nextLookMs: this.loop.registered() > 0 ? BUSY_POLL_MS : null };
  }

  takeWaiting(): OwnedDelivery[] {
    return this.#schedule.drain().map(({ due }) => due);
  }

  release(owner: number, claims: readonly OwnedDelivery[]): Promise<void> {
    const ids = claims.map(({ deliveryId }) => deliveryId);
    return releaseDeliveries(this.#deps.database.pool, owner, ids);
  }

  listOwned(owner: number): Promise<OwnedDelivery[]> {
    return findOwnedDeliveries(this.#deps.database.pool, owner);
  }

  async countBacklog(): Promise<Record<string, number>> {
    return { deliveries: await countWaiting(this.#deps.database.pool) };
  }

  describe(): QueueState {
    const slow = this.#schedule.slowEndpoints(REPORTED_ENDPOINTS).map(({ webhookId, timeOutsInRow }) => {
      const reason = `slow, ${timeOutsInRow} time-outs in a row`;
      return [`webhook:${webhookId}`, { state: 'half_open', reason, retryAt: null }] as const;
    });
    return { inFlight: this.#schedule.inFlight, providers: Object.fromEntries(slow) };
  }

  async finish(): Promise<void> {
    this.#stopTicking();
    this.#fleet.stop();
    await Promise.all(this.#attempts);
    await this.#recorder.close();
  }

  close(): Promise<void> {
    return this.#deps.egress.close();
  }

  async #claimFrom(owner: number, after: number): Promise<number> {
    const quotas = this.#schedule.quotas();
    const order = { owner, after, endpoints: ENDPOINTS_PER_CLAIM, quantum: FIRST_CLAIM, quotas };
    const { deliveries, next } = await claimDeliveries(this.#deps.database.pool, order);
    this.#after = next;
    if (deliveries.length === 0) {
      const reachedEnd = after > 0 && next === 0;
      return reachedEnd ? this.#claimFrom(owner, 0) : 0;
    }
    await this.#accept(deliveries);
    this.#startAttempts();
    return deliveries.length;
  }

  /**
   * Reads the endpoints of claims and schedules them. If that fails, it returns the claims, so that none is left idle.
   */
  async #accept(claimed: readonly WebhookDelivery[]): Promise<void> {
    // A delivery that this process is working on can be claimed again after the reaper has released it. The running
    // attempt continues: its record deletes the queue row.
    const due = this.loop.register(claimed);
    if (due.length === 0) return;
    try {
      const ids = [...new Set(due.map((each) => each.webhookId))];
      const endpoints = await this.#readEndpoints(this.#deps.database.pool, ids);
      const { deliveries, dropped } = sortClaims(due, endpoints, performance.now());
      this.#recorder.dropped(dropped);
      if (this.loop.acceptsWork()) this.#addToSchedule(deliveries);
      else await this.#giveBack(deliveries);
    } catch (error) {
      await this.loop.giveBack(due);
      throw error;
    }
  }

  #addToSchedule(deliveries: readonly ClaimedDelivery[]): void {
    this.#schedule.add(deliveries);
    this.#ticks ??= setInterval(() => this.#tick(), TICK_MS);
  }

  #stopTicking(): void {
    if (this.#ticks) clearInterval(this.#ticks);
    this.#ticks = null;
  }

  #startAttempts(): void {
    const stale: ClaimedDelivery[] = [];
    for (;;) {
      const delivery = this.#schedule.next(performance.now(), stale);
      if (!delivery) break;
      const attempt = this.#attempt(delivery);
      this.#attempts.add(attempt);
      void attempt.finally(() => this.#attempts.delete(attempt));
    }
    if (stale.length > 0) void this.#giveBack(stale);
  }

  async #attempt(delivery: ClaimedDelivery): Promise<void> {
    const { due, endpoint } = delivery;
    const outcome = await attemptDelivery(this.#deps.egress, endpoint, due, new Date());
    this.loop.countHandled(1);
    this.#recorder.made({ due, url: endpoint.url, outcome });
    this.#schedule.end(delivery, outcome, performance.now());
    this.#startAttempts();
    if (this.#schedule.size < this.#schedule.inFlight * 2) this.loop.wake();
  }

  #giveBack(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    return this.loop.giveBack(deliveries.map(({ due }) => due));
  }

  #tick(): void {
    void this.#giveBack(this.#schedule.tick(performance.now()));
    this.#startAttempts();
    if (this.#schedule.isEmpty) this.#stopTicking();
  }
}

/**
 * The webhook loop of a `sender` process. It needs only PostgreSQL.
 * @param deps the pool needs three connections
 */
export function createWebhookLoop(deps: WebhookLoopDeps): QueueLoop {
  return new AttemptQueue(deps).loop;
}
