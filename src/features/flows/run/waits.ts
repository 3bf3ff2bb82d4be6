/**
 * Events that runs wait for. A run registers its wait under the exclusive lock of its contact's events, and reads
 * earlier events in the same transaction. Transactions that write events hold that lock shared, and deliver the events
 * to waiting runs themselves. So each event is either found or delivered, and never both.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { runOfFlowColumns, wakeRuns } from '../cohorts/wakes.ts';
import type { RunOfFlow } from '../workflow.ts';
import type { ArrivedEvent } from './interpreter.ts';

/** The step id under which runs wait for the goal of their flow. */
export const GOAL_STEP = 0;

/** An event that is being written, with what runs need of it. */
interface ArrivingEvent {
  id: number;
  brandId: number;
  contactId: number;
  name: string;
  data: Readonly<Record<string, unknown>>;
  createdAt: Date;
  /** Test events are delivered to test runs only, and live events to live runs only. */
  test: boolean;
}

/** SQL: stores the events for the runs that wait for them, and returns each of these runs once. */
const arriveSql = `
  with event as (
    select * from jsonb_to_recordset($1::jsonb) as e (
      id bigint, brand_id bigint, contact_id bigint, name text, data jsonb, created_at timestamptz, test boolean)
  ), arrived as (
    insert into flow_arrivals (run_id, step_id, event_id, data, occurred_at)
    select w.run_id, w.step_id, e.id, e.data, e.created_at
    from event e
    join flow_waits w on w.contact_id = e.contact_id and w.event_name = e.name and w.brand_id = e.brand_id
    join flow_runs r on r.id = w.run_id and r.test = e.test and r.state = 'active'
    order by w.run_id, w.step_id, e.id
    on conflict do nothing
    returning run_id
  )
  select ${runOfFlowColumns('r')}
  from flow_runs r where r.id in (select run_id from arrived) order by r.id`;

/**
 * Delivers events to the runs that wait for them, and wakes each of these runs once.
 * @param trx the transaction that has written the events. It holds the shared locks of their contacts, see `lockContacts`
 * @returns how many runs are woken; if any, wake `outbox` after the commit
 */
export async function arrive(trx: Queryable, events: readonly ArrivingEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const input = events.map(({ brandId, contactId, createdAt, id, name, data, test }) => ({
    id,
    name,
    data,
    test,
    brand_id: brandId,
    contact_id: contactId,
    created_at: createdAt,
  }));
  const { rows } = await trx.query<RunOfFlow>({
    name: 'flow_arrivals_3',
    text: arriveSql,
    values: [JSON.stringify(input)],
  });
  await wakeRuns(trx, rows, 1);
  return rows.length;
}

/** A wait of one run for events of its contact. */
export interface NewWait {
  runId: number;
  stepId: number;
  brandId: number;
  contactId: number;
  eventName: string;
  test: boolean;
  /** Events that were written before count if they are from this time or later. */
  since: Date;
  /** The event that caused the entry, which does not count; null if there is none. */
  causeId: number | null;
  /**
   * Whether events count that are already in the run's path, because they ended a wait or one of its steps tracked
   * them.
   */
  again: boolean;
}

/** Maximum number of earlier events that one wait reads, the earliest first. */
const MAX_EARLIER = 1_000;
/** Maximum number of events that several runs read together, up to 32 KB each. */
const MAX_TOGETHER = 2_000;

/** Runs have too many events for one transaction. Each of them can be taken in one of its own. */
export class TooManyEventsError extends Error {}

/** The number of events to read: of several runs, one more than they may. */
const limitOf = (runs: readonly unknown[]) => (runs.length > 1 ? MAX_TOGETHER + 1 : null);

/**
 * Keeps the events of hundreds of runs from filling the memory, and events of their contacts from waiting while those
 * are judged.
 */
function requireFew(events: readonly unknown[], runs: readonly unknown[]): void {
  if (runs.length > 1 && events.length > MAX_TOGETHER) {
    throw new TooManyEventsError(`${runs.length} runs have more than ${MAX_TOGETHER} events together`);
  }
}

/** SQL: registers waits, and reads the earlier events of each. */
const awaitSql = `
  with wait as materialized (
    select * from unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[],
      $7::timestamptz[], $8::bigint[], $9::boolean[])
      as w (run_id, step_id, brand_id, contact_id, event_name, test, since, cause_id, again)
  ), registered as (
    insert into flow_waits (run_id, step_id, brand_id, contact_id, event_name)
    select run_id, step_id, brand_id, contact_id, event_name from wait order by run_id
    on conflict (run_id, step_id) do update set event_name = excluded.event_name
  ), earlier as (
    delete from flow_arrivals a using wait w where a.run_id = w.run_id and a.step_id = w.step_id)
  select w.run_id as "runId", e.id, coalesce(e.data, '{}') as data, e.created_at as "occurredAt"
  from wait w join event_names n on n.brand_id = w.brand_id and n.name = w.event_name
  cross join lateral (
    select e.id, e.data, e.created_at from contact_events e
    where e.contact_id = w.contact_id and e.name_id = n.id and e.test = w.test and e.created_at >= w.since
      and e.id is distinct from w.cause_id
      and (w.again or not exists (select 1 from flow_run_steps s where s.run_id = w.run_id and s.event_id = e.id))
    order by e.created_at, e.id limit ${MAX_EARLIER}) e
  order by w.run_id, e.created_at, e.id limit $10`;

/**
 * Makes runs wait for events.
 * @param trx holds the exclusive locks of the contacts, see `lockContacts`, and took them with a statement before this
 * @param waits at most one of each run
 * @returns for each wait the earlier events that count, the earliest first
 * @throws TooManyEventsError
 */
export async function awaitEvents(trx: Queryable, waits: readonly NewWait[]): Promise<ArrivedEvent[][]> {
  const { rows } = await trx.query<ArrivedEvent & { runId: number }>({
    name: 'await_events_of_runs',
    text: awaitSql,
    values: [
      waits.map(({ runId }) => runId),
      waits.map(({ stepId }) => stepId),
      waits.map(({ brandId }) => brandId),
      waits.map(({ contactId }) => contactId),
      waits.map(({ eventName }) => eventName),
      waits.map(({ test }) => test),
      waits.map(({ since }) => since),
      waits.map(({ causeId }) => causeId),
      waits.map(({ again }) => again),
      limitOf(waits),
    ],
  });
  requireFew(rows, waits);
  const found = Map.groupBy(rows, ({ runId }) => runId);
  return waits.map(({ runId }) => found.get(runId)?.map(({ runId: _, ...event }) => event) ?? []);
}

/** An event that arrived for a wait of a run. */
export interface Arrival extends ArrivedEvent {
  stepId: number;
}

/**
 * Reads the events that have arrived for runs and have not been judged yet.
 * @returns by the id of the run, the earliest first; runs without any are absent
 * @throws TooManyEventsError
 */
export async function readArrivals(
  trx: Queryable,
  runIds: readonly number[],
): Promise<ReadonlyMap<number, Arrival[]>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await trx.query<Arrival & { runId: number }>({
    name: 'read_arrivals_of_runs',
    text: `select run_id as "runId", step_id as "stepId", event_id as id, coalesce(data, '{}') as data,
             occurred_at as "occurredAt"
           from flow_arrivals where run_id = any($1) order by occurred_at, event_id limit $2`,
    values: [runIds, limitOf(runIds)],
  });
  requireFew(rows, runIds);
  return Map.groupBy(rows, ({ runId }) => runId);
}

/** A wait that another transaction registers on behalf of the run. */
interface WaitOfRun {
  /** Whether the run is a test run. */
  id: number;
  stepId: number;
  brandId: number;
  contactId: number;
  test: boolean;
  eventName: string;
  /** Events that were written before count if they are from this time or later. */
  since: Date;
  /** The event that caused the entry, which does not count. */
  causeId: number | null;
}

/** SQL: registers waits, and stores the earliest event of each that was written before them as arrived. */
const registerSql = `
  with run as materialized (
    select * from jsonb_to_recordset($1::jsonb) as r (
      id bigint, step_id integer, brand_id bigint, contact_id bigint, event_name text, test boolean, since timestamptz,
      cause_id bigint)
  ), registered as (
    insert into flow_waits (run_id, step_id, brand_id, contact_id, event_name)
    select id, step_id, brand_id, contact_id, event_name from run order by id
    on conflict (run_id, step_id) do update set event_name = excluded.event_name
  )
  insert into flow_arrivals (run_id, step_id, event_id, data, occurred_at)
  select r.id, r.step_id, e.id, case when r.step_id <> ${GOAL_STEP} then e.data end, e.created_at
  from run r join event_names n on n.brand_id = r.brand_id and n.name = r.event_name
  cross join lateral (
    select e.id, e.created_at, e.data from contact_events e
    where e.contact_id = r.contact_id and e.name_id = n.id and e.test = r.test and e.created_at >= r.since
      and e.id is distinct from r.cause_id
    order by e.created_at, e.id limit 1) e
  on conflict do nothing
  returning run_id`;

/**
 * Makes runs wait for events.
 * @param trx holds the exclusive locks of the contacts, see `lockContacts`, and has inserted the runs
 * @returns the ids of the runs whose event was already written
 */
export async function registerWaits(trx: Queryable, waits: readonly WaitOfRun[]): Promise<Set<number>> {
  if (waits.length === 0) return new Set();
  const input = waits.map(({ id, stepId, brandId, contactId, eventName, test, since, causeId }) => ({
    id,
    test,
    since,
    step_id: stepId,
    brand_id: brandId,
    contact_id: contactId,
    event_name: eventName,
    cause_id: causeId,
  }));
  const { rows } = await trx.query<{ run_id: number }>({
    name: 'register_flow_waits',
    text: registerSql,
    values: [JSON.stringify(input)],
  });
  return new Set(rows.map((row) => row.run_id));
}

/** A run, with the goal of its flow. */
export interface RunWithGoal extends Omit<WaitOfRun, 'stepId' | 'eventName'> {
  goal: string;
}

/**
 * Makes runs wait for their goals. A run that has already reached its goal ends when it next advances.
 * @param trx as for {@link registerWaits}
 * @returns the ids of the runs that have
 */
export function registerGoals(trx: Queryable, runs: readonly RunWithGoal[]): Promise<Set<number>> {
  return registerWaits(
    trx,
    runs.map(({ goal, ...run }) => ({ ...run, stepId: GOAL_STEP, eventName: goal })),
  );
}
