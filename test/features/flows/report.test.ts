// A flow report counts entries, ends, messages and goals, and still answers if live runs cannot be counted.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { countForFlow, type FlowCountChange, foldFlowCounts } from '../../../src/features/flows/counts.ts';
import { IN_PROGRESS_SQL } from '../../../src/features/flows/report.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { type TestApi, startTestApi } from '../../support/api.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../support/flow-sends.ts';

let api: TestApi;
let flowId: number;
let contacts = 0;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  ({ flowId } = await writeFlow(api.database, api, [{}, { channel: 'sms' }]));
});

const report = async (search = '') =>
  (await api.request('GET', `/v1/my/flows/${flowId}/report${search}`)).body;

const count = (changes: Omit<FlowCountChange, 'flowId'>[]) =>
  countForFlow(
    api.database.pool,
    changes.map((change) => ({ flowId, ...change })),
  );

const newRun = async (options: { test?: boolean } = {}) => {
  const contactId = await writeContact(api.database, api, { email: `c${(contacts += 1)}@example.com` });
  return writeRun(api.database, api, flowId, contactId, options);
};

it('reports entries, ends with their reasons, and the rate of the goal', async () => {
  await count([
    { name: 'entered', n: 8 },
    { name: 'not_entered:already_entered', n: 3 },
    { name: 'not_entered:filters', n: 1 },
    { name: 'completed', n: 2 },
    { name: 'exited:goal', n: 2 },
    { name: 'goal', n: 2 },
    { name: 'exited:unsubscribed', n: 1 },
    { name: 'canceled:archived', n: 1 },
  ]);
  const expected = {
    ...{ flow_id: flowId, entered_count: 8, completed_count: 2, goal_count: 2, goal_rate: 0.25 },
    not_entered: { already_entered: 3, filters: 1 },
    exited: { goal: 2, unsubscribed: 1 },
    canceled: { archived: 1 },
  };
  expect(await report()).toMatchObject(expected);
  await foldFlowCounts(api.database.pool);
  await count([{ name: 'entered', n: 1 }]);
  expect(await report()).toMatchObject({ ...expected, entered_count: 9, goal_rate: 2 / 9 });
});

it('reports the messages of each step, with rates and reasons for missing ones', async () => {
  await api.database.pool.query(
    `insert into flow_count_changes (flow_id, step_id, name, change)
     select $1, step, name, change from (values (1, 'accepted', 10), (1, 'sent', 8), (1, 'delivered', 6), (1, 'opened', 4),
       (1, 'clicked', 1), (1, 'unknown', 2), (1, 'unknown', -1), (1, 'resent', 1), (2, 'skipped:no_address', 5), (7, 'sent', 1))
       as c (step, name, change)`,
    [flowId],
  );
  const body = (await report()) as unknown as { messages: object; steps: object[] };
  expect(body.steps).toMatchObject([
    {
      ...{ step_id: 1, type: 'email', in_progress_count: 0 },
      messages: {
        ...{ accepted_count: 10, sent_count: 8, delivered_count: 6, opened_count: 4, clicked_count: 1 },
        ...{ unknown_count: 1, resent_count: 1, failed_count: 0, not_accepted: {} },
        rates: {
          delivered: 0.75,
          opened: 0.5,
          clicked: 0.125,
          clicked_of_opened: 0.25,
          bounced: 0,
          complained: 0,
        },
      },
    },
    {
      step_id: 2,
      type: 'sms',
      messages: { sent_count: 0, not_accepted: { no_address: 5 }, rates: { opened: null } },
    },
    { step_id: 7, type: null, messages: { sent_count: 1 } },
  ]);
  expect(body.messages).toMatchObject({ accepted_count: 10, sent_count: 9, delivered_count: 6 });
});

it('counts active runs by their step, without those of test events', async () => {
  for (const options of [{}, {}, { test: true }]) {
    const run = await newRun(options);
    await api.database.pool.query('update flow_runs set step_id = 2 where id = $1', [run.id]);
  }
  await newRun();
  const ended = await newRun();
  await api.database.pool.query(`update flow_runs set state = 'completed' where id = $1`, [ended.id]);
  const body = (await report()) as unknown as { steps: object[]; in_progress_count: number };
  expect(body.in_progress_count).toBe(3);
  expect(body.steps).toMatchObject([{ in_progress_count: 0 }, { in_progress_count: 2 }]);
});

it('counts active runs from an index alone', async () => {
  const client = await api.database.pool.connect();
  try {
    await client.query('begin');
    // On a table of a few rows, reading it through any index costs the same.
    await client.query('drop index flow_runs_version');
    await client.query('set local enable_seqscan = off');
    await client.query('set local enable_bitmapscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain ${IN_PROGRESS_SQL.replace('$1', String(flowId))}`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('Index Only Scan using flow_runs_at');
  } finally {
    await client.query('rollback');
    client.release();
  }
});

it('reports the counters if the active runs cannot be counted', async () => {
  await count([{ name: 'entered', n: 3 }]);
  const body = await inTransaction(api.database.pool, async (trx) => {
    // The count waits for this lock until its time is over.
    await trx.query('lock table flow_runs in access exclusive mode');
    return report();
  });
  expect(body).toMatchObject({ entered_count: 3, in_progress_count: null });
  expect(body.steps).toMatchObject([{ in_progress_count: null }, { in_progress_count: null }]);
}, 60_000);

it('counts the days of a range', async () => {
  await api.database.pool.query(
    `insert into flow_count_changes (flow_id, name, change, at) values ($1, 'entered', 1, '2026-03-01 23:59Z'),
       ($1, 'entered', 2, '2026-03-02 00:00Z'), ($1, 'entered', 4, '2026-03-03 23:59Z'), ($1, 'entered', 8, '2026-03-04 00:00Z')`,
    [flowId],
  );
  const entered = async () => (await report('?from=2026-03-02&to=2026-03-03')).entered_count;
  expect(await entered()).toBe(6);
  await foldFlowCounts(api.database.pool);
  expect(await entered()).toBe(6);
  expect((await report('?from=2026-03-03')).entered_count).toBe(12);
});

it('shows a message of a run with its content and the event that started the run', async () => {
  const flow = await writeFlow(api.database, api, [
    { text: 'Your {{ event.data.item }}, {{ contact.first_name }}' },
  ]);
  const contactId = await writeContact(api.database, api, { email: 'shown@example.com' });
  const event = { id: 5, name: 'order_placed', data: { item: 'lamp' }, created_at: '2026-03-01T00:00:00Z' };
  const run = await writeRun(api.database, api, flow.flowId, contactId, { event });
  const { messageId } = await send(api.database, testFlowSender(), run, flow.steps[0]);
  const { status, body } = await api.request('GET', `/v1/my/messages/${messageId}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    flow_id: flow.flowId,
    contact_id: contactId,
    text: 'Your lamp, Ada',
    subject: 'Hi Ada',
  });
});
