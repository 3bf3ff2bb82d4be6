// A transaction takes the due steps of many runs with the statements of one, and leaves out those that need another.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type pg from 'pg';
import pino from 'pino';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import {
  type AdvanceDeps,
  advanceAlone,
  advanceBatch,
  type BatchKind,
} from '../../../../src/features/flows/run/batch.ts';
import type { StepResult } from '../../../../src/features/flows/run/interpreter.ts';
import type { FlowSender } from '../../../../src/features/flows/run/send.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import {
  createTestTracker,
  type FlowSpec,
  insertFlow,
  insertRun,
  pathOf,
  type RunSpec,
  runRow,
  senderOfResults,
  type TestFlow,
} from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

let db: TestDatabase;
let account: QueuedAccount;
let flow: TestFlow;
let deps: AdvanceDeps;
let contacts: number[];

const pool = () => db.database.pool;
const begun = new Date();
const after = (seconds: number) => new Date(begun.getTime() + 1_000 * seconds);
const wait = (id: number): Step => ({ type: 'wait', id, duration: 60 });
const mark = (id: number): Step => ({ type: 'update_contact', id, data: { [`step${id}`]: true } });
const email = (id: number): Step => ({ type: 'email', id, template_id: 1 });
const order = (id: number, more: Partial<Step & { type: 'wait_for_event' }> = {}): Step => ({
  ...{ type: 'wait_for_event', id, event_name: 'ordered', duration: 600, yes: [wait(90)], no: [] },
  ...more,
});

/** Lets contacts enter a flow whose runs belong to a cohort. */
async function begin(spec: FlowSpec, many = contacts, run: RunSpec = {}): Promise<number[]> {
  flow = await insertFlow(pool(), account, spec);
  const ids: number[] = [];
  for (const contactId of many)
    ids.push(await insertRun(pool(), account, flow, contactId, { asOf: begun, ...run }));
  await pool().query('update flow_runs set cohort_id = 1, engine_expected_by = null where id = any($1)', [
    ids,
  ]);
  return ids;
}

const advance = (ids: readonly number[], kind: BatchKind = 'acts', seconds = 0) =>
  advanceBatch(deps, ids, kind, after(seconds));
const none = { advanced: 0, alone: [], waits: [], again: [], left: [] };
const pathsOf = (ids: readonly number[]) => Promise.all(ids.map((id) => pathOf(pool(), id)));
const set = (id: number, changes: string) =>
  pool().query(`update flow_runs set ${changes} where id = $1`, [id]);

/** A pool that counts the statements of its clients. @param see is called with each, as `pg` takes it */
function counting(see: (statement: unknown) => void = () => undefined): {
  pool: pg.Pool;
  count: () => number;
} {
  let n = 0;
  const connect = async () => {
    const client = await pool().connect();
    const query = (statement: string, values?: unknown[]) => {
      n += 1;
      see(statement);
      return client.query(statement, values);
    };
    return { query, release: (broken?: boolean) => client.release(broken) };
  };
  return { pool: { connect } as unknown as pg.Pool, count: () => n };
}

beforeAll(async () => {
  db = await createTestDatabase();
  const waker = { wake: () => undefined };
  deps = {
    pool: pool(),
    versions: createFlowVersionReader(pool()),
    send: senderOfResults(() => ({ outcome: 'sent' })),
    consumers: createTrackedEventConsumers({ waker }),
    waker,
    log: pino({ level: 'silent' }),
  };
});
afterAll(() => db.drop());
beforeEach(async () => {
  account = await insertAccount(db.database);
  contacts = await insertContacts(pool(), account, 3);
});

it('takes no more statements for many runs than for one', async () => {
  const many = await insertContacts(pool(), account, 60, 'many');
  await pool().query(`update contacts set data = jsonb_build_object('n', id % 2) where id = any($1)`, [many]);
  const steps: Step[] = [
    {
      type: 'condition',
      id: 1,
      filters: [{ name: 'data.n', predicate: 'eq', value: 0 }],
      yes: [email(2)],
      no: [email(7)],
    },
    { type: 'condition', id: 3, filters: [{ name: 'step.1.status', predicate: 'blank' }], yes: [], no: [] },
    { type: 'wait', id: 4, until: { field: 'data.due' } },
    email(5),
    wait(6),
  ];
  const exitFilters = [{ name: 'trigger.stop', predicate: 'eq', value: true }];
  const event = { id: 1, name: 'began', data: {}, created_at: begun.toISOString() };
  const even = many.find((id) => id % 2 === 0) ?? 0;
  const [first = 0] = await begin({ steps, exitFilters }, [even], { event });
  const rest = await begin(
    { steps, exitFilters },
    many.filter((id) => id !== even),
    { event },
  );
  const one = counting();
  const result = await advanceBatch({ ...deps, pool: one.pool }, [first], 'acts', begun);
  expect(result).toEqual({ ...none, advanced: 1 });
  const all = counting();
  expect(await advanceBatch({ ...deps, pool: all.pool }, rest, 'acts', begun)).toEqual({
    ...none,
    advanced: 59,
  });
  // A version of a flow is read once.
  expect(all.count()).toBe(one.count());
  const common = ['3 yes', '4 missing', '5 sent'];
  expect(await pathOf(pool(), first)).toEqual(['1 yes', '2 sent', ...common]);
  for (const [n, path] of (await pathsOf(rest)).entries()) {
    const isEven = (many.filter((id) => id !== even)[n] ?? 0) % 2 === 0;
    expect(path).toEqual(isEven ? ['1 yes', '2 sent', ...common] : ['1 no', '7 sent', ...common]);
  }
});

it('returns runs whose next step is taken alone, or begins a wait for an event, and leaves them as they are', async () => {
  const alone = await begin({ steps: [mark(1), email(2)] });
  const waits = await begin({ steps: [order(1)] });
  const rows = () => Promise.all([...alone, ...waits].map((id) => runRow(pool(), id)));
  const before = await rows();
  expect(await advance([...alone, ...waits])).toMatchObject({ advanced: 0, left: [...waits] });
  expect(await advance(alone)).toEqual({ ...none, alone });
  expect(await advance(waits)).toEqual({ ...none, waits });
  expect(await advance(alone, 'waits')).toEqual({ ...none, alone });
  expect(await rows()).toEqual(before);
  for (const id of alone) expect(await advanceAlone(deps, id, begun)).toMatchObject({ next: 'again' });
  expect(await advance(alone)).toEqual({ ...none, advanced: 3 });
  expect(await pathsOf(alone)).toEqual(alone.map(() => ['1 done', '2 sent']));
  expect(await advance(waits, 'waits')).toEqual({ ...none, advanced: 3 });
  expect(await advance(waits, 'waits', 1)).toEqual(none);
});

it('takes the steps before such a step, which it then names', async () => {
  const [one = 0, two = 0, three = 0] = await begin({
    steps: [email(1), order(2, { include_since: 'entry' })],
  });
  expect(await advance([one, two, three])).toEqual({ ...none, advanced: 3, waits: [one, two, three] });
  expect(await runRow(pool(), one)).toMatchObject({ step_id: 2, waits_for: null, due_at: null });
});

it('answers a mail alone', async () => {
  const mail = { inbox_id: 1, auto_submitted: false };
  const event = { id: 1, name: 'email_received', data: {}, created_at: begun.toISOString(), mail };
  const runs = await begin({ steps: [email(1)] }, contacts, { event });
  expect(await advance(runs)).toEqual({ ...none, alone: runs });
});

it('lets many runs wait, each for the events of its own contact', async () => {
  const track = createTestTracker(pool(), account);
  const seven = [{ name: 'received.n', predicate: 'eq', value: 7 }];
  const waiting = order(1, { include_since: 'entry', filters: seven });
  const [one = 0, two = 0, three = 0] = await begin({ steps: [waiting] });
  const [first = 0, second = 0, third = 0] = contacts;
  const event = 'ordered';
  await track([
    { contactId: first, event, data: { n: 6 } },
    { contactId: first, event, data: { n: 7 } },
    { contactId: second, event, data: { n: 6 } },
  ]);
  const runs = [one, two, three];
  expect(await advance(runs, 'waits')).toEqual({ ...none, advanced: 3, again: [one] });
  expect(await pathsOf(runs)).toEqual([['1 yes'], [], []]);
  await track([
    { contactId: second, event, data: { n: 7 } },
    { contactId: third, event, data: { n: 5 } },
  ]);
  expect(await advance(runs)).toMatchObject({ advanced: 3, again: [] });
  expect(await pathsOf(runs)).toEqual([['1 yes'], ['1 yes'], []]);
  const { rows } = await pool().query('select run_id from flow_waits where run_id = any($1)', [runs]);
  expect(rows).toEqual([{ run_id: three }]);
  const { rows: left } = await pool().query('select 1 from flow_arrivals where run_id = any($1)', [runs]);
  expect(left).toEqual([]);
});

it('leaves runs that are locked, and all but one of a contact', async () => {
  const [first = 0] = contacts;
  const runs = await begin({ steps: [email(1)] }, [...contacts, first]);
  const [one = 0, two = 0, three = 0, again = 0] = runs;
  const other = await pool().connect();
  await other.query('begin');
  await other.query('select 1 from flow_runs where id = $1 for no key update', [two]);
  expect(await advance(runs)).toEqual({ ...none, advanced: 2, left: [two, again] });
  await other.query('rollback');
  other.release();
  expect(await advance([two, again])).toEqual({ ...none, advanced: 2 });
  expect(await pathsOf([one, two, three, again])).toEqual(runs.map(() => ['1 sent']));
});

it('takes no step of a run that waits for a webhook or failed, but ends it at its goal', async () => {
  const track = createTestTracker(pool(), account);
  const webhook: Step = { type: 'webhook', id: 1, url: 'https://example.com/', method: 'POST' };
  const runs = await begin({ steps: [webhook, email(2)], goal: 'bought' });
  const [called = 0, failed = 0, due = 0] = runs;
  expect(await advance(runs)).toEqual({ ...none, advanced: 3 });
  expect(await runRow(pool(), called)).toMatchObject({ waits_for: 'webhook', step_id: 1 });
  for (const id of [failed, due]) {
    await pool().query(
      `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, entered_at)
       values ($1, $2, 1, 0, 'webhook', 'done', now())`,
      [id, flow.id],
    );
    await set(id, `waits_for = null, failures = 1`);
  }
  await set(failed, `retry_at = '${after(60).toISOString()}'`);
  await set(due, `retry_at = '${after(0).toISOString()}'`);
  expect(await advance(runs)).toEqual({ ...none, advanced: 1 });
  expect(await pathsOf(runs)).toEqual([[], ['1 done'], ['1 done', '2 sent']]);
  await track([called, failed].map((_, n) => ({ contactId: contacts[n] ?? 0, event: 'bought' })));
  expect(await advance(runs)).toEqual({ ...none, advanced: 2 });
  expect(await runRow(pool(), called)).toMatchObject({ state: 'exited', reason: 'goal' });
  expect(await runRow(pool(), failed)).toMatchObject({ state: 'exited', reason: 'goal' });
});

it('forgets the failures of a run that goes on, and expects no workflow of its own for it', async () => {
  const [run = 0] = await begin({ steps: [wait(1)] });
  await set(run, `retry_at = '${after(-1).toISOString()}', failures = 3`);
  expect(await advance([run])).toEqual({ ...none, advanced: 1 });
  expect(await runRow(pool(), run)).toMatchObject({
    ...{ retry_at: null, failures: 0, engine_expected_by: null },
    ...{ waits_for: 'time', due_at: after(60) },
  });
});

it('holds due runs of a paused flow', async () => {
  const runs = await begin({ steps: [email(1)] });
  await pool().query(`update flows set status = 'paused' where id = $1`, [flow.id]);
  expect(await advance(runs)).toEqual({ ...none, advanced: 3 });
  for (const id of runs)
    expect(await runRow(pool(), id)).toMatchObject({ waits_for: 'resume', due_at: null });
  expect(await advance(runs)).toEqual(none);
});

it('changes no run if one of them fails', async () => {
  const runs = await begin({ steps: [email(1)] });
  await set(runs[1] ?? 0, `record = '{"schema": 99}'`);
  await expect(advance(runs)).rejects.toThrow('schema 99');
  expect(await pathsOf(runs)).toEqual([[], [], []]);
});

/** Decides that all messages are sent, and refuses those of one run when they are written. */
function refusing(refused: number, log: string[]): FlowSender {
  return () => {
    const unwritten = new Map<number, { stepId: number; result: StepResult }>();
    return {
      unwritten: unwritten as unknown as ReadonlySet<number>,
      decide: (_trx, requests) =>
        Promise.resolve(
          requests.map(({ run, step }) => {
            const result: StepResult = { outcome: 'sent', messageId: 1_000 + run.id };
            unwritten.set(run.id, { stepId: step.id, result });
            return result;
          }),
        ),
      write() {
        log.push([...unwritten.keys()].join(' '));
        const of = unwritten.get(refused);
        unwritten.clear();
        if (!of) return Promise.resolve([]);
        const reason = 'sandbox_limit_reached';
        delete of.result.messageId;
        Object.assign(of.result, { outcome: 'failed', detail: { reason } });
        return Promise.resolve([{ runId: refused, stepId: of.stepId, reason }]);
      },
    };
  };
}

it('writes messages once for all, before a run reads on, and shows those that a limit refused', async () => {
  const filters = [{ name: 'step.1.status', predicate: 'blank' }];
  const branch: Step = { type: 'condition', id: 2, filters, yes: [], no: [] };
  const short = await begin({ steps: [email(1), wait(2)] });
  const reading = await begin({ steps: [email(1), branch, email(3), wait(4)] });
  const [refused = 0, ...others] = reading;
  const log: string[] = [];
  const sending = { ...deps, send: refusing(refused, log) };
  await advanceBatch(sending, short, 'acts', begun);
  expect(log).toEqual([short.join(' ')]);
  await advanceBatch(sending, reading, 'acts', begun);
  expect(log.slice(1)).toEqual([reading.join(' '), reading.join(' ')]);
  expect(await pathsOf(reading)).toEqual([
    ['1 failed', '2 yes', '3 failed'],
    ...others.map(() => ['1 sent', '2 yes', '3 sent']),
  ]);
  const { rows } = await pool().query(
    'select detail, message_id from flow_run_steps where run_id = $1 and step_id <> 2 order by n',
    [refused],
  );
  const shown = { detail: { reason: 'sandbox_limit_reached' }, message_id: null };
  expect(rows).toEqual([shown, shown]);
});

it('locks the messages of all runs that may send at once, whether a time or an event makes them due', async () => {
  const [, second = 0, third = 0] = contacts;
  await pool().query(`update brands set frequency_cap = '{"count": 1, "per_seconds": 60}' where id = $1`, [
    account.brandId,
  ]);
  const runs = await begin({ steps: [order(1, { yes: [] }), email(3)] }, [second, third]);
  await advance(runs, 'waits');
  await createTestTracker(pool(), account)([{ contactId: third, event: 'ordered' }]);
  await set(
    runs[0] ?? 0,
    `record = jsonb_set(record, '{wait,until}', to_jsonb('${begun.toISOString()}'::text))`,
  );
  const locked: unknown[] = [];
  const all = counting((statement) => {
    const { name, values } = statement as { name?: string; values?: unknown[] };
    if (name === 'lock_frequency') locked.push(values?.[0]);
  });
  await advanceBatch({ ...deps, pool: all.pool }, runs, 'acts', after(10));
  expect((await pathsOf(runs)).map(([first]) => first)).toEqual(['1 timeout', '1 yes']);
  expect(locked).toEqual([[second, third]]);
});

it('takes no runs together that have thousands of events, but each of them', async () => {
  const never = [{ name: 'received.n', predicate: 'eq', value: 7 }];
  const runs = await begin({ steps: [order(1, { include_since: 'entry', filters: never })] });
  const events = contacts.map((contactId) => ({ contactId, event: 'ordered' }));
  await createTestTracker(pool(), account)(Array.from({ length: 667 }, () => events).flat());
  for (const kind of ['waits', 'acts'] as const) {
    await expect(advance(runs, kind)).rejects.toThrow('3 runs have more than 2000 events together');
    for (const run of runs) expect(await advance([run], kind)).toEqual({ ...none, advanced: 1 });
    await pool().query(
      `insert into flow_arrivals (run_id, step_id, event_id, data, occurred_at)
       select r.id, 1, e.id, e.data, e.created_at
       from flow_runs r join contact_events e on e.contact_id = r.contact_id where r.id = any($1)`,
      [runs],
    );
  }
});
