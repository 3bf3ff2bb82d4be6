import type { WorkflowHandle } from '@temporalio/client';
import type { Step } from '../../src/features/flows/steps/index.ts';
import { flowRunStart } from '../../src/features/flows/workflow.ts';
import { createTestTenant } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestTracker, type FlowSpec, insertFlow, insertRun, runRow } from '../support/flow-runs.ts';
import { type Answer, startReceiver } from '../support/https-receiver.ts';
import { until } from '../workflows/until.ts';
import type { Scenario, Stage } from './scenarios.ts';

interface RecordedRun {
  id: number;
  flowId: number;
  handle: WorkflowHandle;
  track(event: string): Promise<void>;
  /** Waits until the row of the run has this. */
  reaches(waitsFor: string | null): Promise<void>;
  setStatus(status: string): Promise<void>;
}

/** Starts the run of a new contact, and waits for its end after `work`. @returns the id of its workflow */
async function recordRun(
  { client, database: { pool }, database }: Stage,
  name: string,
  spec: FlowSpec,
  work: (run: RecordedRun) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const { accountId, brandId } = await createTestTenant(database, name);
  const tenant = { accountId, brandId };
  const [contactId = 0] = await insertContacts(pool, tenant, 1, name);
  const flow = await insertFlow(pool, tenant, spec);
  const cause = 'm1';
  const id = await insertRun(pool, tenant, flow, contactId, { cause });
  const start = flowRunStart({ id, ...tenant, flow_id: flow.id, contact_id: contactId, cause });
  const handle = await client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  const track = createTestTracker(pool, tenant);
  await work({
    id,
    flowId: flow.id,
    handle,
    track: async (event) => void (await track([{ contactId, event }])),
    reaches: async (waitsFor) => {
      await until(async () => (await runRow(pool, id))?.waits_for === waitsFor);
    },
    setStatus: async (status) => {
      await pool.query('update flows set status = $2 where id = $1', [flow.id, status]);
    },
  });
  await handle.result();
  return start.workflowId;
}

/** @param work gets the URL of an endpoint, and a function that returns how often it was asked */
export async function withEndpoint<T>(
  answer: Answer,
  work: (url: string, asked: () => number) => Promise<T>,
): Promise<T> {
  const receiver = await startReceiver({ plain: true, answer });
  try {
    return await work(receiver.url('/hook', '127.0.0.1'), () => receiver.requests.length);
  } finally {
    await receiver.close();
  }
}

export const mark = (id: number): Step => ({ type: 'update_contact', id, data: { [`step${id}`]: true } });
export const waitForEvent = (id: number, duration: number): Step => ({
  ...{ type: 'wait_for_event', id, event_name: 'order_placed', duration },
  ...{ yes: [mark(id + 1)], no: [mark(id + 2)] },
});

/** One run for each type of step, and for each way in which a wait ends. */
export const flowScenarios: Scenario[] = [
  {
    name: 'flow-run-1',
    run: (stage) =>
      recordRun(stage, 'flow1', {
        steps: [
          mark(1),
          { type: 'add_to_list', id: 2, list_id: 999_999 },
          { type: 'remove_from_list', id: 3, list_id: 999_999 },
          { type: 'event', id: 4, event_name: 'onboarded' },
          {
            type: 'condition',
            id: 5,
            filters: [{ name: 'data.step1', predicate: 'true' }],
            yes: [mark(6)],
            no: [],
          },
          {
            type: 'split',
            id: 7,
            branches: [
              { weight: 50, steps: [mark(8)] },
              { weight: 50, steps: [mark(9)] },
            ],
          },
          { type: 'exit', id: 10, reason: 'converted' },
        ],
      }),
  },
  {
    name: 'flow-run-2',
    run: (stage) =>
      recordRun(stage, 'flow2', { steps: [mark(1), { type: 'wait', id: 2, duration: 2 }, mark(3)] }),
  },
  {
    name: 'flow-run-3',
    run: (stage) =>
      recordRun(stage, 'flow3', { steps: [waitForEvent(1, 600)] }, async (run) => {
        await run.reaches('event');
        await run.track('order_placed');
      }),
  },
  { name: 'flow-run-4', run: (stage) => recordRun(stage, 'flow4', { steps: [waitForEvent(1, 2)] }) },
  {
    // The history of what sleeps for long begins with the wait. Its goal ends it.
    name: 'flow-run-5',
    run: (stage) =>
      recordRun(
        stage,
        'flow5',
        { steps: [{ type: 'wait', id: 1, duration: 30 * 86_400 }], goal: 'order_placed' },
        async (run) => {
          await run.reaches('time');
          await run.track('order_placed');
        },
      ),
  },
  {
    name: 'flow-run-6',
    run: (stage) =>
      recordRun(stage, 'flow6', { steps: [{ type: 'wait', id: 1, duration: 2 }, mark(2)] }, async (run) => {
        await run.reaches('time');
        await run.setStatus('paused');
        await run.reaches('resume');
        await run.setStatus('active');
        await run.handle.signal('wake');
      }),
  },
  {
    name: 'flow-run-7',
    run: (stage) =>
      recordRun(stage, 'flow7', { steps: [waitForEvent(1, 600)] }, async (run) => {
        await run.reaches('event');
        await run.handle.signal('cancel');
      }),
  },
  {
    name: 'flow-run-8',
    run: (stage) =>
      withEndpoint(
        (_request, response) => void response.end('{"plan":"pro"}'),
        (url) =>
          recordRun(stage, 'flow8', { steps: [{ type: 'webhook', id: 1, url, method: 'POST' }, mark(2)] }),
      ),
  },
  {
    // The endpoint fails, and the goal ends the run between two attempts.
    name: 'flow-run-9',
    run: (stage) =>
      withEndpoint(
        (_request, response) => void response.writeHead(503).end(),
        (url, asked) =>
          recordRun(
            stage,
            'flow9',
            { steps: [{ type: 'webhook', id: 1, url, method: 'POST' }], goal: 'order_placed' },
            async (run) => {
              await until(() => asked() > 0);
              await run.track('order_placed');
            },
          ),
      ),
  },
];
