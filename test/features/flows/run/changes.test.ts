// A change to a flow reaches all its active runs in pages, and misses no event in the meantime.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { changePage } from '../../../../src/features/flows/run/changes.ts';
import { forgetContactInFlows } from '../../../../src/features/flows/run/removal.ts';
import { readArrivals } from '../../../../src/features/flows/run/waits.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { archiveFlow, pauseFlow, resumeFlow } from '../../../../src/features/flows/transitions.ts';
import { flowsUpkeep } from '../../../../src/features/flows/upkeep.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { loadConfig } from '../../../../src/config.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
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
let runs: number[];

const pool = () => db.database.pool;
const begun = new Date();
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const mark = (id: number): Step => ({ type: 'update_contact', id, data: { [`step${id}`]: true } });
const wait: Step = { type: 'wait', id: 1, duration: 60 };

/** Lets seven contacts enter a new flow. */
async function enter(steps: readonly Step[], goal?: string): Promise<void> {
  flow = await insertFlow(pool(), account, { steps, ...(goal && { goal }) });
  runs = [];
  for (const contactId of contacts)
    runs.push(await insertRun(pool(), account, flow, contactId, { asOf: begun }));
}

const advanceAll = async (seconds: number) => {
  for (const run of runs) await advanceRun(deps, run, after(seconds));
};

/** Makes all changes in pages of three runs. @returns how many pages */
async function change(): Promise<number> {
  let pages = 0;
  // PostgreSQL counts microseconds: a change that was just written is due by the next millisecond only.
  const asOf = new Date(Date.now() + 1_000);
  while (await changePage({ ...deps, pageRuns: 3 }, asOf)) pages += 1;
  return pages;
}

const rowsOf = () => Promise.all(runs.map((run) => runRow(pool(), run)));
const wakes = async () => {
  const { rows } = await pool().query<{ workflow_id: string; priority: number }>(
    'select workflow_id, priority from outbox where workflow_id like $1 order by id',
    [`flow-run/${flow.id}/%`],
  );
  return rows;
};

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
  account = await insertAccount(db.database);
  contacts = await insertContacts(pool(), account, 7);
});

describe('a change of all runs of a flow', () => {
  it('wakes the runs that are held when the flow is resumed, in pages', async () => {
    await enter([wait, mark(2)]);
    await advanceAll(0);
    await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
    const [first = 0] = runs;
    await advanceRun(deps, first, after(60));
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    expect(await change()).toBe(3);
    expect(await wakes()).toEqual([
      { workflow_id: expect.stringContaining(`/${contacts[0]}/`), priority: 2 },
    ]);
    await advanceRun(deps, first, after(61));
    expect(await pathOf(pool(), first)).toEqual(['1 done', '2 done']);
  });

  it('affects only active runs', async () => {
    await enter([wait, mark(2)]);
    await advanceAll(0);
    const held = runs.at(-1) ?? 0;
    for (const run of runs.slice(0, -1)) {
      await pool().query(`update flow_runs set state = 'completed', ended_at = now() where id = $1`, [run]);
    }
    await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
    await advanceRun(deps, held, after(60));
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
    await changePage({ ...deps, pageRuns: 3 }, new Date(Date.now() + 1_000));
    expect(await wakes()).toHaveLength(1);
    expect(await change()).toBe(0);
  });

  it('ends the runs that are held, if the client wants that', async () => {
    await enter([wait, mark(2)]);
    await advanceAll(0);
    await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
    for (const run of runs.slice(0, 2)) await advanceRun(deps, run, after(60));
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow, { overdue: 'exit' }));
    await change();
    const states = (await rowsOf()).map((row) => `${row?.state} ${row?.reason}`);
    expect(states.slice(0, 2)).toEqual(['exited overdue', 'exited overdue']);
    expect(new Set(states.slice(2))).toEqual(new Set(['active null']));
  });

  it('ends all runs of an archived flow, and forgets their waits', async () => {
    await enter(
      [{ type: 'wait_for_event', id: 1, event_name: 'paid', duration: 60, yes: [], no: [] }],
      'left',
    );
    await advanceAll(0);
    await createTestTracker(pool(), account)([{ contactId: contacts[0] ?? 0, event: 'paid' }]);
    await inTransaction(pool(), (trx) => archiveFlow(trx, flow));
    await change();
    for (const row of await rowsOf()) {
      expect(row).toMatchObject({ state: 'canceled', reason: 'archived', engine_expected_by: null });
    }
    const { rows } = await pool().query(
      `select 1 from flow_waits where run_id = any($1) union all select 1 from flow_arrivals where run_id = any($1)`,
      [runs],
    );
    expect(rows).toEqual([]);
    expect(new Set((await wakes()).map(({ workflow_id }) => workflow_id)).size).toBe(7);
    const counts = await pool().query<{ change: number }>(
      `select sum(change)::int as change from flow_count_changes where flow_id = $1 and name = 'canceled:archived'`,
      [flow.id],
    );
    expect(counts.rows).toEqual([{ change: 7 }]);
  });

  it('moves runs to a version with another event and goal, which count from the request on', async () => {
    const paid = {
      type: 'wait_for_event',
      id: 1,
      event_name: 'paid',
      duration: 60,
      yes: [],
      no: [],
    } as const;
    await enter([paid], 'left');
    await advanceAll(0);
    const versionId = await insertFlowVersion(pool(), flow.id, {
      steps: [{ ...paid, event_name: 'refunded' }],
      goal: 'closed',
    });
    await pool().query(
      `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
       values ($1, $2, $3, 'move', 1000000, $4)`,
      [account.accountId, account.brandId, flow.id, JSON.stringify({ version_id: versionId })],
    );
    await change();
    for (const row of await rowsOf()) expect(row).toMatchObject({ version_id: versionId, moved: true });
    expect(await wakes()).toHaveLength(7);
    await advanceAll(1);
    const track = createTestTracker(pool(), account);
    const [one = 0, two = 0, three = 0] = contacts;
    await track([
      { contactId: one, event: 'paid' },
      { contactId: one, event: 'left' },
      { contactId: two, event: 'refunded' },
      { contactId: three, event: 'closed' },
    ]);
    await advanceAll(2);
    expect((await rowsOf()).slice(0, 3).map((row) => row?.reason)).toEqual([null, 'end', 'goal']);
  });

  it('does not end a run that a later pause holds', async () => {
    await enter([wait, mark(2)]);
    await advanceAll(0);
    await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
    const [first = 0, second = 0] = runs;
    await advanceRun(deps, first, after(60));
    await inTransaction(pool(), (trx) => resumeFlow(trx, flow, { overdue: 'exit' }));
    await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
    await advanceRun(deps, second, after(60));
    await change();
    const states = (await rowsOf()).map((row) => `${row?.state} ${row?.waits_for}`);
    expect(states.slice(0, 2)).toEqual(['exited null', 'active resume']);
    // It looks at its flow once more, in case that was resumed again.
    expect(
      (await wakes()).filter(({ workflow_id }) => workflow_id.includes(`/${contacts[1]}/`)),
    ).toHaveLength(1);
  });

  describe('that moves them', () => {
    const paid = {
      type: 'wait_for_event',
      id: 1,
      event_name: 'paid',
      duration: 60,
      yes: [],
      no: [],
    } as const;

    /** Asks for a move to another version, as PATCH does. */
    async function move(spec: { event?: string; goal?: string }): Promise<void> {
      const steps = [{ ...paid, event_name: spec.event ?? 'paid' }];
      const version = { steps, ...(spec.goal && { goal: spec.goal }) };
      const versionId = await insertFlowVersion(pool(), flow.id, version);
      await pool().query(
        `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
         values ($1, $2, $3, 'move', 1000000, $4)`,
        [account.accountId, account.brandId, flow.id, JSON.stringify({ version_id: versionId })],
      );
    }

    const track = (n: number, event: string) =>
      createTestTracker(pool(), account)([{ contactId: contacts[n] ?? 0, event }]);
    const woken = async (n: number) =>
      (await wakes()).some(
        ({ workflow_id, priority }) => priority === 2 && workflow_id.includes(`/${contacts[n]}/`),
      );

    it('wakes those that reach the new goal before their page comes', async () => {
      await enter([paid], 'left');
      await advanceAll(0);
      await move({ goal: 'closed' });
      await track(0, 'closed');
      await change();
      expect([await woken(0), await woken(1)]).toEqual([true, false]);
      await advanceAll(1);
      expect((await rowsOf()).slice(0, 2).map((row) => row?.reason)).toEqual(['goal', null]);
    });

    it('ends those that had reached the goal before', async () => {
      await enter([paid], 'left');
      await advanceAll(0);
      await track(0, 'left');
      await move({});
      await track(1, 'left');
      await change();
      expect((await rowsOf()).slice(0, 3).map((row) => row?.reason)).toEqual(['goal', 'goal', null]);
    });

    it('misses no event of the new name from the change on', async () => {
      await enter([paid]);
      await track(0, 'refunded');
      await advanceAll(0);
      await move({ event: 'refunded' });
      await track(1, 'refunded');
      await change();
      await track(2, 'refunded');
      await track(3, 'paid');
      await advanceAll(1);
      const states = (await rowsOf()).slice(0, 4).map((row) => row?.state);
      expect(states).toEqual(['active', 'completed', 'completed', 'active']);
    });

    it('lets an event of the new name arrive while the flow is paused', async () => {
      await enter([paid]);
      await advanceAll(0);
      await inTransaction(pool(), (trx) => pauseFlow(trx, flow));
      await move({ event: 'refunded' });
      await track(0, 'refunded');
      await change();
      await advanceAll(1);
      await track(1, 'refunded');
      await inTransaction(pool(), (trx) => resumeFlow(trx, flow));
      await pool().query('delete from outbox');
      await change();
      expect([await woken(0), await woken(1), await woken(2)]).toEqual([true, true, false]);
      await advanceAll(2);
      expect((await rowsOf()).slice(0, 3).map((row) => row?.state)).toEqual([
        ...['completed', 'completed', 'active'],
      ]);
    });
  });

  it('ends the runs of an archived flow even if an earlier change of it fails', async () => {
    await enter([wait]);
    await pool().query(
      `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
       values ($1, $2, $3, 'move', 1000000, '{"version_id": 999999999}')`,
      [account.accountId, account.brandId, flow.id],
    );
    await change();
    await inTransaction(pool(), (trx) => archiveFlow(trx, flow));
    await change();
    expect((await rowsOf()).map((row) => row?.state)).toEqual(Array(7).fill('canceled'));
    // The earlier one has no runs left.
    await changePage(deps, new Date(Date.now() + 7_200_000));
    const { rows } = await pool().query('select 1 from flow_changes where flow_id = $1', [flow.id]);
    expect(rows).toEqual([]);
  });

  it('does not stop other flows if a page fails', async () => {
    await enter([wait]);
    const failing = flow;
    await pool().query(
      `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
       values ($1, $2, $3, 'move', 1000000, '{"version_id": 999999999}')`,
      [account.accountId, account.brandId, failing.id],
    );
    await enter([wait]);
    await inTransaction(pool(), (trx) => archiveFlow(trx, flow));
    await change();
    expect((await rowsOf()).map((row) => row?.state)).toEqual(Array(7).fill('canceled'));
    const { rows } = await pool().query('select failures from flow_changes where flow_id = $1', [failing.id]);
    expect(rows).toEqual([{ failures: 1 }]);
    await pool().query('delete from flow_changes where flow_id = $1', [failing.id]);
  });
});

describe('events that have arrived', () => {
  it('are judged in the order of their times, whatever their ids are', async () => {
    await enter([wait]);
    const [run = 0] = runs;
    await pool().query(
      `insert into flow_arrivals (run_id, step_id, event_id, occurred_at)
       values ($1, 1, 5, $2), ($1, 1, 4, $3), ($1, 1, 3, $3), ($1, 1, 9, $4)`,
      [run, after(2), after(3), after(1)],
    );
    expect((await readArrivals(pool(), [run])).get(run)?.map(({ id }) => id)).toEqual([9, 5, 3, 4]);
  });
});

describe('a contact that is deleted', () => {
  it('ends its runs, and leaves no events or webhook responses', async () => {
    await enter([wait]);
    const [run = 0] = runs;
    const event = { id: 1, name: 'paid', data: { card: '1234' }, created_at: begun.toISOString() };
    await pool().query('update flow_runs set event = $2 where id = $1', [run, JSON.stringify(event)]);
    const ended = await insertRun(pool(), account, flow, contacts[0] ?? 0, { asOf: begun, event });
    await pool().query(`update flow_runs set state = 'completed' where id = $1`, [ended]);
    await pool().query(
      `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at, left_at)
       values ($1, $2, 1, 0, 'webhook', 'done', '{"status": 200, "body": {"name": "Ada"}}', now(), now())`,
      [ended, flow.id],
    );
    const forget = () =>
      inTransaction(pool(), (trx) => forgetContactInFlows(trx, { contactId: contacts[0] ?? 0 }, 1));
    while ((await forget()) === true);
    expect(await runRow(pool(), run)).toMatchObject({
      state: 'exited',
      reason: 'contact_deleted',
      event: null,
    });
    expect(await runRow(pool(), ended)).toMatchObject({ event: null });
    const { rows } = await pool().query('select detail from flow_run_steps where run_id = $1', [ended]);
    expect(rows).toEqual([{ detail: { status: 200 } }]);
    expect(await runRow(pool(), runs[1] ?? 0)).toMatchObject({ state: 'active' });
  });
});

describe('runs that ended long ago', () => {
  it('lose their path and event, and still decide about re-entry', async () => {
    await enter([mark(1)]);
    await advanceAll(0);
    const [old = 0, recent = 0] = runs;
    await pool().query(`update flow_runs set ended_at = now() - interval '401 days' where id = $1`, [old]);
    const task = flowsUpkeep.tasks?.find(({ name }) => name === 'flow_runs');
    const housekeeping = {
      ...{ database: db.database, log: deps.log, partitions: [], processWork: [] },
      config: loadConfig({}),
    };
    const run = () => task?.run(housekeeping, new Date(), () => undefined);
    expect(await run()).toBe(1);
    expect(await run()).toBe(0);
    expect(await pathOf(pool(), old)).toEqual([]);
    expect(await runRow(pool(), old)).toMatchObject({ state: 'completed', record: {} });
    expect(await pathOf(pool(), recent)).toEqual(['1 done']);
    expect(await advanceRun(deps, old, after(1))).toMatchObject({ next: 'done' });
  });
});
