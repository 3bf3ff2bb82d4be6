// A PATCH that repeats what a flow has, in the form that GET returns or any other, changes and pins nothing.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { prepareSender } from '../../support/campaign-requests.ts';
import {
  activeFlow,
  changeFlow,
  emailStep,
  flowOf,
  listAndSegment,
  showFlow,
  warmUpFlows,
} from '../../support/flow-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUpFlows(api);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const filter = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const wait = { type: 'wait', duration: 60 };
const design = { sections: [{ type: 'text', props: { html: '<p>Hi</p>' } }, { type: 'spacer' }] };

const stepsOf = (body: unknown) => (body as { steps: Record<string, unknown>[] }).steps;

/** Steps of all types, each in its shortest form. */
const everyType = (listId: number) => [
  emailStep,
  { type: 'email', subject: 'Designed', design },
  { type: 'sms', body: 'Hi' },
  wait,
  { type: 'wait', until: { time: '09:00' } },
  { type: 'wait', until: { field: 'data.due' } },
  { type: 'condition', filters: [filter], yes: [wait] },
  { type: 'wait_for_event', event_name: 'bought', duration: 60 },
  { type: 'event', event_name: 'welcomed' },
  { type: 'update_contact', data: { stage: 'active', old: null } },
  { type: 'add_to_list', list_id: listId },
  { type: 'remove_from_list', list_id: listId },
  { type: 'webhook', url: 'https://example.com/hook' },
  { type: 'split', branches: [{ weight: 50, steps: [{ type: 'sms', body: 'Hi' }] }, { weight: 50 }] },
  { type: 'exit' },
];

/** Everything that is stored of a flow. A row that is written again has another `ctid`. */
async function storedOf(id: number): Promise<unknown> {
  const { rows } = await pool().query(
    `select f.ctid, f.*, (select json_agg(json_build_array(t.ctid, t.*) order by t.id) from templates t where t.flow_id = f.id) as templates,
       (select json_agg(v.id order by v.id) from flow_versions v where v.flow_id = f.id) as versions,
       (select json_agg(v.id order by v.id) from template_versions v join templates t on t.id = v.template_id where t.flow_id = f.id) as contents,
       (select json_agg(c.id order by c.id) from flow_changes c where c.flow_id = f.id) as changes
     from flows f where f.id = $1`,
    [id],
  );
  return rows;
}

async function newBrandColor(color: string): Promise<void> {
  const { status } = await api.request('PUT', '/v1/my/brand', { body: { brand_color: color } });
  if (status !== 200) throw new Error(`status ${status}`);
}

describe('PATCH /flows/{id}', () => {
  it('changes nothing with what GET returned, whatever the types of the steps', async () => {
    const { listId } = await listAndSegment(api, api);
    const id = await activeFlow(api, {
      goal: 'bought',
      trigger: { contact_list_id: listId, data: { filters: [filter], reentry: { after_seconds: 60 } } },
      steps: everyType(listId),
    });
    const before = await storedOf(id);
    const shown = await showFlow(api, id);
    const { status, body } = await changeFlow(api, id, shown.body);
    expect([status, body]).toEqual([200, shown.body]);
    expect(await storedOf(id)).toEqual(before);
  });

  it('changes nothing with steps in the form that created them', async () => {
    const { listId } = await listAndSegment(api, api);
    const steps = everyType(listId);
    const id = await flowOf(api, { steps });
    const before = await storedOf(id);
    const shown = stepsOf((await showFlow(api, id)).body);
    // Steps in branches need their ids as well.
    const numbered = steps.map((step, n) => {
      const { id: stepId, yes, branches } = shown[n] ?? {};
      return {
        ...step,
        id: stepId,
        ...(yes !== undefined && { yes }),
        ...(branches !== undefined && { branches }),
      };
    });
    const { status } = await changeFlow(api, id, { name: 'Welcome', goal: null, steps: numbered });
    expect([status, await storedOf(id)]).toEqual([200, before]);
  });

  it('does not pin the brand again if the request changes nothing', async () => {
    const id = await activeFlow(api);
    await newBrandColor('#112233');
    const before = await storedOf(id);
    const shown = await showFlow(api, id);
    expect((await changeFlow(api, id, shown.body)).status).toBe(200);
    expect(await storedOf(id)).toEqual(before);
  });

  it('moves active runs to steps that are already stored', async () => {
    const id = await activeFlow(api);
    await pool().query(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
       select account_id, brand_id, id, version_id, 1, 'e1', '{}' from flows where id = $1`,
      [id],
    );
    const { steps } = (await showFlow(api, id)).body;
    await changeFlow(api, id, { steps, apply_to: 'waiting' });
    const { rows } = await pool().query(`select change from flow_changes where flow_id = $1`, [id]);
    expect(rows).toEqual([{ change: 'move' }]);
  });
});
