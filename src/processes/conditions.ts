/** First key of the session advisory lock that a live process holds; the second is its id in `processes`. */
export const LIVENESS_LOCK = 1_129_468_233;

/**
 * SQL: whether the process lives. It holds its lock, which a killed one loses at once.
 * @param id SQL for an id of `processes`; where it is null, the condition is false
 */
export const holdsLockSql = (id: string): string => `exists (
  select 1 from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.classid = ${LIVENESS_LOCK} and l.objid = ${id}::int::oid
    and l.database = (select oid from pg_database where datname = current_database()))`;

/**
 * SQL: whether the process has neither claims nor intents. A row of `processes` that owns something stays:
 * whoever reaps it gives that back.
 * @param id SQL for an id of `processes`, with its table
 */
export const ownsNothingSql = (id: string): string => `
  not exists (select 1 from send_queue where owner = ${id})
  and not exists (select 1 from handovers where owner = ${id})
  and not exists (select 1 from webhook_queue where owner = ${id})`;
