// A simulation shows the path that a real run would take, and writes nothing.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FlowSimulation } from '../../../src/features/flows/simulate/schema.ts';
import type { Step } from '../../../src/features/flows/steps/index.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertList } from '../../support/campaign-runs.ts';

let api: TestApi;
let contactId: number;
const pool = () => api.database.pool;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  contactId = await insertContact({ email: 'ada@example.com', data: { plan: 'pro' } });
});

let made = 0;
async function insertContact(given: {
  email?: string;
  data?: object;
  country?: string;
  subscribed?: boolean;
}) {
  made += 1;
  const email = given.email === undefined ? null : `${made}.${given.email}`;
  const { rows } = await pool().query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, data, country_code)
     values ($1, $2, $3, $3, $4, $5, $6) returning id`,
    [
      api.accountId,
      api.brandId,
      email,
      given.subscribed ?? true,
      JSON.stringify(given.data ?? {}),
      given.country ?? null,
    ],
  );
  return rows[0]?.id ?? 0;
}

interface FlowGiven {
  event?: string;
  goal?: string;
  triggerData?: object;
  status?: string;
}

async function insertFlow(
  steps: Step[],
  { event, goal, triggerData = {}, status = 'draft' }: FlowGiven = {},
) {
  const { rows } = await pool().query<{ id: number }>(
    `insert into flows (account_id, brand_id, name, status, goal, trigger_data, steps, trigger_event)
     values ($1, $2, 'F', $3, $4, $5, $6, $7) returning id`,
    [
      ...[
        api.accountId,
        api.brandId,
        status,
        goal ?? null,
        JSON.stringify(triggerData),
        JSON.stringify(steps),
      ],
      event ?? null,
    ],
  );
  return rows[0]?.id ?? 0;
}

const AT = '2026-03-10T12:00:00.000Z';

function post(flowId: number, body: object) {
  return api.request<FlowSimulation & { validation_errors?: Record<string, string[]> }>(
    'POST',
    `/v1/my/flows/${flowId}/simulate`,
    { body: { contact_id: contactId, at: AT, ...body } },
  );
}

async function simulate(steps: Step[], body: object = {}, flow: FlowGiven = {}): Promise<FlowSimulation> {
  const answer = await post(await insertFlow(steps, flow), body);
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer.body;
}

const brief = ({ path }: FlowSimulation) => path.map(({ step_id: id, outcome }) => `${id} ${outcome}`);
const email = (id: number): Step => ({ type: 'email', id, template_id: 1 });
const exit = (id: number, reason: string): Step => ({ type: 'exit', id, reason });
const condition = (id: number, filter: object): Step => ({
  type: 'condition',
  id,
  filters: [filter],
  yes: [],
  no: [exit(id + 1, 'no')],
});

describe('POST /flows/{id}/simulate', () => {
  it('shows the path and its times, skips waits, and writes nothing', async () => {
    const listId = await insertList(pool(), api);
    const steps: Step[] = [
      email(1),
      { type: 'wait', id: 2, duration: 86_400 },
      { type: 'wait', id: 3, until: { time: '09:00', timezone: 'Europe/Berlin' } },
      { type: 'update_contact', id: 4, data: { stage: 'active' } },
      { type: 'add_to_list', id: 5, list_id: listId },
      { type: 'event', id: 6, event_name: 'onboarded' },
      { type: 'webhook', id: 7, url: 'https://example.com/', method: 'POST' },
      email(8),
    ];
    const simulation = await simulate(steps);
    expect(simulation.path[1]).toEqual({
      step_id: 2,
      position: 'steps[1]',
      type: 'wait',
      entered_at: AT,
      left_at: '2026-03-11T12:00:00.000Z',
      outcome: 'done',
      detail: { until: '2026-03-11T12:00:00.000Z' },
    });
    expect(brief(simulation)).toEqual([
      ...['1 sent', '2 done', '3 done', '4 done', '5 done', '6 done', '7 done', '8 sent'],
    ]);
    expect(simulation).toMatchObject({
      passes_filters: true,
      ends: { state: 'completed', reason: 'end', at: '2026-03-12T08:00:00.000Z' },
    });
    const { rows } = await pool().query(
      `select c.data, (select count(*)::int from messages) as messages, (select count(*)::int from flow_runs) as runs,
         (select count(*)::int from contact_events) as events, (select count(*)::int from list_members) as members
       from contacts c where id = $1`,
      [contactId],
    );
    expect(rows).toEqual([{ data: { plan: 'pro' }, messages: 0, runs: 0, events: 0, members: 0 }]);
  });

  it('uses the data of the contact, unless an answer is assumed', async () => {
    const steps = [condition(1, { name: 'data.plan', predicate: 'eq', value: 'pro' }), email(3)];
    expect(brief(await simulate(steps))).toEqual(['1 yes', '3 sent']);
    expect(brief(await simulate(steps, { answers: { steps: { 1: 'no' } } }))).toEqual(['1 no', '2 exit']);
    contactId = await insertContact({ email: 'bob@example.com' });
    expect(await simulate(steps)).toMatchObject({ ends: { state: 'exited', reason: 'no' } });
  });

  it('sees the data of the event, and what the run itself would have changed', async () => {
    const listId = await insertList(pool(), api);
    const other = await insertList(pool(), api, [contactId]);
    const steps: Step[] = [
      condition(1, { name: 'trigger.total', predicate: 'gt', value: 50 }),
      { type: 'update_contact', id: 3, data: { stage: 'active', plan: null } },
      condition(4, { name: 'data.stage', predicate: 'eq', value: 'active' }),
      condition(6, { name: 'data.plan', predicate: 'blank' }),
      { type: 'add_to_list', id: 8, list_id: listId },
      { type: 'remove_from_list', id: 9, list_id: other },
      condition(10, { name: 'list', predicate: 'eq', value: listId }),
      condition(12, { name: 'list', predicate: 'not_eq', value: other }),
      { type: 'event', id: 14, event_name: 'onboarded' },
      condition(15, { name: 'event.onboarded', predicate: 'did' }),
    ];
    const simulation = await simulate(steps, { event_data: { total: 80 } });
    expect(simulation.ends).toMatchObject({ state: 'completed' });
  });

  it('uses the given webhook responses, opens and clicks', async () => {
    const steps: Step[] = [
      { type: 'webhook', id: 1, url: 'https://example.com/', method: 'POST' },
      condition(2, { name: 'step.1.status', predicate: 'eq', value: 404 }),
      condition(4, { name: 'step.1.body.vip', predicate: 'true' }),
      email(6),
      condition(7, { name: 'email_clicked', predicate: 'did', value: { step: 6 } }),
    ];
    const answers = { steps: { 1: { status: 404, body: { vip: true } }, 6: { clicked: true } } };
    const answered = await simulate(steps, { answers });
    expect(answered).toMatchObject({
      path: [{ outcome: 'failed' }, {}, {}, {}, {}],
      ends: { state: 'completed' },
    });
    expect(brief(await simulate(steps))).toEqual(['1 done', '2 no', '3 exit']);
  });

  it('lets the given events arrive', async () => {
    const steps: Step[] = [
      {
        type: 'wait_for_event',
        id: 1,
        event_name: 'bought',
        duration: 7_200,
        filters: [{ name: 'received.total', predicate: 'gteq', value: 10 }],
        yes: [email(2)],
        no: [email(3)],
      },
    ];
    const withAnswer = (answer: unknown) => simulate(steps, { answers: { steps: { 1: answer } } });
    expect(brief(await simulate(steps))).toEqual(['1 timeout', '3 sent']);
    expect(brief(await withAnswer('no'))).toEqual(['1 timeout', '3 sent']);
    expect((await withAnswer('yes')).path[0]).toMatchObject({ outcome: 'yes', left_at: AT });
    const came = await withAnswer({ after_seconds: 3_600, data: { total: 12 } });
    expect(came.path[0]).toMatchObject({ outcome: 'yes', left_at: '2026-03-10T13:00:00.000Z' });
    expect(brief(await withAnswer({ after_seconds: 60, data: { total: 2 } }))).toEqual([
      '1 timeout',
      '3 sent',
    ]);
    expect(brief(await withAnswer({ after_seconds: 7_201, data: { total: 12 } }))[0]).toBe('1 timeout');
  });

  it('ends as the run would: at the goal, by exit filters, and for unsubscribed contacts', async () => {
    const steps: Step[] = [{ type: 'wait', id: 1, duration: 86_400 }, email(2)];
    const goal = await simulate(steps, { answers: { goal: { after_seconds: 60 } } }, { goal: 'bought' });
    expect(goal).toMatchObject({
      path: [],
      ends: { state: 'exited', reason: 'goal', at: '2026-03-10T12:01:00.000Z' },
    });
    const exitFilters = [{ name: 'data.plan', predicate: 'eq', value: 'pro' }];
    const left = await simulate(steps, {}, { triggerData: { exit_filters: exitFilters } });
    expect(left).toMatchObject({ path: [], ends: { reason: 'exit_filters', at: AT } });
    contactId = await insertContact({ email: 'off@example.com', subscribed: false });
    expect(await simulate(steps)).toMatchObject({ ends: { state: 'exited', reason: 'unsubscribed' } });
    contactId = await insertContact({});
    expect(brief(await simulate(steps))).toEqual(['1 done', '2 skipped']);
  });

  it('shows that an automatic mail starts no flow whose filters do not ask for it', async () => {
    const enters = async (autoSubmitted: boolean, filters: readonly unknown[] = []) => {
      const event = { event_data: { auto_submitted: autoSubmitted } };
      const simulation = await simulate([exit(1, 'read')], event, {
        event: 'email_received',
        triggerData: { filters },
      });
      return simulation.passes_filters;
    };
    expect([await enters(false), await enters(true)]).toEqual([true, false]);
    expect(await enters(true, [{ name: 'trigger.auto_submitted', predicate: 'true' }])).toBe(true);
  });

  it('shows whether the contact matches the filters of the trigger', async () => {
    const filters = [{ name: 'trigger.total', predicate: 'gt', value: 50 }];
    const simulation = await simulate([email(1)], { event_data: { total: 5 } }, { triggerData: { filters } });
    expect(simulation.passes_filters).toBe(false);
    expect(brief(simulation)).toEqual(['1 sent']);
  });

  it('waits for quiet hours in the zone of the contact', async () => {
    await pool().query(`update brands set quiet_hours = $2 where id = $1`, [
      api.brandId,
      JSON.stringify({ start: '20:00', end: '08:00', timezone: 'contact' }),
    ]);
    try {
      contactId = await insertContact({ email: 'kenji@example.com', country: 'JP' });
      const simulation = await simulate([email(1)]);
      expect(simulation.path[0]).toMatchObject({ entered_at: AT, left_at: '2026-03-10T23:00:00.000Z' });
    } finally {
      await pool().query('update brands set quiet_hours = null where id = $1', [api.brandId]);
    }
  });

  it('waits until the time in a field whose key has a dot', async () => {
    contactId = await insertContact({ email: 'dot@example.com', data: { 'trial.ends': '2026-04-01' } });
    for (const field of [String.raw`data.trial\.ends`, 'data["trial.ends"]']) {
      const steps: Step[] = [{ type: 'wait', id: 1, until: { field } }];
      expect((await simulate(steps)).path[0]).toMatchObject({ left_at: '2026-04-01T00:00:00.000Z' });
      const body = { name: 'Trial', steps };
      expect((await api.request('POST', '/v1/my/flows', { body })).status).toBe(201);
    }
  });

  it('looks ten years ahead and no further', async () => {
    contactId = await insertContact({
      email: 'far@example.com',
      data: { due: '2999-01-01', soon: '2035-01-01' },
    });
    const until = (field: string): Step => ({ type: 'wait', id: 1, until: { field } });
    expect((await simulate([until('data.soon')])).ends).toMatchObject({ state: 'completed' });
    expect((await simulate([until('data.due')])).ends).toEqual({
      state: 'active',
      reason: 'too_far_ahead',
      at: AT,
    });
  });

  it('refuses answers that a step cannot have, each with its path', async () => {
    const steps: Step[] = [
      email(1),
      condition(2, { name: 'data.a', predicate: 'present' }),
      { type: 'wait', id: 4, duration: 60 },
      { type: 'webhook', id: 5, url: 'https://example.com/', method: 'GET' },
    ];
    const flowId = await insertFlow(steps);
    const answers = {
      steps: { 1: 'yes', 2: { status: 200 }, 4: 'yes', 5: { opened: true }, 9: 'no' },
      goal: { after_seconds: 5 },
    };
    const answer = await post(flowId, { answers });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      'answers.steps.1': ['must be an object with opened and clicked'],
      'answers.steps.2': ['must be "yes" or "no" for a step of type condition'],
      'answers.steps.4': ['names a step of type wait, about which nothing can be assumed'],
      'answers.steps.5': ['must be an object with status and body for a step of type webhook'],
      'answers.steps.9': ['names a step that the flow does not have'],
      'answers.goal': ['must be left out, because the flow has no goal'],
    });
  });

  it('refuses a contact of another brand, and data that is too large or too deep', async () => {
    const flowId = await insertFlow([]);
    const { rows } = await pool().query<{ id: number }>(
      'insert into contacts (account_id, brand_id) values ($1, $2) returning id',
      [api.other.accountId, api.other.brandId],
    );
    expect((await post(flowId, { contact_id: rows[0]?.id })).body.validation_errors).toEqual({
      contact_id: ['is not a contact of the brand'],
    });
    let deep: unknown = 1;
    for (let level = 0; level < 25; level += 1) deep = { a: deep };
    for (const body of [
      { contact_id: undefined },
      { event_data: { a: 'x'.repeat(33_000) } },
      { event_data: { deep } },
      { at: '1999-01-01T00:00:00Z' },
      { answers: { steps: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [n, 'yes'])) } },
    ]) {
      expect([body, (await post(flowId, body)).status]).toEqual([body, 422]);
    }
  });
});
