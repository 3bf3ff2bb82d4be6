import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import type { Waker } from '../db/wake.ts';
import type { Egress } from '../egress/client.ts';
import type { Keyring } from '../secrets/keyring.ts';
import { attemptDelivery, type AttemptOutcome, type DueDelivery } from './attempt.ts';
import { endRetriesOfOff, findDueRetries, hastenRetries, summarizeRetries } from './due-retries.ts';
import { createEndpointReader, type Endpoint, type ReadEndpoints } from './endpoint.ts';
import { ENGINE_GRACE_MS } from './record.ts';
import { createAttemptRecorder } from './recorder.ts';

const AT_ONCE = 16;
/** After this many time-outs in a row. */
const AT_ONCE_TIMING_OUT = 2;
const TIME_OUTS = 5;
const OFF_BATCH = 5_000;
/** One activity's share: then the workflow looks around. */
const LONGEST_MS = 120_000;
const MOST_ATTEMPTS = 5_000;

export interface WebhookRecoveryDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Egress;
  waker: Pick<Waker, 'wake'>;
  /** WEBHOOK_RETRY_SCHEDULE. */
  schedule: readonly number[];
  log: Logger;
}

/** What a webhook's workflow has to do next. */
export interface RecoveryPlan {
  /** `done`: nothing is to be retried, and the webhook is not armed any more. */
  phase: 'done' | 'due' | 'sleep';
  /** With `sleep`. */
  until: Date | null;
  failingSince: Date | null;
  /** Counted up to 10,000. */
  retrying: number;
}

export interface RecoveryProgress {
  attempted: number;
  delivered: number;
}

export interface WebhookRecovery {
  /**
   * Look what is to be done; with `done` the webhook is disarmed in the same transaction. It takes the lock that
   * every recorded failure takes, so that none slips between the look and the disarm.
   */
  plan(webhookId: number, asOf: Date): Promise<RecoveryPlan>;
  /**
   * Attempt what is due, for at most two minutes.
   * @param asOf when it begins, by the workflow's clock
   * @param signal ends it after the attempts that run
   */
  deliverDue(webhookId: number, asOf: Date, signal: AbortSignal): Promise<RecoveryProgress>;
  /** Make everything that waits due now. */
  hasten(webhookId: number, asOf: Date): Promise<void>;
}

interface PlannedRow {
  enabled: boolean;
  failingSince: Date | null;
}

async function lockRow(trx: Queryable, webhookId: number): Promise<PlannedRow | null> {
  const { rows } = await trx.query<PlannedRow>(
    'select enabled, failing_since as "failingSince" from webhooks where id = $1 for no key update',
    [webhookId],
  );
  return rows[0] ?? null;
}

async function setWake(trx: Queryable, webhookId: number, wakeAt: Date | null): Promise<void> {
  await trx.query(
    `update webhooks set recovery_armed = $2::timestamptz is not null, next_wake_at = $2, engine_expected_by = $3
     where id = $1`,
    [webhookId, wakeAt, wakeAt && new Date(wakeAt.getTime() + ENGINE_GRACE_MS)],
  );
}

async function plan(trx: Queryable, webhookId: number, asOf: Date): Promise<RecoveryPlan> {
  const row = await lockRow(trx, webhookId);
  if (!row) return { phase: 'done', until: null, failingSince: null, retrying: 0 };
  const moreOff = (await endRetriesOfOff(trx, webhookId, OFF_BATCH)) === OFF_BATCH;
  const { count: retrying, nextAttemptAt } = await summarizeRetries(trx, webhookId);
  const base = { failingSince: row.failingSince, retrying };
  if (moreOff || (nextAttemptAt && nextAttemptAt <= asOf)) {
    await setWake(trx, webhookId, asOf);
    return { ...base, phase: 'due', until: null };
  }
  await setWake(trx, webhookId, nextAttemptAt);
  return { ...base, phase: nextAttemptAt ? 'sleep' : 'done', until: nextAttemptAt };
}

/** As many at once as the endpoint bears. @returns outcomes, recorded however long the database is away */
async function attemptWave(
  deps: WebhookRecoveryDeps,
  endpoint: Endpoint,
  due: readonly DueDelivery[],
  startedAt: Date,
): Promise<AttemptOutcome[]> {
  const recorder = createAttemptRecorder({
    pool: deps.pool,
    schedule: deps.schedule,
    log: deps.log,
    onArmed: () => deps.waker.wake('outbox'),
    onRecorded: () => undefined,
  });
  const outcomes = await Promise.all(
    due.map(async (each) => {
      const outcome = await attemptDelivery(deps.egress, endpoint, each, startedAt);
      recorder.made({ due: each, outcome });
      return outcome;
    }),
  );
  await recorder.settled();
  return outcomes;
}

async function deliverDue(
  deps: WebhookRecoveryDeps,
  readEndpoints: ReadEndpoints,
  { webhookId, asOf, signal }: { webhookId: number; asOf: Date; signal: AbortSignal },
): Promise<RecoveryProgress> {
  const begun = performance.now();
  const progress: RecoveryProgress = { attempted: 0, delivered: 0 };
  let timeOutsInRow = 0;
  for (;;) {
    const elapsedMs = performance.now() - begun;
    if (signal.aborted || elapsedMs > LONGEST_MS || progress.attempted >= MOST_ATTEMPTS) return progress;
    const now = new Date(asOf.getTime() + Math.round(elapsedMs));
    const endpoint = (await readEndpoints(deps.pool, [webhookId])).get(webhookId);
    if (!endpoint?.enabled) return progress;
    const atOnce = timeOutsInRow >= TIME_OUTS ? AT_ONCE_TIMING_OUT : AT_ONCE;
    const due = await findDueRetries(deps.pool, webhookId, now, atOnce);
    // Those from before it was switched are ended by the next plan.
    const wave = due.filter((each) => each.generation === endpoint.generation);
    if (wave.length === 0) return progress;
    const outcomes = await attemptWave(deps, endpoint, wave, now);
    for (const { timedOut } of outcomes) timeOutsInRow = timedOut ? timeOutsInRow + 1 : 0;
    progress.attempted += outcomes.length;
    progress.delivered += outcomes.filter((outcome) => outcome.delivered).length;
  }
}

/** What the workflow `webhook/<id>` does through its activities. */
export function createWebhookRecovery(deps: WebhookRecoveryDeps): WebhookRecovery {
  const readEndpoints = createEndpointReader(deps.keyring);
  return {
    plan: (webhookId, asOf) => inTransaction(deps.pool, (trx) => plan(trx, webhookId, asOf)),
    deliverDue: (webhookId, asOf, signal) => deliverDue(deps, readEndpoints, { webhookId, asOf, signal }),
    async hasten(webhookId, asOf) {
      await hastenRetries(deps.pool, webhookId, asOf);
    },
  };
}
