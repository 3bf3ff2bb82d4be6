// The API rejects invalid campaign bodies and names the field.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  CAMPAIGNS,
  change,
  content,
  fieldsOf,
  filledList,
  prepareSender,
  readyCampaign,
  show,
  warmUp,
} from '../../support/campaign-requests.ts';

let api: TestApi;
let listId: number;
let foreignList: number;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  ({ listId } = await filledList(api, api, 3));
  ({ listId: foreignList } = await filledList(api, api.other, 1));
  await warmUp(api, listId);
}, 240_000);
afterAll(() => api.close());

const create = (body: unknown, headers = {}) => api.request('POST', CAMPAIGNS, { body, headers });

describe('POST /campaigns', () => {
  it('needs an API key', async () => {
    expect((await api.request('POST', CAMPAIGNS, { token: null, body: {} })).status).toBe(401);
  });

  it.each<[unknown, string]>([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x', channel: 'fax' }, 'channel'],
    [{ name: 'x', status: 'completed' }, 'status'],
    [{ name: 'x', scheduled_at: 'soon' }, 'scheduled_at'],
    [{ name: 'x', schedule_at: null }, 'schedule_at'],
    [{ name: 'x', trigger_attributes: { contact_list_id: 999_999 } }, 'trigger_attributes.contact_list_id'],
    [{ name: 'x', trigger_attributes: { segment_id: 999_999 } }, 'trigger_attributes.segment_id'],
    [
      { name: 'x', trigger_attributes: { data: { exclude_list_ids: [999_999] } } },
      'trigger_attributes.data.exclude_list_ids.0',
    ],
    [
      { name: 'x', trigger_attributes: { data: { exclude_segment_ids: ['1'] } } },
      'trigger_attributes.data.exclude_segment_ids.0',
    ],
    [{ name: 'x', trigger_attributes: { list: 1 } }, 'trigger_attributes.list'],
    [{ name: 'x', trigger_attributes: { data: { big: 'x'.repeat(20_000) } } }, 'trigger_attributes.data'],
    [{ name: 'x', template_attributes: { subject: 'a\nb' } }, 'template_attributes.subject'],
    [{ name: 'x', template_attributes: { template_id: 999_999 } }, 'template_attributes.template_id'],
    [{ name: 'x', channel: 'sms', template_attributes: { subject: 'x' } }, 'template_attributes.subject'],
    [{ name: 'x', data: { big: 'x'.repeat(20_000) } }, 'data'],
    [{ name: 'x', data: { options: { throttle_per_minute: 0 } } }, 'data.options.throttle_per_minute'],
    [{ name: 'x', data: { options: { throtle_per_minute: 5 } } }, 'data.options.throtle_per_minute'],
    [{ name: 'x', data: { options: { utm: { source: '' } } } }, 'data.options.utm.source'],
    [{ name: 'x', data: { options: { ab: { variants: [] } } } }, 'data.options.ab.variants'],
    [
      {
        name: 'x',
        data: {
          options: {
            ab: {
              variants: [
                { subject: 'a', weight: 50 },
                { subject: 'b', weight: 0 },
              ],
            },
          },
        },
      },
      'data.options.ab.variants.1.weight',
    ],
    [
      {
        name: 'x',
        data: {
          options: {
            ab: {
              variants: [
                { subject: 'a', weight: 60 },
                { subject: 'b', weight: 60 },
              ],
            },
          },
        },
      },
      'data.options.ab.variants',
    ],
    [
      { name: 'x', data: { options: { ab: { variants: [{ weight: 50 }, { subject: 'b', weight: 50 }] } } } },
      'data.options.ab.variants.0',
    ],
  ])('refuses a body, naming the field (%#)', async (body, field) => {
    const response = await create(body);
    expect([response.status, fieldsOf(response)]).toEqual([422, [field]]);
  });

  it('refuses a list of another brand', async () => {
    const response = await create({ name: 'x', trigger_attributes: { contact_list_id: foreignList } });
    expect([response.status, fieldsOf(response)]).toEqual([422, ['trigger_attributes.contact_list_id']]);
  });

  it('creates a draft with every field, and ignores what only the service sets', async () => {
    const { status, body } = await create({
      name: 'Spring sale',
      sent_count: 7,
      approval_state: 'approved',
      scheduled_at: '2099-05-01T08:00:00+02:00',
      data: {
        team: 'growth',
        progress: { sent_count: 7 },
        outcome: 'completed',
        stop: {},
        options: { throttle_per_minute: 60, utm: null },
      },
      trigger_attributes: {
        event: 'sale',
        contact_list_id: listId,
        data: { note: 'x', exclude_list_ids: [] },
      },
      template_attributes: content,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      account_id: api.accountId,
      status: 'draft',
      approval_state: 'not_required',
      channel: 'email',
      name: 'Spring sale',
      data: {
        team: 'growth',
        options: { throttle_per_minute: 60 },
        progress: {
          ...{ audience_count: 0, sent_count: 0, failed_count: 0, skipped_count: 0 },
          ...{ unknown_count: 0, canceled_count: 0, remaining_count: 0, waiting_for: null },
        },
        outcome: null,
        stop: null,
      },
      scheduled_at: '2099-05-01T06:00:00.000Z',
      sent_count: 0,
      trigger: {
        ...{ flow_id: null, segment_id: null, contact_list_id: listId, triggered_count: 0, event: 'sale' },
        data: { note: 'x', exclude_list_ids: [] },
        last_triggered_at: null,
      },
      template: { ...content, channel: 'email', campaign_id: body.id },
    });
    expect(body.templates).toEqual([body.template]);
    expect((await show(api, Number(body.id))).body).toEqual(body);
  });

  it('sends at once with `status: active`', async () => {
    const { status, body } = await create({
      name: 'Now',
      status: 'active',
      trigger_attributes: { contact_list_id: listId },
      template_attributes: content,
    });
    expect([status, body.status]).toEqual([201, 'active']);
  });

  it('creates nothing if `status: active` cannot be sent', async () => {
    const before = Number((await api.request('GET', CAMPAIGNS)).headers.get('X-Total-Count'));
    const response = await create({ name: 'Never', status: 'active' });
    expect(response.status).toBe(422);
    expect(Number((await api.request('GET', CAMPAIGNS)).headers.get('X-Total-Count'))).toBe(before);
  });

  it('returns the same campaign for the same Idempotency-Key, and refuses another body', async () => {
    const headers = { 'Idempotency-Key': 'spring' };
    const first = await create({ name: 'Once' }, headers);
    const again = await create({ name: 'Once' }, headers);
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect((await create({ name: 'Twice' }, headers)).status).toBe(409);
  });

  it('is forbidden for an account without the capability', async () => {
    const path = `update accounts set capabilities = $2 where id = $1`;
    await api.database.pool.query(path, [api.other.accountId, { campaigns: false }]);
    const response = await api.request('POST', CAMPAIGNS, { token: api.other.apiKey, body: { name: 'x' } });
    expect([response.status, response.body.code]).toEqual([403, 'forbidden']);
    await api.database.pool.query(path, [api.other.accountId, {}]);
  });
});

describe('POST /campaigns/{id}/send', () => {
  it('is replayed for its key even if it would be refused now', async () => {
    const { listId: ownList } = await filledList(api, api, 1);
    const id = await readyCampaign(api, ownList);
    const send = (body: object) =>
      api.request('POST', `${CAMPAIGNS}/${id}/send`, { body, headers: { 'Idempotency-Key': 'send-2' } });
    expect((await send({})).status).toBe(200);
    await api.database.pool.query(`update campaigns set phase = 'done', status = 'completed' where id = $1`, [
      id,
    ]);
    await api.database.pool.query('update lists set removed_at = now() where id = $1', [ownList]);
    await api.database.pool.query('update templates set body = null where campaign_id = $1', [id]);
    const again = await send({});
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const other = await send({ template_attributes: { subject: '{{ broken' } });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });
});

it.each([
  ['cancel', 200],
  ['duplicate', 201],
])(
  'POST /campaigns/{id}/%s is repeated with its key although it would be refused by now',
  async (action, status) => {
    const id = await readyCampaign(api, listId, { scheduled_at: '2099-01-01T00:00:00Z' });
    await act(api, id, 'send', {});
    const request = () =>
      api.request('POST', `${CAMPAIGNS}/${id}/${action}`, { headers: { 'Idempotency-Key': `${action}-1` } });
    const first = await request();
    const capabilities = 'update accounts set capabilities = $2 where id = $1';
    await api.database.pool.query(capabilities, [api.accountId, { campaigns: false }]);
    const [again, refused] = [await request(), await act(api, id, action)];
    await api.database.pool.query(capabilities, [api.accountId, {}]);
    expect([first.status, again.status, again.body.id]).toEqual([status, status, first.body.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(refused.body.code).toMatch(/forbidden|invalid_transition/);
  },
);

describe('GET /campaigns', () => {
  it('filters by status, channel and name, newest first, with templates that have no design', async () => {
    const one = await readyCampaign(api, listId, { name: 'Filter me' });
    const two = await readyCampaign(api, listId, { name: 'Filter me' });
    const { list } = await api.request('GET', `${CAMPAIGNS}?name=Filter%20me&status=draft&channel=email`);
    expect(list.map(({ id }) => Number(id))).toEqual([two, one]);
    expect(list[0]).toMatchObject({ template: content, templates: [content] });
    expect(list[0]?.template).toHaveProperty('design', null);
    expect((await api.request('GET', `${CAMPAIGNS}?name=Filter%20me&status=paused`)).list).toEqual([]);
    expect((await api.request('GET', `${CAMPAIGNS}?state=paused`)).status).toBe(422);
  });
});

describe('PATCH /campaigns/{id}', () => {
  it('accepts a campaign as GET returned it', async () => {
    const id = await readyCampaign(api, listId, { data: { options: { throttle_per_minute: 9 }, a: 1 } });
    const before = (await show(api, id)).body;
    const { status, body } = await change(api, id, before);
    expect(status).toBe(200);
    expect({ ...body, updated_at: null }).toEqual({ ...before, updated_at: null });
  });

  it('changes the given fields and keeps the others', async () => {
    const id = await readyCampaign(api, listId);
    const { body } = await change(api, id, {
      name: 'Summer sale',
      template_attributes: { subject: 'Summer' },
      trigger_attributes: { event: 'x' },
    });
    expect(body).toMatchObject({
      name: 'Summer sale',
      template: { subject: 'Summer', body: content.body },
      trigger: { contact_list_id: listId, event: 'x' },
    });
  });

  it('copies a template of the brand, and not that of another', async () => {
    const made = await api.request('POST', '/v1/my/templates', {
      body: { name: 'T', ...content, subject: 'T' },
    });
    const id = await readyCampaign(api, listId);
    const { body } = await change(api, id, { template_attributes: { template_id: made.body.id } });
    expect(body).toMatchObject({ template: { subject: 'T', campaign_id: id } });
    expect(body.template?.id).not.toBe(made.body.id);
    const foreign = await api.request('POST', '/v1/my/templates', {
      token: api.other.apiKey,
      body: { name: 'T', ...content },
    });
    const refused = await change(api, id, { template_attributes: { template_id: foreign.body.id } });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['template_attributes.template_id']]);
  });

  it('drops fields of email when the channel changes', async () => {
    const id = await readyCampaign(api, listId);
    const { status, body } = await change(api, id, { channel: 'sms', template_attributes: { body: 'Hi' } });
    expect([status, body.channel]).toEqual([200, 'sms']);
    expect(body.template).toMatchObject({ channel: 'sms', subject: null, body: 'Hi' });
  });

  it('schedules nothing by `scheduled_at` alone', async () => {
    const id = await readyCampaign(api, listId);
    const { body } = await change(api, id, { scheduled_at: '2099-01-01T00:00:00Z' });
    expect([body.status, body.scheduled_at]).toEqual(['draft', '2099-01-01T00:00:00.000Z']);
    expect((await change(api, id, { scheduled_at: null })).body.scheduled_at).toBeNull();
  });
});

describe('DELETE /campaigns/{id}', () => {
  it('deletes a draft with its template, and nothing else', async () => {
    const id = await readyCampaign(api, listId);
    const { status, body } = await api.request('DELETE', `${CAMPAIGNS}/${id}`);
    expect([status, Number(body.id)]).toEqual([200, id]);
    expect((await show(api, id)).status).toBe(404);
    expect((await api.request('GET', `/v1/my/templates/${Number(body.template?.id)}`)).status).toBe(404);
    const sent = await readyCampaign(api, listId);
    await act(api, sent, 'send');
    const refused = await api.request('DELETE', `${CAMPAIGNS}/${sent}`);
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_transition']);
  });
});

describe('POST /campaigns/{id}/duplicate', () => {
  it('copies content, audience and options as a draft without a schedule', async () => {
    const id = await readyCampaign(api, listId, {
      scheduled_at: '2099-01-01T00:00:00Z',
      data: { team: 'growth', options: { throttle_per_minute: 5 } },
    });
    await act(api, id, 'send');
    const { status, body } = await act(api, id, 'duplicate');
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'Spring sale (copy)',
      status: 'draft',
      scheduled_at: null,
      data: { team: 'growth', options: { throttle_per_minute: 5 } },
      trigger: { contact_list_id: listId, triggered_count: 0 },
      template: content,
    });
    expect(body.template?.id).not.toBe((await show(api, id)).body.template?.id);
    expect((await act(api, id, 'duplicate', { audience: 'not_opened' })).body.code).toBe(
      'invalid_transition',
    );
  });
});
