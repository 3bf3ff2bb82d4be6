import type { Queryable } from '../../../platform/db/queryable.ts';
import { ENGINE_GRACE_MS, type RecoveredWebhook } from '../workflow.ts';
import type { AttemptOutcome, DueDelivery } from './attempt.ts';
import { disablingDue, warningDue } from './failure-limits.ts';

/** The state of a webhook's recent attempts, as kept in its row. Each attempt counts from the time it began. */
export interface Health {
  failingSince: Date | null;
  lastFailureAt: Date | null;
  lastSuccessAt: Date | null;
}

type AttemptResult = Pick<AttemptOutcome, 'startedAt' | 'delivered'>;

function latest(...dates: (Date | null | undefined)[]): Date | null {
  const times = dates.flatMap((date) => (date ? [date.getTime()] : []));
  return times.length === 0 ? null : new Date(Math.max(...times));
}

function startTimes(attempts: readonly AttemptResult[], delivered: boolean): Date[] {
  return attempts.filter((attempt) => attempt.delivered === delivered).map(({ startedAt }) => startedAt);
}

/**
 * Continuous failure begins with the first failed attempt after a success. A success ends it, unless the successful
 * attempt began before the failure did. Attempts may be recorded in any order: if some that failed began after the
 * success, the next failure begins with the first of them.
 */
export function healthAfter(before: Health, attempts: readonly AttemptResult[]): Health {
  const failures = startTimes(attempts, false);
  const success = latest(...startTimes(attempts, true));
  const lastSuccessAt = latest(before.lastSuccessAt, success);
  const lastFailureAt = latest(before.lastFailureAt, ...failures);
  const ended = success !== null && before.failingSince !== null && before.failingSince <= success;
  if (before.failingSince !== null && !ended) {
    return { failingSince: before.failingSince, lastFailureAt, lastSuccessAt };
  }
  const known = ended && before.lastFailureAt !== null ? [...failures, before.lastFailureAt] : failures;
  const since = known
    .filter((startedAt) => lastSuccessAt === null || startedAt > lastSuccessAt)
    .sort((one, other) => one.getTime() - other.getTime());
  return { failingSince: since[0] ?? null, lastFailureAt, lastSuccessAt };
}

/** A finished attempt with its outcome. */
export interface MadeAttempt {
  due: DueDelivery;
  /** The URL that the request was sent to. */
  url: string;
  outcome: AttemptOutcome;
}

/** The row of a healthy webhook is updated at most this often. */
const SUCCESS_INTERVAL_MS = 30_000;
/** A workflow that wakes within this time needs no signal that the failure ended: an endpoint may fail on and off. */
const SOON_MS = 60_000;

/** A webhook's row, locked by the transaction that records attempts. */
export interface LockedWebhook extends RecoveredWebhook, Health {
  enabled: boolean;
  url: string;
  generation: number;
  warnedAt: Date | null;
  armed: boolean;
  nextWakeAt: Date | null;
}

function endOf({ outcome }: MadeAttempt): number {
  return outcome.startedAt.getTime() + outcome.durationMs;
}

/**
 * SQL: whether successful attempts change a webhook's row.
 * @param since SQL for the time of {@link unchangedSince}
 */
export const changedBySuccess = (since: string) =>
  `(failing_since is not null or last_success_at is null or last_success_at < ${since})`;

/** If the webhook's row has a success after this time, the successful attempts need not change it. */
export function unchangedSince(made: readonly MadeAttempt[]): Date {
  return new Date(Math.max(...made.map(endOf)) - SUCCESS_INTERVAL_MS);
}

/** The ids of the webhooks, without duplicates. */
export function webhookIdsOf(made: readonly MadeAttempt[]): number[] {
  return [...new Set(made.map(({ due }) => due.webhookId))];
}

/**
 * Locks the webhooks whose rows the attempts change, in the order of their ids. A failure always takes the lock: the
 * workflow takes it, too, before it disarms the webhook, and so cannot miss a retry that is just being recorded.
 */
export async function lockAttempted(
  client: Queryable,
  made: readonly MadeAttempt[],
): Promise<LockedWebhook[]> {
  if (made.length === 0) return [];
  const idsOf = (delivered: boolean) =>
    webhookIdsOf(made.filter(({ outcome }) => outcome.delivered === delivered));
  const { rows } = await client.query<LockedWebhook>({
    name: 'lock_attempted_webhooks',
    text: `
      select id, account_id as "accountId", brand_id as "brandId", enabled, url, generation,
        failing_since as "failingSince", last_failure_at as "lastFailureAt", last_success_at as "lastSuccessAt",
        warned_at as "warnedAt", recovery_armed as armed, next_wake_at as "nextWakeAt"
      from webhooks
      where id = any($1::bigint[])
        or (id = any($2::bigint[]) and ${changedBySuccess('$3')})
      order by id for no key update`,
    values: [idsOf(false), idsOf(true), unchangedSince(made)],
  });
  return rows;
}

/** How recorded attempts change a webhook's row. */
export interface WebhookChange extends Health {
  webhook: LockedWebhook;
  /** When the last attempt ended. */
  at: Date;
  /** Whether its continuous failure has ended; another may have begun since. */
  failureEnded: boolean;
  /** Whether it has failed for three days, and one of these attempts failed. */
  disables: boolean;
  /** The new wake-up time of its workflow; null if the workflow wakes early enough anyway. */
  wakeAt: Date | null;
}

type Wake = Pick<WebhookChange, 'webhook' | 'failingSince' | 'failureEnded' | 'at'> & {
  retryAt: Date | null;
};

/** The latest time at which the webhook's workflow must wake up; null if there is no need. */
function wakeNeeded({ webhook, failingSince, failureEnded, at, retryAt }: Wake): Date | null {
  const warnedAt = failureEnded ? null : webhook.warnedAt;
  const dates = [retryAt, warningDue({ failingSince, warnedAt }), disablingDue({ failingSince })];
  const times = dates.flatMap((date) => (date ? [date.getTime()] : []));
  if (times.length > 0) return new Date(Math.max(at.getTime(), Math.min(...times)));
  const sleeps = webhook.nextWakeAt !== null && webhook.nextWakeAt.getTime() > at.getTime() + SOON_MS;
  return failureEnded && webhook.armed && sleeps ? at : null;
}

/**
 * Computes how attempts change their webhook. A webhook that is off has no health. Unacknowledged attempts of a former
 * generation or at a former URL do not count.
 * @param retryTimes when the failed attempts are retried
 * @returns null if nothing changes
 */
export function changeOf(
  webhook: LockedWebhook,
  made: readonly MadeAttempt[],
  retryTimes: readonly Date[],
): WebhookChange | null {
  const relevant = made.filter(
    ({ due, url, outcome }) =>
      outcome.delivered || (due.generation === webhook.generation && url === webhook.url),
  );
  if (!webhook.enabled || (relevant.length === 0 && retryTimes.length === 0)) return null;
  const outcomes = relevant.map(({ outcome }) => outcome);
  const health = healthAfter(webhook, outcomes);
  const { failingSince } = health;
  const at = new Date(Math.max(...made.map(endOf)));
  const failureEnded =
    webhook.failingSince !== null && webhook.failingSince.getTime() !== failingSince?.getTime();
  const retryAt = retryTimes.length > 0 ? new Date(Math.min(...retryTimes.map(Number))) : null;
  const needed = wakeNeeded({ webhook, failingSince, failureEnded, at, retryAt });
  const sooner = !webhook.armed || webhook.nextWakeAt === null || (needed && needed < webhook.nextWakeAt);
  const limit = disablingDue(health);
  const disables = limit !== null && limit <= at && outcomes.some(({ delivered }) => !delivered);
  return { webhook, ...health, at, failureEnded, disables, wakeAt: sooner ? needed : null };
}

/** Writes the new health, and arms the workflow of each webhook that has a wake-up time. */
export async function writeChanges(client: Queryable, changes: readonly WebhookChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(
    ({ webhook, failingSince, lastFailureAt, lastSuccessAt, failureEnded, wakeAt }) => ({
      id: webhook.id,
      failing_since: failingSince,
      last_failure_at: lastFailureAt,
      last_success_at: lastSuccessAt,
      failure_ended: failureEnded,
      wake_at: wakeAt,
      expected_by: wakeAt && new Date(wakeAt.getTime() + ENGINE_GRACE_MS),
    }),
  );
  await client.query({
    name: 'change_attempted_webhooks',
    text: `
      update webhooks w set failing_since = c.failing_since, last_failure_at = c.last_failure_at,
        last_success_at = c.last_success_at,
        warned_at = case when not c.failure_ended then w.warned_at end,
        recovery_armed = w.recovery_armed or c.wake_at is not null,
        next_wake_at = coalesce(c.wake_at, w.next_wake_at),
        engine_expected_by = coalesce(c.expected_by, w.engine_expected_by)
      from json_to_recordset($1) as c (id bigint, failing_since timestamptz, last_failure_at timestamptz,
        last_success_at timestamptz, failure_ended boolean, wake_at timestamptz, expected_by timestamptz)
      where w.id = c.id`,
    values: [JSON.stringify(rows)],
  });
}
