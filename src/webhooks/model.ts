import type { Tenant } from '../auth/tenant.ts';
import type { Queryable } from '../db/queryable.ts';
import type { EventType } from './events.ts';

export interface WebhookRow {
  id: number;
  account_id: number;
  brand_id: number;
  url: string;
  events: EventType[];
  secret_sealed: string;
  secret_last4: string;
  enabled: boolean;
  generation: number;
  failing_since: Date | null;
  recovery_armed: boolean;
  disabled_at: Date | null;
  disabled_reason: string | null;
  created_at: Date;
  updated_at: Date;
}

const columns = `id, account_id, brand_id, url, events, secret_sealed, secret_last4, enabled, generation,
  failing_since, recovery_armed, disabled_at, disabled_reason, created_at, updated_at`;

/** An id for a row to come: its secret is sealed to it. */
export async function nextWebhookId(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('webhooks', 'id')) as id`,
  );
  return rows[0]?.id ?? 0;
}

/**
 * How many webhooks a brand has, and nobody adds one before this transaction ends.
 * @param client inside a transaction
 */
export async function countUnderLock(client: Queryable, tenant: Tenant): Promise<number> {
  await client.query('select 1 from brands where id = $1 for no key update', [tenant.brandId]);
  const { rows } = await client.query<{ count: number }>(
    'select count(*) as count from webhooks where brand_id = $1',
    [tenant.brandId],
  );
  return rows[0]?.count ?? 0;
}

export async function insertWebhook(
  client: Queryable,
  tenant: Tenant,
  row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'secret_sealed' | 'secret_last4'>,
): Promise<WebhookRow> {
  const { rows } = await client.query<WebhookRow>(
    `insert into webhooks (id, account_id, brand_id, url, events, secret_sealed, secret_last4)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${columns}`,
    [row.id, tenant.accountId, tenant.brandId, row.url, row.events, row.secret_sealed, row.secret_last4],
  );
  return rows[0] as WebhookRow;
}

/** All of a brand's, newest first: there are ten at most. */
export async function findWebhooks(client: Queryable, tenant: Tenant): Promise<WebhookRow[]> {
  const { rows } = await client.query<WebhookRow>(
    `select ${columns} from webhooks where account_id = $1 and brand_id = $2 order by id desc`,
    [tenant.accountId, tenant.brandId],
  );
  return rows;
}

export async function findWebhook(client: Queryable, tenant: Tenant, id: number): Promise<WebhookRow | null> {
  const { rows } = await client.query<WebhookRow>(
    `select ${columns} from webhooks where account_id = $1 and brand_id = $2 and id = $3`,
    [tenant.accountId, tenant.brandId, id],
  );
  return rows[0] ?? null;
}

/** Remove the row: from now on nothing is queued for it, and what is queued or retrying is not attempted. */
export async function deleteWebhook(
  client: Queryable,
  tenant: Tenant,
  id: number,
): Promise<WebhookRow | null> {
  const { rows } = await client.query<WebhookRow>(
    `delete from webhooks where account_id = $1 and brand_id = $2 and id = $3 returning ${columns}`,
    [tenant.accountId, tenant.brandId, id],
  );
  return rows[0] ?? null;
}
