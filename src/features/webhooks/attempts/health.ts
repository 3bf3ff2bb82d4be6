import type { Queryable } from '../../../platform/db/queryable.ts';
import { ENGINE_GRACE_MS, type RecoveredWebhook } from '../workflow.ts';
import type { AttemptOutcome, DueDelivery } from './attempt.ts';
import { disablingDue, warningDue } from './failure-limits.ts';

/** What a webhook's row says of its recent attempts, all by the time they began. */
export interface Health {
  failingSince: Date | null;
  lastFailureAt: Date | null;
  lastSuccessAt: Date | null;
}

/** An attempt that ended. */
export interface HealthFact {
  startedAt: Date;
  delivered: boolean;
}

function latest(...dates: (Date | null | undefined)[]): Date | null {
  const times = dates.flatMap((date) => (date ? [date.getTime()] : []));
  return times.length === 0 ? null : new Date(Math.max(...times));
}

function began(facts: readonly HealthFact[], delivered: boolean): Date[] {
  return facts.filter((fact) => fact.delivered === delivered).map((fact) => fact.startedAt);
}

/**
 * Continuous failure begins with the first failed attempt after a success; any success ends it, unless that
 * attempt began before. Facts may come in any order: a success that ends one failure leaves the attempts that
 * failed after it began.
 */
export function healthAfter(before: Health, facts: readonly HealthFact[]): Health {
  const failures = began(facts, false);
  const success = latest(...began(facts, true));
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

/** An attempt that was made. */
export interface MadeAttempt {
  due: DueDelivery;
  /** Where it went. */
  url: string;
  outcome: AttemptOutcome;
}

/** A healthy webhook's row is written no more often than this. */
const SUCCESS_INTERVAL_MS = 30_000;
/** A workflow that looks within this time is not told that the failure ended: an endpoint may come and go. */
const SOON_MS = 60_000;

/** A webhook's row as the recording transaction holds it. */
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
 * Webhooks whose row the attempts change, locked in the order of their ids. A failure always locks: the workflow's
 * disarm takes the same lock, so that it sees either the retry or an unarmed row.
 */
export async function lockAttempted(
  client: Queryable,
  made: readonly MadeAttempt[],
): Promise<LockedWebhook[]> {
  if (made.length === 0) return [];
  const idsOf = (delivered: boolean) => [
    ...new Set(made.filter((each) => each.outcome.delivered === delivered).map((each) => each.due.webhookId)),
  ];
  const latest = Math.max(...made.map(endOf));
  const { rows } = await client.query<LockedWebhook>({
    name: 'lock_attempted_webhooks',
    text: `
      select id, account_id as "accountId", brand_id as "brandId", enabled, url, generation,
        failing_since as "failingSince", last_failure_at as "lastFailureAt", last_success_at as "lastSuccessAt",
        warned_at as "warnedAt", recovery_armed as armed, next_wake_at as "nextWakeAt"
      from webhooks
      where id = any($1::bigint[])
        or (id = any($2::bigint[]) and (failing_since is not null or last_success_at is null or last_success_at < $3))
      order by id for no key update`,
    values: [idsOf(false), idsOf(true), new Date(latest - SUCCESS_INTERVAL_MS)],
  });
  return rows;
}

/** What attempts make of a webhook's row. */
export interface WebhookChange extends Health {
  webhook: LockedWebhook;
  /** When the last of the attempts ended. */
  at: Date;
  /** Its failure ended, and perhaps another one began. */
  turned: boolean;
  /** Its failure is as long as it may be, and one of the attempts failed. */
  disables: boolean;
  /** Null: its workflow looks early enough as it is. */
  wakeAt: Date | null;
}

type Wake = Pick<WebhookChange, 'webhook' | 'failingSince' | 'turned' | 'at'> & { retryAt: Date | null };

/** When its workflow must look, at the latest. */
function wakeNeeded({ webhook, failingSince, turned, at, retryAt }: Wake): Date | null {
  const warnedAt = turned ? null : webhook.warnedAt;
  const dates = [retryAt, warningDue({ failingSince, warnedAt }), disablingDue({ failingSince })];
  const times = dates.flatMap((date) => (date ? [date.getTime()] : []));
  if (times.length > 0) return new Date(Math.max(at.getTime(), Math.min(...times)));
  const sleeps = webhook.nextWakeAt !== null && webhook.nextWakeAt.getTime() > at.getTime() + SOON_MS;
  return turned && webhook.armed && sleeps ? at : null;
}

/**
 * What follows from attempts for their webhook. A webhook that is off has no health, and an attempt from before it
 * was switched, or at an address that it had, says nothing of it unless it was acknowledged.
 * @param retryTimes when those that failed are tried again
 * @returns null where nothing does
 */
export function changeOf(
  webhook: LockedWebhook,
  made: readonly MadeAttempt[],
  retryTimes: readonly Date[],
): WebhookChange | null {
  const heard = made.filter(
    ({ due, url, outcome }) =>
      outcome.delivered || (due.generation === webhook.generation && url === webhook.url),
  );
  if (!webhook.enabled || (heard.length === 0 && retryTimes.length === 0)) return null;
  const outcomes = heard.map(({ outcome }) => outcome);
  const health = healthAfter(webhook, outcomes);
  const { failingSince } = health;
  const at = new Date(Math.max(...made.map(endOf)));
  const turned = webhook.failingSince !== null && webhook.failingSince.getTime() !== failingSince?.getTime();
  const retryAt = retryTimes.length > 0 ? new Date(Math.min(...retryTimes.map(Number))) : null;
  const needed = wakeNeeded({ webhook, failingSince, turned, at, retryAt });
  const sooner = !webhook.armed || webhook.nextWakeAt === null || (needed && needed < webhook.nextWakeAt);
  const limit = disablingDue(health);
  const disables = limit !== null && limit <= at && outcomes.some(({ delivered }) => !delivered);
  return { webhook, ...health, at, turned, disables, wakeAt: sooner ? needed : null };
}

export async function writeChanges(client: Queryable, changes: readonly WebhookChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ webhook, failingSince, lastFailureAt, lastSuccessAt, turned, wakeAt }) => ({
    id: webhook.id,
    failing_since: failingSince,
    last_failure_at: lastFailureAt,
    last_success_at: lastSuccessAt,
    turned,
    wake_at: wakeAt,
    expected_by: wakeAt && new Date(wakeAt.getTime() + ENGINE_GRACE_MS),
  }));
  await client.query({
    name: 'change_attempted_webhooks',
    text: `
      update webhooks w set failing_since = c.failing_since, last_failure_at = c.last_failure_at,
        last_success_at = c.last_success_at,
        warned_at = case when not c.turned then w.warned_at end,
        recovery_armed = w.recovery_armed or c.wake_at is not null,
        next_wake_at = coalesce(c.wake_at, w.next_wake_at),
        engine_expected_by = coalesce(c.expected_by, w.engine_expected_by)
      from json_to_recordset($1) as c (id bigint, failing_since timestamptz, last_failure_at timestamptz,
        last_success_at timestamptz, turned boolean, wake_at timestamptz, expected_by timestamptz)
      where w.id = c.id`,
    values: [JSON.stringify(rows)],
  });
}
