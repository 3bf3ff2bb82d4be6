import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import {
  attemptDelivery,
  hasEvent,
  type AttemptOutcome,
  type DueDelivery,
  type WebhookDelivery,
} from '../attempts/attempt.ts';
import { createEndpointReader, type Endpoint, type ReadEndpoints } from '../attempts/endpoint.ts';
import { createAttemptRecorder } from '../attempts/recorder.ts';
import { planRecovery, type RecoveryPlan } from './plan.ts';
import { findDueRetries, findNextRetry, hastenRetries } from './retries.ts';

const MAX_CONCURRENT = 16;
/** Maximum number of concurrent attempts at an endpoint whose last {@link TIME_OUTS} attempts timed out. */
const MAX_CONCURRENT_TIMING_OUT = 2;
const TIME_OUTS = 5;
/**
 * How long one activity works before it returns to the workflow, which then plans again and updates its details.
 * Planning adds about 12 events to the history, so an activity with few attempts, which usually time out, works longer.
 */
const BUSY_STAY_MS = 25_000;
const BUSY_ATTEMPTS = 100;
const MAX_STAY_MS = 120_000;
const MAX_ATTEMPTS = 5_000;
/** An activity waits for a retry if it is due within this time. */
const LINGER_MS = 5_000;

export interface WebhookRecoveryDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Egress;
  waker: Pick<Waker, 'wake'>;
  events: EventPublisher;
  /** WEBHOOK_RETRY_SCHEDULE. */
  schedule: readonly number[];
  /** Sender of the mail to the owners, see `systemSender`. */
  systemFrom: string;
  log: Logger;
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  elapsed?: () => number;
}

export interface RecoveryProgress {
  attempted: number;
  delivered: number;
}

export interface RecoveryStay {
  /** When the activity begins its work, by the workflow's clock. */
  asOf: Date;
  /** Stops the work once the running attempts have ended. */
  signal: AbortSignal;
  /** Called after every group of attempts, with the totals so far. */
  onProgress?: (progress: RecoveryProgress) => void;
}

export interface WebhookRecovery {
  /** See {@link planRecovery}. */
  plan(webhookId: number, asOf: Date): Promise<RecoveryPlan>;
  /**
   * Attempts the retries that are due, and those that become due meanwhile. It returns after 25 seconds if it made at
   * least a hundred attempts, otherwise after two minutes, so that under load many attempts cost one activity and a few
   * events of the workflow's history.
   */
  deliverDue(webhookId: number, stay: RecoveryStay): Promise<RecoveryProgress>;
  /** Makes all waiting retries due now. */
  hasten(webhookId: number, asOf: Date): Promise<void>;
}

/** Maximum number of attempts that run at the same time. */
interface Wave {
  due: readonly DueDelivery[];
  /** Webhook deliveries without an event, which end without an attempt. */
  gone: readonly WebhookDelivery[];
  startedAt: Date;
  /** Stops waiting for results that the database refuses. */
  signal: AbortSignal;
}

/** @returns the outcomes once they are recorded, however long the database is unavailable */
async function attemptWave(
  deps: WebhookRecoveryDeps,
  endpoint: Endpoint,
  { due, gone, startedAt, signal }: Wave,
): Promise<AttemptOutcome[]> {
  const recorder = createAttemptRecorder({
    pool: deps.pool,
    schedule: deps.schedule,
    systemFrom: deps.systemFrom,
    events: deps.events,
    waker: deps.waker,
    log: deps.log,
    onRecorded: () => undefined,
  });
  recorder.dropped(gone.map((each) => ({ due: each, reason: 'event_gone' })));
  const outcomes = await Promise.all(
    due.map(async (each) => {
      const outcome = await attemptDelivery(deps.egress, endpoint, each, startedAt);
      recorder.made({ due: each, url: endpoint.url, outcome });
      return outcome;
    }),
  );
  const giveUp = () => void recorder.close();
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  await recorder.settled();
  signal.removeEventListener('abort', giveUp);
  return outcomes;
}

/**
 * Waits for the next retry if it is due soon.
 * @returns whether there may be work now
 */
async function linger(
  deps: WebhookRecoveryDeps,
  webhookId: number,
  now: Date,
  signal: AbortSignal,
): Promise<boolean> {
  const next = await findNextRetry(deps.pool, webhookId);
  const waitMs = next ? next.getTime() - now.getTime() : Infinity;
  if (waitMs <= 0 || waitMs > LINGER_MS) return false;
  await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  return true;
}

function isOver(elapsedMs: number, { attempted }: RecoveryProgress): boolean {
  const longest = attempted >= BUSY_ATTEMPTS ? BUSY_STAY_MS : MAX_STAY_MS;
  return elapsedMs > longest || attempted >= MAX_ATTEMPTS;
}

async function deliverDue(
  deps: WebhookRecoveryDeps,
  readEndpoints: ReadEndpoints,
  webhookId: number,
  { asOf, signal, onProgress }: RecoveryStay,
): Promise<RecoveryProgress> {
  const elapsed = deps.elapsed ?? (() => performance.now());
  const begun = elapsed();
  const progress: RecoveryProgress = { attempted: 0, delivered: 0 };
  let timeOutsInRow = 0;
  for (;;) {
    const elapsedMs = elapsed() - begun;
    if (signal.aborted || isOver(elapsedMs, progress)) return progress;
    const now = new Date(asOf.getTime() + Math.round(elapsedMs));
    const endpoint = (await readEndpoints(deps.pool, [webhookId])).get(webhookId);
    if (!endpoint?.enabled) return progress;
    const limit = timeOutsInRow >= TIME_OUTS ? MAX_CONCURRENT_TIMING_OUT : MAX_CONCURRENT;
    const due = await findDueRetries(deps.pool, webhookId, now, limit);
    // The next plan ends retries of a former generation.
    const current = due.filter((each) => each.generation === endpoint.generation);
    const gone = current.filter((each) => !hasEvent(each));
    if (current.length === 0) {
      if (due.length > 0 || !(await linger(deps, webhookId, now, signal))) return progress;
      continue;
    }
    const outcomes = await attemptWave(deps, endpoint, {
      due: current.filter(hasEvent),
      gone,
      startedAt: now,
      signal,
    });
    for (const { timedOut } of outcomes) timeOutsInRow = timedOut ? timeOutsInRow + 1 : 0;
    progress.attempted += outcomes.length;
    progress.delivered += outcomes.filter((outcome) => outcome.delivered).length;
    onProgress?.({ ...progress });
  }
}

/** The work of the activities of the workflow `webhook/<id>`. */
export function createWebhookRecovery(deps: WebhookRecoveryDeps): WebhookRecovery {
  const readEndpoints = createEndpointReader(deps.keyring);
  return {
    async plan(webhookId, asOf) {
      const request = { webhookId, asOf, from: deps.systemFrom, events: deps.events };
      const planned = await inTransaction(deps.pool, (trx) => planRecovery(trx, request));
      for (const channel of planned.wakes) deps.waker.wake(channel);
      return planned;
    },
    deliverDue: (webhookId, stay) => deliverDue(deps, readEndpoints, webhookId, stay),
    async hasten(webhookId, asOf) {
      await inTransaction(deps.pool, (trx) => hastenRetries(trx, webhookId, asOf));
    },
  };
}
