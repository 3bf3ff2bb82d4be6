import {
  flowAudienceSignals,
  flowAudienceType,
  flowAudienceWorkflowId,
  flowCohortSignals,
  flowCohortType,
  flowCohortWorkflowId,
  flowRunSignals,
  flowRunType,
  flowRunWorkflowId,
  type FlowAudienceInput,
  type FlowCohortInput,
  type FlowRunInput,
} from '../../../workflows/flows/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import { type OutboxEntry, taskQueues, type WorkflowStart } from '../../platform/temporal/contract.ts';

/** A run with a workflow of its own. */
export interface SingleRun extends RowOfWorkflow {
  flow_id: number;
  contact_id: number;
  cause: string;
}

/** A run, with its clock. */
export interface RunOfFlow extends SingleRun {
  /** Null if the run has a workflow of its own. */
  cohort_id: number | null;
}

/** A cohort of runs that needs its workflow. */
export interface CohortOfFlow extends RowOfWorkflow {
  flow_id: number;
  /** The number of the cohort in its flow. */
  n: number;
}

/** An active flow whose segment is compared with the contacts of the brand. */
export interface FlowWithAudience extends RowOfWorkflow {
  name: string;
}

/** Names of flows are cut to this length, because a workflow's summary is one short line. */
const MAX_NAME = 80;

/** Describes the workflow `flow-run/<flow>/<contact>/<cause>`, so that it can be started from the row alone. */
export function flowRunStart(row: SingleRun): WorkflowStart {
  const { id, accountId, brandId, flow_id: flowId, contact_id: contactId, cause } = row;
  const input: FlowRunInput = { schema: 1, runId: id, accountId };
  return {
    workflowType: flowRunType,
    workflowId: flowRunWorkflowId(flowId, contactId, cause),
    taskQueue: taskQueues.flows,
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, FlowId: flowId, ContactId: contactId },
    summary: `Run ${id} of flow ${flowId} by contact ${contactId}`,
    details: `Run ${id}: contact ${contactId} goes through flow ${flowId} (account ${accountId}, brand ${brandId}). The signal \`cancel\` ends it, like the request of the API.`,
  };
}

/**
 * Signals the workflow that its row changed, or that an event arrived. Starts the workflow if it is not running. All
 * wake-ups of a run are equal, so that the outbox sends those that wait as one; the database has the events that
 * arrived.
 */
export function flowRunWake(row: SingleRun): OutboxEntry {
  return { kind: 'signal_with_start', ...flowRunStart(row), signal: flowRunSignals.wake };
}

/** Describes the workflow `flow-cohort/<flow>/<n>`, so that it can be started from the row alone. */
export function flowCohortStart({ id, accountId, brandId, flow_id: flowId, n }: CohortOfFlow): WorkflowStart {
  const input: FlowCohortInput = { schema: 1, cohortId: id, accountId };
  return {
    workflowType: flowCohortType,
    workflowId: flowCohortWorkflowId(flowId, n),
    taskQueue: taskQueues.cohorts,
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, FlowId: flowId },
    summary: `Cohort ${n} of flow ${flowId}`,
    details: `Cohort ${n}: runs of flow ${flowId} that began close together (account ${accountId}, brand ${brandId}). The signal \`cancel\` ends them all.`,
  };
}

/** Signals the workflow of a cohort that a run was added, or may be due earlier. Starts it if it is not running. */
export function flowCohortWake(row: CohortOfFlow): OutboxEntry {
  return { kind: 'signal_with_start', ...flowCohortStart(row), signal: flowCohortSignals.wake };
}

/** Describes the workflow `flow-audience/<id>`, so that it can be started from the row alone. */
export function flowAudienceStart({ id, accountId, brandId, name }: FlowWithAudience): WorkflowStart {
  const input: FlowAudienceInput = { schema: 1, flowId: id, accountId };
  return {
    workflowType: flowAudienceType,
    workflowId: flowAudienceWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, FlowId: id },
    summary: `Audience of flow ${id} '${name.slice(0, MAX_NAME)}'`,
    details: `Flow ${id} (account ${accountId}, brand ${brandId}): finds contacts who begin to match its segment, for as long as it is active.`,
  };
}

/** Signals the workflow of the audience that its flow changed. Starts the workflow if it is not running. */
export function flowAudienceWake(flow: FlowWithAudience): OutboxEntry {
  return { kind: 'signal_with_start', ...flowAudienceStart(flow), signal: flowAudienceSignals.wake };
}

/** A run needs its workflow until it has ended, unless the one of its cohort is its clock. */
export const flowRunSource = workflowsOfTable<SingleRun>({
  name: 'flow run',
  table: 'flow_runs',
  columns: ['flow_id', 'contact_id', 'cause'],
  needed: `state = 'active' and cohort_id is null`,
  start: flowRunStart,
});

/** A cohort needs its workflow until its last run has ended. */
export const flowCohortSource = workflowsOfTable<CohortOfFlow>({
  name: 'flow cohort',
  table: 'flow_cohorts',
  columns: ['flow_id', 'n'],
  needed: 'ended_at is null',
  start: flowCohortStart,
});

/** A flow with a segment needs the workflow `flow-audience/<id>` while it is active. */
export const flowAudienceSource = workflowsOfTable<FlowWithAudience>({
  name: 'flow audience',
  table: 'flows',
  columns: ['name'],
  start: flowAudienceStart,
});
