// The versions API shows what each version of a flow does, which one is in force, and how many runs follow it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { prepareSender } from '../../support/campaign-requests.ts';
import { insertContacts } from '../../support/contacts.ts';
import { insertRun } from '../../support/flow-runs.ts';
import {
  activeFlow,
  actOnFlow,
  changeFlow,
  emailStep,
  flowOf,
  FLOWS,
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
const wait = (duration: number, id?: number) => ({ type: 'wait', duration, id });

interface Version {
  id: number;
  number: number;
  state: string;
  active_run_count: number;
}

async function versionsOf(id: number, query = ''): Promise<Version[]> {
  const { status, body, text } = await api.request('GET', `${FLOWS}/${id}/versions${query}`);
  if (status !== 200) throw new Error(text);
  return body as unknown as Version[];
}

const versionOf = (id: number, number: number | string, token = api.apiKey) =>
  api.request('GET', `${FLOWS}/${id}/versions/${number}`, { token });

let groups = 0;

/** Lets contacts enter, as the loop of entries does. */
async function enter(id: number, { test = false, count = 1 } = {}): Promise<number[]> {
  const versionId = (await versionsOf(id)).find(({ state }) => state === 'current')?.id ?? 0;
  const contacts = await insertContacts(pool(), api, count, `group${(groups += 1)}`);
  const flow = { id, versionId, goal: null };
  return Promise.all(contacts.map((contact) => insertRun(pool(), api, flow, contact, { test })));
}

describe('GET /flows/{id}/versions', () => {
  it('is empty before the activation', async () => {
    expect(await versionsOf(await flowOf(api, { steps: [wait(60)] }))).toEqual([]);
  });

  it('shows a version for each change of what runs do, newest first', async () => {
    const trigger = { event: 'signed_up', data: { reentry: 'every_time' } };
    const id = await activeFlow(api, { trigger, goal: 'bought', steps: [wait(60)] });
    await changeFlow(api, id, { name: 'Another name' });
    await changeFlow(api, id, { steps: [wait(120, 1)], goal: null });
    const shown = { segment_id: null, contact_list_id: null, ...trigger };
    expect(await versionsOf(id)).toEqual([
      expect.objectContaining({ flow_id: id, number: 2, state: 'current', goal: null, trigger: shown }),
      expect.objectContaining({ flow_id: id, number: 1, state: 'earlier', goal: 'bought', trigger: shown }),
    ]);
  });

  it('counts the active runs that follow each version, without test runs', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    const [ended] = await enter(id, { count: 3 });
    await api.request('POST', `/v1/my/flow_runs/${ended}/cancel`);
    await changeFlow(api, id, { steps: [wait(120, 1)] });
    await enter(id);
    await enter(id, { test: true });
    const counts = (await versionsOf(id)).map(({ active_run_count: count }) => count);
    expect(counts).toEqual([1, 2]);
  });

  it('shows the version that waits for approval', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    await changeFlow(api, id, { steps: [wait(120, 1)] });
    await pool().query(
      `update flows set approval_state = 'pending', pending = jsonb_build_object('version_id', version_id),
         version_id = (select min(id) from flow_versions where flow_id = $1) where id = $1`,
      [id],
    );
    expect((await versionsOf(id)).map(({ state }) => state)).toEqual(['pending', 'current']);
  });

  it('goes through the list page by page', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    for (const duration of [61, 62]) await changeFlow(api, id, { steps: [wait(duration, 1)] });
    const [newest] = await versionsOf(id, '?limit=1');
    expect(newest).toMatchObject({ number: 3 });
    const older = await versionsOf(id, `?limit=2&after=${newest?.id}`);
    expect(older.map(({ number }) => number)).toEqual([2, 1]);
  });
});

describe('GET /flows/{id}/versions/{number}', () => {
  it('shows the steps of the version with their present contents', async () => {
    const id = await activeFlow(api, { steps: [emailStep, wait(60)] });
    await changeFlow(api, id, { steps: [wait(60, 2)] });
    expect(await versionOf(id, 1)).toMatchObject({
      status: 200,
      body: { number: 1, steps: [{ type: 'email', id: 1, subject: emailStep.subject }, wait(60, 2)] },
    });
    const { steps } = (await showFlow(api, id)).body;
    expect((await versionOf(id, 2)).body.steps).toEqual(steps);
  });

  it.each(['3', '0', 'x', '999999999999999'])('has no version %s', async (number) => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    expect((await versionOf(id, number)).status).toBe(404);
  });

  it('hides flows of other tenants, and refuses test keys', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    expect((await versionOf(id, 1, api.other.apiKey)).status).toBe(404);
    const list = await api.request('GET', `${FLOWS}/${id}/versions`, { token: api.other.apiKey });
    expect(list.status).toBe(404);
    expect((await versionOf(id, 1, api.testApiKey)).body.code).toBe('test_key');
  });
});

describe('the version of a run', () => {
  it('is in the run, and filters the list', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    const [first] = await enter(id);
    await changeFlow(api, id, { steps: [wait(120, 1)] });
    const [second] = await enter(id);
    const shown = await api.request('GET', `/v1/my/flow_runs/${first}`);
    expect(shown.body.version).toBe(1);
    const { body } = await api.request('GET', `${FLOWS}/${id}/runs?version=2`);
    expect(body).toEqual([expect.objectContaining({ id: second, version: 2 })]);
  });

  it('is null if the version was deleted', async () => {
    const id = await activeFlow(api, { steps: [wait(60)] });
    const [run] = await enter(id);
    await actOnFlow(api, id, 'pause');
    await pool().query('delete from flow_versions where flow_id = $1', [id]);
    expect((await api.request('GET', `/v1/my/flow_runs/${run}`)).body.version).toBeNull();
  });
});
