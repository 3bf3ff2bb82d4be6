// Entries of a burst, a list, a segment or a large request share cohorts of up to a thousand runs; others do not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { addEntries, addMatches } from '../../../../src/features/flows/entry/entries.ts';
import { judgePage } from '../../../../src/features/flows/entry/pages.ts';
import { flowsUpkeep } from '../../../../src/features/flows/upkeep.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertActiveFlow } from '../../../support/flow-entries.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const HOUR_MS = 3_600_000;
const log = pino({ level: 'silent' });

let test: TestDatabase;
let account: QueuedAccount;
let flowId: number;
let prefix = 0;

const pool = () => test.database.pool;
const flow = () => ({ id: flowId, account_id: account.accountId, brand_id: account.brandId });
const contacts = (n: number) => insertContacts(pool(), account, n, `p${(prefix += 1)}-`);

beforeAll(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());
beforeEach(async () => {
  flowId = await insertActiveFlow(pool(), account, { goal: 'paid', reentry: 'every_time' });
});

async function judgeAll(asOf = new Date()): Promise<void> {
  while ((await judgePage({ pool: pool(), log, clock: () => asOf }, flowId)).began);
}

/** The cohorts of the flow, with how many runs name each and how many requests wait to wake its workflow. */
async function cohorts() {
  const { rows } = await pool().query<Record<string, unknown>>(
    `select c.n, c.size, c.closed_at is null as open, c.ended_at, c.engine_expected_by > now() as expected,
       (select count(*)::int from flow_runs r where r.cohort_id = c.id and r.engine_expected_by is null) as runs,
       (select count(*)::int from outbox o where o.kind = 'signal_with_start' and o.priority = 1
          and o.task_queue = 'cohorts' and o.workflow_id = 'flow-cohort/' || c.flow_id || '/' || c.n) > 0 as woken
     from flow_cohorts c where c.flow_id = $1 order by c.n`,
    [flowId],
  );
  return rows;
}

/** How many runs have a workflow of their own, which is requested. */
async function alone(): Promise<number> {
  const { rows } = await pool().query<{ n: number }>(
    `select count(*)::int as n from flow_runs r
     join outbox o on o.workflow_id = concat_ws('/', 'flow-run', r.flow_id, r.contact_id, r.cause) and o.kind = 'start'
     where r.flow_id = $1 and r.cohort_id is null and r.engine_expected_by is not null`,
    [flowId],
  );
  return rows[0]?.n ?? 0;
}

const filled = { expected: true, ended_at: null, woken: true };

describe('the clock of new runs', () => {
  it('is a workflow of their own for single events, small requests and test runs', async () => {
    const many = await contacts(120);
    await addEntries(pool(), flow(), many.slice(0, 3), 'e1');
    await addEntries(pool(), flow(), many.slice(3, 12), 'm2');
    await judgeAll();
    await addEntries(pool(), flow(), many, 'm3', true);
    await judgeAll();
    expect(await alone()).toBe(132);
    expect(await cohorts()).toEqual([]);
  });

  it('is shared by runs that a list, a segment or a large request began', async () => {
    const [first = 0, second = 0, ...others] = await contacts(30);
    await addEntries(pool(), flow(), [first], 'l1');
    await judgeAll();
    await addMatches(pool(), flow(), [second]);
    await addEntries(pool(), flow(), others, 'm2');
    await judgeAll();
    expect(await alone()).toBe(0);
    expect(await cohorts()).toEqual([{ ...filled, n: 1, size: 30, open: true, runs: 30 }]);
  });

  it('is shared by the runs of a burst, a thousand by each cohort', async () => {
    for (const id of await contacts(2_350)) await addEntries(pool(), flow(), [id], `e${id}`);
    await judgeAll();
    expect(await cohorts()).toEqual([
      { ...filled, n: 1, size: 1_000, open: false, runs: 1_000 },
      { ...filled, n: 2, size: 1_000, open: false, runs: 1_000 },
      { ...filled, n: 3, size: 350, open: true, runs: 350 },
    ]);
    const { rows } = await pool().query(
      'select 1 from flow_waits w join flow_runs r on r.id = w.run_id and r.flow_id = $1',
      [flowId],
    );
    expect(rows).toHaveLength(2_350);
  });

  it('is another one after an hour, and for each flow', async () => {
    const [one = 0, two = 0, three = 0] = await contacts(3);
    const asOf = new Date();
    const enter = async (id: number, at: number) => {
      await addEntries(pool(), flow(), [id], `l${id}`);
      await judgeAll(new Date(at));
    };
    await enter(one, asOf.getTime());
    await enter(two, asOf.getTime() + HOUR_MS - 1);
    await enter(three, asOf.getTime() + HOUR_MS);
    expect(await cohorts()).toMatchObject([
      { n: 1, size: 2, open: false },
      { n: 2, size: 1, open: true },
    ]);
  });

  it('counts a run that has begun before only once', async () => {
    const [id = 0, other = 0] = await contacts(2);
    await addEntries(pool(), flow(), [id], 'l1');
    await judgeAll();
    await addEntries(pool(), flow(), [id, other], 'l1');
    await judgeAll();
    expect(await cohorts()).toMatchObject([{ n: 1, size: 2, runs: 2 }]);
  });
});

it('housekeeping deletes cohorts whose runs are gone, except the last of a flow, whose number must not return', async () => {
  const insert = (n: number, days: number | null) =>
    pool().query(
      `insert into flow_cohorts (account_id, brand_id, flow_id, n, closed_at, ended_at)
       values ($1, $2, $3, $4, now(), now() - make_interval(days => $5))`,
      [account.accountId, account.brandId, flowId, n, days],
    );
  for (const [n, days] of [
    [1, 500],
    [2, 500],
    [3, 10],
    [4, null],
    [5, 500],
  ] as const)
    await insert(n, days);
  const [id = 0] = await contacts(1);
  await addEntries(pool(), flow(), [id], 'm1');
  await judgeAll();
  await pool().query(
    'update flow_runs set cohort_id = (select id from flow_cohorts where flow_id = $1 and n = 2) where flow_id = $1',
    [flowId],
  );
  const task = flowsUpkeep.tasks?.find(({ name }) => name === 'flow_cohorts');
  if (!task) throw new Error('no such task');
  await runTask(test.database, task, new Date());
  expect((await cohorts()).map(({ n }) => n)).toEqual([2, 3, 4, 5]);
});
