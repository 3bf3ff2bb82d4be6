// What the state of a campaign or a flow does not allow is refused with a message that names the state and the action.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../support/api.ts';
import {
  act,
  CAMPAIGNS,
  change,
  filledList,
  prepareSender,
  readyCampaign,
} from '../support/campaign-requests.ts';
import { actOnFlow, changeFlow, flowOf } from '../support/flow-requests.ts';

let api: TestApi;
let campaign = 0;
let flow = 0;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  campaign = await readyCampaign(api, (await filledList(api, api, 1)).listId);
  flow = await flowOf(api);
}, 240_000);
afterAll(() => api.close());

const query = (text: string, values: unknown[]) => api.database.pool.query(text, values);
const failure = ({ status, body }: { status: number; body: unknown }) => {
  const { code, message } = body as { code: string; message: string };
  return [status, code, message];
};

type Request = (id: number) => ReturnType<typeof act>;
const post =
  (action: string): Request =>
  (id) =>
    act(api, id, action);
const patch =
  (body: object): Request =>
  (id) =>
    change(api, id, body);

it.each<[state: string, phase: string, Request, message: string]>([
  ['draft', 'draft', post('cancel'), 'the campaign is draft: cancel is not possible'],
  ['draft', 'draft', patch({ status: 'paused' }), 'the campaign is draft: paused is not possible'],
  ['draft', 'draft', post('resend_unknown'), 'the campaign is draft: resend unknown is not possible'],
  [
    'active',
    'sending',
    patch({ scheduled_at: null }),
    'the campaign is active: it no longer waits for its time',
  ],
  [
    'active',
    'sending',
    patch({ trigger_attributes: { event: 'bought' } }),
    'the campaign is active: audience and options change only in a draft, or while it is paused before its recipients are fixed',
  ],
  [
    'active',
    'sending',
    patch({ template_attributes: { subject: 'Other' } }),
    'the campaign is active: content changes only in a draft or while the campaign is paused',
  ],
  ['active', 'sending', post('send'), 'the campaign is active: send is not possible'],
  [
    'active',
    'sending',
    (id) => api.request('DELETE', `${CAMPAIGNS}/${id}`),
    'the campaign is active: delete is not possible',
  ],
  ['completed', 'done', post('cancel'), 'the campaign is completed: cancel is not possible'],
  ['completed', 'done', patch({ status: 'active' }), 'the campaign is completed: active is not possible'],
  ['completed', 'done', patch({ status: 'paused' }), 'the campaign is completed: paused is not possible'],
])('a campaign that is %s in the phase %s', async (status, phase, request, message) => {
  await query('update campaigns set status = $2, phase = $3 where id = $1', [campaign, status, phase]);
  await query('update campaigns set scheduled_at = now() where id = $1', [campaign]);
  expect(failure(await request(campaign))).toEqual([422, 'invalid_transition', message]);
});

it('a copy of a campaign without recipients, for those who did not open it', async () => {
  await query(`update campaigns set status = 'draft', phase = 'draft' where id = $1`, [campaign]);
  const answer = await act(api, campaign, 'duplicate', { audience: 'not_opened' });
  const message = 'the campaign is draft: duplicate without recipients is not possible';
  expect(failure(answer)).toEqual([422, 'invalid_transition', message]);
});

const onFlow =
  (action: string): Request =>
  (id) =>
    actOnFlow(api, id, action);
const patchFlow =
  (body: object): Request =>
  (id) =>
    changeFlow(api, id, body);

it.each<[state: string, Request, message: string]>([
  ['draft', onFlow('pause'), 'the flow is draft: pause is not possible'],
  ['draft', onFlow('resume'), 'the flow is draft: resume is not possible'],
  ['draft', patchFlow({ status: 'paused' }), 'the flow is draft: paused is not possible'],
  ['active', onFlow('activate'), 'the flow is active: activate is not possible'],
  ['active', onFlow('resume'), 'the flow is active: resume is not possible'],
  ['archived', onFlow('activate'), 'the flow is archived: activate is not possible'],
  ['archived', patchFlow({ status: 'active' }), 'the flow is archived: activate is not possible'],
  ['archived', patchFlow({ name: 'Other' }), 'the flow is archived: change is not possible'],
])('a flow that is %s', async (status, request, message) => {
  await query('update flows set status = $2 where id = $1', [flow, status]);
  expect(failure(await request(flow))).toEqual([422, 'invalid_transition', message]);
});
