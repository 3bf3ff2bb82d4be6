// A request names its new steps by refs wherever an id could be, and the flow is stored with their ids.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSteps } from '../../../src/features/flows/read-steps.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { fieldsOf } from '../../support/campaign-requests.ts';
import { changeFlow, createFlow, flowOf, showFlow, type TestStep } from '../../support/flow-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const stepsOf = (body: unknown) => (body as { steps: Record<string, unknown>[] }).steps;
const wait = { type: 'wait', duration: 60 };
const email = (ref: string): TestStep => ({ type: 'email', ref, subject: 'Hi', body: 'Hi' });
const hook = (ref: string): TestStep => ({ type: 'webhook', ref, url: 'https://example.com/hook' });
const opened = (step: string | number) => ({ name: 'email_opened', predicate: 'did', value: { step } });
const condition = (...filters: object[]): TestStep => ({ type: 'condition', filters });

describe('refs', () => {
  it('let one PATCH add an email and a condition on its opening', async () => {
    const id = await flowOf(api, { steps: [wait] });
    const [first] = stepsOf((await showFlow(api, id)).body);
    const { status, body } = await changeFlow(api, id, {
      steps: [first, email('welcome'), condition(opened('welcome'))],
    });
    expect([status, stepsOf(body)]).toEqual([
      200,
      [
        expect.objectContaining({ id: 1 }),
        expect.objectContaining({ id: 2, subject: 'Hi' }),
        expect.objectContaining({ id: 3, filters: [opened(2)] }),
      ],
    ]);
    expect(body).toEqual((await showFlow(api, id)).body);
  });

  it('are replaced in every place that names a step, however deep, and are not stored', async () => {
    const status = { name: 'step.crm_1.status', predicate: 'eq', value: 200 };
    const vip = { name: 'step.crm_1.body.step.crm_1.vip', predicate: 'true' };
    const same = { name: 'data.plan', predicate: 'eq', value: { from: 'step.crm_1.body.plan' } };
    const clicked = {
      ...opened('mail'),
      name: 'email_clicked',
      value: { step: 'mail', within: { count: 1, unit: 'days' } },
    };
    const created = await createFlow(api, {
      steps: [
        { ...email('mail'), id: 7 },
        hook('crm_1'),
        {
          ...condition({
            name: 'any',
            predicate: 'or',
            value: [status, same, { name: 'all', predicate: 'and', value: [vip, clicked] }],
          }),
          ref: 'branch',
          yes: [
            {
              type: 'wait_for_event',
              event_name: 'bought',
              duration: 60,
              include_since: { step: 'branch' },
              filters: [opened('mail')],
            },
          ],
        },
      ],
    });
    expect([created.status, created.text]).toEqual([201, expect.anything()]);
    const { rows } = await api.database.pool.query<{ steps: unknown[] }>(
      'select steps from flows where id = $1',
      [created.body.id],
    );
    const [, , stored] = rows[0]?.steps ?? [];
    expect(stored).toMatchObject({
      id: 9,
      filters: [
        {
          value: [
            { ...status, name: 'step.8.status' },
            { ...same, value: { from: 'step.8.body.plan' } },
            {
              value: [
                { ...vip, name: 'step.8.body.step.crm_1.vip' },
                { ...clicked, value: { step: 7 } },
              ],
            },
          ],
        },
      ],
      yes: [{ id: 10, include_since: { step: 9 }, filters: [opened(7)] }],
    });
    expect(JSON.stringify(rows)).not.toMatch(/"ref"|"mail"|"branch"/);
  });

  it('may name a step that has an id', async () => {
    const id = await flowOf(api, { steps: [email('a')] });
    const [first] = stepsOf((await showFlow(api, id)).body);
    const { body } = await changeFlow(api, id, {
      steps: [{ ...first, ref: 'old' }, condition(opened('old'))],
    });
    expect(stepsOf(body)).toMatchObject([{ id: 1 }, { id: 2, filters: [opened(1)] }]);
  });

  it('mean nothing to the next request', async () => {
    const id = await flowOf(api, { steps: [email('welcome')] });
    const [first] = stepsOf((await showFlow(api, id)).body);
    const refused = await changeFlow(api, id, { steps: [first, condition(opened('welcome'))] });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps[1].filters[0].value.step']]);
  });

  it.each<[name: string, steps: unknown[], path: string, message: string]>([
    ['a capital letter', [email('Welcome')], 'steps[0].ref', 'must begin with a-z'],
    ['41 characters', [email('a'.repeat(41))], 'steps[0].ref', 'up to 40'],
    ['a number', [{ ...wait, ref: 4 }], 'steps[0].ref', 'must be a string'],
    [
      'the ref of another step',
      [email('a'), condition(opened('a')), hook('a')],
      'steps[2].ref',
      'is the ref of another',
    ],
    [
      'a name that no step has',
      [email('a'), condition(opened('b'))],
      'steps[1].filters[0].value.step',
      'names step b, which does not come before: the email steps before it are a',
    ],
    [
      'a step of another type',
      [hook('a'), condition(opened('a'))],
      'steps[1].filters[0].value.step',
      'names a step of type webhook: no email step comes before',
    ],
    [
      'a step that follows',
      [condition({ name: 'step.a.status', predicate: 'eq', value: 1 }), hook('a')],
      'steps[0].filters[0].name',
      'names step a, which does not come before',
    ],
    [
      'a step of a sibling branch',
      [
        {
          ...condition({ name: 'data.a', predicate: 'present' }),
          yes: [email('a')],
          no: [condition(opened('a'))],
        },
      ],
      'steps[0].no[0].filters[0].value.step',
      'does not come before',
    ],
    [
      'itself',
      [{ type: 'wait_for_event', ref: 'a', event_name: 'b', duration: 1, include_since: { step: 'a' } }],
      'steps[0].include_since.step',
      'names step a, which does not come before',
    ],
    [
      'a phrase',
      [condition(opened('no ref'))],
      'steps[0].filters[0].value.step',
      'must be the id or the ref',
    ],
  ])('are refused if they are %s', (_name, steps, path, message) => {
    expect(readSteps(steps).errors).toEqual({ [path]: [expect.stringContaining(message)] });
  });

  it('are refused in the filters of a trigger, which name no steps', async () => {
    const refused = await createFlow(api, {
      trigger: { event: 'asked', data: { filters: [opened('a')] } },
      steps: [email('a')],
    });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['trigger.data.filters.0.value.step']]);
  });

  it('do not make a name too long for the id that replaces them', async () => {
    const id = await flowOf(api, { steps: [{ ...wait, id: 999_999 }] });
    const [first] = stepsOf((await showFlow(api, id)).body);
    const name = `step.a.body.${'x'.repeat(300 - 'step.a.body.'.length)}`;
    const refused = await changeFlow(api, id, {
      steps: [first, hook('a'), condition({ name, predicate: 'present' })],
    });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps[2].filters[0].name']]);
  });
});
