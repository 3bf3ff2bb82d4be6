// Cohorts that advance at the same time share contacts, caps, accounts and connections, and hold up no other run.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createFlowCohorts, type FlowCohorts } from '../../../../src/features/flows/cohorts/cohorts.ts';
import { type AdvanceDeps, advanceRun } from '../../../../src/features/flows/run/advance.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertCohort } from '../../../support/flow-cohorts.ts';
import { insertFlow, insertFlowVersion, insertRun, runRow } from '../../../support/flow-runs.ts';
import { writeFlow } from '../../../support/flow-sends.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testAdvanceDeps } from './advance-deps.ts';

let db: TestDatabase;
let account: QueuedAccount;
let deps: AdvanceDeps;
let cohorts: FlowCohorts;
const begun = new Date();
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const pool = () => db.database.pool;
const wait: Step = { type: 'wait', id: 1, duration: 60 };

beforeAll(async () => {
  // As many connections as a worker has.
  db = await createTestDatabase({ poolMax: 12 });
  deps = testAdvanceDeps(pool());
  cohorts = createFlowCohorts(deps);
});
afterAll(() => db.drop());
beforeEach(async () => {
  account = await insertAccount(db.database);
});

/** Lets a cohort take all that is due, as its workflow does. */
async function takeAll(cohortId: number, asOf: Date): Promise<void> {
  for (;;) {
    const step = await cohorts.advance(cohortId, { asOf, stayMs: 2_000 });
    if (step.next === 'wait' || step.next === 'done') return;
  }
}

/** Copies a cohort with its runs, before they begin. @returns the ids of all cohorts */
async function copyCohort(id: number, count: number): Promise<number[]> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into flow_cohorts (account_id, brand_id, flow_id, n, size, closed_at)
     select account_id, brand_id, flow_id, n + copy, size, closed_at
     from flow_cohorts, generate_series(1, $2 - 1) copy where id = $1 returning id`,
    [id, count],
  );
  const ids = rows.map((row) => row.id);
  await pool().query(
    `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record, cohort_id)
     select account_id, brand_id, flow_id, version_id, contact_id, 'm' || copy || '/' || id, record, copy
     from flow_runs, unnest($2::bigint[]) copy where cohort_id = $1`,
    [id, ids],
  );
  return [id, ...ids];
}

/** Writes a flow with one email. */
async function mailingFlow() {
  const { flowId, steps } = await writeFlow(db.database, account);
  return { id: flowId, versionId: await insertFlowVersion(pool(), flowId, { steps }), goal: null };
}

describe('the cohorts of two flows with the same contacts', () => {
  it('send each contact no more than the frequency cap allows', async () => {
    const count = 120;
    const contacts = await insertContacts(pool(), account, count);
    await pool().query('update accounts set has_contacts = true where id = $1', [account.accountId]);
    await pool().query(
      `update brands set frequency_cap = '{"count": 1, "per_seconds": 86400}' where id = $1`,
      [account.brandId],
    );
    const flows = [await mailingFlow(), await mailingFlow(), await mailingFlow()];
    // Each flow takes the contacts in another order, so that locks in the order of runs would deadlock.
    const orders = [
      contacts,
      [...contacts].reverse(),
      contacts.map((_, n) => contacts[(7 * n) % count] as number),
    ];
    const ids: number[] = [];
    for (const [n, flow] of flows.entries()) {
      ids.push((await insertCohort(pool(), account, flow, orders[n] as number[], { asOf: begun })).id);
    }
    await Promise.all(ids.map((id) => takeAll(id, begun)));
    const { rows } = await pool().query<{ sent: number; capped: number; failures: number }>(
      `select count(s.message_id)::int as sent, max(r.failures)::int as failures,
         (count(*) filter (where s.outcome = 'skipped' and s.detail->>'reason' = 'frequency_cap'))::int as capped
       from flow_runs r join flow_run_steps s on s.run_id = r.id
       where r.account_id = $1 and r.state = 'completed' group by r.contact_id`,
      [account.accountId],
    );
    expect(rows).toHaveLength(count);
    expect(rows.filter(({ sent, capped }) => sent !== 1 || capped !== 2)).toEqual([]);
    expect(rows.filter(({ failures }) => failures > 0)).toEqual([]);
  });
});

describe('a run that fails', () => {
  it('holds up none of the other 199 of its cohort, and tries again ever later', async () => {
    const flow = await insertFlow(pool(), account, {
      steps: [{ type: 'condition', id: 2, filters: [], yes: [], no: [] }, wait],
    });
    const contacts = await insertContacts(pool(), account, 200);
    const { id, runs } = await insertCohort(pool(), account, flow, contacts, { asOf: begun });
    const [unreadable = 0, newer = 0, orphan = 0] = [runs[57], runs[111], runs[180]];
    const setRecord = (run: number, record: string) =>
      pool().query('update flow_runs set record = $2 where id = $1', [run, record]);
    await setRecord(unreadable, '{"schema": 1, "stepId": "none"}');
    await setRecord(newer, '{"schema": 99}');
    await pool().query('update flow_runs set version_id = 999999999 where id = $1', [orphan]);

    await takeAll(id, begun);
    const { rows } = await pool().query<{ waits_for: string | null; state: string; n: number }>(
      `select state, waits_for, count(*)::int as n from flow_runs where cohort_id = $1 group by 1, 2 order by n desc`,
      [id],
    );
    expect(rows[0]).toEqual({ state: 'active', waits_for: 'time', n: 197 });
    expect(await runRow(pool(), orphan)).toMatchObject({ state: 'exited', reason: 'error' });
    for (const run of [unreadable, newer]) {
      expect(await runRow(pool(), run)).toMatchObject({ state: 'active', failures: 1, retry_at: after(15) });
    }
    const step = await cohorts.advance(id, { asOf: after(14), stayMs: 2_000 });
    expect(step).toMatchObject({ next: 'wait', until: after(15).toISOString() });
    expect(step).toMatchObject({ state: { sentence: expect.stringMatching(/2 try again/) } });
    await takeAll(id, after(15));
    expect(await runRow(pool(), unreadable)).toMatchObject({ failures: 2, retry_at: after(45) });

    const record = {
      ...(await runRow(pool(), runs[0] as number))?.record,
      stepId: null,
      begun: false,
      wait: null,
      steps: 0,
    };
    await setRecord(unreadable, JSON.stringify(record));
    await takeAll(id, after(60));
    await takeAll(id, after(120));
    expect(await runRow(pool(), unreadable)).toMatchObject({
      state: 'completed',
      failures: 0,
      retry_at: null,
    });
  });
});

describe('a hundred due cohorts of an account', () => {
  it('hold up neither the cohort nor the single run of another account', async () => {
    const count = 100;
    const flow = await insertFlow(pool(), account, { steps: [wait] });
    const contacts = await insertContacts(pool(), account, 20);
    const busy = await copyCohort(
      (await insertCohort(pool(), account, flow, contacts, { asOf: begun })).id,
      count,
    );
    const other = await insertAccount(db.database);
    const otherFlow = await insertFlow(pool(), other, { steps: [wait] });
    const others = await insertContacts(pool(), other, 20, 'other');
    const { id } = await insertCohort(pool(), other, otherFlow, others.slice(1), { asOf: begun });
    const single = await insertRun(pool(), other, otherFlow, others[0] as number, { asOf: begun });

    let done = 0;
    const all = Promise.all(busy.map((each) => takeAll(each, begun).then(() => (done += 1))));
    const doneBefore = await Promise.all([
      takeAll(id, begun).then(() => done),
      advanceRun(deps, single, begun).then(() => done),
    ]);
    for (const before of doneBefore) expect(before).toBeLessThan(count / 5);
    await all;
    const { rows } = await pool().query<{ n: number }>(
      `select count(*)::int as n from flow_runs where flow_id = any($1) and waits_for is distinct from 'time'`,
      [[flow.id, otherFlow.id]],
    );
    expect(rows).toEqual([{ n: 0 }]);
  });
});
