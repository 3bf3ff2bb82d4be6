/** The load of flows on the engine, measured by the events in their histories. */
import { Connection } from '@temporalio/client';
import { flowCohortWorkflowId, flowRunWorkflowId } from '../../workflows/flows/contract.ts';
import { rounded } from './machine.ts';
import type { Stage } from './stage.ts';

const NAMESPACE = 'default';
/** Number of runs, and of cohorts, whose histories are read. */
const SAMPLE = 20;

/** The engine's operations, each with the history event that represents it (`temporal.api.enums.v1.EventType`). */
const OPERATIONS = new Map([
  [1, 'starts'],
  [7, 'workflow_tasks'],
  [17, 'timers'],
  [26, 'signals'],
  [10, 'activities'],
]);

/** A workflow that is the clock of runs, and the steps that these have taken. */
interface Clock {
  workflowId: string;
  steps: number;
}

interface Counted {
  events: number;
  byOperation: Map<string, number>;
}

type Answer = Awaited<ReturnType<Connection['workflowService']['getWorkflowExecutionHistory']>>;
type HistoryEvents = NonNullable<NonNullable<Answer['history']>['events']>;

async function eventsOf(connection: Connection, workflowId: string, runId: string): Promise<HistoryEvents> {
  const execution = { workflowId, ...(runId === '' ? {} : { runId }) };
  const events: HistoryEvents = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const answer: Answer = await connection.workflowService.getWorkflowExecutionHistory({
      namespace: NAMESPACE,
      execution,
      ...(nextPageToken ? { nextPageToken } : {}),
    });
    events.push(...(answer.history?.events ?? []));
    nextPageToken = answer.nextPageToken;
  } while (nextPageToken?.length);
  return events;
}

/** Counts the events of a workflow, including all runs that it continued as new. */
async function countEvents(connection: Connection, workflowId: string): Promise<Counted> {
  const byOperation = new Map<string, number>();
  let events = 0;
  let runId: string | null = '';
  while (runId !== null) {
    const found = await eventsOf(connection, workflowId, runId);
    events += found.length;
    for (const { eventType } of found) {
      const operation = OPERATIONS.get(Number(eventType));
      if (operation !== undefined) byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1);
    }
    runId = found[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || null;
  }
  return { events, byOperation };
}

/** The latest runs of a flow that have a workflow of their own, and have ended. */
async function singleRuns({ database: { pool } }: Stage, flowId: number): Promise<Clock[]> {
  const { rows } = await pool.query<{ contact_id: number; cause: string; steps: number }>(
    `select r.contact_id, r.cause, (select count(*)::int from flow_run_steps s where s.run_id = r.id) as steps
     from flow_runs r where r.flow_id = $1 and r.state <> 'active' and r.cohort_id is null
     order by r.id desc limit ${SAMPLE}`,
    [flowId],
  );
  return rows.map(({ contact_id: contactId, cause, steps }) => ({
    workflowId: flowRunWorkflowId(flowId, contactId, cause),
    steps,
  }));
}

/** The latest cohorts of a flow. */
async function cohorts({ database: { pool } }: Stage, flowId: number): Promise<Clock[]> {
  const { rows } = await pool.query<{ n: number; steps: number }>(
    `select c.n, count(*)::int as steps
     from (select id, n from flow_cohorts where flow_id = $1 order by n desc limit ${SAMPLE}) c
     join flow_runs r on r.cohort_id = c.id join flow_run_steps s on s.run_id = r.id
     group by c.n`,
    [flowId],
  );
  return rows.map(({ n, steps }) => ({ workflowId: flowCohortWorkflowId(flowId, n), steps }));
}

async function costOf(connection: Connection, clocks: readonly Clock[]) {
  const totals = new Map<string, number>();
  let events = 0;
  for (const { workflowId } of clocks) {
    const counted = await countEvents(connection, workflowId);
    events += counted.events;
    for (const [name, count] of counted.byOperation) totals.set(name, (totals.get(name) ?? 0) + count);
  }
  const steps = clocks.reduce((sum, clock) => sum + clock.steps, 0);
  const operations = [...totals.values()].reduce((sum, count) => sum + count, 0);
  const each = (count: number) => rounded(count / Math.max(1, steps), 4);
  return {
    steps,
    operations_per_step: each(operations),
    events_per_step: each(events),
    by_operation: Object.fromEntries([...totals].map(([name, count]) => [name, each(count)])),
  };
}

/**
 * Reads histories of a flow's workflows: of the latest runs that have one of their own, and of the latest cohorts.
 * @returns operations and events per step, by kind
 */
export async function engineCost(stage: Stage, address: string, flowId: number) {
  const connection = await Connection.connect({ address });
  try {
    return {
      single: await costOf(connection, await singleRuns(stage, flowId)),
      cohorts: await costOf(connection, await cohorts(stage, flowId)),
    };
  } finally {
    await connection.close();
  }
}
