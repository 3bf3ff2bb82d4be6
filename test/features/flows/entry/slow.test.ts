// A flow with slow filters does not delay other flows, and loses no entries.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { addEntries } from '../../../../src/features/flows/entry/entries.ts';
import { startFlowEntries } from '../../../../src/features/flows/entry/loop.ts';
import { judgePage } from '../../../../src/features/flows/entry/pages.ts';
import { createFlowScheduler } from '../../../../src/features/flows/entry/flow-scheduler.ts';
import { compileFilters } from '../../../../src/features/segments/index.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { countsOf, entriesOf, insertActiveFlow, runsOf } from '../../../support/flow-entries.ts';
import { testPulse } from '../../../support/pulse.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { until } from '../../../workflows/until.ts';

let test: TestDatabase;
let account: QueuedAccount;
let contacts: number[];

const pool = () => test.database.pool;
const log = pino({ level: 'silent' });
const deps = () => ({ pool: pool(), log });

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 12 });
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  contacts = await insertContacts(pool(), account, 250);
});

const enter = (flowId: number, ids: readonly number[]) =>
  addEntries(
    pool(),
    { id: flowId, account_id: account.accountId, brand_id: account.brandId },
    ids,
    'm1',
    false,
  );
const retryNow = (flowId: number) =>
  pool().query('update flow_entries set retry_at = null where flow_id = $1', [flowId]);

const inactive = [{ name: 'last_interacted_at', predicate: 'blank' }];

/** Runs `work` while no one can read when contacts were last active, as if that took long. */
async function whileFiltersWait<T>(work: () => Promise<T>): Promise<T> {
  const other = await pool().connect();
  try {
    await other.query('begin; lock table contact_activity');
    return await work();
  } finally {
    await other.query('rollback');
    other.release();
  }
}

const filtersWait = () =>
  until(async () => {
    const { rows } = await pool().query(
      `select 1 from pg_locks where not granted and relation = 'contact_activity'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows.length > 0;
  });

describe('a flow with slow filters', () => {
  it('does not hold up the entries of other flows', async () => {
    const slow = await insertActiveFlow(pool(), account, { filters: inactive });
    const quick = await insertActiveFlow(pool(), account, {});
    for (const flowId of [slow, quick]) await enter(flowId, contacts);
    const waker = { wake: () => undefined, listen: () => () => undefined, close: () => Promise.resolve() };
    const loops: ReturnType<typeof startFlowEntries>[] = [];
    try {
      await whileFiltersWait(async () => {
        loops.push(startFlowEntries({ ...deps(), waker, pulse: testPulse(pool()) }));
        await until(async () => (await entriesOf(pool(), quick)).length === 0);
      });
    } finally {
      await Promise.all(loops.map((loop) => loop.stop()));
    }
    expect(await countsOf(pool(), quick)).toEqual({ entered: 250 });
  });

  it('can be paused while they are evaluated, and then no contacts enter', async () => {
    const flowId = await insertActiveFlow(pool(), account, { filters: inactive });
    await enter(flowId, contacts.slice(0, 3));
    const { judging } = await whileFiltersWait(async () => {
      const page = judgePage(deps(), flowId);
      await filtersWait();
      await pool().query('select 1 from contacts where id = $1 for update nowait', [contacts[0]]);
      await pool().query('select 1 from flows where id = $1 for update nowait', [flowId]);
      await pool().query(`update flows set status = 'paused' where id = $1`, [flowId]);
      return { judging: page };
    });
    await judging;
    await retryNow(flowId);
    await judgePage(deps(), flowId);
    expect(await runsOf(pool(), flowId)).toEqual([]);
    expect(await countsOf(pool(), flowId)).toEqual({ 'not_entered:flow_paused': 3 });
  });

  it('judges fewer entries at once after a statement took too long, and loses none', async () => {
    const flowId = await insertActiveFlow(pool(), account, {});
    await enter(flowId, contacts.slice(0, 120));
    await pool().query(`
      create function tire() returns trigger language plpgsql as $$ begin
        if (select count(*) from added) > 30 then raise 'too slow' using errcode = 'query_canceled'; end if;
        return null; end $$;
      create trigger tire after insert on flow_runs referencing new table as added
        for each statement execute function tire()`);
    try {
      await judgePage(deps(), flowId);
      expect(await runsOf(pool(), flowId)).toEqual([]);
      await retryNow(flowId);
      for (let pages = 1; pages <= 5; pages += 1) await judgePage(deps(), flowId);
      expect(await countsOf(pool(), flowId)).toEqual({ entered: 120 });
    } finally {
      await pool().query('drop trigger tire on flow_runs; drop function tire');
    }
  });
});

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
}

/** The rows that a plan reads at its ends. */
function rowsRead({ Plans: plans, ...plan }: Plan): number {
  if (plans) return plans.reduce((sum, part) => sum + rowsRead(part), 0);
  return plan['Actual Rows'] * plan['Actual Loops'];
}

describe('a filter that counts events', () => {
  it('reads only the events of the contacts who enter', async () => {
    await pool().query(
      `with n as (insert into event_names (brand_id, name) values ($1, 'order_placed') returning id)
       insert into contact_events (account_id, brand_id, contact_id, name_id, created_at)
       select $2, $1, c.id, n.id, now() from n, unnest($3::bigint[]) as c (id), generate_series(1, 80)`,
      [account.brandId, account.accountId, contacts],
    );
    await pool().query('analyze contact_events; analyze contacts');
    const filters = [{ name: 'event.order_placed', predicate: 'did', value: { at_least: 2 } }];
    const audience = { brandId: account.brandId, asOf: new Date(), few: true };
    const { sql, values } = await compileFilters(pool(), audience, filters, 3);
    const { rows } = await pool().query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json) select c.id from contacts c where c.brand_id = $1 and c.id = any($2) and ${sql}`,
      [account.brandId, contacts.slice(0, 3), ...values],
    );
    const [{ Plan: plan }] = (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'];
    expect(rowsRead(plan)).toBeLessThan(1_000);
  });
});

describe('the scheduler of flows', () => {
  it('picks the flow that has waited longest, for one worker at a time', async () => {
    const flows = createFlowScheduler(() => Promise.resolve([1, 2, 3]));
    expect([await flows.take(false), await flows.take(false)]).toEqual([1, 2]);
    flows.release(1, 5, 0);
    expect([await flows.take(false), await flows.take(false), await flows.take(false)]).toEqual([3, 1, null]);
  });

  it('leaves a worker to quick flows, and does not pick a flow that another process judges', async () => {
    const flows = createFlowScheduler(() => Promise.resolve([1, 2, 3]));
    await flows.take(false);
    flows.release(1, 1_001, 0);
    await flows.take(false);
    flows.release(2, 5, 1_000_000);
    expect([await flows.take(true), await flows.take(true), await flows.take(false)]).toEqual([3, null, 1]);
  });
});
