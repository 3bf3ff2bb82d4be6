import { requestBody, type SentEvent } from '../attempts/attempt.ts';
import { webhookIdOf } from '../signature.ts';
import type { AttemptRow, DeliveryRow } from './model.ts';
import type { DeliveryDetail, DeliveryResource } from './schema.ts';

export function presentDelivery(row: DeliveryRow): DeliveryResource {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event_id: webhookIdOf(row.event_id),
    type: row.type,
    status: row.status,
    response_code: row.response_code,
    attempt_count: row.attempt_count,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    last_error: row.last_error,
    test: row.test,
    created_at: row.created_at.toISOString(),
  };
}

/** @param event null if it is no longer kept */
export function presentDeliveryDetail(
  row: DeliveryRow,
  event: SentEvent | null,
  attempts: readonly AttemptRow[],
): DeliveryDetail {
  return {
    ...presentDelivery(row),
    request_body: event && requestBody(event),
    attempts: attempts.map((each) => ({
      number: each.attempt,
      started_at: each.started_at.toISOString(),
      duration_ms: each.duration_ms,
      response_code: each.response_code,
      error: each.error,
      response_body: each.response_excerpt,
    })),
  };
}
