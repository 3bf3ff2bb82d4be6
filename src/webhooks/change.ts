import type { Tenant } from '../auth/tenant.ts';
import type { Queryable } from '../db/queryable.ts';
import { notFound } from '../errors.ts';
import { appendToOutbox } from '../outbox/service.ts';
import { UnsealError, type Keyring } from '../secrets/keyring.ts';
import { secretPlace } from './endpoint.ts';
import { lockWebhook, updateWebhook, type WebhookChanges, type WebhookRow } from './model.ts';
import { recoveryWake } from './recovery-start.ts';
import type { ChangeWebhook } from './schema.ts';
import { createSecret } from './signature.ts';

/** How long after a rotation the old secret signs, too. */
const BOTH_SIGN_MS = 24 * 3_600_000;

/** Continuous failure is told of an endpoint as it is now: another address, or another try, begins anew. */
const healthBegunAnew = { failing_since: null, last_failure_at: null, warned_at: null };

function switched({ generation }: WebhookRow, on: boolean): WebhookChanges {
  const next = { enabled: on, generation: generation + 1 };
  if (!on) return { ...next, disabled_at: new Date(), disabled_reason: 'manual' };
  return { ...next, ...healthBegunAnew, disabled_at: null, disabled_reason: null };
}

function sameEvents(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((type, index) => type === other[index]);
}

function changesOf(row: WebhookRow, { url, events, enabled }: ChangeWebhook): WebhookChanges {
  return {
    ...(url === undefined || url === row.url ? {} : { url, ...healthBegunAnew }),
    ...(events === undefined || sameEvents(events, row.events) ? {} : { events }),
    ...(enabled === undefined || enabled === row.enabled ? {} : switched(row, enabled)),
  };
}

async function requireLocked(trx: Queryable, tenant: Tenant, id: number): Promise<WebhookRow> {
  const row = await lockWebhook(trx, tenant, id);
  if (!row) throw notFound('webhook');
  return row;
}

/**
 * Change a webhook. Its recovery, where there is one, looks again: what waits for a retry ends where the webhook
 * was switched, and goes to the new address where that changed.
 * @param trx a transaction of the caller's
 * @throws AppError not_found
 */
export async function changeWebhook(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  body: ChangeWebhook,
): Promise<WebhookRow> {
  const row = await requireLocked(trx, tenant, id);
  const changes = changesOf(row, body);
  if (Object.keys(changes).length === 0) return row;
  if (row.recovery_armed && ('url' in changes || 'enabled' in changes)) {
    await appendToOutbox(trx, recoveryWake({ id, accountId: tenant.accountId, brandId: tenant.brandId }));
  }
  return updateWebhook(trx, tenant, id, changes);
}

/** A secret that does not open signs nothing, and would keep the new one from signing. */
function opens(keyring: Keyring, row: WebhookRow): boolean {
  try {
    keyring.open(row.secret_sealed, secretPlace(row.id, row.account_id));
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}

/**
 * Give a webhook a new secret; the one it had signs beside it for 24 hours. There is one such beside: a second
 * rotation within the 24 hours ends the first secret at once.
 * @param trx a transaction of the caller's
 * @returns the row and the secret whole
 * @throws AppError not_found
 */
export async function rotateSecret(
  trx: Queryable,
  keyring: Keyring,
  tenant: Tenant,
  id: number,
): Promise<{ row: WebhookRow; secret: string }> {
  const before = await requireLocked(trx, tenant, id);
  const secret = createSecret();
  const kept = opens(keyring, before);
  const row = await updateWebhook(trx, tenant, id, {
    secret_sealed: keyring.seal(secret, secretPlace(id, tenant.accountId)),
    secret_last4: secret.slice(-4),
    previous_secret_sealed: kept ? before.secret_sealed : null,
    previous_secret_until: kept ? new Date(Date.now() + BOTH_SIGN_MS) : null,
  });
  return { row, secret };
}
