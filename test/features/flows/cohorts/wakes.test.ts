// Whatever makes a run of a cohort due outside of a stay wakes the cohort, once, and waits for no stay.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { createFlowCohorts } from '../../../../src/features/flows/cohorts/cohorts.ts';
import { nextAtSql } from '../../../../src/features/flows/cohorts/due.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { advanceBatch } from '../../../../src/features/flows/run/batch.ts';
import { changePage } from '../../../../src/features/flows/run/changes.ts';
import { forgetContactInFlows } from '../../../../src/features/flows/run/removal.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { archiveFlow, pauseFlow, resumeFlow } from '../../../../src/features/flows/transitions.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { flowRunSource } from '../../../../src/features/flows/workflow.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertCohort, type TestCohort } from '../../../support/flow-cohorts.ts';
import {
  createTestTracker,
  insertFlow,
  insertFlowVersion,
  insertRun,
  pathOf,
  runRow,
  sendsNothing,
  type TestFlow,
} from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

let db: TestDatabase;
let account: QueuedAccount;
let contacts: number[];
let deps: AdvanceDeps;
let flow: TestFlow;
/** Two cohorts of three contacts each. */
let cohorts: [TestCohort, TestCohort];

const pool = () => db.database.pool;
let begun: Date;
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const wait: Step = { type: 'wait', id: 1, duration: 60 };
const paid = { type: 'wait_for_event', id: 1, event_name: 'paid', duration: 60, yes: [], no: [] } as const;
const call: Step = { type: 'webhook', id: 1, url: 'https://127.0.0.1/', method: 'POST' };

/** Lets the contacts enter a new flow. */
async function enter(steps: readonly Step[], goal?: string): Promise<void> {
  flow = await insertFlow(pool(), account, { steps, ...(goal && { goal }) });
  const enterCohort = (some: number[]) => insertCohort(pool(), account, flow, some, { asOf: begun });
  cohorts = [await enterCohort(contacts.slice(0, 3)), await enterCohort(contacts.slice(3))];
}

const runsOf = () => cohorts.flatMap(({ runs }) => runs);

/** Takes the due steps of runs, as their cohort does. */
async function advance(runs: readonly number[], seconds: number): Promise<void> {
  const { waits } = await advanceBatch(deps, runs, 'acts', after(seconds));
  await advanceBatch(deps, waits, 'waits', after(seconds));
}

const advanceAll = (seconds: number) => advance(runsOf(), seconds);

async function change(): Promise<void> {
  const asOf = new Date(Date.now() + 1_000);
  while (await changePage({ ...deps, pageRuns: 4 }, asOf));
}

/** The requests that wait since the last call, as `<workflow> <priority>`. */
async function takeWakes(): Promise<string[]> {
  const { rows } = await pool().query<{ wake: string }>(
    `with taken as (delete from outbox returning id, concat_ws(' ', workflow_id, priority) as wake)
     select wake from taken order by id`,
  );
  return rows.map(({ wake }) => wake);
}

const wakeOf = ({ workflowId }: TestCohort, priority: number) => `${workflowId} ${priority}`;

/** When the runs are due by their rows: `now`, `later`, `resume`, or null if they have ended. */
async function dueness(seconds = 30): Promise<(string | null)[]> {
  const { rows } = await pool().query<{ due: string | null }>(
    `select case when r.state <> 'active' then null when ${nextAtSql('r')} = 'infinity' then 'resume'
         when ${nextAtSql('r')} <= $2 then 'now' else 'later' end as due
     from flow_runs r where r.id = any($1) order by r.id`,
    [runsOf(), after(seconds)],
  );
  return rows.map(({ due }) => due);
}

/** Calls `work` while a stay has locked the cohorts and their runs. */
const besideStay = (work: () => Promise<unknown>) =>
  inTransaction(pool(), async (trx) => {
    await trx.query('select from flow_runs where flow_id = $1 for no key update', [flow.id]);
    await trx.query('select from flow_cohorts where flow_id = $1 for no key update', [flow.id]);
    await work();
  });

const track = (n: number, event: string) =>
  createTestTracker(pool(), account)([{ contactId: contacts[n] ?? 0, event }]);

/** Asks for a move to another version, as PATCH does. */
async function move(steps: readonly Step[], goal?: string): Promise<void> {
  const versionId = await insertFlowVersion(pool(), flow.id, { steps, ...(goal && { goal }) });
  await pool().query(
    `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
     values ($1, $2, $3, 'move', 1000000, $4)`,
    [account.accountId, account.brandId, flow.id, JSON.stringify({ version_id: versionId })],
  );
}

const pause = () => inTransaction(pool(), (trx) => pauseFlow(trx, flow));

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 10 });
  const waker = { wake: () => undefined };
  deps = {
    pool: pool(),
    versions: createFlowVersionReader(pool()),
    send: sendsNothing,
    consumers: createTrackedEventConsumers({ waker }),
    waker,
    log: pino({ level: 'silent' }),
  };
});
afterAll(() => db.drop());
beforeEach(async () => {
  begun = new Date();
  await pool().query('delete from outbox');
  account = await insertAccount(db.database);
  contacts = await insertContacts(pool(), account, 6);
});

describe('an event', () => {
  it('wakes the cohort of a run once, however many contacts track it, and waits for no run', async () => {
    await enter([paid]);
    await advanceAll(0);
    await besideStay(async () => {
      for (const n of [0, 1, 2]) await track(n, 'paid');
    });
    expect(await takeWakes()).toEqual([wakeOf(cohorts[0], 1)]);
  });

  it('wakes a run with a workflow of its own, and a cohort, side by side', async () => {
    await enter([paid], 'left');
    const [contactId = 0] = contacts;
    const single = await insertRun(pool(), account, flow, contactId, { asOf: begun, cause: 'e1' });
    await advanceAll(0);
    await advanceRun(deps, single, begun);
    await track(0, 'left');
    expect(await takeWakes()).toEqual([`flow-run/${flow.id}/${contactId}/e1 1`, wakeOf(cohorts[0], 1)]);
  });
});

describe('a cohort', () => {
  it('comes back for a run whose event has arrived while another transaction had locked its row', async () => {
    await enter([paid]);
    await advanceAll(0);
    for (const n of [0, 1]) await track(n, 'paid');
    const [run = 0, other = 0] = cohorts[0].runs;
    const look = () => createFlowCohorts(deps).advance(cohorts[0].id, { asOf: after(1), stayMs: 2_000 });
    await inTransaction(pool(), async (page) => {
      await page.query('select from flow_runs where id = $1 for no key update', [run]);
      expect(await look()).toMatchObject({ next: 'wait', until: after(2).toISOString() });
    });
    expect([await pathOf(pool(), run), await pathOf(pool(), other)]).toEqual([[], ['1 yes']]);
    expect(await look()).toMatchObject({ next: 'wait', until: after(60).toISOString() });
    expect(await pathOf(pool(), run)).toEqual(['1 yes']);
  });
});

describe('a change of a flow', () => {
  it('makes runs due that a pause has held, and wakes their cohorts', async () => {
    await enter([wait]);
    await advanceAll(0);
    await pause();
    await advance(cohorts[0].runs, 60);
    expect(await dueness()).toEqual([...Array(3).fill('resume'), ...Array(3).fill('later')]);
    await takeWakes();
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    await change();
    expect(await dueness()).toEqual([...Array(3).fill('now'), ...Array(3).fill('later')]);
    expect(await takeWakes()).toEqual([wakeOf(cohorts[0], 2)]);
    const [first = 0] = cohorts[0].runs;
    await advance([first], 61);
    expect(await pathOf(pool(), first)).toEqual(['1 done']);
  });

  it('that a later pause follows holds the runs once more, and an exit of late runs ends them', async () => {
    await enter([wait]);
    await advanceAll(0);
    await pause();
    await advance(cohorts[0].runs, 60);
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    await change();
    await pause();
    // Of the three that are due, one is held again before the next resume.
    const [first = 0] = cohorts[0].runs;
    await advance([first], 61);
    expect((await dueness()).slice(0, 2)).toEqual(['resume', 'now']);
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow, { overdue: 'exit' }));
    await change();
    expect(await dueness()).toEqual([null, null, null, ...Array(3).fill('later')]);
  });

  it('leaves a run that is not due in a paused flow asleep', async () => {
    await enter([paid]);
    await advanceAll(0);
    await pause();
    await move([{ ...paid, event_name: 'refunded' }]);
    await change();
    expect(await dueness()).toEqual(Array(6).fill('now'));
    await advanceAll(30);
    expect(await dueness()).toEqual(Array(6).fill('later'));
  });

  it('lets runs at a webhook step make their requests after a pause, or ends them', async () => {
    await enter([call]);
    await advanceAll(0);
    await pause();
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    await change();
    expect(await takeWakes()).toEqual([wakeOf(cohorts[0], 2), wakeOf(cohorts[1], 2), wakeOf(cohorts[1], 2)]);
    expect(await runRow(pool(), cohorts[0].runs[0] ?? 0)).toMatchObject({
      waits_for: 'webhook',
      retry_at: null,
    });
    await pause();
    await pool().query('update flow_runs set call_at = $2 where id = $1', [cohorts[1].runs[0], after(3_600)]);
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow, { overdue: 'exit' }));
    await change();
    expect(await dueness()).toEqual([null, null, null, 'later', null, null]);
  });

  it('makes runs due whose step now waits for another event, and wakes cohorts of reached goals', async () => {
    await enter([paid], 'left');
    await advanceAll(0);
    await move([paid], 'closed');
    await track(4, 'closed');
    await change();
    expect(await takeWakes()).toEqual([wakeOf(cohorts[1], 2)]);
    await move([{ ...paid, event_name: 'refunded' }], 'closed');
    await change();
    expect((await dueness()).slice(0, 4)).toEqual(Array(4).fill('now'));
    await advanceAll(30);
    expect(await dueness()).toEqual(['later', 'later', 'later', 'later', null, 'later']);
  });

  it('that archives it wakes each cohort once a page', async () => {
    await enter([wait]);
    await advanceAll(0);
    await inTransaction(pool(), (trx) => archiveFlow(trx, flow));
    await change();
    expect(await dueness()).toEqual(Array(6).fill(null));
    // Pages of four runs: the second cohort is in both.
    expect(await takeWakes()).toEqual([wakeOf(cohorts[0], 2), wakeOf(cohorts[1], 2), wakeOf(cohorts[1], 2)]);
  });
});

describe('a contact that is deleted', () => {
  it('ends its runs and wakes no cohort, only workflows of single runs', async () => {
    await enter([wait]);
    const [contactId = 0] = contacts;
    await insertRun(pool(), account, flow, contactId, { asOf: begun, cause: 'e1' });
    await inTransaction(pool(), (trx) => forgetContactInFlows(trx, { contactId }, 10));
    expect(await dueness()).toEqual([null, ...Array(5).fill('now')]);
    expect(await takeWakes()).toEqual([`flow-run/${flow.id}/${contactId}/e1 2`]);
  });
});

describe('a workflow of its own, which a process of the version before has started for a run of a cohort,', () => {
  it('wakes the cohort, which takes the run, and ends', async () => {
    await enter([wait]);
    await advanceAll(0);
    await pause();
    const [run = 0, other = 0] = cohorts[0].runs;
    await advance([run], 60);
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    await takeWakes();
    // The version before applies the change, and wakes only workflows of runs.
    await pool().query('delete from flow_changes');
    for (const id of [run, other]) {
      expect(await advanceRun(deps, id, after(61))).toMatchObject({
        next: 'done',
        state: { state: 'active', sentence: `continues in ${cohorts[0].workflowId}` },
      });
    }
    expect((await dueness(61)).slice(0, 2)).toEqual(['now', 'now']);
    expect(await takeWakes()).toEqual([wakeOf(cohorts[0], 1)]);
    expect(await pathOf(pool(), run)).toEqual([]);
  });

  it('does not make a request due that waits for its next attempt, but a stored response', async () => {
    await enter([call]);
    await advanceAll(0);
    const [run = 0, answered = 0] = cohorts[0].runs;
    await pool().query(`update flow_runs set call_at = now() + interval '1 hour' where id = any($1)`, [
      [run, answered],
    ]);
    await pool().query(
      `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at)
       values ($1, $2, 1, 0, 'webhook', 'done', '{"status": 200}', now())`,
      [answered, flow.id],
    );
    for (const id of [run, answered]) await advanceRun(deps, id, after(1));
    expect((await dueness()).slice(0, 2)).toEqual(['later', 'now']);
    await advance([answered], 2);
    expect(await pathOf(pool(), answered)).toEqual(['1 done']);
  });

  it('does no harm if a worker of that version advances the run: it is due when its step is', async () => {
    await enter([wait, { ...wait, id: 2 }]);
    await advanceAll(0);
    const [run = 0] = cohorts[0].runs;
    const { record } = (await runRow(pool(), run)) ?? {};
    // The statement of version 0.1 with which a run is left.
    await pool().query(
      `update flow_runs set record = $2, step_id = $3, waits_for = $4, due_at = $5, engine_expected_by = $6,
         held_at = case $4 when 'resume' then coalesce(held_at, now()) end, updated_at = now()
       where id = $1`,
      [
        ...[run, { ...record, stepId: 2, wait: { for: 'time', until: after(-5) }, steps: 1 }],
        ...[2, 'time', after(-5), after(-4)],
      ],
    );
    expect((await dueness())[0]).toBe('now');
    // Only the cohort is expected to run.
    expect(await flowRunSource.overdue(pool(), after(1), 10)).toEqual([]);
    await advance([run], 1);
    expect(await runRow(pool(), run)).toMatchObject({ state: 'completed', engine_expected_by: null });
  });
});
