import { fn, type ModelObject } from 'objection';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { EventType } from './catalogue.ts';

export class WebhookModel extends TenantModel {
  static override readonly tableName = 'webhooks';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'url',
    'events',
    'secret_sealed',
    'secret_last4',
    'enabled',
    'generation',
    'failing_since',
    'recovery_armed',
    'disabled_at',
    'disabled_reason',
    'created_at',
    'updated_at',
  ];

  declare account_id: number;
  declare brand_id: number;
  declare url: string;
  declare events: EventType[];
  declare secret_sealed: string;
  declare secret_last4: string;
  declare previous_secret_sealed: string | null;
  declare previous_secret_until: Date | null;
  declare enabled: boolean;
  declare generation: number;
  declare failing_since: Date | null;
  declare last_failure_at: Date | null;
  declare warned_at: Date | null;
  declare recovery_armed: boolean;
  declare disabled_at: Date | null;
  declare disabled_reason: string | null;
  declare created_at: Date;
  declare updated_at: Date;
}

export type WebhookRow = ModelObject<WebhookModel>;

/** Reserves an id for a new webhook before its row is inserted, because the secret is sealed for that id. */
export async function nextWebhookId(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('webhooks', 'id')) as id`,
  );
  return rows[0]?.id ?? 0;
}

export function insertWebhook(
  client: Queryable,
  tenant: Tenant,
  row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'secret_sealed' | 'secret_last4'>,
): Promise<WebhookRow> {
  return WebhookModel.on(client)
    .insert({ ...row, account_id: tenant.accountId, brand_id: tenant.brandId })
    .returning(WebhookModel.columns)
    .execute();
}

/** All webhooks of the brand, newest first. There are at most ten. */
export function findWebhooks(client: Queryable, tenant: Tenant): Promise<WebhookRow[]> {
  return WebhookModel.ofBrand(client, tenant).orderBy('id', 'desc').select(WebhookModel.columns).execute();
}

export function findWebhook(client: Queryable, tenant: Tenant, id: number): Promise<WebhookRow | null> {
  return WebhookModel.findInBrand(client, tenant, id);
}

/**
 * Reads a webhook and locks it until the transaction ends. Recording a failure and planning a recovery take the same
 * lock. Always lock a webhook before its deliveries.
 * @param client inside a transaction
 */
export async function lockWebhook(client: Queryable, tenant: Tenant, id: number): Promise<WebhookRow | null> {
  const [row] = await WebhookModel.ofBrand(client, tenant)
    .where('id', id)
    .forNoKeyUpdate()
    .select(WebhookModel.columns);
  return row ?? null;
}

/** Columns of an existing row that may change. */
export type WebhookChanges = Partial<
  Pick<
    WebhookModel,
    | 'url'
    | 'events'
    | 'enabled'
    | 'generation'
    | 'disabled_at'
    | 'disabled_reason'
    | 'failing_since'
    | 'last_failure_at'
    | 'warned_at'
    | 'secret_sealed'
    | 'secret_last4'
    | 'previous_secret_sealed'
    | 'previous_secret_until'
  >
>;

/** @param client inside a transaction that has locked the row */
export async function updateWebhook(
  client: Queryable,
  tenant: Tenant,
  id: number,
  changes: WebhookChanges,
): Promise<WebhookRow> {
  const [row] = await WebhookModel.ofBrand(client, tenant)
    .where('id', id)
    .patch({ ...changes, updated_at: fn.now() })
    .returning(WebhookModel.columns);
  return row as WebhookRow;
}

/**
 * Deletes the row. After that, nothing is queued for the webhook, and its queued deliveries and retries are not
 * attempted.
 */
export async function deleteWebhook(
  client: Queryable,
  tenant: Tenant,
  id: number,
): Promise<WebhookRow | null> {
  const rows = await WebhookModel.ofBrand(client, tenant)
    .where('id', id)
    .delete()
    .returning(WebhookModel.columns);
  return rows[0] ?? null;
}
