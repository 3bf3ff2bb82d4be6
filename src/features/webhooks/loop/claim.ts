import { exactTime, type Queryable } from '../../../platform/db/queryable.ts';
import type { WebhookDelivery } from '../attempts/attempt.ts';

/** A claimed webhook delivery. */
export type OwnedDelivery = Pick<WebhookDelivery, 'deliveryId'>;

/** How much one claim may take. */
export interface ClaimOrder {
  /** The claiming process. */
  owner: number;
  /** The claim starts with the endpoint after this id; 0: with the first endpoint. */
  after: number;
  /** Maximum number of endpoints in one claim. */
  endpoints: number;
  /** Maximum number of deliveries of an endpoint that has no quota of its own. */
  quantum: number;
  /** Maximum number of deliveries by webhook id; 0: none. */
  quotas: ReadonlyMap<number, number>;
}

/**
 * Finds endpoints with queued deliveries by jumping through the index from one to the next, and takes the oldest
 * deliveries of each, so that a backlog at one endpoint does not slow another down.
 */
const claimSql = `
  with recursive alive as materialized (
    select id from processes where id = $1 for key share
  ), endpoint as (
    (select webhook_id from webhook_queue where owner is null and webhook_id > $2 order by webhook_id limit 1)
    union all
    select next.webhook_id from endpoint e cross join lateral (
      select webhook_id from webhook_queue where owner is null and webhook_id > e.webhook_id
      order by webhook_id limit 1) next
  ), allowed as (
    select e.webhook_id, coalesce(q.quota, $4) as quota
    from endpoint e left join unnest($5::bigint[], $6::int[]) as q (webhook_id, quota) using (webhook_id)
    where coalesce(q.quota, $4) > 0
    limit $3
  ), picked as materialized (
    select taken.delivery_id from allowed a cross join lateral (
      select delivery_id from webhook_queue
      where webhook_id = a.webhook_id and owner is null
        -- A process that was reaped claims nothing, and the reaper waits for a claim that has begun.
        and (select id from alive) is not null
      order by delivery_id limit a.quota for update skip locked) taken
  ), claimed as (
    update webhook_queue q set owner = $1 where q.delivery_id = any(array(select delivery_id from picked))
    returning q.delivery_id, q.created_at, q.webhook_id, q.generation, q.event_id
  )
  select seen.count as "endpointsSeen", seen.last as "lastEndpoint", c.delivery_id as "deliveryId", ${exactTime('c.created_at')} as "createdAt", c.webhook_id as "webhookId",
    c.generation, 1 as attempt, c.event_id as "eventId", e.type, e.occurred_at as "occurredAt", e.data::text as data
  from (select count(*) as count, max(webhook_id) as last from allowed) seen
    left join claimed c on true
    left join events e on e.id = c.event_id and e.created_at = c.created_at
  order by c.delivery_id`;

/**
 * How many endpoints the claim looked at, and the id of the last one. If nothing was claimed, this is one row without a
 * delivery.
 */
type ClaimRow = { endpointsSeen: number; lastEndpoint: number | null } & (
  WebhookDelivery | { deliveryId: null }
);

/** The outcome of one claim. */
export interface Claim {
  deliveries: WebhookDelivery[];
  /**
   * {@link ClaimOrder.after} of the next claim; 0 if this one reached the last endpoint. Endpoints whose deliveries
   * other senders are claiming at the same time count as looked at.
   */
  next: number;
}

/** Claims deliveries for their first attempt. A claim is not an intent: it can be returned at any time. */
export async function claimDeliveries(client: Queryable, order: ClaimOrder): Promise<Claim> {
  const { owner, after, endpoints, quantum, quotas } = order;
  const { rows } = await client.query<ClaimRow>({
    name: 'claim_webhook_deliveries',
    text: claimSql,
    values: [owner, after, endpoints, quantum, [...quotas.keys()], [...quotas.values()]],
  });
  const [first] = rows;
  const next = first && first.endpointsSeen >= endpoints ? (first.lastEndpoint ?? 0) : 0;
  return { deliveries: rows.flatMap((row) => (row.deliveryId === null ? [] : row)), next };
}

/** Returns claims, unless another process owns them by now. */
export async function releaseDeliveries(
  client: Queryable,
  owner: number,
  deliveryIds: number[],
): Promise<void> {
  if (deliveryIds.length === 0) return;
  await client.query(
    'update webhook_queue set owner = null where owner = $1 and delivery_id = any($2::bigint[])',
    [owner, deliveryIds],
  );
}

/**
 * Returns a dead process's claims to the queue, in the reaper's transaction. Requests that it was sending are sent
 * again.
 */
export async function releaseWebhookClaims(client: Queryable, processId: number): Promise<void> {
  await client.query('update webhook_queue set owner = null where owner = $1', [processId]);
}

/** @returns the deliveries that this process owns according to the database */
export async function findOwnedDeliveries(client: Queryable, owner: number): Promise<OwnedDelivery[]> {
  const { rows } = await client.query<OwnedDelivery>(
    'select delivery_id as "deliveryId" from webhook_queue where owner = $1',
    [owner],
  );
  return rows;
}

/** Counts at most 100,000 rows: enough for an operator, cheap for the database. */
export async function countWaiting(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*) as count from (select 1 from webhook_queue limit 100000) q',
  );
  return rows[0]?.count ?? 0;
}
