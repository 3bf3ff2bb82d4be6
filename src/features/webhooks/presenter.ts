import type { WebhookRow } from './model.ts';
import type { WebhookResource } from './schema.ts';
import { maskSecret } from './signature.ts';

/** @param secret the whole secret; null to mask it */
export function presentWebhook(row: WebhookRow, secret: string | null = null): WebhookResource {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    secret: secret ?? maskSecret(row.secret_last4),
    enabled: row.enabled,
    failing_since: row.failing_since?.toISOString() ?? null,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    disabled_reason: row.disabled_reason,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
