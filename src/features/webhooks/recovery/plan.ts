import type { Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import {
  disableIfDue,
  disablingDue,
  warningDue,
  warnIfDue,
  type FailureCheck,
} from '../attempts/failure-limits.ts';
import { ENGINE_GRACE_MS } from '../workflow.ts';
import { endObsoleteRetries, summarizeRetries } from './retries.ts';

const END_BATCH = 5_000;
/**
 * The workflow of a failing webhook plans at least this often. It could sleep longer, because recording an attempt
 * wakes it.
 */
const LOOK_MS = 24 * 3_600_000;

/** What the workflow of a webhook does next. */
export interface RecoveryPlan {
  /** `done`: no retries are left, and the webhook is healthy, off or removed. It is no longer armed. */
  phase: 'done' | 'due' | 'sleep';
  /** With `sleep`: when to plan again. */
  until: Date | null;
  failingSince: Date | null;
  warnedAt: Date | null;
  /** When to turn the webhook off if it does not recover; null if it is not failing or that time has passed. */
  disableAt: Date | null;
  /** Number of webhook deliveries that wait for a retry, counted up to 10,000. */
  retrying: number;
  nextAttemptAt: Date | null;
  /** Channels to wake after the commit. */
  wakes: WakeChannel[];
}

interface PlannedRow {
  enabled: boolean;
  failingSince: Date | null;
  warnedAt: Date | null;
}

async function lockRow(trx: Queryable, webhookId: number): Promise<PlannedRow | null> {
  const { rows } = await trx.query<PlannedRow>(
    `select enabled, failing_since as "failingSince", warned_at as "warnedAt"
     from webhooks where id = $1 for no key update`,
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

const nothing: RecoveryPlan = {
  phase: 'done',
  until: null,
  failingSince: null,
  warnedAt: null,
  disableAt: null,
  retrying: 0,
  nextAttemptAt: null,
  wakes: [],
};

/**
 * Turns the webhook off, or warns its owners, if it is time.
 * @returns the updated row
 */
async function applyLimits(
  trx: Queryable,
  row: PlannedRow,
  request: FailureCheck,
): Promise<PlannedRow & { wakes: WakeChannel[] }> {
  const off = await disableIfDue(trx, request);
  if (off) return { ...row, enabled: false, wakes: off };
  const warned = await warnIfDue(trx, request);
  return warned ? { ...row, warnedAt: request.asOf, wakes: warned } : { ...row, wakes: [] };
}

/** When the workflow must plan again; null if no retry is waiting and the webhook is not failing. */
function nextLook(row: PlannedRow, nextAttemptAt: Date | null, asOf: Date): Date | null {
  if (!row.enabled || !row.failingSince) return nextAttemptAt;
  const look = new Date(asOf.getTime() + LOOK_MS);
  const dates = [nextAttemptAt, warningDue(row), disablingDue(row), look];
  return new Date(Math.min(...dates.flatMap((date) => (date && date > asOf ? [date.getTime()] : []))));
}

/**
 * Decides what the workflow of a webhook does next, and does everything that needs no attempt: warns the owners, turns
 * the webhook off, ends the retries of a webhook that is off. With `done`, the webhook is disarmed.
 *
 * It takes the same lock as recording a failure, so that no failure is missed between the look and the disarming.
 * @param trx the caller's transaction
 */
export async function planRecovery(trx: Queryable, request: FailureCheck): Promise<RecoveryPlan> {
  const { webhookId, asOf } = request;
  const locked = await lockRow(trx, webhookId);
  if (!locked) return nothing;
  const row = await applyLimits(trx, locked, request);
  const moreObsolete = (await endObsoleteRetries(trx, webhookId, END_BATCH)) === END_BATCH;
  const { count: retrying, nextAttemptAt } = await summarizeRetries(trx, webhookId);
  const limit = row.enabled ? disablingDue(row) : null;
  const { failingSince, warnedAt, wakes } = row;
  const disableAt = limit && limit > asOf ? limit : null;
  const base = { failingSince, warnedAt, disableAt, retrying, nextAttemptAt, wakes };
  if (moreObsolete || (nextAttemptAt && nextAttemptAt <= asOf)) {
    await setWake(trx, webhookId, asOf);
    return { ...base, phase: 'due', until: null };
  }
  const until = nextLook(row, nextAttemptAt, asOf);
  await setWake(trx, webhookId, until);
  return { ...base, phase: until ? 'sleep' : 'done', until };
}
