// A run takes each due step once, keeps what arrives while paused, and ends for the right reason.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { endRuns } from '../../../../src/features/flows/run/ends.ts';
import { lockFrequency } from '../../../../src/features/flows/run/send.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  createTestTracker,
  type FlowSpec,
  insertFlow,
  insertRun,
  pathOf,
  runRow,
  type RunSpec,
  senderOfResults,
  sendsNothing,
  type TestFlow,
} from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

let db: TestDatabase;
let account: QueuedAccount;
let contactId: number;
let flow: TestFlow;
let deps: AdvanceDeps;
let track: ReturnType<typeof createTestTracker>;

const pool = () => db.database.pool;
const begun = new Date();
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const mark = (id: number): Step => ({ type: 'update_contact', id, data: { [`step${id}`]: true } });

async function begin(spec: FlowSpec, run: RunSpec = {}): Promise<number> {
  flow = await insertFlow(pool(), account, spec);
  return insertRun(pool(), account, flow, contactId, { asOf: begun, ...run });
}

const advance = (runId: number, seconds = 0) => advanceRun(deps, runId, after(seconds));
const setStatus = (status: string) =>
  pool().query('update flows set status = $2 where id = $1', [flow.id, status]);

async function waiting(runId: number): Promise<number> {
  const { rows } = await pool().query<{ n: number }>(
    `select (select count(*) from flow_waits where run_id = $1)::int
       + (select count(*) from flow_arrivals where run_id = $1)::int as n`,
    [runId],
  );
  return rows[0]?.n ?? 0;
}

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
  [contactId = 0] = await insertContacts(pool(), account, 1);
  track = createTestTracker(pool(), account);
});

describe('the transaction of a run', () => {
  it('takes the due steps, and waits', async () => {
    const run = await begin({ steps: [mark(1), { type: 'wait', id: 2, duration: 86_400 }, mark(3)] });
    expect(await advance(run)).toMatchObject({
      next: 'wait',
      until: after(86_400).toISOString(),
      state: { state: 'active', stepId: 2, steps: 1 },
    });
    expect(await runRow(pool(), run)).toMatchObject({ waits_for: 'time', due_at: after(86_400), step_id: 2 });
    expect(await advance(run, 86_400)).toMatchObject({ next: 'done', state: { state: 'completed' } });
    expect(await pathOf(pool(), run)).toEqual(['1 done', '2 done', '3 done']);
    expect(await runRow(pool(), run)).toMatchObject({
      ...{ state: 'completed', reason: 'end', waits_for: null, due_at: null, step_id: null },
      ...{ engine_expected_by: null, ended_at: after(86_400) },
    });
  });

  it('finds nothing to do the second time', async () => {
    const run = await begin({ steps: [mark(1), { type: 'wait', id: 2, duration: 60 }] });
    const steps = await Promise.all([advance(run), advance(run), advance(run)]);
    expect(steps[1]).toEqual(steps[0]);
    expect(steps[2]).toEqual(steps[0]);
    const before = await runRow(pool(), run);
    await advance(run, 59);
    expect(await runRow(pool(), run)).toEqual(before);
    expect(await pathOf(pool(), run)).toEqual(['1 done']);
    await Promise.all([advance(run, 60), advance(run, 60)]);
    expect(await pathOf(pool(), run)).toEqual(['1 done', '2 done']);
  });

  it('describes what it waits for in a sentence', async () => {
    const wait: Step = {
      type: 'wait_for_event',
      id: 1,
      event_name: 'order_placed',
      duration: 3_600,
      yes: [],
      no: [],
    };
    const run = await begin({ steps: [wait, mark(2)] });
    expect(await advance(run)).toMatchObject({
      state: {
        sentence: expect.stringMatching(
          /^waits until [A-Z]\w+day \d\d:\d\d UTC for order_placed, then step 2$/,
        ),
      },
    });
  });

  it.each([
    ['yes', true],
    ['timeout', false],
  ])('takes the branch %s of a wait for an event', async (outcome, arrives) => {
    const steps: Step[] = [
      { type: 'wait_for_event', id: 1, event_name: 'paid', duration: 86_400, yes: [mark(2)], no: [mark(3)] },
    ];
    const run = await begin({ steps });
    expect(await advance(run)).toMatchObject({ next: 'wait' });
    if (arrives) await track([{ contactId, event: 'paid' }]);
    expect(await advance(run, arrives ? 5 : 86_400)).toMatchObject({ next: 'done' });
    expect(await pathOf(pool(), run)).toEqual([`1 ${outcome}`, arrives ? '2 done' : '3 done']);
    expect(await waiting(run)).toBe(0);
  });

  it('continues to wait after an event that its filters refuse, and judges it once', async () => {
    const filters = [{ name: 'received.plan', predicate: 'eq', value: 'pro' }];
    const steps: Step[] = [
      { type: 'wait_for_event', id: 1, event_name: 'paid', filters, duration: 86_400, yes: [], no: [] },
    ];
    const run = await begin({ steps });
    await advance(run);
    await track([{ contactId, event: 'paid', data: { plan: 'free' } }]);
    expect(await advance(run, 5)).toMatchObject({ next: 'wait' });
    expect(await waiting(run)).toBe(1);
    await track([{ contactId, event: 'paid', data: { plan: 'pro' } }]);
    expect(await advance(run, 6)).toMatchObject({ next: 'done' });
    expect(await pathOf(pool(), run)).toEqual(['1 yes']);
  });

  it('counts an event from before the wait only with include_since', async () => {
    const wait = {
      type: 'wait_for_event',
      id: 2,
      event_name: 'paid',
      duration: 60,
      yes: [],
      no: [],
    } as const;
    for (const since of [{}, { include_since: 'entry' }, { include_since: { step: 1 } }] as const) {
      const run = await begin({
        steps: [
          { type: 'wait', id: 1, duration: 3_600 },
          { ...wait, ...since },
        ],
      });
      await advance(run);
      const [eventId] = await track([{ contactId, event: 'paid' }]);
      await pool().query(`update contact_events set created_at = $2 where id = $1`, [eventId, after(10)]);
      await advance(run, 3_600);
      await advance(run, 3_660);
      const isCounted = 'include_since' in since && since.include_since === 'entry';
      expect(await pathOf(pool(), run)).toEqual(['1 done', isCounted ? '2 yes' : '2 timeout']);
    }
  });

  it('does not count the event that caused the entry', async () => {
    const [eventId = 0] = await track([{ contactId, event: 'paid' }]);
    const event = { id: eventId, name: 'paid', data: {}, created_at: new Date(0).toISOString() };
    const steps: Step[] = [
      {
        ...{ type: 'wait_for_event', id: 1, event_name: 'paid', duration: 60, include_since: 'entry' },
        ...{ yes: [], no: [] },
      },
    ];
    const run = await begin({ steps }, { event });
    expect(await advance(run)).toMatchObject({ next: 'wait' });
  });

  it('does not block events of its contact during a slow step', async () => {
    const steps: Step[] = [
      {
        type: 'wait_for_event',
        id: 1,
        event_name: 'paid',
        duration: 60,
        include_since: 'entry',
        yes: [],
        no: [],
      },
      { type: 'event', id: 2, event_name: 'thanked' },
      mark(3),
    ];
    await track([{ contactId, event: 'paid' }]);
    const run = await begin({ steps, goal: 'bought' });
    // A step after which events would wait is the last of its transaction.
    expect(await advance(run)).toMatchObject({ next: 'again' });
    expect(await advance(run)).toMatchObject({ next: 'again' });
    expect(await pathOf(pool(), run)).toEqual(['1 yes', '2 done']);
    const blocker = await pool().connect();
    await blocker.query('begin');
    await blocker.query('select 1 from contacts where id = $1 for no key update', [contactId]);
    const advancing = advance(run);
    try {
      const isBlocked = async () =>
        (
          await pool().query(
            `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).rowCount === 1;
      while (!(await isBlocked())) await delay(10);
      await track([{ contactId, event: 'seen' }]);
    } finally {
      await blocker.query('commit');
      blocker.release();
    }
    expect(await advancing).toMatchObject({ next: 'done', state: { state: 'completed' } });
  });

  it('separates test events from others', async () => {
    const steps: Step[] = [
      { type: 'wait_for_event', id: 1, event_name: 'paid', duration: 60, yes: [], no: [] },
    ];
    const live = await begin({ steps, goal: 'left' });
    const test = await insertRun(pool(), account, flow, contactId, { asOf: begun, test: true });
    await Promise.all([advance(live), advance(test)]);
    await track([{ contactId, event: 'paid', test: true }]);
    expect(await advance(live, 1)).toMatchObject({ next: 'wait' });
    expect(await advance(test, 1)).toMatchObject({ next: 'done' });
    await track([{ contactId, event: 'left' }]);
    expect(await advance(live, 2)).toMatchObject({ state: { state: 'exited', reason: 'goal' } });
  });

  it('ends at its goal during any wait', async () => {
    const waits: Step[] = [
      { type: 'wait', id: 1, duration: 3_600 },
      { type: 'wait_for_event', id: 1, event_name: 'paid', duration: 3_600, yes: [], no: [] },
      { type: 'webhook', id: 1, url: 'https://hooks.example.com', method: 'POST' },
    ];
    for (const wait of waits) {
      const run = await begin({ steps: [wait, mark(2)], goal: 'bought' });
      await advance(run);
      await track([{ contactId, event: 'bought' }]);
      expect(await advance(run, 1)).toMatchObject({
        next: 'done',
        state: { state: 'exited', reason: 'goal' },
      });
      expect(await pathOf(pool(), run)).toEqual([]);
      expect(await waiting(run)).toBe(0);
    }
  });

  it('ends when the contact was deleted', async () => {
    const run = await begin({ steps: [{ type: 'wait', id: 1, duration: 60 }] });
    await advance(run);
    await pool().query('delete from contacts where id = $1', [contactId]);
    expect(await advance(run, 60)).toMatchObject({ state: { state: 'exited', reason: 'contact_deleted' } });
    expect(await runRow(pool(), run)).toMatchObject({ event: null });
  });

  it('ends before its next step when the exit filters match', async () => {
    const exitFilters = [{ name: 'data.left', predicate: 'true' }];
    const run = await begin({ steps: [{ type: 'wait', id: 1, duration: 60 }, mark(2)], exitFilters });
    await advance(run);
    await pool().query(`update contacts set data = '{"left": true}' where id = $1`, [contactId]);
    expect(await advance(run, 30)).toMatchObject({ next: 'wait' });
    expect(await advance(run, 60)).toMatchObject({ state: { state: 'exited', reason: 'exit_filters' } });
    expect(await pathOf(pool(), run)).toEqual(['1 done']);
  });

  it('passes a condition whose segment has grown', async () => {
    const has = { name: 'data.plan', predicate: 'present' };
    const { rows } = await pool().query<{ id: number }>(
      `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'Grown', $3) returning id`,
      [account.accountId, account.brandId, JSON.stringify(Array.from({ length: 25 }, () => has))],
    );
    const filters = [
      ...Array.from({ length: 29 }, () => has),
      { name: 'segment', predicate: 'eq', value: rows[0]?.id },
    ];
    await pool().query(`update contacts set data = '{"plan": "pro"}' where id = $1`, [contactId]);
    const run = await begin({
      steps: [{ type: 'condition', id: 1, filters, yes: [mark(2)], no: [mark(3)] }],
    });
    expect(await advance(run)).toMatchObject({ state: { state: 'completed' } });
    expect(await pathOf(pool(), run)).toContain('2 done');
  });

  it('ends if its filters cannot be evaluated', async () => {
    const filters = [{ name: 'of_a_later_version', predicate: 'eq', value: 1 }];
    const run = await begin({ steps: [mark(1), { type: 'condition', id: 2, filters, yes: [], no: [] }] });
    expect(await advance(run)).toMatchObject({ next: 'done', state: { state: 'exited', reason: 'error' } });
    expect(await runRow(pool(), run)).toMatchObject({ state: 'exited', reason: 'error', waits_for: null });
  });

  it('waits before its step while the flow is paused, and continues after the resume', async () => {
    const run = await begin({ steps: [mark(1), { type: 'wait', id: 2, duration: 60 }, mark(3)] });
    await setStatus('paused');
    expect(await advance(run)).toMatchObject({ next: 'wait', until: null });
    expect(await runRow(pool(), run)).toMatchObject({ waits_for: 'resume', due_at: null });
    await setStatus('active');
    await advance(run);
    await setStatus('paused');
    expect(await advance(run, 30)).toMatchObject({ until: after(60).toISOString() });
    expect(await advance(run, 60)).toMatchObject({
      until: null,
      state: { sentence: /is held before step 2/ },
    });
    await setStatus('active');
    expect(await advance(run, 90)).toMatchObject({ next: 'done' });
    expect(await pathOf(pool(), run)).toEqual(['1 done', '2 done', '3 done']);
  });

  it('keeps an event that arrives while the flow is paused for the resume', async () => {
    const steps: Step[] = [
      { type: 'wait_for_event', id: 1, event_name: 'paid', duration: 3_600, yes: [mark(2)], no: [mark(3)] },
    ];
    const run = await begin({ steps });
    await advance(run);
    await setStatus('paused');
    await track([{ contactId, event: 'paid' }]);
    expect(await advance(run, 5)).toMatchObject({ next: 'wait' });
    await setStatus('active');
    await advance(run, 5_000);
    expect(await pathOf(pool(), run)).toEqual(['1 yes', '2 done']);
  });

  it('ends when the flow was archived', async () => {
    const run = await begin({ steps: [mark(1)] });
    await setStatus('archived');
    expect(await advance(run)).toMatchObject({
      next: 'done',
      state: { state: 'canceled', reason: 'archived' },
    });
    expect(await pathOf(pool(), run)).toEqual([]);
  });

  it('counts how runs end, but not those of test events', async () => {
    const run = await begin({ steps: [{ type: 'exit', id: 1, reason: 'converted' }] });
    const test = await insertRun(pool(), account, flow, contactId, { asOf: begun, test: true });
    await Promise.all([advance(run), advance(test)]);
    const { rows } = await pool().query('select name, change from flow_count_changes where flow_id = $1', [
      flow.id,
    ]);
    expect(rows).toEqual([{ name: 'exited:converted', change: 1 }]);
  });
});

it('a slow transaction takes one step, and leaves the others to the next', async () => {
  const run = await begin({ steps: [mark(1), mark(2)] });
  const slow = { ...deps, stepsMs: -1 };
  expect(await advanceRun(slow, run, begun)).toMatchObject({ next: 'again' });
  expect(await pathOf(pool(), run)).toEqual(['1 done']);
  expect(await advanceRun(slow, run, begun)).toMatchObject({ next: 'done' });
});

it('a test run commits after sending, because test messages of its account wait for that', async () => {
  const steps: Step[] = [{ type: 'email', id: 1, template_id: 1 }, mark(2)];
  const sending: AdvanceDeps = { ...deps, send: senderOfResults(() => ({ outcome: 'sent' })) };
  const live = await begin({ steps });
  expect(await advanceRun(sending, live, begun)).toMatchObject({ next: 'done' });
  const test = await insertRun(pool(), account, flow, contactId, { asOf: begun, test: true });
  expect(await advanceRun(sending, test, begun)).toMatchObject({ next: 'again' });
  expect(await pathOf(pool(), test)).toEqual(['1 sent']);
  expect(await advanceRun(sending, test, begun)).toMatchObject({ next: 'done' });
});

describe('a run that cannot continue', () => {
  it('is postponed if its step takes too long, by more the later it is', async () => {
    const run = await begin({ steps: [mark(1)] });
    const other = await pool().connect();
    await other.query('begin');
    await other.query('select 1 from contacts where id = $1 for update', [contactId]);
    const late = (await runRow(pool(), run))?.updated_at.getTime() ?? 0;
    const [soon, later] = await Promise.all([
      advanceRun(deps, run, new Date(late)),
      advanceRun(deps, run, new Date(late + 120_000)),
    ]);
    expect(soon).toMatchObject({ next: 'later', until: new Date(late + 15_000).toISOString() });
    expect(later).toMatchObject({ next: 'later', until: new Date(late + 240_000).toISOString() });
    await other.query('rollback');
    other.release();
    expect(await pathOf(pool(), run)).toEqual([]);
    await advance(run);
    expect(await pathOf(pool(), run)).toEqual(['1 done']);
  }, 60_000);

  it('waits for a newer worker if one has stored its position', async () => {
    const run = await begin({ steps: [mark(1)] });
    await pool().query(`update flow_runs set record = jsonb_set(record, '{schema}', '2') where id = $1`, [
      run,
    ]);
    expect(await advance(run)).toMatchObject({
      next: 'later',
      sentence: 'waits for a worker of the newer version that stored its position',
    });
    expect(await runRow(pool(), run)).toMatchObject({ state: 'active' });
  });

  it('is not ended by a process of a former version, to which some filters are invalid', async () => {
    const run = await begin({ steps: [mark(1)] });
    const end = { state: 'exited', reason: 'error' } as const;
    // The value is what the versions set that did not know filters that compare with a value of the run.
    for (const known of ['', 'campaigns']) {
      const ending = inTransaction(pool(), async (trx) => {
        await trx.query(`select set_config('carillon.filters', $1, true)`, [known]);
        return endRuns(trx, [run], end, { asOf: begun, priority: null });
      });
      await expect(ending).rejects.toMatchObject({ code: '40001' });
    }
    expect(await runRow(pool(), run)).toMatchObject({ state: 'active' });
  });

  it('ends if its version is missing', async () => {
    const run = await begin({ steps: [mark(1)] });
    await pool().query('update flow_runs set version_id = 999999999 where id = $1', [run]);
    expect(await advance(run)).toMatchObject({ next: 'done', state: { state: 'exited', reason: 'error' } });
    expect(await runRow(pool(), run)).toMatchObject({ state: 'exited', reason: 'error' });
  });
});

describe('two runs of a contact with a frequency cap', () => {
  it('do not deadlock', async () => {
    await pool().query(`update brands set frequency_cap = '{"count": 5, "per_seconds": 60}' where id = $1`, [
      account.brandId,
    ]);
    const email: Step = { type: 'email', id: 2, template_id: 1 };
    const runs = [await begin({ steps: [email, mark(3)] }), await begin({ steps: [mark(1), email] })];
    const other = await pool().connect();
    await other.query('begin');
    await other.query('select 1 from contacts where id = $1 for update', [contactId]);
    /** Takes the lock of the cap, as the step that sends does. */
    const sending: AdvanceDeps = {
      ...deps,
      send: () => ({
        async decide(trx, requests) {
          await lockFrequency(
            trx,
            requests.map(({ run }) => run.contact_id),
          );
          return requests.map(() => ({ outcome: 'sent' }));
        },
        unwritten: new Set(),
        write: () => Promise.resolve([]),
      }),
    };
    const advanced = Promise.all(runs.map((run) => advanceRun(sending, run, begun)));
    await eventually(async () => {
      const { rows } = await pool().query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(2);
    });
    await other.query('rollback');
    other.release();
    expect((await advanced).map(({ next }) => next)).toEqual(['done', 'done']);
  });
});
