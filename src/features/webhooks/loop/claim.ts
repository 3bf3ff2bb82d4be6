import type { Queryable } from '../../../platform/db/queryable.ts';
import { exactTime, type FoundDelivery } from '../attempts/attempt.ts';

/** How much one claim may take. */
export interface ClaimOrder {
  /** The claiming process. */
  owner: number;
  /** Endpoints after this one, by id; what comes before has its turn next time. */
  after: number;
  /** Endpoints of one claim, at most. */
  endpoints: number;
  /** Deliveries of an endpoint without a quota of its own. */
  quantum: number;
  /** Webhook id to deliveries; 0: none. */
  quotas: ReadonlyMap<number, number>;
}

/**
 * Endpoints with something to send are found by jumping through the index from one to the next, and from each the
 * oldest deliveries are taken: what one endpoint has waiting costs another nothing.
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
  ), open as (
    select e.webhook_id, coalesce(q.quota, $4) as quota
    from endpoint e left join unnest($5::bigint[], $6::int[]) as q (webhook_id, quota) using (webhook_id)
    where coalesce(q.quota, $4) > 0
    limit $3
  ), picked as materialized (
    select taken.delivery_id from open o cross join lateral (
      select delivery_id from webhook_queue
      where webhook_id = o.webhook_id and owner is null
        -- Fenced: who was taken for dead claims nothing, and the reaper waits for a claim on its way.
        and (select id from alive) is not null
      order by delivery_id limit o.quota for update skip locked) taken
  ), claimed as (
    update webhook_queue q set owner = $1 where q.delivery_id = any(array(select delivery_id from picked))
    returning q.delivery_id, q.created_at, q.webhook_id, q.generation, q.event_id
  )
  select o.count as open, o.last, c.delivery_id as "deliveryId", ${exactTime('c.created_at')} as "createdAt", c.webhook_id as "webhookId",
    c.generation, 1 as attempt, c.event_id as "eventId", e.type, e.occurred_at as "occurredAt", e.data::text as data
  from (select count(*) as count, max(webhook_id) as last from open) o
    left join claimed c on true
    left join events e on e.id = c.event_id and e.created_at = c.created_at
  order by c.delivery_id`;

/** Endpoints that the claim looked at, and the last of them; without a delivery where nothing could be claimed. */
type ClaimRow = { open: number; last: number | null } & (FoundDelivery | { deliveryId: null });

/** What one claim took. */
export interface Claim {
  deliveries: FoundDelivery[];
  /**
   * Where the next goes on, {@link ClaimOrder.after}; 0: at the start, for this one came to the end. Endpoints whose
   * deliveries other senders were just claiming count as looked at.
   */
  next: number;
}

/** Claim deliveries whose first attempt is to be made. A claim promises nothing and can be taken back. */
export async function claimDeliveries(client: Queryable, order: ClaimOrder): Promise<Claim> {
  const { owner, after, endpoints, quantum, quotas } = order;
  const { rows } = await client.query<ClaimRow>({
    name: 'claim_webhook_deliveries',
    text: claimSql,
    values: [owner, after, endpoints, quantum, [...quotas.keys()], [...quotas.values()]],
  });
  const [first] = rows;
  const next = first && first.open >= endpoints ? (first.last ?? 0) : 0;
  return { deliveries: rows.flatMap((row) => (row.deliveryId === null ? [] : row)), next };
}

/** Give claims back; those that another process has taken meanwhile are left alone. */
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

/** Undo a dead process's claims, inside the reaper's transaction: whatever it was sending is sent again. */
export async function releaseWebhookClaims(client: Queryable, processId: number): Promise<void> {
  await client.query('update webhook_queue set owner = null where owner = $1', [processId]);
}

/** @returns deliveries that the database says this process holds */
export async function claimedDeliveries(client: Queryable, owner: number): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    'select delivery_id as id from webhook_queue where owner = $1',
    [owner],
  );
  return rows.map((row) => row.id);
}

/** At most 100,000 rows are counted: enough for an operator, cheap for the database. */
export async function countWaiting(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*) as count from (select 1 from webhook_queue limit 100000) q',
  );
  return rows[0]?.count ?? 0;
}
