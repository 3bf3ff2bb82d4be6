/** The load of flow runs on the engine, measured by the events in their histories. */
import { Connection } from '@temporalio/client';
import { flowRunWorkflowId } from '../../workflows/flows/contract.ts';
import { rounded } from './machine.ts';
import type { Stage } from './stage.ts';

const NAMESPACE = 'default';
/** Number of runs whose histories are read. */
const SAMPLE = 20;

/** The engine's operations, each with the history event that represents it (`temporal.api.enums.v1.EventType`). */
const OPERATIONS = new Map([
  [1, 'starts'],
  [7, 'workflow_tasks'],
  [17, 'timers'],
  [26, 'signals'],
  [10, 'activities'],
]);

interface SampledRun {
  flow_id: number;
  contact_id: number;
  cause: string;
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
  const { history } = await connection.workflowService.getWorkflowExecutionHistory({
    namespace: NAMESPACE,
    execution,
  });
  return history?.events ?? [];
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

/** @returns operations and events per step that the sampled runs of a flow have done, by kind */
export async function engineCost(stage: Stage, address: string, flowId: number) {
  const { rows } = await stage.database.pool.query<SampledRun>(
    `select r.flow_id, r.contact_id, r.cause, (select count(*)::int from flow_run_steps s where s.run_id = r.id) as steps
     from flow_runs r where r.flow_id = $1 and r.state <> 'active' order by r.id desc limit ${SAMPLE}`,
    [flowId],
  );
  const steps = rows.reduce((sum, run) => sum + run.steps, 0);
  const totals = new Map<string, number>();
  let events = 0;
  const connection = await Connection.connect({ address });
  try {
    for (const { flow_id: flow, contact_id: contactId, cause } of rows) {
      const counted = await countEvents(connection, flowRunWorkflowId(flow, contactId, cause));
      events += counted.events;
      for (const [name, count] of counted.byOperation) totals.set(name, (totals.get(name) ?? 0) + count);
    }
  } finally {
    await connection.close();
  }
  const each = (count: number) => rounded(count / Math.max(1, steps), 2);
  const operations = [...totals.values()].reduce((sum, count) => sum + count, 0);
  return {
    steps_per_run: rounded(steps / Math.max(1, rows.length), 1),
    operations_per_step: each(operations),
    events_per_step: each(events),
    by_operation: Object.fromEntries([...totals].map(([name, count]) => [name, each(count)])),
  };
}
