// What happens to a run of a cohort while another transaction has it, or its flow is paused, is not forgotten.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createFlowCohorts, type FlowCohorts } from '../../../../src/features/flows/cohorts/cohorts.ts';
import type { AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { changePage } from '../../../../src/features/flows/run/changes.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { pauseFlow, resumeFlow } from '../../../../src/features/flows/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertCohort } from '../../../support/flow-cohorts.ts';
import {
  createTestTracker,
  type FlowSpec,
  insertFlow,
  pathOf,
  runRow,
  type TestFlow,
} from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testAdvanceDeps } from './advance-deps.ts';

const COUNT = 5;
let db: TestDatabase;
let account: QueuedAccount;
let contacts: number[];
let deps: AdvanceDeps;
let cohorts: FlowCohorts;
const begun = new Date();
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const pool = () => db.database.pool;
const waitForPaid: Step = {
  type: 'wait_for_event',
  id: 1,
  event_name: 'paid',
  duration: 86_400,
  yes: [],
  no: [],
};

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 10 });
  deps = testAdvanceDeps(pool());
  cohorts = createFlowCohorts(deps);
});
afterAll(() => db.drop());
beforeEach(async () => {
  account = await insertAccount(db.database);
  contacts = await insertContacts(pool(), account, COUNT);
});

const advance = (cohortId: number, asOf: Date) => cohorts.advance(cohortId, { asOf, stayMs: 2_000 });
const track = (event: string) =>
  createTestTracker(pool(), account)([{ contactId: contacts[0] as number, event }]);

async function begin(spec: FlowSpec) {
  const flow = await insertFlow(pool(), account, spec);
  const cohort = await insertCohort(pool(), account, flow, contacts, { asOf: begun });
  await advance(cohort.id, begun);
  return { flow, cohort, run: cohort.runs[0] as number };
}

/** The workflows that the outbox wakes, without those that were woken before. */
async function woken(work: () => Promise<unknown>): Promise<string[]> {
  await pool().query('delete from outbox');
  await work();
  const { rows } = await pool().query<{ workflow_id: string }>(
    'select distinct workflow_id from outbox order by 1',
  );
  return rows.map(({ workflow_id: id }) => id);
}

async function resume(flow: TestFlow): Promise<void> {
  await inTransaction(pool(), (trx) => resumeFlow(trx, flow, {}));
  while (await changePage(deps, new Date(Date.now() + 60_000)));
}

it.each(['paid', 'left'])(
  'comes back soon if the run whose event %s has arrived is locked',
  async (event) => {
    const { cohort, run } = await begin({ steps: [waitForPaid], goal: 'left' });
    expect(await woken(() => track(event))).toEqual([cohort.workflowId]);
    await inTransaction(pool(), async (trx) => {
      await trx.query('select from flow_runs where id = $1 for no key update', [run]);
      expect(await advance(cohort.id, after(10))).toMatchObject({
        next: 'wait',
        until: after(11).toISOString(),
      });
    });
    await advance(cohort.id, after(11));
    expect((await runRow(pool(), run))?.state).not.toBe('active');
  },
);

it('calls the webhooks after the resume that were due while the flow was paused', async () => {
  const webhook: Step = { type: 'webhook', id: 1, url: 'https://example.com/', method: 'POST' };
  const { flow, cohort } = await begin({ steps: [webhook] });
  await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
  expect(await advance(cohort.id, after(10))).toMatchObject({ next: 'wait', callsDue: false });
  expect(await woken(() => resume(flow))).toEqual([cohort.workflowId]);
  expect(await advance(cohort.id, after(120))).toMatchObject({ callsDue: true, until: null });
  const { rows } = await pool().query('select engine_expected_by as by from flow_cohorts where id = $1', [
    cohort.id,
  ]);
  // The requests take a minute at most, and then the workflow looks at the runs.
  expect(rows).toEqual([{ by: after(720) }]);
});

it('goes on after the resume with an event that came during the pause', async () => {
  const { flow, cohort, run } = await begin({ steps: [waitForPaid] });
  await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
  await track('paid');
  await advance(cohort.id, after(10));
  expect(await runRow(pool(), run)).toMatchObject({ state: 'active', step_id: 1 });
  expect(await woken(() => resume(flow))).toEqual([cohort.workflowId]);
  await advance(cohort.id, after(120));
  expect(await pathOf(pool(), run)).toEqual(['1 yes']);
});

it('ends by the goal while the flow is paused', async () => {
  const { flow, cohort, run } = await begin({ steps: [waitForPaid], goal: 'left' });
  await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
  await track('left');
  await advance(cohort.id, after(10));
  expect(await runRow(pool(), run)).toMatchObject({ state: 'exited', reason: 'goal' });
});
