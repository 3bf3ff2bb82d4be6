// A flow runs exactly the version that the operator approved, and each visible change needs a new approval.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decideFlow, showFlowForOperator } from '../../../src/features/flows/index.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { prepareSender } from '../../support/campaign-requests.ts';
import {
  activeFlow,
  actOnFlow,
  changeFlow,
  emailStep,
  flowOf,
  listAndSegment,
  showFlow,
  warmUpFlows,
} from '../../support/flow-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { APPROVAL_TIERS: 'trusted', PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUpFlows(api);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const tier = (name: string, state = 'not_required') =>
  pool().query('update accounts set tier = $2, approval_state = $3 where id = $1', [
    api.accountId,
    name,
    state,
  ]);
afterEach(() => tier('free'));

const seen = async (id: number) => (await showFlowForOperator(pool(), id)).versions;
const approve = async (id: number, versions?: number[]) => {
  const named = versions ?? (await seen(id));
  return inTransaction(pool(), (trx) => decideFlow(trx, id, { approve: named }));
};
const reject = (id: number) => inTransaction(pool(), (trx) => decideFlow(trx, id, 'reject'));

interface InForce {
  approval_state: string;
  version_id: number | null;
  content: number | null;
  moves: number;
}
async function inForce(id: number): Promise<InForce> {
  const { rows } = await pool().query<InForce>(
    `select f.approval_state, f.version_id,
       (select version_id from flow_contents where flow_id = f.id and step_id = 1) as content,
       (select count(*)::int from flow_changes where flow_id = f.id and change = 'move') as moves
     from flows f where id = $1`,
    [id],
  );
  return rows[0] as InForce;
}

describe('approval', () => {
  it.each([
    ['trusted', 'not_required', 'pending'],
    ['trusted', 'approved', 'not_required'],
    ['free', 'not_required', 'not_required'],
    ['free', 'rejected', 'pending'],
  ])('of a %s account that is %s is %s', async (name, state, expected) => {
    await tier(name, state);
    const { body } = await showFlow(api, await activeFlow(api));
    expect([body.status, body.approval_state]).toEqual(['active', expected]);
  });

  it('puts into force what the operator has seen', async () => {
    await tier('trusted');
    const id = await activeFlow(api);
    expect(await inForce(id)).toMatchObject({ version_id: null, content: null });
    const [versionId, contentId] = await seen(id);
    await approve(id);
    expect(await inForce(id)).toMatchObject({
      approval_state: 'approved',
      version_id: versionId,
      content: contentId,
    });
  });

  it('refuses a flow that has changed since the operator has seen it', async () => {
    await tier('trusted');
    const id = await activeFlow(api);
    const versions = await seen(id);
    await changeFlow(api, id, { steps: [{ type: 'email', id: 1, subject: 'Other' }] });
    await expect(approve(id, versions)).rejects.toMatchObject({ code: 'conflict' });
    expect(await inForce(id)).toMatchObject({ approval_state: 'pending', content: null });
  });

  it('refuses a different trigger from the one that the operator has seen', async () => {
    await tier('trusted');
    const id = await activeFlow(api);
    const versions = await seen(id);
    await changeFlow(api, id, { trigger: { event: 'visited' } });
    await expect(approve(id, versions)).rejects.toMatchObject({ code: 'conflict' });
    expect(await inForce(id)).toMatchObject({ approval_state: 'pending', content: null });
  });

  it.each([{ filters: [] }, { reentry: 'every_time' }])('covers which contacts enter: %j', async (data) => {
    await tier('trusted');
    const filters = [{ name: 'data.plan', predicate: 'eq', value: 'pro' }];
    const id = await activeFlow(api, { trigger: { event: 'signed_up', data: { filters } } });
    await approve(id);
    const { body } = await changeFlow(api, id, { trigger: { data } });
    expect(body.approval_state).toBe('pending');
  });

  it('is needed again for each change that contacts could see, and runs keep what was approved', async () => {
    await tier('trusted');
    const { segmentId } = await listAndSegment(api, api);
    const id = await activeFlow(api);
    await approve(id);
    const before = await inForce(id);
    const email = (subject: string) => ({ type: 'email', id: 1, subject });
    for (const body of [
      { steps: [email('Other')] },
      { steps: [email('Other'), { type: 'wait', duration: 60 }], apply_to: 'waiting' },
      { goal: 'bought' },
    ]) {
      expect((await changeFlow(api, id, body)).body.approval_state).toBe('pending');
      expect(await inForce(id)).toEqual({ ...before, approval_state: 'pending' });
    }
    await pool().query(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
       select account_id, brand_id, id, version_id, 1, 'e1', '{}' from flows where id = $1`,
      [id],
    );
    await approve(id);
    expect(await inForce(id)).toMatchObject({ approval_state: 'approved', moves: 1 });
    expect((await changeFlow(api, id, { name: 'Other' })).body.approval_state).toBe('approved');
    expect((await changeFlow(api, id, (await showFlow(api, id)).body)).body.approval_state).toBe('approved');
    const other = await changeFlow(api, id, { trigger: { segment_id: segmentId } });
    expect(other.body.approval_state).toBe('pending');
  });

  it('that is refused pauses the flow, which needs approval again when it is activated or resumed', async () => {
    await tier('trusted');
    for (const action of ['activate', 'resume']) {
      const id = await activeFlow(api);
      await reject(id);
      expect((await showFlow(api, id)).body).toMatchObject({
        ...{ status: 'paused', approval_state: 'rejected' },
        stop: { reason: 'rejected', rate: null, threshold: null, at: expect.any(String) },
      });
      const { body } = await actOnFlow(api, id, action);
      expect(body).toMatchObject({ status: 'active', approval_state: 'pending', stop: null });
    }
  });

  it('is not possible for a draft, nor twice', async () => {
    const draft = await flowOf(api, { steps: [emailStep] });
    await expect(approve(draft)).rejects.toMatchObject({ code: 'invalid_transition' });
    await tier('trusted');
    const id = await activeFlow(api);
    await approve(id);
    await expect(approve(id)).rejects.toMatchObject({ code: 'invalid_transition' });
    await expect(reject(id)).rejects.toMatchObject({ code: 'invalid_transition' });
  });
});

describe('the trigger of an active flow', () => {
  it('cannot be deleted', async () => {
    const { listId, segmentId } = await listAndSegment(api, api);
    for (const [path, trigger] of [
      [`/v1/my/lists/${listId}`, { contact_list_id: listId }],
      [`/v1/my/segments/${segmentId}`, { segment_id: segmentId }],
    ] as const) {
      const id = await activeFlow(api, { trigger });
      const refused = await api.request('DELETE', path);
      expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
      await api.request('DELETE', `/v1/my/flows/${id}`);
      expect((await api.request('DELETE', path)).status).toBe(200);
    }
  });

  it('cannot be deleted while steps and filters name it, including those that active runs follow', async () => {
    const { listId, segmentId } = await listAndSegment(api, api);
    const condition = (name: string, value: unknown) => {
      const inner = [{ name, predicate: 'in', value }];
      const filters = [
        { name: 'any', predicate: 'or', value: [{ name: 'all', predicate: 'and', value: inner }] },
      ];
      return { steps: [{ type: 'condition', filters, yes: [{ type: 'exit' }], no: [] }] };
    };
    const list = `/v1/my/lists/${listId}`;
    const segment = `/v1/my/segments/${segmentId}`;
    for (const [path, body] of [
      [list, { steps: [{ type: 'add_to_list', list_id: listId }] }],
      [list, condition('list', [listId])],
      [segment, condition('segment', [segmentId])],
      [
        segment,
        {
          trigger: {
            event: 'e',
            data: { filters: [{ name: 'segment', predicate: 'eq', value: segmentId }] },
          },
        },
      ],
      [
        segment,
        {
          trigger: {
            event: 'e',
            data: { exit_filters: [{ name: 'segment', predicate: 'not_eq', value: segmentId }] },
          },
        },
      ],
    ] as const) {
      const id = await activeFlow(api, body);
      const refused = await api.request('DELETE', path);
      expect([path, refused.status, refused.body.code]).toEqual([path, 409, 'conflict']);
      await api.request('DELETE', `/v1/my/flows/${id}`);
    }
    const id = await activeFlow(api, condition('segment', [segmentId]));
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
       select account_id, brand_id, id, version_id, 1, 'm1', '{}' from flows where id = $1 returning id`,
      [id],
    );
    await changeFlow(api, id, { steps: [{ type: 'exit' }] });
    expect((await api.request('DELETE', segment)).status).toBe(409);
    await api.database.pool.query(`update flow_runs set state = 'completed' where id = $1`, [rows[0]?.id]);
    expect((await api.request('DELETE', segment)).status).toBe(200);
    expect((await api.request('DELETE', list)).status).toBe(200);
  });
});
