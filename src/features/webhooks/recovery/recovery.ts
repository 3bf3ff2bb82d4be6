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
  type FoundDelivery,
} from '../attempts/attempt.ts';
import { createEndpointReader, type Endpoint, type ReadEndpoints } from '../attempts/endpoint.ts';
import { createAttemptRecorder } from '../attempts/recorder.ts';
import { planRecovery, type RecoveryPlan } from './plan.ts';
import { findDueRetries, findNextRetry, hastenRetries } from './retries.ts';

const AT_ONCE = 16;
/** After this many time-outs in a row. */
const AT_ONCE_TIMING_OUT = 2;
const TIME_OUTS = 5;
/**
 * One activity's share: then the workflow looks around and its counts move. A look is some 12 events of history, so
 * where attempts are few, because they time out, it comes later.
 */
const SHORT_MS = 25_000;
const MANY_ATTEMPTS = 100;
const LONGEST_MS = 120_000;
const MOST_ATTEMPTS = 5_000;
/** It stays for what is due that soon. */
const LINGER_MS = 5_000;

export interface WebhookRecoveryDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Egress;
  waker: Pick<Waker, 'wake'>;
  events: EventPublisher;
  /** WEBHOOK_RETRY_SCHEDULE. */
  schedule: readonly number[];
  /** Who warns the owners; of `systemSender`. */
  systemFrom: string;
  log: Logger;
  /** Milliseconds from any moment on; `performance.now` by default. */
  elapsed?: () => number;
}

export interface RecoveryProgress {
  attempted: number;
  delivered: number;
}

export interface RecoveryStay {
  /** When it begins, by the workflow's clock. */
  asOf: Date;
  /** Ends it after the attempts that run. */
  signal: AbortSignal;
  /** Told after each few attempts what it has done so far. */
  onProgress?: (progress: RecoveryProgress) => void;
}

export interface WebhookRecovery {
  /** See {@link planRecovery}. */
  plan(webhookId: number, asOf: Date): Promise<RecoveryPlan>;
  /**
   * Attempt what is due and what becomes due meanwhile, until a hundred attempts have taken 25 seconds, for at most two
   * minutes: under load that is one activity, and a few events of the engine's history, for many attempts.
   */
  deliverDue(webhookId: number, stay: RecoveryStay): Promise<RecoveryProgress>;
  /** Make everything that waits due now. */
  hasten(webhookId: number, asOf: Date): Promise<void>;
}

interface Wave {
  due: readonly DueDelivery[];
  /** What ends without an attempt. */
  gone: readonly FoundDelivery[];
  startedAt: Date;
  /** Ends the wait for what the database refuses. */
  signal: AbortSignal;
}

/** As many at once as the endpoint bears. @returns outcomes, recorded however long the database is away */
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
 * Wait for the next retry where it is due soon.
 * @returns whether to go on
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
  const longest = attempted >= MANY_ATTEMPTS ? SHORT_MS : LONGEST_MS;
  return elapsedMs > longest || attempted >= MOST_ATTEMPTS;
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
    const atOnce = timeOutsInRow >= TIME_OUTS ? AT_ONCE_TIMING_OUT : AT_ONCE;
    const due = await findDueRetries(deps.pool, webhookId, now, atOnce);
    // Those from before it was switched are ended by the next plan.
    const present = due.filter((each) => each.generation === endpoint.generation);
    const gone = present.filter((each) => !hasEvent(each));
    if (present.length === 0) {
      if (due.length > 0 || !(await linger(deps, webhookId, now, signal))) return progress;
      continue;
    }
    const outcomes = await attemptWave(deps, endpoint, {
      due: present.filter(hasEvent),
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

/** What the workflow `webhook/<id>` does through its activities. */
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
