// A stay takes every due step of a cohort's runs once, whatever single runs do, and knows when to come back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createFlowCohorts, type FlowCohorts } from '../../../../src/features/flows/cohorts/cohorts.ts';
import { stay } from '../../../../src/features/flows/cohorts/stay.ts';
import { addEntries } from '../../../../src/features/flows/entry/entries.ts';
import { judgePage } from '../../../../src/features/flows/entry/pages.ts';
import type { AdvanceDeps } from '../../../../src/features/flows/run/batch.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import type { FlowCohortStep } from '../../../../workflows/flows/contract.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertActiveFlow } from '../../../support/flow-entries.ts';
import { createTestTracker } from '../../../support/flow-runs.ts';
import { testFlowSender } from '../../../support/flow-sends.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const HOUR_MS = 3_600_000;
const DAY = 86_400;
const waker = { wake: () => undefined };

let test: TestDatabase;
let account: QueuedAccount;
let contacts: number[];
let flowId: number;
let logged: string[];
let prefix = 0;

const pool = () => test.database.pool;
const log = pino({}, { write: (line) => void logged.push(line) });

function deps(): AdvanceDeps {
  return {
    ...{ pool: pool(), waker, log, versions: createFlowVersionReader(pool()), send: testFlowSender() },
    consumers: createTrackedEventConsumers({ waker }),
  };
}

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 10 });
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());
beforeEach(() => {
  logged = [];
});

const fork = (id: number): Step => ({ type: 'condition', id, filters: [], yes: [], no: [] });
const wait = (id: number, duration: number): Step => ({ type: 'wait', id, duration });
const waitForPaid = (id: number): Step => ({
  ...{ type: 'wait_for_event', id, event_name: 'paid', duration: DAY },
  ...{ yes: [wait(id + 1, 60)], no: [] },
});

/** Lets contacts enter a new flow by a list. @returns the id of their cohort */
async function enter(steps: readonly Step[], count: number, asOf: Date, goal?: string): Promise<number> {
  flowId = await insertActiveFlow(pool(), account, { steps, ...(goal && { goal }) });
  contacts = await insertContacts(pool(), account, count, `s${(prefix += 1)}-`);
  const flow = { id: flowId, account_id: account.accountId, brand_id: account.brandId };
  await addEntries(pool(), flow, contacts, 'l1');
  while ((await judgePage({ pool: pool(), log, clock: () => asOf }, flowId)).began);
  const { rows } = await pool().query<{ id: number }>('select id from flow_cohorts where flow_id = $1', [
    flowId,
  ]);
  return rows[0]?.id ?? 0;
}

/** Stays until no more steps are due. */
async function stayAt(cohortId: number, asOf: Date): Promise<FlowCohortStep> {
  const taking = { ...deps(), sizes: new Map<number, number>() };
  const step = await stay(taking, cohortId, { asOf, isOver: () => false });
  expect(step.next).not.toBe('again');
  return step;
}

/** How many runs have each path and each state. */
async function paths(): Promise<Record<string, number>> {
  const { rows } = await pool().query<{ path: string; n: number }>(
    `select path, count(*)::int as n from (
       select concat_ws(' ', string_agg(s.step_id || ' ' || s.outcome, ', ' order by s.n), r.state) as path
       from flow_runs r left join flow_run_steps s on s.run_id = r.id where r.flow_id = $1 group by r.id) p
     group by path`,
    [flowId],
  );
  return Object.fromEntries(rows.map(({ path, n }) => [path, n]));
}

const cohortRow = async (id: number) =>
  (
    await pool().query<{ ended_at: Date | null; closed_at: Date | null; engine_expected_by: Date | null }>(
      'select ended_at, closed_at, engine_expected_by from flow_cohorts where id = $1',
      [id],
    )
  ).rows[0];

const after = (time: Date, ms: number) => new Date(time.getTime() + ms);

it('takes steps, waits and events of all runs, and ends with its last run', async () => {
  const asOf = new Date();
  const cohort = await enter([wait(1, 3_600), fork(2), waitForPaid(3)], 450, asOf, 'left');
  const first = await stayAt(cohort, asOf);
  expect(first).toMatchObject({ next: 'wait', callsDue: false });
  expect(Date.parse(first.until ?? '')).toBe(asOf.getTime() + HOUR_MS);
  expect(first.state.sentence).toMatch(
    new RegExp(`^flow ${flowId}: 450 runs; 450 wait until \\w+day \\d\\d:\\d\\d UTC; next at \\w+day`),
  );
  expect((await cohortRow(cohort))?.engine_expected_by).toEqual(after(asOf, HOUR_MS + 600_000));

  const later = after(asOf, HOUR_MS);
  const second = await stayAt(cohort, later);
  expect(await paths()).toEqual({ '1 done, 2 yes active': 450 });
  expect(second.state.groups).toMatchObject([
    { stepId: 3, waitsFor: 'event', eventName: 'paid', count: 450 },
  ]);

  await createTestTracker(
    pool(),
    account,
  )([
    ...contacts.slice(0, 20).map((contactId) => ({ contactId, event: 'paid' })),
    ...contacts.slice(20, 25).map((contactId) => ({ contactId, event: 'left' })),
  ]);
  const third = await stayAt(cohort, after(later, 1_000));
  expect(await paths()).toEqual({
    '1 done, 2 yes active': 425,
    '1 done, 2 yes, 3 yes active': 20,
    '1 done, 2 yes exited': 5,
  });
  expect(third.state.sentence).toMatch(/; 425 wait for paid, 20 wait until .*, 5 have ended; next at /);
  expect(third.state).toMatchObject({ runs: 450, ended: 5 });

  const last = await stayAt(cohort, after(later, DAY * 1_000 + HOUR_MS));
  expect(last).toMatchObject({ next: 'done', state: { runs: 450, ended: 450, groups: [] } });
  expect(await cohortRow(cohort)).toMatchObject({
    ...{ engine_expected_by: null, ended_at: expect.any(Date), closed_at: expect.any(Date) },
  });
  expect(logged).toEqual([]);
});

describe('a cohort whose runs have ended', () => {
  it('stays for the rest of its hour, because contacts may enter still', async () => {
    const asOf = new Date();
    const cohort = await enter([{ type: 'exit', id: 1 }], 3, asOf);
    const first = await stayAt(cohort, asOf);
    expect(first).toMatchObject({ next: 'wait', until: after(asOf, HOUR_MS).toISOString() });
    expect(await cohortRow(cohort)).toMatchObject({ ended_at: null, closed_at: null });
    expect(await stayAt(cohort, after(asOf, HOUR_MS))).toMatchObject({ next: 'done' });
    expect((await cohortRow(cohort))?.engine_expected_by).toBeNull();
  });

  it('does not end while an entry adds a run', async () => {
    const asOf = new Date();
    const cohort = await enter([{ type: 'exit', id: 1 }], 1, asOf);
    await stayAt(cohort, asOf);
    const ending = await inTransaction(pool(), async (trx) => {
      await trx.query('select from flow_cohorts where id = $1 for no key update', [cohort]);
      const stayed = stayAt(cohort, after(asOf, HOUR_MS));
      await trx.query(
        `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record, cohort_id, due_at)
         select account_id, brand_id, flow_id, version_id, contact_id, 'l2', record, cohort_id, now() + interval '1 day'
         from flow_runs where cohort_id = $1`,
        [cohort],
      );
      return { stayed };
    });
    expect(await ending.stayed).toMatchObject({ next: 'wait' });
    expect((await cohortRow(cohort))?.ended_at).toBeNull();
  });
});

describe('a run that fails', () => {
  it('holds up no other, and is tried again later and later', async () => {
    const asOf = new Date();
    const cohort = await enter([wait(1, 60)], 200, asOf);
    const { rows: broken } = await pool().query<{ id: number }>(
      `update flow_runs set record = record || '{"steps": "many", "wait": 1}'
       where id in (select id from flow_runs where cohort_id = $1 order by id offset 100 limit 2) returning id`,
      [cohort],
    );
    const first = await stayAt(cohort, asOf);
    expect(first.state.sentence).toMatch(
      /: 200 runs; 198 wait until .*, 2 try again after an error in step 1; next/,
    );
    expect(first.until).toBe(after(asOf, 15_000).toISOString());
    const again = await stayAt(cohort, after(asOf, 15_000));
    expect(again.until).toBe(after(asOf, 45_000).toISOString());
    const { rows } = await pool().query(`select failures, state from flow_runs where id = any($1)`, [
      broken.map(({ id }) => id),
    ]);
    expect(rows).toEqual([1, 2].map(() => ({ failures: 2, state: 'active' })));
    const warnings = logged.filter((line) => line.includes('"flow run failed; will retry"'));
    expect(warnings).toHaveLength(4);
    expect(warnings[0]).toContain(`"flow_run_id":${Math.min(...broken.map(({ id }) => id))}`);
  });

  it('ends if its step can never be taken', async () => {
    const asOf = new Date();
    const cohort = await enter([wait(1, 60)], 20, asOf);
    await pool().query(
      'update flow_runs set version_id = 0 where id = (select min(id) from flow_runs where cohort_id = $1)',
      [cohort],
    );
    await stayAt(cohort, asOf);
    expect(await paths()).toEqual({ exited: 1, active: 19 });
  });
});

it('leaves runs alone that others have locked, and comes back for them after a second', async () => {
  const asOf = new Date();
  const cohort = await enter([wait(1, 60)], 10, asOf);
  await inTransaction(pool(), async (trx) => {
    await trx.query('select from flow_runs where cohort_id = $1 and contact_id = any($2) for no key update', [
      cohort,
      contacts.slice(0, 3),
    ]);
    const step = await stayAt(cohort, asOf);
    expect(step).toMatchObject({ next: 'wait', until: after(asOf, 1_000).toISOString() });
    expect(step.state.groups).toMatchObject([
      { waitsFor: 'time', count: 7 },
      { waitsFor: null, count: 3 },
    ]);
  });
  expect((await stayAt(cohort, after(asOf, 1_000))).state.groups).toMatchObject([
    { waitsFor: 'time', count: 10 },
  ]);
});

describe('while its flow is paused, a cohort', () => {
  const setStatus = (status: string) =>
    pool().query('update flows set status = $2 where id = $1', [flowId, status]);

  it('holds runs that are due, and comes back only for others', async () => {
    const asOf = new Date();
    const cohort = await enter([wait(1, 3_600), wait(2, 3_600)], 10, asOf);
    await stayAt(cohort, asOf);
    await setStatus('paused');
    // A resume made this run due, and the flow was paused again.
    await pool().query(
      `update flow_runs set retry_at = $2, due_at = $3, record = jsonb_set(record, '{wait,until}', to_jsonb($4::text))
       where id = (select min(id) from flow_runs where cohort_id = $1)`,
      [cohort, asOf, after(asOf, 3 * HOUR_MS), after(asOf, 3 * HOUR_MS).toISOString()],
    );
    const step = await stayAt(cohort, after(asOf, HOUR_MS));
    expect(step.until).toBe(after(asOf, 3 * HOUR_MS).toISOString());
    expect(step.state.groups).toMatchObject([
      { waitsFor: 'resume', count: 9 },
      { waitsFor: 'time', count: 1 },
    ]);
  });
});

describe('the turns of cohorts', () => {
  const advance = (cohorts: FlowCohorts, id: number, asOf: Date) =>
    cohorts.advance(id, { asOf, stayMs: 2_000 });

  it('end a stay that is over with its remaining steps due', async () => {
    const asOf = new Date();
    const cohort = await enter([wait(1, 60)], 450, asOf);
    const step = await createFlowCohorts(deps()).advance(cohort, { asOf, stayMs: 0 });
    expect(step.next).toBe('again');
    expect(await advance(createFlowCohorts(deps()), cohort, asOf)).toMatchObject({ next: 'wait' });
    expect(await paths()).toEqual({ active: 450 });
  });

  it('cancel all runs on behalf of an operator', async () => {
    const asOf = new Date();
    const cohort = await enter([wait(1, 60)], 450, asOf);
    const cohorts = createFlowCohorts(deps());
    await cohorts.cancel(cohort, asOf);
    expect(await paths()).toEqual({ canceled: 450 });
    expect(await advance(cohorts, cohort, asOf)).toMatchObject({ next: 'wait', state: { ended: 450 } });
  });
});
