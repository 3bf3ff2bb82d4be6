// One workflow is the clock of all runs of a cohort: each of them waits, calls and ends as it would with its own.
import { expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import pino from 'pino';
import { addEntries } from '../../src/features/flows/entry/entries.ts';
import { judgePage } from '../../src/features/flows/entry/pages.ts';
import type { Step } from '../../src/features/flows/steps/index.ts';
import { type CohortOfFlow, flowCohortStart } from '../../src/features/flows/workflow.ts';
import type { FlowCohortState } from '../../workflows/flows/contract.ts';
import { insertContacts } from '../support/contacts.ts';
import { eventually } from '../support/eventually.ts';
import { DAY, DAY_MS, FlowRunStage, mark, waitForEvent } from '../support/flow-run-stage.ts';
import { createTestTracker, insertFlow } from '../support/flow-runs.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const LIMIT_MS = 180_000;

interface StagedCohort {
  flowId: number;
  contacts: number[];
  handle: WorkflowHandle;
}

let stage: FlowRunStage;
let contacts = 0;

beforeAll(async () => {
  stage = await FlowRunStage.create();
}, 120_000);
beforeEach(() => stage.reset());
afterAll(() => stage.close());

/** Lets contacts enter a flow by a list, and starts the workflow of their cohort. */
async function begin(count: number, steps: readonly Step[]): Promise<StagedCohort> {
  const { account, pool } = stage;
  const { id: flowId } = await insertFlow(pool, account, { steps });
  const ids = await insertContacts(pool, account, count, `c${(contacts += 1)}-`);
  await addEntries(pool, { id: flowId, account_id: account.accountId, brand_id: account.brandId }, ids, 'l1');
  const asOf = await stage.now();
  await judgePage({ pool, log: pino({ level: 'silent' }), clock: () => asOf }, flowId);
  const { rows } = await pool.query<CohortOfFlow>(
    `select id, account_id as "accountId", brand_id as "brandId", flow_id, n from flow_cohorts where flow_id = $1`,
    [flowId],
  );
  const handle = await stage.startWorkflow(flowCohortStart(rows[0] as CohortOfFlow));
  return { flowId, contacts: ids, handle };
}

/** How many runs have each path. */
async function paths({ flowId }: StagedCohort): Promise<Record<string, number>> {
  const { rows } = await stage.pool.query<{ path: string; n: number }>(
    `select path, count(*)::int as n from (
       select concat_ws(' ', string_agg(s.step_id || ' ' || s.outcome, ', ' order by s.n), r.state) as path
       from flow_runs r left join flow_run_steps s on s.run_id = r.id where r.flow_id = $1 group by r.id) p
     group by path`,
    [flowId],
  );
  return Object.fromEntries(rows.map(({ path, n }) => [path, n]));
}

/** The handle of the latest run of the workflow, which may have continued as new. */
const latest = ({ handle: { workflowId } }: StagedCohort) => stage.env.client.workflow.getHandle(workflowId);

const stateOf = (cohort: StagedCohort) => latest(cohort).query<FlowCohortState>('state');

/**
 * Waits until all runs wait for something, and the workflow for them. The test server does not answer queries before the
 * first task is done.
 */
async function reaches(cohort: StagedCohort, waitsFor: string): Promise<void> {
  await eventually(async () => {
    const { rows } = await stage.pool.query(
      'select 1 from flow_runs where flow_id = $1 and waits_for is distinct from $2',
      [cohort.flowId, waitsFor],
    );
    expect(rows).toEqual([]);
    const { events } = await latest(cohort).fetchHistory();
    expect(events?.at(-1)?.timerStartedEventAttributes).toBeTruthy();
  }, 60_000);
}

/** How often the workflow has begun an activity in its present history. */
async function staysOf(cohort: StagedCohort): Promise<number> {
  const { events } = await latest(cohort).fetchHistory();
  return (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).length;
}

describe('the clock of a cohort', () => {
  it(
    'wakes all runs at their times, and sleeps with a short history',
    async () => {
      const cohort = await begin(120, [mark(1), { type: 'wait', id: 2, duration: 40 * DAY }, mark(3)]);
      await reaches(cohort, 'time');
      expect(await paths(cohort)).toEqual({ '1 done active': 120 });
      await stage.env.sleep(20 * DAY_MS);
      expect((await latest(cohort).describe()).historyLength).toBeLessThanOrEqual(6);
      expect((await stateOf(cohort)).sentence).toMatch(
        /^flow \d+: 120 runs; 120 wait until \w+day \d+ \w+ \d{4} \d\d:\d\d UTC( or later)?; next at /,
      );
      const last = (await latest(cohort).result()) as FlowCohortState;
      expect(last).toMatchObject({ runs: 120, ended: 120 });
      expect(await paths(cohort)).toEqual({ '1 done, 2 done, 3 done completed': 120 });
    },
    LIMIT_MS,
  );

  it(
    'takes runs whose event arrives, with at most one stay a second',
    async () => {
      const cohort = await begin(60, [waitForEvent(1, 3 * DAY)]);
      await reaches(cohort, 'event');
      const before = await staysOf(cohort);
      const track = createTestTracker(stage.pool, stage.account);
      const few = cohort.contacts.slice(0, 20);
      await track(few.map((contactId) => ({ contactId, event: 'paid' })));
      await Promise.all(few.map(() => latest(cohort).signal('wake')));
      await stage.env.sleep('10 seconds');
      expect(await paths(cohort)).toEqual({ active: 40, '1 yes, 2 done completed': 20 });
      expect((await staysOf(cohort)) - before).toBeLessThanOrEqual(4);
      await latest(cohort).result();
      expect(await paths(cohort)).toEqual({
        '1 yes, 2 done completed': 20,
        '1 timeout, 3 done completed': 40,
      });
    },
    LIMIT_MS,
  );

  it(
    'makes the requests of webhook steps beside its stays, and repeats failed ones',
    async () => {
      const url = stage.receiver.url('/hook', '127.0.0.1');
      stage.receiver.answer = (_request, response) => {
        if (stage.receiver.requests.length <= 5) response.writeHead(503).end();
        else response.end('{"plan":"pro"}');
      };
      const cohort = await begin(30, [{ type: 'webhook', id: 1, url, method: 'POST' }, mark(2)]);
      await cohort.handle.result();
      expect(await paths(cohort)).toEqual({ '1 done, 2 done completed': 30 });
      const ids = stage.receiver.requests.map(({ headers }) => headers['webhook-id']);
      expect([ids.length, new Set(ids).size]).toEqual([35, 30]);
    },
    LIMIT_MS,
  );

  it(
    'ends all runs when an operator cancels them, and continues as new before its history is long',
    async () => {
      const cohort = await begin(60, [{ type: 'wait', id: 1, duration: 1_000 }]);
      await reaches(cohort, 'time');
      await Promise.all(Array.from({ length: 1_000 }, () => latest(cohort).signal('wake')));
      await stage.env.sleep('5 seconds');
      expect((await latest(cohort).describe()).historyLength).toBeLessThan(1_000);
      await latest(cohort).signal('cancel');
      await latest(cohort).result();
      expect(await paths(cohort)).toEqual({ canceled: 60 });
    },
    LIMIT_MS,
  );
});
