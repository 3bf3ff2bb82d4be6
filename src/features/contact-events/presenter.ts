import type { EventRow } from './model.ts';
import type { EventResource } from './schema.ts';
import type { NewEvent, WriteOutcome } from './write-events.ts';

export function presentEvent(row: EventRow): EventResource {
  return {
    id: row.id,
    account_id: row.account_id,
    contact_id: row.contact_id,
    user_id: row.user_id,
    chain_depth: row.chain_depth,
    event: row.event,
    amount: row.amount,
    data: row.data ?? {},
    idempotency_key: row.idempotency_key,
    resource_uid: row.resource_uid,
    resource_name: row.resource_name,
    resource_url: row.resource_url,
    test: row.test,
    generated: row.generated,
    caused_by_mail: row.caused_by_mail,
    ip: row.ip,
    user_agent: row.user_agent,
    browser: row.browser,
    os: row.os,
    device_type: row.device_type,
    referrer: row.referrer,
    utm_source: row.utm_source,
    utm_medium: row.utm_medium,
    utm_term: row.utm_term,
    utm_content: row.utm_content,
    utm_campaign: row.utm_campaign,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** An event that was just written. */
export function presentNewEvent(event: NewEvent, outcome: WriteOutcome): EventResource {
  return presentEvent({
    ...event,
    caused_by_mail: event.caused_by_mail ?? false,
    contact_id: outcome.contact_id as number,
    ip: outcome.ip,
    created_at: outcome.created_at,
    updated_at: outcome.updated_at,
  });
}
