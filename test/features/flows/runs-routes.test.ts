// The runs API lists and shows runs of the brand, and cancels a run once.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { advanceRun } from '../../../src/features/flows/run/advance.ts';
import type { Step } from '../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../src/features/flows/versions.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';
import { insertCohort } from '../../support/flow-cohorts.ts';
import { insertFlow, insertFlowVersion, insertRun, type TestFlow } from '../../support/flow-runs.ts';
import { testFlowSender, writeFlow } from '../../support/flow-sends.ts';

let api: TestApi;
let flow: TestFlow;
let contacts: number[];
/** One waits at step 2, one has not begun, and one has ended. */
let runs: number[];

const pool = () => api.database.pool;
const begun = new Date('2026-03-02T08:00:00Z');

async function advance(run: number, seconds: number): Promise<void> {
  const waker = { wake: () => undefined };
  await advanceRun(
    {
      ...{ pool: pool(), versions: createFlowVersionReader(pool()), send: testFlowSender() },
      ...{ consumers: [], waker, log: pino({ level: 'silent' }) },
    },
    run,
    new Date(begun.getTime() + 1_000 * seconds),
  );
}

beforeAll(async () => {
  api = await startTestApi();
  contacts = await insertContacts(pool(), api, 3);
  const written = await writeFlow(api.database, api);
  const steps: Step[] = [
    ...written.steps,
    { type: 'wait', id: 2, duration: 3_600 },
    {
      type: 'condition',
      id: 3,
      filters: [{ name: 'trigger.plan', predicate: 'eq', value: 'pro' }],
      yes: [],
      no: [],
    },
  ];
  const versionId = await insertFlowVersion(pool(), written.flowId, { steps });
  flow = { id: written.flowId, versionId, goal: null };
  runs = [];
  for (const contactId of contacts) {
    const event = { id: 7, name: 'signed_up', data: { plan: 'pro' }, created_at: begun.toISOString() };
    runs.push(await insertRun(pool(), api, flow, contactId, { asOf: begun, event, cause: `e${contactId}` }));
  }
  await advance(runs[0] ?? 0, 0);
  await advance(runs[2] ?? 0, 0);
  await advance(runs[2] ?? 0, 3_600);
}, 120_000);
afterAll(() => api.close());

async function newContact(): Promise<number> {
  const body = { first_name: 'Ada', email: 'ada@example.com', phone: '+14155550123' };
  return Number((await api.request('POST', '/v1/my/contacts', { body })).body.id);
}

const list = async (query = '') => {
  const { status, body } = await api.request('GET', `/v1/my/flows/${flow.id}/runs${query}`);
  return status === 200 ? (body as unknown as { id: number }[]).map(({ id }) => id) : status;
};

describe('GET /flows/{id}/runs', () => {
  it('lists the runs, newest first, and filters them', async () => {
    const [waiting = 0, fresh = 0, ended = 0] = runs;
    expect(await list()).toEqual([ended, fresh, waiting]);
    expect(await list('?state=completed')).toEqual([ended]);
    expect(await list('?step_id=2')).toEqual([waiting]);
    expect(await list(`?contact_id=${contacts[1]}`)).toEqual([fresh]);
    expect(await list('?created_before=2000-01-01T00:00:00Z')).toEqual([]);
    expect(await list('?limit=1&page=2')).toEqual([fresh]);
    expect(await list(`?after=${fresh}`)).toEqual([waiting]);
  });

  it.each([
    '?state=lost',
    '?step_id=0',
    '?step_id=99999999999',
    '?contact_id=x',
    '?created_after=1',
    '?cohort=0',
    '?cohort=x',
    '?color=red',
  ])('refuses %s', async (query) => {
    expect(await list(query)).toBe(422);
  });
});

describe('the clock of a run', () => {
  it('is a workflow of its own, or that of its cohort, by which runs are found', async () => {
    const welcome = await insertFlow(pool(), api, { steps: [{ type: 'wait', id: 1, duration: 60 }] });
    const [first = 0, second = 0, third = 0] = contacts;
    const alone = await insertRun(pool(), api, welcome, first, { cause: 'e9' });
    await insertCohort(pool(), api, welcome, [first]);
    const cohort = await insertCohort(pool(), api, welcome, [second, third]);
    const [failing, calling] = cohort.runs;
    await pool().query(`update flow_runs set failures = 3, retry_at = $2 where id = $1`, [failing, begun]);
    await pool().query(
      `update flow_runs set waits_for = 'webhook', call_failures = 1, call_at = $2 where id = $1`,
      [calling, begun],
    );
    const runsOf = async (query: string) =>
      (await api.request('GET', `/v1/my/flows/${welcome.id}/runs${query}`)).body as unknown as {
        id: number;
      }[];
    const shared = {
      workflow_id: cohort.workflowId,
      cohort: { number: 2, size: 2 },
      retry_at: begun.toISOString(),
    };
    expect(await runsOf('?cohort=2')).toMatchObject([
      { id: calling, failures: 1, ...shared },
      { id: failing, failures: 3, ...shared },
    ]);
    expect([await runsOf('?cohort=3'), await runsOf('?cohort=2&state=completed')]).toEqual([[], []]);
    expect((await runsOf('')).find(({ id }) => id === alone)).toMatchObject({
      ...{ workflow_id: `flow-run/${welcome.id}/${first}/e9`, cohort: null, failures: 0, retry_at: null },
    });
    await pool().query(`update flow_runs set state = 'canceled' where id = $1`, [failing]);
    const { body } = await api.request('GET', `/v1/my/flow_runs/${failing}`);
    expect(body).toMatchObject({ ...shared, failures: 0, retry_at: null });
  });
});

it('shows who takes the steps, in the list and alone, and a deleted contact as null', async () => {
  const run = await insertRun(pool(), api, flow, await newContact(), { asOf: begun, cause: 'r1' });
  const contact = { first_name: 'Ada', last_name: null, email: 'ada@example.com', phone: '+14155550123' };
  const shown = async () => {
    const one = await api.request('GET', `/v1/my/flow_runs/${run}`);
    const { body } = await api.request('GET', `/v1/my/flows/${flow.id}/runs?limit=1`);
    return [one.body.contact, (body as unknown as { contact: unknown }[])[0]?.contact];
  };
  expect(await shown()).toEqual([contact, contact]);
  await pool().query(`delete from contacts where first_name = 'Ada'`);
  expect(await shown()).toEqual([null, null]);
  await pool().query('delete from flow_runs where id = $1', [run]);
});

describe('GET /flow_runs/{id}', () => {
  it('shows the path with the outcomes of the messages', async () => {
    const { status, body } = await api.request('GET', `/v1/my/flow_runs/${runs[2]}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ flow_id: flow.id, contact_id: contacts[2], state: 'completed', reason: 'end', cause: 'event' },
      ...{ step_id: null, waits_for: null, due_at: null, test: false, event: { id: 7, name: 'signed_up' } },
      ended_at: '2026-03-02T09:00:00.000Z',
      path: [
        { step_id: 1, type: 'email', outcome: 'sent', message: { status: 'queued', failure: null } },
        { step_id: 2, type: 'wait', outcome: 'done', entered_at: begun.toISOString() },
        { step_id: 3, type: 'condition', outcome: 'yes', left_at: '2026-03-02T09:00:00.000Z' },
      ],
    });
  });

  it('shows what a run waits for', async () => {
    const { body } = await api.request('GET', `/v1/my/flow_runs/${runs[0]}`);
    expect(body).toMatchObject({
      ...{ state: 'active', reason: null, step_id: 2, waits_for: 'time', ended_at: null },
      due_at: '2026-03-02T09:00:00.000Z',
    });
  });
});

describe('POST /flow_runs/{id}/cancel', () => {
  it('refuses a test key', async () => {
    const path = `/v1/my/flow_runs/${runs[0]}/cancel`;
    const { status, body } = await api.request('POST', path, { token: api.testApiKey });
    expect([status, body.code]).toEqual([403, 'test_key']);
  });

  it('ends a run once, wakes its workflow, and replays the response', async () => {
    const flowOfOwn = await insertFlow(pool(), api, { steps: [{ type: 'wait', id: 1, duration: 60 }] });
    const run = await insertRun(pool(), api, flowOfOwn, contacts[0] ?? 0, { cause: 'm1' });
    const cancel = (key: string) =>
      api.request('POST', `/v1/my/flow_runs/${run}/cancel`, { headers: { 'Idempotency-Key': key } });
    const first = await cancel('one');
    expect(first).toMatchObject({ status: 200, body: { id: run, state: 'canceled', reason: 'canceled' } });
    expect(await cancel('one')).toMatchObject({ status: 200, body: first.body });
    expect(await cancel('two')).toMatchObject({ status: 422, body: { code: 'invalid_transition' } });
    const { rows } = await pool().query('select kind, priority from outbox where workflow_id = $1', [
      `flow-run/${flowOfOwn.id}/${contacts[0]}/m1`,
    ]);
    expect(rows).toEqual([{ kind: 'signal_with_start', priority: 1 }]);
  });
});

describe('GET /flows/{id}/webhook_secret', () => {
  it('returns a different secret for each flow, to admins only', async () => {
    const other = await insertFlow(pool(), api, { steps: [] });
    const secretOf = async (id: number) =>
      String((await api.request('GET', `/v1/my/flows/${id}/webhook_secret`)).body.secret);
    expect(await secretOf(flow.id)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await secretOf(flow.id)).toBe(await secretOf(flow.id));
    expect(await secretOf(other.id)).not.toBe(await secretOf(flow.id));
    const { userJwt } = await api.addUser('member');
    const { status } = await api.request('GET', `/v1/my/flows/${flow.id}/webhook_secret`, { token: userJwt });
    expect(status).toBe(403);
  });
});
