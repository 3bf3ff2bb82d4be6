// A rejected campaign pauses, and changed content of an approved campaign needs a new approval.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { approveCampaign, rejectCampaign } from '../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  change,
  filledList,
  prepareSender,
  readyCampaign,
  show,
  warmUp,
  writeRecipients,
} from '../../support/campaign-requests.ts';

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { APPROVAL_TIERS: 'trusted', PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  ({ listId } = await filledList(api, api, 3));
  await warmUp(api, listId);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

describe('approval', () => {
  const tier = (name: string, state = 'not_required') =>
    pool().query('update accounts set tier = $2, approval_state = $3 where id = $1', [
      api.accountId,
      name,
      state,
    ]);
  afterEach(() => tier('free'));

  it.each([
    ['trusted', 'not_required', 'pending'],
    ['trusted', 'approved', 'not_required'],
    ['free', 'not_required', 'not_required'],
    ['free', 'pending', 'pending'],
    ['free', 'rejected', 'pending'],
  ])('of a %s account that is %s is %s', async (name, state, expected) => {
    await tier(name, state);
    const id = await readyCampaign(api, listId);
    const { status, body } = await act(api, id, 'send');
    expect([status, body.status, body.approval_state]).toEqual([200, 'active', expected]);
    const reason = expected === 'pending' ? 'approval' : 'snapshot';
    expect(body.data?.progress?.waiting_for?.reason).toBe(reason);
  });

  it('that is refused pauses the campaign, which needs approval again when it is sent', async () => {
    await tier('trusted');
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await inTransaction(pool(), (trx) => rejectCampaign(trx, { id }));
    expect((await show(api, id)).body).toMatchObject({
      status: 'paused',
      approval_state: 'rejected',
      data: { stop: { reason: 'rejected', rate: null, threshold: null, at: expect.any(String) } },
    });
    const { body } = await act(api, id, 'send', { template_attributes: { subject: 'Nicer' } });
    expect(body).toMatchObject({ status: 'active', approval_state: 'pending', data: { stop: null } });
  });

  it('remains if an approved campaign is sent before its time, unless its content changes', async () => {
    await tier('trusted');
    for (const [body, expected] of [
      [{}, 'approved'],
      [{ template_attributes: { subject: 'Other' } }, 'pending'],
      [{ template_attributes: { from_name: 'Other' } }, 'pending'],
    ] as const) {
      const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
      await act(api, id, 'send');
      await inTransaction(pool(), (trx) => approveCampaign(trx, { id }));
      const sent = await act(api, id, 'send', body);
      expect([sent.status, sent.body.approval_state]).toEqual([200, expected]);
    }
  });

  it('is needed again for content that changed while the campaign was paused', async () => {
    await tier('trusted');
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await pool().query(`update campaigns set approval_state = 'approved' where id = $1`, [id]);
    await writeRecipients(api, id, [{ status: 'queued' }]);
    await change(api, id, { status: 'paused' });
    await change(api, id, { template_attributes: { subject: 'Other' } });
    const { body } = await change(api, id, { status: 'active' });
    expect(body).toMatchObject({
      status: 'active',
      approval_state: 'pending',
      data: { progress: { waiting_for: { reason: 'approval' } } },
    });
    // To the senders it is paused.
    const seen = async () =>
      (
        await pool().query<{ status: string }>('select status from campaigns_to_send(array[$1::bigint])', [
          id,
        ])
      ).rows;
    expect(await seen()).toEqual([{ status: 'paused' }]);
    await inTransaction(pool(), (trx) => approveCampaign(trx, { id }));
    expect(await seen()).toEqual([{ status: 'active' }]);
    expect((await show(api, id)).body).toMatchObject({ status: 'active', approval_state: 'approved' });
  });
});
