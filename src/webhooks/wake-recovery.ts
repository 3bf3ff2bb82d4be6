import type { Queryable } from '../db/queryable.ts';
import { appendToOutbox } from '../outbox/service.ts';
import { ENGINE_GRACE_MS, recoveryWake, type RecoveredWebhook } from './recovery-start.ts';

/**
 * Have something that is due now attempted: arm the recovery, or bring its wake-up forward, and tell the engine.
 * Call `waker.wake('outbox')` after the commit.
 * @param trx a transaction that has locked the webhook
 */
export async function wakeRecoveryNow(trx: Queryable, webhook: RecoveredWebhook): Promise<void> {
  await trx.query(
    `update webhooks set recovery_armed = true, next_wake_at = least(next_wake_at, now()),
       engine_expected_by = least(engine_expected_by, now() + make_interval(secs => $2))
     where id = $1`,
    [webhook.id, ENGINE_GRACE_MS / 1_000],
  );
  await appendToOutbox(trx, recoveryWake(webhook));
}
