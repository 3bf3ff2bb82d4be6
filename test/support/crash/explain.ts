import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import type { CrashStage } from './stage.ts';

/** Returns the first characters of a JSON text, because rows may contain long ones. */
const shown = (value: unknown) => JSON.stringify(value, null, 1).slice(0, 20_000);

const timeOf = (time: { seconds?: unknown } | null | undefined) =>
  time ? new Date(Number(time.seconds) * 1_000).toISOString() : null;

/** The type of an event of a history, such as `activityTaskScheduled`. */
const typeOf = (event: object) =>
  Object.keys(event).flatMap((name) => /^(.*)EventAttributes$/.exec(name)?.[1] ?? [])[0];

/** What the engine knows about a workflow: its status, its last events, and what it waits for. */
async function describeWorkflow(client: Client, workflowId: string): Promise<unknown> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    const { status, taskQueue, raw } = await handle.describe();
    const { events = [] } = await handle.fetchHistory();
    return {
      workflowId,
      status: status.name,
      taskQueue,
      pendingTask: raw.pendingWorkflowTask,
      pendingActivities: raw.pendingActivities?.map((each) => ({
        type: each.activityType?.name,
        state: each.state,
        attempt: each.attempt,
        worker: each.lastWorkerIdentity,
        scheduled: timeOf(each.scheduledTime),
        started: timeOf(each.lastStartedTime),
        heartbeat: timeOf(each.lastHeartbeatTime),
        failure: each.lastFailure?.message,
      })),
      lastEvents: events?.slice(-6).map((event) => `${timeOf(event.eventTime)} ${typeOf(event)}`),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { workflowId, status: 'unknown to the engine' };
    throw error;
  }
}

/** What belongs to no single row: processes, and work that waits for one. */
const SURROUNDINGS = `
  select now(),
    (select jsonb_agg(p) from (select id, role, pid, started_at, seen_at from processes order by id) p) as processes,
    (select jsonb_agg(o) from (
      select id, kind, workflow_id, leased_until, attempt_count, last_error from outbox order by id limit 20) o) as outbox,
    (select count(*) from outbox) as outbox_count, (select count(*) from flow_entries) as entries,
    (select jsonb_agg(q) from (
      select message_id, owner, due_at, attempt_count from send_queue order by due_at limit 20) q) as send_queue,
    (select jsonb_agg(h) from (select * from handovers limit 20) h) as handovers`;

/** Rows that a test waits for, and their workflows. */
export interface AwaitedRows {
  /** SQL: the rows that have not reached their end, each with the id of its workflow as `workflow_id`. */
  sql: string;
  values: unknown[];
}

/** Number of workflows that are described. */
const MAX_WORKFLOWS = 5;

async function findState(stage: CrashStage, awaited: AwaitedRows | null): Promise<unknown> {
  const { rows } = awaited
    ? await stage.database.pool.query<{ workflow_id: string }>(awaited.sql, awaited.values)
    : { rows: [] };
  const surroundings = await stage.database.pool.query(SURROUNDINGS);
  const connection = await Connection.connect({ address: stage.engine.address });
  try {
    const client = new Client({ connection });
    const ids = rows.slice(0, MAX_WORKFLOWS).map((row) => row.workflow_id);
    const workflows = await Promise.all(ids.map((id) => describeWorkflow(client, id)));
    return { count: rows.length, rows: rows.slice(0, 20), workflows, ...surroundings.rows[0] };
  } finally {
    await connection.close();
  }
}

/**
 * Adds to the error of a wait what it waited for: the rows that are not at their end, their workflows, what else is
 * unfinished, and the last lines of each role.
 * @param awaited null if only the other work is to be shown
 */
export async function explained<T>(
  stage: CrashStage,
  awaited: AwaitedRows | null,
  waiting: Promise<T>,
): Promise<T> {
  try {
    return await waiting;
  } catch (error) {
    const state = await findState(stage, awaited).then(
      shown,
      (cause: unknown) => `unknown: ${String(cause)}`,
    );
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}\n${state}\n${stage.lastLines()}`, { cause: error });
  }
}
