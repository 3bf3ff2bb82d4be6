// A cohort makes the requests of its runs side by side, within the limits of all webhook steps; their rows keep the retries.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { callCohort, type CallStay } from '../../../../src/features/flows/cohorts/call-cohort.ts';
import { nextAtSql } from '../../../../src/features/flows/cohorts/due.ts';
import { createCallTurns, MAX_OF_COHORTS } from '../../../../src/features/flows/run/call-turns.ts';
import { firstRecord } from '../../../../src/features/flows/run/interpreter.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../../src/platform/egress/client.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertCohort, type TestCohort } from '../../../support/flow-cohorts.ts';
import { insertFlow, type TestFlow } from '../../../support/flow-runs.ts';
import { type Receiver, startReceiver } from '../../../support/https-receiver.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let db: TestDatabase;
let account: QueuedAccount;
let flow: TestFlow;
let receiver: Receiver;
let egress: Egress;

const pool = () => db.database.pool;
const asOf = new Date('2026-03-03T09:00:00Z');
const after = (seconds: number) => new Date(asOf.getTime() + seconds * 1_000);

/** Inserts a cohort whose runs are all at its webhook step. */
async function begin(size: number): Promise<TestCohort> {
  const url = receiver.url('/hook', '127.0.0.1');
  flow = await insertFlow(pool(), account, { steps: [{ type: 'webhook', id: 4, url, method: 'POST' }] });
  const contacts = await insertContacts(pool(), account, size, `of-${flow.id}`);
  const cohort = await insertCohort(pool(), account, flow, contacts, { asOf });
  const record = { ...firstRecord(asOf), begun: true, stepId: 4, wait: { for: 'webhook' } };
  await pool().query(
    `update flow_runs set record = $2, step_id = 4, waits_for = 'webhook' where cohort_id = $1`,
    [cohort.id, JSON.stringify(record)],
  );
  return cohort;
}

const deps = () => ({
  ...{ pool: pool(), versions: createFlowVersionReader(pool()), egress, keyring: testKeyring },
  ...{ turns: createCallTurns(), waker: { wake: () => undefined }, log: pino({ level: 'silent' }) },
});

const stay: CallStay = { stopping: new AbortController().signal, onProgress: () => undefined };

const call = ({ id }: TestCohort, at = asOf, options: Partial<CallStay> = {}, own = deps()) =>
  callCohort(own, id, at, { ...stay, ...options });

interface Row {
  id: number;
  state: string;
  waits_for: string | null;
  call_at: Date | null;
  call_failures: number;
  failures: number;
  retry_at: Date | null;
  due: boolean;
  outcome: string | null;
}

async function rowsOf({ id }: TestCohort, at = asOf): Promise<Row[]> {
  const { rows } = await pool().query<Row>(
    `select r.id, r.state, r.waits_for, r.call_at, r.call_failures, r.failures, r.retry_at, s.outcome,
       r.waits_for is null and ${nextAtSql('r')} <= $2 as due
     from flow_runs r left join flow_run_steps s on s.run_id = r.id where r.cohort_id = $1 order by r.id`,
    [id, at],
  );
  return rows;
}

/** How many rows there are of each kind. */
function countBy(rows: readonly Row[], kindOf: (row: Row) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of rows.map(kindOf)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

const runOf = (headers: Record<string, unknown>) => Number(headers['carillon-run-id']);

/** Lets the receiver answer only when `release` is called. `waiting`: the requests without an answer. */
function holdAnswers() {
  const waiting: (() => void)[] = [];
  const held = { waiting, release: () => void waiting.splice(0).forEach((answer) => answer()) };
  receiver.answer = (_request, response) => void waiting.push(() => void response.end('{}'));
  return held;
}

beforeAll(async () => {
  db = await createTestDatabase();
  receiver = await startReceiver({ plain: true });
  const options = { resolver: createResolver([]), userAgent: 'test' };
  egress = createEgress({ ...options, allow: ['127.0.0.0/8'] });
});
afterAll(async () => {
  await egress.close();
  await receiver.close();
  await db.drop();
});
beforeEach(async () => {
  account = await insertAccount(db.database);
  receiver.requests = [];
  receiver.answer = (_request, response) => void response.end('{"plan":"pro"}');
});

describe('the requests of a cohort', () => {
  it('are made side by side, and make the runs due that have their response', async () => {
    const cohort = await begin(60);
    const { waiting, release } = holdAnswers();
    const calling = call(cohort);
    await eventually(() => expect(waiting).toHaveLength(MAX_OF_COHORTS));
    receiver.answer = (_request, response) => void response.end('{}');
    release();
    expect(await calling).toEqual({ answered: 60, failed: 0, reason: null });
    expect(new Set(receiver.requests.map(({ headers }) => runOf(headers)))).toEqual(new Set(cohort.runs));
    expect(countBy(await rowsOf(cohort), ({ due, outcome }) => `${outcome} ${due}`)).toEqual({
      'done true': 60,
    });
    expect(await call(cohort)).toMatchObject({ answered: 0 });
  });

  it('are repeated with the same id at the times of their rows, until the last attempt has failed', async () => {
    const cohort = await begin(9);
    const [failing = 0, gone = 0] = cohort.runs;
    receiver.answer = ({ headers }, response) => {
      const status =
        new Map([
          [failing, 503],
          [gone, 404],
        ]).get(runOf(headers)) ?? 200;
      response.writeHead(status).end('{}');
    };
    expect(await call(cohort)).toEqual({ answered: 8, failed: 1, reason: 'status 503' });
    const spacing: number[] = [];
    let at = asOf;
    for (;;) {
      const [row] = await rowsOf(cohort, at);
      if (!row?.call_at) break;
      const seconds = (row.call_at.getTime() - at.getTime()) / 1_000;
      spacing.push(Math.floor(seconds));
      expect(await call(cohort, new Date(row.call_at.getTime() - 1))).toMatchObject({
        answered: 0,
        failed: 0,
      });
      at = row.call_at;
      await call(cohort, at);
    }
    expect(spacing).toEqual([60, 330, 1_800]);
    const ids = receiver.requests.filter(({ headers }) => runOf(headers) === failing);
    expect(ids.map(({ headers }) => headers['webhook-id'])).toEqual(Array(4).fill(`flow_${failing}_4_0`));
    const rows = await rowsOf(cohort, at);
    expect(rows.slice(0, 3)).toMatchObject([
      { outcome: 'failed', due: true, call_failures: 0 },
      { outcome: 'failed', due: true, call_failures: 0 },
      { outcome: 'done', due: true },
    ]);
  });

  it('stop when the flow is paused, and leave out runs that end', async () => {
    const cohort = await begin(MAX_OF_COHORTS + 3);
    const { waiting, release } = holdAnswers();
    const calling = call(cohort);
    await eventually(() => expect(waiting).toHaveLength(MAX_OF_COHORTS));
    await pool().query(`update flows set status = 'paused' where id = $1`, [flow.id]);
    const [ended = 0, ...others] = cohort.runs;
    await pool().query(`update flow_runs set state = 'canceled', step_id = null where id = any($1)`, [
      [ended, others.at(-1)],
    ]);
    release();
    await calling;
    expect(receiver.requests).toHaveLength(MAX_OF_COHORTS);
    await pool().query(`update flows set status = 'active' where id = $1`, [flow.id]);
    receiver.answer = (_request, response) => void response.end('{}');
    await call(cohort);
    const counts = countBy(await rowsOf(cohort), ({ state, outcome }) => `${state} ${outcome}`);
    expect(counts).toEqual({ 'active done': MAX_OF_COHORTS + 1, 'canceled null': 2 });
  });

  it('end with those under way when the worker stops, and are continued by the next stay', async () => {
    const cohort = await begin(MAX_OF_COHORTS + 5);
    const { waiting, release } = holdAnswers();
    const stop = new AbortController();
    const calling = call(cohort, asOf, { stopping: stop.signal });
    await eventually(() => expect(waiting).toHaveLength(MAX_OF_COHORTS));
    stop.abort();
    release();
    expect(await calling).toMatchObject({ answered: MAX_OF_COHORTS });
    receiver.answer = (_request, response) => void response.end('{}');
    expect(await call(cohort)).toMatchObject({ answered: 5 });
    expect(receiver.requests).toHaveLength(MAX_OF_COHORTS + 5);
  });
});

describe('a cohort whose account has many requests under way', () => {
  /** Keeps turns of the account, as single runs do. @returns a function that frees them */
  async function occupy(own: ReturnType<typeof deps>, count: number) {
    const ends: (() => void)[] = [];
    const busy = Array.from({ length: count }, (_, n) =>
      own.turns.run(account.accountId, `other-${n}`, () => new Promise<void>((end) => ends.push(end))),
    );
    return async () => {
      for (const end of ends) end();
      await Promise.all(busy);
    };
  }

  it('makes as many requests as there is room for, one after the other', async () => {
    const cohort = await begin(40);
    const own = deps();
    const free = await occupy(own, MAX_OF_COHORTS - 4);
    let open = 0;
    let most = 0;
    receiver.answer = (_request, response) => {
      most = Math.max(most, (open += 1));
      setImmediate(() => {
        open -= 1;
        response.end('{}');
      });
    };
    const made = await call(cohort, asOf, {}, own);
    expect([made.answered, made.failed, most <= 4]).toEqual([40, 0, true]);
    await free();
  });

  it('comes back once, later, if there is no room, and counts no attempt', async () => {
    const [cohort, other] = [await begin(40), await begin(40)];
    await pool().query('update flow_runs set retry_at = $2 where id = any($1)', [
      cohort.runs.slice(20),
      asOf,
    ]);
    const own = deps();
    const free = await occupy(own, MAX_OF_COHORTS);
    const reason = `waits: ${MAX_OF_COHORTS} requests of the account are under way`;
    for (const each of [cohort, other]) {
      expect(await call(each, asOf, {}, own)).toEqual({ answered: 0, failed: 0, reason });
    }
    const timesOf = async (each: TestCohort) => {
      const rows = await rowsOf(each);
      expect(rows.every((row) => row.call_failures === 0 && row.waits_for === 'webhook')).toBe(true);
      return [...new Set(rows.map(({ call_at: at }) => ((at?.getTime() ?? 0) - asOf.getTime()) / 1_000))];
    };
    const [first, second] = [await timesOf(cohort), await timesOf(other)];
    expect([first.length, second.length]).toEqual([1, 1]);
    // Behind the 40 requests of the first one, of which 20 run at once for a second each.
    expect(first[0]).toBeGreaterThanOrEqual(1);
    expect(second[0]).toBeGreaterThanOrEqual(2);
    await free();
    expect(await call(cohort, after(first[0] ?? 0), {}, own)).toMatchObject({ answered: 40 });
  });

  it('does not hold up those of other accounts', async () => {
    const own = deps();
    const free = await occupy(own, 20);
    account = await insertAccount(db.database);
    expect(await call(await begin(20), asOf, {}, own)).toMatchObject({ answered: 20 });
    await free();
  });
});

describe('the clock of a cohort', () => {
  it('is woken for the runs that have their response while others wait for theirs', async () => {
    const cohort = await begin(6);
    const [slow = 0] = cohort.runs;
    let release = () => undefined as void;
    receiver.answer = ({ headers }, response) => {
      if (runOf(headers) === slow) release = () => void response.end('{}');
      else response.end('{}');
    };
    const calling = call(cohort, asOf, { wakeMs: 1 });
    await eventually(async () => {
      const { rows } = await pool().query('select 1 from outbox where workflow_id = $1', [cohort.workflowId]);
      expect(rows).toHaveLength(1);
    });
    expect(countBy(await rowsOf(cohort), ({ due }) => String(due))).toEqual({ true: 5, false: 1 });
    release();
    expect(await calling).toMatchObject({ answered: 6 });
  });
});

describe('a run of a cohort', () => {
  it('that cannot be called tries again later, and holds up no other', async () => {
    const cohort = await begin(20);
    const { rows } = await pool().query<{ id: number }>(
      `insert into flow_versions (flow_id, n, exit_filters, steps) values ($1, 2, '[]', '{"broken": true}') returning id`,
      [flow.id],
    );
    await pool().query('update flow_runs set version_id = $2 where id = $1', [cohort.runs[3], rows[0]?.id]);
    expect(await call(cohort)).toMatchObject({ answered: 19 });
    const broken = (await rowsOf(cohort))[3];
    expect(broken).toMatchObject({ failures: 1, outcome: null, waits_for: 'webhook', call_failures: 0 });
    const seconds = ((broken?.retry_at?.getTime() ?? 0) - asOf.getTime()) / 1_000;
    expect(Math.floor(seconds)).toBe(15);
    await call(cohort, after(17));
    expect((await rowsOf(cohort))[3]).toMatchObject({ failures: 2 });
  });

  it('is due at once if its response is stored already, or its version or contact is gone', async () => {
    const cohort = await begin(4);
    await pool().query(
      `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at)
       values ($1, $2, 4, 0, 'webhook', 'done', '{"status": 200, "body": null}', $3)`,
      [cohort.runs[0], flow.id, asOf],
    );
    await pool().query('update flow_runs set version_id = 0 where id = $1', [cohort.runs[1]]);
    await pool().query('delete from contacts where id = (select contact_id from flow_runs where id = $1)', [
      cohort.runs[2],
    ]);
    await call(cohort);
    expect(receiver.requests.map(({ headers }) => runOf(headers))).toEqual([cohort.runs[3]]);
    expect((await rowsOf(cohort)).map(({ due }) => due)).toEqual([true, true, true, true]);
  });
});
