import type pg from 'pg';
import type { Tenant } from '../auth/tenant.ts';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import type { Egress } from '../egress/client.ts';
import { invalid, notFound } from '../errors.ts';
import { appendToOutbox } from '../outbox/service.ts';
import type { Keyring } from '../secrets/keyring.ts';
import { secretPlace } from './endpoint.ts';
import { removeHistory } from './history.ts';
import {
  countUnderLock,
  deleteWebhook,
  findWebhook,
  findWebhooks,
  insertWebhook,
  nextWebhookId,
  type WebhookRow,
} from './model.ts';
import { presentWebhook } from './presenter.ts';
import { recoveryWake } from './recovery-start.ts';
import type { CreateWebhook, WebhookResource } from './schema.ts';
import { createSecret } from './signature.ts';

export const MOST_WEBHOOKS = 10;
/** What a DELETE removes of the history itself; housekeeping removes what is left of a very long one. */
const HISTORY_BATCH = 5_000;
const HISTORY_BATCHES = 4;

export interface WebhookManagerDeps {
  pool: pg.Pool;
  keyring: Keyring;
  egress: Pick<Egress, 'checkUrl'>;
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
  /** @throws AppError not_found */
  get(tenant: Tenant, id: number, reveal: boolean): Promise<WebhookResource>;
  /** Remove it with its history; @throws AppError not_found */
  remove(tenant: Tenant, id: number): Promise<WebhookResource>;
}

async function removeWebhook(pool: pg.Pool, tenant: Tenant, id: number): Promise<WebhookRow> {
  const removed = await inTransaction(pool, async (trx) => {
    const row = await deleteWebhook(trx, tenant, id);
    if (!row) throw notFound('webhook');
    // Its workflow finds no row and ends.
    if (row.recovery_armed) {
      await appendToOutbox(trx, recoveryWake({ id, accountId: tenant.accountId, brandId: tenant.brandId }));
    }
    return row;
  });
  for (let batch = 0; batch < HISTORY_BATCHES; batch += 1) {
    if ((await removeHistory(pool, id, HISTORY_BATCH)) < HISTORY_BATCH) break;
  }
  return removed;
}

export function createWebhookManager({ pool, keyring, egress }: WebhookManagerDeps): WebhookManager {
  const secretOf = (row: WebhookRow) => keyring.open(row.secret_sealed, secretPlace(row.id, row.account_id));
  return {
    async checkUrl(url) {
      const verdict = await egress.checkUrl(url);
      return () => {
        if (!verdict.ok) throw invalid({ url: [verdict.message] });
      };
    },
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
      const row = await findWebhook(pool, tenant, id);
      if (!row) throw notFound('webhook');
      return presentWebhook(row, reveal ? secretOf(row) : null);
    },
    async remove(tenant, id) {
      return presentWebhook(await removeWebhook(pool, tenant, id));
    },
  };
}
