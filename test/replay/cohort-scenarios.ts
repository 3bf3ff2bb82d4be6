import type { WorkflowHandle } from '@temporalio/client';
import { addEntries } from '../../src/features/flows/entry/entries.ts';
import { pauseFlow, resumeFlow } from '../../src/features/flows/transitions.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { flowCohortSignals, flowCohortWorkflowId } from '../../workflows/flows/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestTracker, type FlowSpec, insertFlow } from '../support/flow-runs.ts';
import { until } from '../workflows/until.ts';
import { mark, waitForEvent, withEndpoint } from './flow-scenarios.ts';
import type { Scenario, Stage } from './scenarios.ts';

const RUNS = 3;

interface RecordedCohort {
  handle: WorkflowHandle;
  /** Tracks an event of the first contacts. */
  track(event: string, contacts: number): Promise<void>;
  /** Waits until so many runs have this in their rows. */
  reaches(waitsFor: string, runs?: number): Promise<unknown>;
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
}

/** Lets contacts of a list enter a flow, and waits for the end of their cohort after `work`. @returns the id of its workflow */
async function recordCohort(
  { client, database: { pool }, database }: Stage,
  name: string,
  spec: FlowSpec,
  work: (cohort: RecordedCohort) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const { accountId, brandId } = await createTestTenant(database, name);
  const tenant = { accountId, brandId };
  const contacts = await insertContacts(pool, tenant, RUNS, name);
  const flow = await insertFlow(pool, tenant, spec);
  const { id: flowId } = flow;
  const isTrue = async (condition: string, values: unknown[] = []) => {
    const { rowCount } = await pool.query(`select where ${condition}`, [flowId, ...values]);
    return rowCount === 1;
  };
  await addEntries(pool, { id: flowId, account_id: accountId, brand_id: brandId }, contacts, 'l1');
  await until(() =>
    isTrue('(select count(*) from flow_runs where flow_id = $1 and cohort_id is not null) = $2', [RUNS]),
  );
  // Otherwise it would take more runs for an hour.
  await pool.query('update flow_cohorts set closed_at = now() where flow_id = $1', [flowId]);
  const workflowId = flowCohortWorkflowId(flowId, 1);
  const handle = client.workflow.getHandle(workflowId);
  const track = createTestTracker(pool, tenant);
  await work({
    handle,
    track: async (event, count) =>
      void (await track(contacts.slice(0, count).map((contactId) => ({ contactId, event })))),
    reaches: (waitsFor, runs = RUNS) =>
      until(() =>
        isTrue('(select count(*) from flow_runs where flow_id = $1 and waits_for = $2) = $3', [
          waitsFor,
          runs,
        ]),
      ),
    pause: () => inTransaction(pool, (trx) => pauseFlow(trx, flow)),
    resume: () => inTransaction(pool, (trx) => resumeFlow(trx, flow, {})),
  });
  await until(
    () => isTrue('exists (select from flow_cohorts where flow_id = $1 and ended_at is not null)'),
    120_000,
  );
  await handle.result();
  return workflowId;
}

/** One cohort for each way in which its runs wait and end. */
export const cohortScenarios: Scenario[] = [
  {
    name: 'flow-cohort-1',
    run: (stage) =>
      recordCohort(stage, 'cohort1', { steps: [mark(1), { type: 'wait', id: 2, duration: 2 }, mark(3)] }),
  },
  {
    // The event of one run arrives; the others go on without it.
    name: 'flow-cohort-2',
    run: (stage) =>
      recordCohort(stage, 'cohort2', { steps: [waitForEvent(1, 5)] }, async (cohort) => {
        await cohort.reaches('event');
        await cohort.track('order_placed', 1);
      }),
  },
  {
    // The first request fails.
    name: 'flow-cohort-3',
    run: (stage) => {
      let asked = 0;
      return withEndpoint(
        (_request, response) => {
          asked += 1;
          if (asked === 1) response.writeHead(503).end();
          else response.end('{"plan":"pro"}');
        },
        (url) =>
          recordCohort(stage, 'cohort3', {
            steps: [{ type: 'webhook', id: 1, url, method: 'POST' }, mark(2)],
          }),
      );
    },
  },
  {
    // The history of what sleeps for long begins with the wait. Its goal ends all runs.
    name: 'flow-cohort-4',
    run: (stage) =>
      recordCohort(
        stage,
        'cohort4',
        { steps: [{ type: 'wait', id: 1, duration: 30 * 86_400 }], goal: 'order_placed' },
        async (cohort) => {
          await cohort.reaches('time');
          await cohort.track('order_placed', RUNS);
        },
      ),
  },
  {
    name: 'flow-cohort-5',
    run: (stage) =>
      recordCohort(
        stage,
        'cohort5',
        { steps: [{ type: 'wait', id: 1, duration: 2 }, mark(2)] },
        async (cohort) => {
          await cohort.reaches('time');
          await cohort.pause();
          await cohort.reaches('resume');
          await cohort.resume();
        },
      ),
  },
  {
    name: 'flow-cohort-6',
    run: (stage) =>
      recordCohort(stage, 'cohort6', { steps: [waitForEvent(1, 600)] }, async (cohort) => {
        await cohort.reaches('event');
        await cohort.handle.signal(flowCohortSignals.cancel);
      }),
  },
];
