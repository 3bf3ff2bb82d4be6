import type { Queryable } from '../../platform/db/queryable.ts';

/** Deletes events and their keys. @returns the number of deleted events */
export async function deleteEventsOf(db: Queryable, contactId: number, limit: number): Promise<number> {
  const { rows } = await db.query<{ deleted: number }>(
    `with found as materialized (
       select id, created_at from contact_events where contact_id = $1 order by created_at limit $2
     ), deleted as (
       delete from contact_events e using found
       where e.contact_id = $1 and e.created_at = found.created_at and e.id = found.id
       returning e.brand_id, e.id, e.idempotency_key
     ), freed as (
       delete from contact_event_keys k using deleted d
       where k.brand_id = d.brand_id and k.test in (false, true) and k.key = d.idempotency_key and k.event_id = d.id
     )
     select count(*) as deleted from deleted`,
    [contactId, limit],
  );
  return rows[0]?.deleted ?? 0;
}
