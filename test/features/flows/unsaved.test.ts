// Editors check and simulate flows that are not saved, as a saved flow would be, and nothing is stored.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { prepareSender } from '../../support/campaign-requests.ts';
import {
  actOnFlow,
  changeFlow,
  emailStep,
  flowOf,
  FLOWS,
  showFlow,
  warmUpFlows,
} from '../../support/flow-requests.ts';

let api: TestApi;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUpFlows(api);
  const { body } = await api.request('POST', '/v1/my/contacts', {
    body: { email: 'ada@example.com', data: { plan: 'pro' } },
  });
  contactId = Number(body.id);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const wait = { type: 'wait', duration: 60 };
const trigger = { event: 'signed_up' };
const isPro = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const opened = (step: unknown) => ({ name: 'email_opened', predicate: 'did', value: { step } });

const check = (body: object, token = api.apiKey) =>
  api.request<{ problems: { field: string; message: string }[]; validation_errors?: object }>(
    'POST',
    `${FLOWS}/check`,
    { body, token },
  );
const simulate = (body: object, token = api.apiKey) =>
  api.request<{ path: { step_id: number; position: string; outcome: string }[]; passes_filters: boolean }>(
    'POST',
    `${FLOWS}/simulate`,
    { body: { contact_id: contactId, ...body }, token },
  );

const fieldsOf = async (body: object) => (await check(body)).body.problems.map(({ field }) => field);

/** Counts the rows that a flow consists of, and what a run would write. */
async function countRows(): Promise<unknown> {
  const { rows } = await pool().query(
    `select (select count(*) from flows) as flows, (select count(*) from templates) as templates,
       (select count(*) from template_versions) as versions, (select count(*) from flow_versions) as flow_versions,
       (select count(*) from messages) as messages, (select count(*) from flow_runs) as runs,
       (select sum(xmin::text::bigint) from flows) as written`,
  );
  return rows;
}

let before: unknown;
beforeEach(async () => {
  before = await countRows();
});

describe('POST /flows/check', () => {
  it('finds no problem in a flow that can be activated, and stores nothing', async () => {
    const { status, body } = await check({ trigger, steps: [emailStep, wait] });
    expect([status, body]).toEqual([200, { problems: [] }]);
    expect(await countRows()).toEqual(before);
  });

  it('lists at once everything for which an activation would refuse the flow', async () => {
    const design = { sections: [{ type: 'text', props: { html: '{{ a' } }] };
    const steps = [
      { type: 'email', body: 'Hi', from_email: 'a@elsewhere.test' },
      { type: 'condition', filters: [isPro], yes: [{ type: 'sms', body: '{% if %}' }] },
      { type: 'email', subject: 'Hi', design },
      { type: 'add_to_list', list_id: 999_999 },
      { type: 'email', template_id: 999_999 },
    ];
    const { body } = await check({ steps, trigger: { segment_id: 999_999 } });
    expect(body.problems.map(({ field }) => field).sort()).toEqual([
      'steps[0].from_email',
      'steps[0].subject',
      'steps[1].yes[0].body',
      'steps[2].design.sections[0].props.html',
      'steps[3].list_id',
      'steps[4].template_id',
      'trigger.segment_id',
    ]);
    expect(await fieldsOf({})).toEqual(['trigger', 'steps']);
    expect(await countRows()).toEqual(before);
  });

  it('checks the changes to a saved flow as the flow would be with them', async () => {
    const id = await flowOf(api, { steps: [emailStep, wait] });
    before = await countRows();
    const { steps } = (await showFlow(api, id)).body as unknown as { steps: Record<string, unknown>[] };
    const [email] = steps;
    expect(await fieldsOf({ flow_id: id })).toEqual([]);
    expect(await fieldsOf({ flow_id: id, trigger: { event: null } })).toEqual(['trigger']);
    expect(await fieldsOf({ flow_id: id, steps: [{ id: 1, type: 'email', preheader: '{{' }] })).toEqual([
      'steps[0].preheader',
    ]);
    expect(
      await fieldsOf({
        flow_id: id,
        steps: [
          { ...email, id: 77 },
          { ...wait, id: 1 },
        ],
      }),
    ).toEqual(['steps[0].id', 'steps[1].id']);
    expect(await countRows()).toEqual(before);
  });

  it('finds the same problems as the activation of the saved flow', async () => {
    const steps = [{ type: 'email', subject: '{{ a | nofilter }}', body: '{% for %}' }, { type: 'sms' }];
    const found = (await check({ trigger, steps })).body.problems;
    const { body } = await api.request('POST', FLOWS, { body: { name: 'F', trigger, steps } });
    const refused = await actOnFlow(api, Number(body.id), 'activate');
    const errors = Object.entries(refused.body.validation_errors as unknown as Record<string, string[]>);
    expect(found).toEqual(
      errors.flatMap(([field, messages]) =>
        messages.map((message) => ({ field, code: 'validation_error', message, severity: 'error' })),
      ),
    );
    expect(found).not.toEqual([]);
  });

  it('refuses wrong shapes with their paths, and flows of other brands', async () => {
    const refused = await check({ steps: [{ type: 'wait' }], name: 'F' });
    expect([refused.status, Object.keys(refused.body.validation_errors as object).sort()]).toEqual([
      422,
      ['name', 'steps[0].duration'],
    ]);
    const id = await flowOf(api);
    const other = await check({ flow_id: id }, api.other.apiKey);
    expect([other.status, other.body.validation_errors]).toEqual([
      422,
      { flow_id: ['is not a flow of the brand'] },
    ]);
  });
});

describe('POST /flows/simulate', () => {
  const steps = [
    { ...emailStep, ref: 'welcome' },
    { type: 'condition', filters: [opened('welcome')], yes: [wait], no: [{ type: 'exit' }] },
    { type: 'sms', body: 'Hi' },
  ];

  it('follows steps that are not saved, with answers by their refs, and stores nothing', async () => {
    const answered = await simulate({ trigger, steps, answers: { steps: { welcome: { opened: true } } } });
    expect([answered.status, answered.body.path]).toMatchObject([
      200,
      [
        { step_id: 1, position: 'steps[0]', outcome: 'sent' },
        { step_id: 2, position: 'steps[1]', outcome: 'yes' },
        { step_id: 3, position: 'steps[1].yes[0]', outcome: 'done' },
        { step_id: 5, position: 'steps[2]', outcome: 'skipped' },
      ],
    ]);
    expect((await simulate({ steps })).body.path.map(({ outcome }) => outcome)).toEqual([
      'sent',
      'no',
      'exit',
    ]);
    expect(await countRows()).toEqual(before);
  });

  it('takes what the request leaves out from the saved flow, and gives new steps the ids they would get', async () => {
    const id = await flowOf(api, {
      steps: [wait, wait],
      trigger: { ...trigger, data: { filters: [isPro] } },
    });
    await changeFlow(api, id, { steps: [{ ...wait, id: 1 }] });
    before = await countRows();
    const saved = await simulate({ flow_id: id });
    expect(saved.body).toMatchObject({ passes_filters: true, path: [{ step_id: 1 }] });
    const changed = await simulate({
      flow_id: id,
      goal: 'bought',
      steps: [wait, { ...wait, id: 1 }],
      trigger: { data: { filters: [{ ...isPro, value: 'free' }] } },
    });
    expect(changed.body).toMatchObject({ passes_filters: false, path: [{ step_id: 3 }, { step_id: 1 }] });
    expect(await countRows()).toEqual(before);
  });

  it.each<[rule: string, body: object, errors: object]>([
    [
      'a list of no brand',
      { steps: [{ type: 'add_to_list', list_id: 9 }] },
      { 'steps[0].list_id': [expect.anything()] },
    ],
    [
      'a ref that no step has',
      { steps: [wait], answers: { steps: { a: 'yes' } } },
      { 'answers.steps.a': [expect.anything()] },
    ],
    [
      'a contact of another brand',
      { contact_id: 999_999, steps: [] },
      { contact_id: ['is not a contact of the brand'] },
    ],
    ['no contact', { contact_id: undefined, steps: [] }, { contact_id: ['is required'] }],
    ['a flow that is none', { flow_id: 999_999 }, { flow_id: ['is not a flow of the brand'] }],
  ])('refuses %s', async (_rule, body, errors) => {
    const refused = await simulate(body);
    expect([refused.status, refused.body]).toMatchObject([422, { validation_errors: errors }]);
  });

  it('shows a test key no flow that is live', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    await actOnFlow(api, id, 'activate');
    for (const ask of [check, simulate]) {
      const refused = await ask({ flow_id: id }, api.testApiKey);
      expect([refused.status, refused.body]).toMatchObject([403, { code: 'test_key' }]);
    }
  });
});
