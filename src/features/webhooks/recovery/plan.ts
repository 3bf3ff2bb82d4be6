import type { Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { disableWhereDue, disablingDue, warningDue, warnWhereDue } from '../attempts/failure-limits.ts';
import { ENGINE_GRACE_MS } from '../workflow.ts';
import { endRetriesOfOff, summarizeRetries } from './retries.ts';

const OFF_BATCH = 5_000;
/** Where there is nothing to wait for but an attempt, whose record wakes the workflow, it looks this often. */
const LOOK_MS = 24 * 3_600_000;

/** What a webhook's workflow has to do next. */
export interface RecoveryPlan {
  /** `done`: it does not fail, or is off, or gone, and nothing is to be retried; it is not armed any more. */
  phase: 'done' | 'due' | 'sleep';
  /** With `sleep`: the first of all that is to come. */
  until: Date | null;
  failingSince: Date | null;
  warnedAt: Date | null;
  /** When it is turned off unless it recovers; null where it does not fail, or where that time has passed. */
  disableAt: Date | null;
  /** Deliveries that wait for a retry, counted up to 10,000. */
  retrying: number;
  nextAttemptAt: Date | null;
  /** To be rung after the commit. */
  wakes: WakeChannel[];
}

export interface PlanRequest {
  webhookId: number;
  /** By the workflow's clock. */
  asOf: Date;
  /** Of `systemSender`. */
  from: string;
  events: EventPublisher;
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

/** Turn it off or warn its owners, where it is time. @returns the row as it is then */
async function applyLimits(
  trx: Queryable,
  row: PlannedRow,
  request: PlanRequest,
): Promise<PlannedRow & { wakes: WakeChannel[] }> {
  const off = await disableWhereDue(trx, request);
  if (off) return { ...row, enabled: false, wakes: off };
  const warned = await warnWhereDue(trx, request);
  return warned ? { ...row, warnedAt: request.asOf, wakes: warned } : { ...row, wakes: [] };
}

/** The first of what is to come; null where nothing is, and it does not fail. */
function nextLook(row: PlannedRow, nextAttemptAt: Date | null, asOf: Date): Date | null {
  if (!row.enabled || !row.failingSince) return nextAttemptAt;
  const look = new Date(asOf.getTime() + LOOK_MS);
  const dates = [nextAttemptAt, warningDue(row), disablingDue(row), look];
  return new Date(Math.min(...dates.flatMap((date) => (date && date > asOf ? [date.getTime()] : []))));
}

/**
 * Look what is to be done about a webhook, and do what needs no attempt: end what waits where it is off, warn, turn
 * off. With `done` the webhook is disarmed. It takes the lock that every recorded failure takes, so that none slips
 * between the look and the disarm.
 * @param trx a transaction of the caller's
 */
export async function planRecovery(trx: Queryable, request: PlanRequest): Promise<RecoveryPlan> {
  const { webhookId, asOf } = request;
  const locked = await lockRow(trx, webhookId);
  if (!locked) return nothing;
  const row = await applyLimits(trx, locked, request);
  const moreOff = (await endRetriesOfOff(trx, webhookId, OFF_BATCH)) === OFF_BATCH;
  const { count: retrying, nextAttemptAt } = await summarizeRetries(trx, webhookId);
  const limit = row.enabled ? disablingDue(row) : null;
  const { failingSince, warnedAt, wakes } = row;
  const disableAt = limit && limit > asOf ? limit : null;
  const base = { failingSince, warnedAt, disableAt, retrying, nextAttemptAt, wakes };
  if (moreOff || (nextAttemptAt && nextAttemptAt <= asOf)) {
    await setWake(trx, webhookId, asOf);
    return { ...base, phase: 'due', until: null };
  }
  const until = nextLook(row, nextAttemptAt, asOf);
  await setWake(trx, webhookId, until);
  return { ...base, phase: until ? 'sleep' : 'done', until };
}
