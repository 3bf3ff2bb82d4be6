import type pg from 'pg';
import { AppError, notFound } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { Page, RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { eventCatalogue, type EventType } from '../catalogue.ts';
import { findWebhook, lockWebhook } from '../model.ts';
import { wakeRecoveryNow } from '../workflow.ts';
import {
  countDeliveries,
  findAttempts,
  findDeliveries,
  findDelivery,
  findSentEvent,
  insertTestDelivery,
  makeAllDue,
  makeDue,
  type DeliveryRow,
} from './model.ts';
import { presentDelivery, presentDeliveryDetail } from './presenter.ts';
import type { DeliveryDetail, DeliveryFilters, DeliveryResource, RetriedDeliveries } from './schema.ts';

/** A delivery with this many attempts cannot be retried by hand. Well below what the attempt number's column can store. */
export const MAX_ATTEMPTS = 100;

/** What owners, admins and API keys can do with the deliveries of a webhook. */
export interface WebhookDeliveries {
  /** @throws AppError not_found */
  list(
    tenant: Tenant,
    webhookId: number,
    filters: DeliveryFilters,
    page: Page,
  ): Promise<{ deliveries: DeliveryResource[]; counted: RowCount }>;
  /** A webhook delivery with its attempts. @throws AppError not_found */
  get(tenant: Tenant, webhookId: number, id: number): Promise<DeliveryDetail>;
  /**
   * Queues a sample event for this webhook alone. Wake `webhook` after the commit.
   * @param trx the caller's transaction
   * @throws AppError not_found; conflict if the webhook is off
   */
  sendTest(trx: Queryable, tenant: Tenant, webhookId: number, type: EventType): Promise<DeliveryResource>;
  /**
   * Makes a webhook delivery due now, whatever its outcome so far. A delivery whose first attempt has not been made yet
   * stays unchanged. Wake `outbox` after the commit.
   * @param trx the caller's transaction
   * @throws AppError not_found; conflict if the webhook is off or the delivery has had a hundred attempts
   */
  retry(trx: Queryable, tenant: Tenant, webhookId: number, id: number): Promise<DeliveryResource>;
  /**
   * Makes finished deliveries due now, the oldest first, at most {@link MAX_RETRIED}. Wake `outbox` after the commit.
   * @param trx the caller's transaction
   * @returns their number
   * @throws AppError not_found; conflict if the webhook is off
   */
  retryAll(trx: Queryable, tenant: Tenant, webhookId: number, which: RetriedDeliveries): Promise<number>;
}

function webhookOff(): AppError {
  return new AppError('conflict', 'the webhook is off: turn it on first');
}

async function requireDelivery(client: Queryable, webhookId: number, id: number): Promise<DeliveryRow> {
  const row = await findDelivery(client, webhookId, id);
  if (!row) throw notFound('delivery');
  return row;
}

async function retry(trx: Queryable, tenant: Tenant, webhookId: number, id: number): Promise<DeliveryRow> {
  const webhook = await lockWebhook(trx, tenant, webhookId);
  if (!webhook) throw notFound('webhook');
  const delivery = await requireDelivery(trx, webhookId, id);
  if (!webhook.enabled) throw webhookOff();
  if (delivery.attempt_count >= MAX_ATTEMPTS) {
    throw new AppError('conflict', `a delivery has at most ${MAX_ATTEMPTS} attempts`);
  }
  const due = await makeDue(trx, delivery, webhook.generation);
  if (!due) return delivery;
  await wakeRecoveryNow(trx, { id: webhookId, accountId: tenant.accountId, brandId: tenant.brandId });
  return due;
}

async function retryAll(
  trx: Queryable,
  tenant: Tenant,
  webhookId: number,
  which: RetriedDeliveries,
): Promise<number> {
  const webhook = await lockWebhook(trx, tenant, webhookId);
  if (!webhook) throw notFound('webhook');
  if (!webhook.enabled) throw webhookOff();
  const count = await makeAllDue(trx, webhook, which, MAX_ATTEMPTS);
  if (count > 0) {
    await wakeRecoveryNow(trx, { id: webhookId, accountId: tenant.accountId, brandId: tenant.brandId });
  }
  return count;
}

export function createWebhookDeliveries({ pool }: { pool: pg.Pool }): WebhookDeliveries {
  async function requireWebhook(client: Queryable, tenant: Tenant, id: number): Promise<void> {
    if (!(await findWebhook(client, tenant, id))) throw notFound('webhook');
  }

  return {
    async list(tenant, webhookId, filters, page) {
      await requireWebhook(pool, tenant, webhookId);
      const [rows, counted] = await Promise.all([
        findDeliveries(pool, webhookId, filters, page),
        countDeliveries(pool, webhookId, filters),
      ]);
      return { deliveries: rows.map(presentDelivery), counted };
    },
    async get(tenant, webhookId, id) {
      await requireWebhook(pool, tenant, webhookId);
      const row = await requireDelivery(pool, webhookId, id);
      const [event, attempts] = await Promise.all([
        findSentEvent(pool, row),
        findAttempts(pool, webhookId, id),
      ]);
      return presentDeliveryDetail(row, event, attempts);
    },
    async sendTest(trx, tenant, webhookId, type) {
      await requireWebhook(trx, tenant, webhookId);
      const occurredAt = new Date();
      const data = eventCatalogue[type].sample(occurredAt);
      const row = await insertTestDelivery(trx, tenant, webhookId, { type, occurredAt, data });
      if (!row) throw webhookOff();
      return presentDelivery(row);
    },
    async retry(trx, tenant, webhookId, id) {
      return presentDelivery(await retry(trx, tenant, webhookId, id));
    },
    retryAll,
  };
}
