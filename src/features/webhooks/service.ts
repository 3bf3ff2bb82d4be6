import type pg from 'pg';
import type { Logger } from 'pino';
import { notFound, AppError, invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { countUnderLock } from '../../platform/db/brand-limit.ts';
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

const MAX_WEBHOOKS_PER_BRAND = 10;
/** For this long after a rotation, the former secret signs, too. */
const FORMER_SECRET_SIGNS_MS = 24 * 3_600_000;
/**
 * A DELETE itself removes at most {@link MAX_HISTORY_BATCHES} batches of this many deliveries. Housekeeping removes the
 * rest of a very long history.
 */
const HISTORY_BATCH = 5_000;
const MAX_HISTORY_BATCHES = 4;

/** `disabled_reason` of a webhook that was turned off by PATCH. */
const MANUAL_REASON = 'manual';

export { keyOfSecret, signatureHeaders } from './signature.ts';

export interface WebhookManagerDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Pick<Egress, 'checkUrl'>;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** What owners, admins and API keys can do with webhooks. */
export interface WebhookManager {
  /**
   * Checks whether requests to a URL are allowed. It resolves the host name, so call it before the transaction.
   * @throws AppError validation_error if they are not
   */
  requireAllowedUrl(url: string): Promise<void>;
  /**
   * @param trx the caller's transaction
   * @throws AppError validation_error if the brand has ten webhooks
   */
  create(trx: Queryable, tenant: Tenant, body: CreateWebhook): Promise<WebhookResource>;
  list(tenant: Tenant): Promise<WebhookResource[]>;
  /** @throws AppError not_found; conflict if `reveal` is true and the secret cannot be opened */
  get(tenant: Tenant, id: number, reveal: boolean): Promise<WebhookResource>;
  /** @throws AppError not_found; validation_error if requests to the new URL are not allowed */
  change(tenant: Tenant, id: number, body: ChangeWebhook): Promise<WebhookResource>;
  /**
   * Replaces the secret and returns the new one whole. The former one signs, too, for 24 hours.
   * @param trx the caller's transaction
   * @throws AppError not_found
   */
  rotateSecret(trx: Queryable, tenant: Tenant, id: number): Promise<WebhookResource>;
  /** Removes a webhook with its history. @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<WebhookResource>;
}

/** Continuous failure describes the endpoint as it is now: a new URL, or turning it on again, ends it. */
const resetHealth = { failing_since: null, last_failure_at: null, warned_at: null };

function enabledChanges({ generation }: WebhookRow, enabled: boolean): WebhookChanges {
  const next = { enabled, generation: generation + 1 };
  if (!enabled) return { ...next, disabled_at: new Date(), disabled_reason: MANUAL_REASON };
  return { ...next, ...resetHealth, disabled_at: null, disabled_reason: null };
}

function sameEvents(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((type, index) => type === other[index]);
}

function changesOf(row: WebhookRow, { url, events, enabled }: ChangeWebhook): WebhookChanges {
  return {
    ...(url === undefined || url === row.url ? {} : { url, ...resetHealth }),
    ...(events === undefined || sameEvents(events, row.events) ? {} : { events }),
    ...(enabled === undefined || enabled === row.enabled ? {} : enabledChanges(row, enabled)),
  };
}

async function requireLocked(trx: Queryable, tenant: Tenant, id: number): Promise<WebhookRow> {
  const row = await lockWebhook(trx, tenant, id);
  if (!row) throw notFound('webhook');
  return row;
}

/** After a change of `url` or `enabled`, the webhook's recovery workflow, if any, plans again. */
async function changeWebhook(
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

function openSecret(keyring: Keyring, row: WebhookRow): string {
  return keyring.open(row.secret_sealed, secretPlace(row.id, row.account_id));
}

function canOpenSecret(keyring: Keyring, row: WebhookRow): boolean {
  try {
    openSecret(keyring, row);
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}

function revealSecret(keyring: Keyring, row: WebhookRow): string {
  try {
    return openSecret(keyring, row);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    const message = 'the secret can no longer be read because APP_SECRET was changed; rotate it';
    throw new AppError('conflict', message, { cause: error });
  }
}

/**
 * Only one former secret is kept: a second rotation within 24 hours ends the oldest at once. A secret that cannot be
 * opened is not kept, because it cannot sign.
 */
async function rotateSecret(
  trx: Queryable,
  keyring: Keyring,
  tenant: Tenant,
  id: number,
): Promise<{ row: WebhookRow; secret: string }> {
  const before = await requireLocked(trx, tenant, id);
  const secret = createSecret();
  const kept = canOpenSecret(keyring, before);
  const row = await updateWebhook(trx, tenant, id, {
    secret_sealed: keyring.seal(secret, secretPlace(id, tenant.accountId)),
    secret_last4: secret.slice(-4),
    previous_secret_sealed: kept ? before.secret_sealed : null,
    previous_secret_until: kept ? new Date(Date.now() + FORMER_SECRET_SIGNS_MS) : null,
  });
  return { row, secret };
}

async function removeWebhook({ pool }: WebhookManagerDeps, tenant: Tenant, id: number): Promise<WebhookRow> {
  return inTransaction(pool, async (trx) => {
    const row = await deleteWebhook(trx, tenant, id);
    if (!row) throw notFound('webhook');
    // The workflow wakes, finds no row and ends.
    if (row.recovery_armed) {
      await appendToOutbox(trx, recoveryWake({ id, accountId: tenant.accountId, brandId: tenant.brandId }));
    }
    return row;
  });
}

/** Only logs errors: the webhook is already removed, and housekeeping removes the rest. */
async function removeHistoryNow({ pool, log }: WebhookManagerDeps, id: number): Promise<void> {
  try {
    for (let batch = 0; batch < MAX_HISTORY_BATCHES; batch += 1) {
      if ((await removeHistory(pool, id, HISTORY_BATCH)) < HISTORY_BATCH) break;
    }
  } catch (error) {
    log.warn({ err: error, webhook_id: id }, 'history of a removed webhook not removed yet');
  }
}

export function createWebhookManager(deps: WebhookManagerDeps): WebhookManager {
  const { pool, keyring, egress, waker } = deps;

  async function find(tenant: Tenant, id: number): Promise<WebhookRow> {
    const row = await findWebhook(pool, tenant, id);
    if (!row) throw notFound('webhook');
    return row;
  }

  async function requireAllowedUrl(url: string): Promise<void> {
    const verdict = await egress.checkUrl(url);
    if (!verdict.ok) throw invalid({ url: [verdict.message] });
  }

  return {
    requireAllowedUrl,
    async create(trx, tenant, { url, events }) {
      if (
        (await countUnderLock(trx, tenant.brandId, 'webhooks where brand_id = $1')) >= MAX_WEBHOOKS_PER_BRAND
      ) {
        throw invalid({ webhooks: [`are limited to ${MAX_WEBHOOKS_PER_BRAND} for each brand`] });
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
      return presentWebhook(row, reveal ? revealSecret(keyring, row) : null);
    },
    async change(tenant, id, body) {
      const before = await find(tenant, id);
      // An unchanged URL is not checked again: a broken URL must not keep a client from turning the webhook off.
      if (body.url !== undefined && body.url !== before.url) await requireAllowedUrl(body.url);
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
      await removeHistoryNow(deps, id);
      return presentWebhook(row);
    },
  };
}
