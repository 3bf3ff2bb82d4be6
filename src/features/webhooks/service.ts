import type pg from 'pg';
import type { Logger } from 'pino';
import { notFound, AppError, invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { type Queryable, inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { UnsealError, type Keyring } from '../../platform/secrets/keyring.ts';
import { secretPlace } from './attempts/endpoint.ts';
import { removeHistory } from './deliveries/history.ts';
import {
  lockWebhook,
  updateWebhook,
  type WebhookChanges,
  type WebhookRow,
  countUnderLock,
  deleteWebhook,
  findWebhook,
  findWebhooks,
  insertWebhook,
  nextWebhookId,
} from './model.ts';
import { presentWebhook } from './presenter.ts';
import type { ChangeWebhook, CreateWebhook, WebhookResource } from './schema.ts';
import { createSecret } from './signature.ts';
import { recoveryWake } from './workflow.ts';

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

export const MOST_WEBHOOKS = 10;
/** What a DELETE removes of the history itself; housekeeping removes what is left of a very long one. */
const HISTORY_BATCH = 5_000;
const HISTORY_BATCHES = 4;

export interface WebhookManagerDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Pick<Egress, 'checkUrl'>;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** What owners, admins and API keys do with webhooks. */
export interface WebhookManager {
  /**
   * Whether a URL may be called; it asks the name servers, so ask before the transaction.
   * @returns a function that throws AppError validation_error where it may not
   */
  checkUrl(url: string): Promise<() => void>;
  /**
   * @param trx a transaction of the caller's
   * @throws AppError validation_error where the brand has ten
   */
  create(trx: Queryable, tenant: Tenant, body: CreateWebhook): Promise<WebhookResource>;
  list(tenant: Tenant): Promise<WebhookResource[]>;
  /** @throws AppError not_found; with `reveal` conflict where the secret does not open */
  get(tenant: Tenant, id: number, reveal: boolean): Promise<WebhookResource>;
  /** @throws AppError not_found, validation_error where the new URL may not be called */
  change(tenant: Tenant, id: number, body: ChangeWebhook): Promise<WebhookResource>;
  /**
   * A new secret, shown whole; the old one signs beside it for 24 hours.
   * @param trx a transaction of the caller's
   * @throws AppError not_found
   */
  rotateSecret(trx: Queryable, tenant: Tenant, id: number): Promise<WebhookResource>;
  /** Remove it with its history; @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<WebhookResource>;
}

/** The webhook is gone by then: what fails is housekeeping's, and nobody's error. */
async function removeItsHistory({ pool, log }: WebhookManagerDeps, id: number): Promise<void> {
  try {
    for (let batch = 0; batch < HISTORY_BATCHES; batch += 1) {
      if ((await removeHistory(pool, id, HISTORY_BATCH)) < HISTORY_BATCH) break;
    }
  } catch (error) {
    log.warn({ err: error, webhook_id: id }, 'history of a removed webhook not removed yet');
  }
}

async function removeWebhook({ pool }: WebhookManagerDeps, tenant: Tenant, id: number): Promise<WebhookRow> {
  return inTransaction(pool, async (trx) => {
    const row = await deleteWebhook(trx, tenant, id);
    if (!row) throw notFound('webhook');
    // Its workflow finds no row and ends.
    if (row.recovery_armed) {
      await appendToOutbox(trx, recoveryWake({ id, accountId: tenant.accountId, brandId: tenant.brandId }));
    }
    return row;
  });
}

function openSecret(keyring: Keyring, row: WebhookRow): string {
  try {
    return keyring.open(row.secret_sealed, secretPlace(row.id, row.account_id));
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    const message = 'the secret cannot be read any more, for APP_SECRET was changed; rotate it';
    throw new AppError('conflict', message, { cause: error });
  }
}

export function createWebhookManager(deps: WebhookManagerDeps): WebhookManager {
  const { pool, keyring, egress, waker } = deps;

  async function find(tenant: Tenant, id: number): Promise<WebhookRow> {
    const row = await findWebhook(pool, tenant, id);
    if (!row) throw notFound('webhook');
    return row;
  }

  async function checkUrl(url: string): Promise<() => void> {
    const verdict = await egress.checkUrl(url);
    return () => {
      if (!verdict.ok) throw invalid({ url: [verdict.message] });
    };
  }

  return {
    checkUrl,
    async create(trx, tenant, { url, events }) {
      if ((await countUnderLock(trx, tenant)) >= MOST_WEBHOOKS) {
        throw invalid({ webhooks: [`a brand has at most ${MOST_WEBHOOKS}`] });
      }
      const id = await nextWebhookId(trx);
      const secret = createSecret();
      const row = await insertWebhook(trx, tenant, {
        id,
        url,
        events,
        secret_sealed: keyring.seal(secret, secretPlace(id, tenant.accountId)),
        secret_last4: secret.slice(-4),
      });
      return presentWebhook(row, secret);
    },
    async list(tenant) {
      return (await findWebhooks(pool, tenant)).map((row) => presentWebhook(row));
    },
    async get(tenant, id, reveal) {
      const row = await find(tenant, id);
      return presentWebhook(row, reveal ? openSecret(keyring, row) : null);
    },
    async change(tenant, id, body) {
      const before = await find(tenant, id);
      // An address that was taken before is not judged again: what broke must not be in the way of turning it off.
      if (body.url !== undefined && body.url !== before.url) (await checkUrl(body.url))();
      const row = await inTransaction(pool, (trx) => changeWebhook(trx, tenant, id, body));
      waker.wake('outbox');
      return presentWebhook(row);
    },
    async rotateSecret(trx, tenant, id) {
      const { row, secret } = await rotateSecret(trx, keyring, tenant, id);
      return presentWebhook(row, secret);
    },
    async remove(tenant, id) {
      const row = await removeWebhook(deps, tenant, id);
      waker.wake('outbox');
      await removeItsHistory(deps, id);
      return presentWebhook(row);
    },
  };
}
