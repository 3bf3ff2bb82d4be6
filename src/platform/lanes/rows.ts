import type { LaneKind, LaneMode } from '../../../workflows/lanes/contract.ts';
import type { Queryable } from '../db/queryable.ts';
import { holdsLockSql } from '../processes/liveness-lock.ts';

export interface Lane {
  kind: LaneKind;
  /** Starts at 1. */
  n: number;
}

// A statement that changes several lanes first locks them in the order of kind and number, so that senders cannot
// deadlock.

/**
 * Adds lanes until each kind has as many as there are senders. Marks surplus lanes, and keeps them for restarted
 * senders.
 */
export async function planLanes(client: Queryable, kind: LaneKind): Promise<void> {
  await client.query(
    `with wanted as (select count(*)::int as lanes from processes where role = 'sender' and ${holdsLockSql('id')}),
     added as (
       insert into lanes (kind, n) select $1, generate_series(1, lanes) from wanted
       on conflict (kind, n) do nothing),
     changed as (
       select l.n, l.n > w.lanes as surplus from lanes l cross join wanted w
       where l.kind = $1 and (l.n > w.lanes) is distinct from (l.surplus_since is not null)
       order by l.n for no key update of l)
     update lanes l set surplus_since = case when c.surplus then now() end
     from changed c where l.kind = $1 and l.n = c.n`,
    [kind],
  );
}

export async function hasLanes(client: Queryable, kind: LaneKind): Promise<boolean> {
  const { rowCount } = await client.query('select 1 from lanes where kind = $1 limit 1', [kind]);
  return rowCount === 1;
}

/**
 * Claims the lanes whose workflows have not been checked for a while, so that no other sender checks them, too.
 * @param sinceSeconds 0 claims all lanes
 */
export async function claimLaneChecks(
  client: Queryable,
  sinceSeconds: number,
  surplusSeconds: number,
): Promise<(Lane & { surplus: boolean })[]> {
  const { rows } = await client.query<Lane & { surplus: boolean }>(
    `with due as (
       select kind, n from lanes where checked_at is null or checked_at <= now() - make_interval(secs => $1)
       order by kind, n for no key update)
     update lanes l set checked_at = now() from due d where l.kind = d.kind and l.n = d.n
     returning l.kind, l.n, coalesce(l.surplus_since < now() - make_interval(secs => $2), false) as surplus`,
    [sinceSeconds, surplusSeconds],
  );
  return rows;
}

/** Makes the lanes due for a check again, because this check failed. */
export async function releaseLaneChecks(client: Queryable, lanes: Lane[]): Promise<void> {
  await client.query(
    `with checked as (
       select l.kind, l.n from lanes l join jsonb_to_recordset($1::jsonb) as c (kind text, n int)
         on l.kind = c.kind and l.n = c.n
       order by l.kind, l.n for no key update of l)
     update lanes l set checked_at = null from checked c where l.kind = c.kind and l.n = c.n`,
    [JSON.stringify(lanes)],
  );
}

/** Returns the mode in which the operator left a lane. Inserts the lane, in the mode `running`, if it is new. */
export async function openLane(client: Queryable, lane: Lane): Promise<LaneMode> {
  const { rows } = await client.query<{ mode: LaneMode }>(
    `insert into lanes (kind, n) values ($1, $2)
     on conflict (kind, n) do update set updated_at = lanes.updated_at returning mode`,
    [lane.kind, lane.n],
  );
  return rows[0]?.mode ?? 'running';
}

export async function recordLaneMode(client: Queryable, lane: Lane, mode: LaneMode): Promise<void> {
  await client.query(
    `insert into lanes (kind, n, mode) values ($1, $2, $3)
     on conflict (kind, n) do update set mode = excluded.mode, updated_at = now()`,
    [lane.kind, lane.n, mode],
  );
}

/** @returns null if the lane is gone */
export async function readLaneMode(client: Queryable, lane: Lane): Promise<LaneMode | null> {
  const { rows } = await client.query<{ mode: LaneMode }>(
    'select mode from lanes where kind = $1 and n = $2',
    [lane.kind, lane.n],
  );
  return rows[0]?.mode ?? null;
}

/**
 * Assigns a lane to a process, and takes any other lane of the kind from it, because a process has one loop of each
 * kind.
 */
export async function takeLane(client: Queryable, lane: Lane, processId: number): Promise<void> {
  await client.query(
    `with changed as (
       select n from lanes where kind = $1 and (n = $2 or process_id = $3) order by n for no key update)
     update lanes l set process_id = case when l.n = $2 then $3::bigint end, updated_at = now()
     from changed c where l.kind = $1 and l.n = c.n`,
    [lane.kind, lane.n, processId],
  );
}

/**
 * Assigns a lane without a live process to this one, before the engine decides. This way a sender that restarts while
 * the engine is unavailable still has the mode in which the operator left it.
 * @returns null if every lane is taken
 */
export async function adoptLane(
  client: Queryable,
  kind: LaneKind,
  processId: number,
): Promise<{ n: number; mode: LaneMode } | null> {
  const { rows } = await client.query<{ n: number; mode: LaneMode }>(
    `update lanes set process_id = $2, updated_at = now()
     where kind = $1 and n = (
       select n from lanes
       where kind = $1 and (process_id is null or process_id = $2 or not ${holdsLockSql('process_id')})
       order by process_id = $2 desc nulls last, n limit 1 for update skip locked)
     returning n, mode`,
    [kind, processId],
  );
  return rows[0] ?? null;
}

/**
 * Releases the lanes of a process that stops but still waits for replies, so that the process that replaces it takes
 * them over with their modes. The process no longer counts as a sender: it claims nothing.
 */
export async function releaseLanes(client: Queryable, processId: number): Promise<void> {
  await client.query(
    `with mine as (
       select kind, n from lanes where process_id = $1 order by kind, n for no key update
     ), left_role as (
       update processes set role = 'sender, stopping' where id = $1 and role = 'sender'
     )
     update lanes l set process_id = null, updated_at = now() from mine m where l.kind = m.kind and l.n = m.n`,
    [processId],
  );
}

/** Deletes a surplus lane together with its mode. */
export async function forgetLane(client: Queryable, lane: Lane): Promise<void> {
  await client.query('delete from lanes where kind = $1 and n = $2 and surplus_since is not null', [
    lane.kind,
    lane.n,
  ]);
}
