import type { EventConsumer } from '../../platform/events/publish.ts';

/**
 * The webhooks' consumer of events: writes a webhook delivery and its queue row for each webhook that is on and
 * subscribed.
 *
 * Webhooks are matched once, when the event is written, and the delivery gets their generation: a webhook that is
 * turned on a moment later does not receive the event. An event and its deliveries have the same `created_at`.
 */
export const webhookConsumer: EventConsumer = {
  channel: 'webhook',
  subscriptionsSql: (type) =>
    `select brand_id from webhooks where enabled${type === undefined ? '' : ` and ${type} = any(events)`}`,
  workTable: 'webhook_matches',
  queueSql: `
  webhook_matches as materialized (
    select i.n, i.id as event_id, i.type, w.id as webhook_id, w.generation
    from new_events i join webhooks w
      on w.enabled and i.type = any(w.events) and w.brand_id = i.brand_id
    union all
    select i.n, i.id, i.type, w.id, w.generation
    from new_events i join webhooks w
      on w.enabled and i.type = any(w.events) and i.brand_id is null and w.account_id = i.account_id
  ), new_webhook_deliveries as (
    insert into webhook_deliveries (webhook_id, event_id, type, generation)
    select webhook_id, event_id, type, generation from webhook_matches order by n, webhook_id
    returning id, created_at, webhook_id, event_id, generation
  ), queued_webhook_deliveries as (
    insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
    select id, created_at, webhook_id, event_id, generation from new_webhook_deliveries
  )`,
};
