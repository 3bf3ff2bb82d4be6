// The flows API stores every field, reports all mistakes in a body at once, and bounds its size.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { prepareSender, fieldsOf } from '../../support/campaign-requests.ts';
import {
  activeFlow,
  actOnFlow,
  changeFlow,
  createFlow,
  emailStep,
  flowOf,
  FLOWS,
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
const wait = { type: 'wait', duration: 60 };
const filter = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const errorsOf = (body: unknown) =>
  (body as { validation_errors: Record<string, string[]> }).validation_errors;
const stepsOf = (body: unknown) => (body as { steps: Record<string, unknown>[] }).steps;
/** The steps of a flow as a list shows them. */
const listedSteps = (body: unknown) =>
  stepsOf(body).map((step) => Object.fromEntries(Object.entries(step).filter(([name]) => name !== 'design')));

describe('POST /flows', () => {
  it('creates a draft with all fields of the resource', async () => {
    const { listId } = await listAndSegment(api, api);
    const data = { filters: [filter], exit_filters: [], reentry: { after_seconds: 60 } };
    const trigger = { contact_list_id: listId, data };
    const { status, body } = await createFlow(api, { trigger, goal: 'bought', steps: [emailStep, wait] });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        account_id: api.accountId,
        status: 'draft',
        approval_state: 'not_required',
        name: 'Welcome',
        goal: 'bought',
        trigger: { event: null, contact_list_id: listId, segment_id: null, data },
        steps: [
          {
            type: 'email',
            id: 1,
            template_id: expect.any(Number),
            subject: 'Hi {{ contact.first_name }}',
            preheader: null,
            body: 'Welcome',
            design: null,
            from_name: null,
            from_email: null,
            reply_to: null,
          },
          { type: 'wait', id: 2, duration: 60 },
        ],
        revision: expect.any(Number),
        sent_count: 0,
        stop: null,
        templates: [
          expect.objectContaining({
            flow_id: body.id,
            action_id: 1,
            subject: emailStep.subject,
            campaign_id: null,
          }),
        ],
        created_at: expect.any(String),
        unknown: 'leave',
        updated_at: expect.any(String),
      },
    ]);
    expect((await showFlow(api, Number(body.id))).body).toEqual(body);
  });

  it('needs only a name', async () => {
    const { status, body } = await createFlow(api, {});
    expect([status, body.steps, body.templates]).toEqual([201, [], []]);
    expect(body.trigger).toEqual({ event: null, contact_list_id: null, segment_id: null, data: {} });
  });

  it('keeps the ids that the client gives, so that steps can name each other', async () => {
    const hook = { type: 'webhook', id: 7, url: 'https://example.com/hook' };
    const answered = { type: 'condition', filters: [{ name: 'step.7.status', predicate: 'eq', value: 200 }] };
    const { status, body } = await createFlow(api, { steps: [wait, hook, answered] });
    expect([status, stepsOf(body).map(({ id }) => id)]).toEqual([201, [8, 7, 9]]);
  });

  it('activates the flow on request', async () => {
    const { status, body } = await createFlow(api, {
      trigger: { event: 'signed_up' },
      steps: [emailStep],
      status: 'active',
    });
    expect([status, body.status]).toEqual([201, 'active']);
    const refused = await createFlow(api, { status: 'active' });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps', 'trigger']]);
  });

  it('works once for a key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const request = (name: string) => api.request('POST', FLOWS, { body: { name }, headers });
    const [first, second] = await Promise.all([request('A'), request('A')]);
    expect([first.status, second.status, first.body.id]).toEqual([201, 201, second.body.id]);
    expect((await request('B')).status).toBe(409);
  });

  it.each<[name: string, body: object, field: string, message: string]>([
    ['no name', { name: undefined }, 'name', 'is required'],
    ['an empty name', { name: '' }, 'name', 'must not be empty'],
    ['a name of two lines', { name: 'a\nb' }, 'name', 'line breaks'],
    ['a long name', { name: 'x'.repeat(256) }, 'name', 'at most 255'],
    ['an unknown field', { tirgger: {} }, 'tirgger', 'did you mean trigger?'],
    [
      'a status that a flow cannot begin with',
      { status: 'paused' },
      'status',
      'must be one of draft, active',
    ],
    ['a goal that is no event', { goal: 'Order Placed' }, 'goal', 'must have 1 to 64 lower-case letters'],
    [
      'an unknown field of the trigger',
      { trigger: { events: 'x' } },
      'trigger.events',
      'did you mean event?',
    ],
    ['two triggers', { trigger: { event: 'a', segment_id: 1 } }, 'trigger.segment_id', 'event is given'],
    ['another list', { trigger: { contact_list_id: 999_999 } }, 'trigger.contact_list_id', 'not a list'],
    ['another segment', { trigger: { segment_id: 999_999 } }, 'trigger.segment_id', 'not a segment'],
    [
      'a filter without a predicate',
      { trigger: { data: { filters: [{ name: 'email' }] } } },
      'trigger.data.filters.0.predicate',
      'is required',
    ],
    [
      'an exit filter that names a step',
      { trigger: { data: { exit_filters: [{ ...filter, name: 'step.1.status' }] } } },
      'trigger.data.exit_filters.0.name',
      'step',
    ],
    [
      'a filter that names another list',
      { trigger: { data: { filters: [{ name: 'list', predicate: 'in', value: [999_999] }] } } },
      'trigger.data.filters.0.value.0',
      'is not a list of the brand',
    ],
    [
      'another reentry',
      { trigger: { data: { reentry: 'twice' } } },
      'trigger.data.reentry',
      'once, every_time',
    ],
    [
      'a reentry at once',
      { trigger: { data: { reentry: { after_seconds: 0 } } } },
      'trigger.data.reentry.after_seconds',
      'at least 1',
    ],
    [
      'unknown trigger data',
      { trigger: { data: { filter: [] } } },
      'trigger.data.filter',
      'did you mean filters?',
    ],
    ['steps that are no array', { steps: 'x' }, 'steps', 'must be an array of steps'],
    ['a step of no type', { steps: [{ type: 'emali' }] }, 'steps[0].type', 'did you mean email?'],
    [
      'a bad step in a branch',
      { steps: [wait, { type: 'condition', filters: [filter], no: [{ type: 'wait', duration: 0 }] }] },
      'steps[1].no[0].duration',
      'must be at least 1',
    ],
  ])('rejects %s', async (_name, body, field, message) => {
    const { status, body: answer } = await createFlow(api, body);
    expect([status, Object.keys(errorsOf(answer))]).toEqual([422, [field]]);
    expect(errorsOf(answer)[field]?.join(' ')).toContain(message);
  });

  it('reports the problems of the flow and of its steps at once', async () => {
    const refused = await createFlow(api, { goal: 'A', trigger: { event: 'B' }, steps: [{ type: 'wait' }] });
    expect(fieldsOf(refused)).toEqual(['goal', 'steps[0].duration', 'trigger.event']);
  });

  it('reports all lists, segments and templates that the brand does not have at once', async () => {
    const theirs = await listAndSegment(api, api.other);
    const membership = {
      type: 'condition',
      filters: [{ name: 'segment', predicate: 'eq', value: theirs.segmentId }],
    };
    const refused = await createFlow(api, {
      steps: [
        { type: 'add_to_list', list_id: theirs.listId },
        { ...membership, yes: [{ type: 'remove_from_list', list_id: 999_999 }] },
      ],
    });
    expect([refused.status, fieldsOf(refused)]).toEqual([
      422,
      ['steps[0].list_id', 'steps[1].filters[0].value', 'steps[1].yes[0].list_id'],
    ]);
    const templates = await createFlow(api, {
      steps: [{ type: 'email', template_id: 999_999 }, wait, { type: 'sms', template_id: 999_998 }],
    });
    expect(fieldsOf(templates)).toEqual(['steps[0].template_id', 'steps[2].template_id']);
  });

  it('copies a template, and refuses one of another channel', async () => {
    const template = await api.request('POST', '/v1/my/templates', {
      body: { name: 'T', subject: 'Own', body: 'Text' },
    });
    const id = Number(template.body.id);
    const { body } = await createFlow(api, {
      steps: [{ type: 'email', template_id: id, subject: 'Changed' }],
    });
    expect(stepsOf(body)[0]).toMatchObject({ subject: 'Changed', body: 'Text' });
    expect(stepsOf(body)[0]?.template_id).not.toBe(id);
    const refused = await createFlow(api, { steps: [{ type: 'sms', template_id: id }] });
    expect(errorsOf(refused.body)).toEqual({
      'steps[0].template_id': ['names a template for email instead of sms'],
    });
  });

  it('refuses steps that are too large together', async () => {
    const hook = { type: 'webhook', url: 'https://example.com', body: 'x'.repeat(30_000) };
    const refused = await createFlow(api, { steps: Array.from({ length: 10 }, () => hook) });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps']]);
  });

  it('refuses contents that are too large together', async () => {
    const large = { name: 'Large', channel: 'email', body: 'x'.repeat(512 * 1024) };
    const template = await api.request('POST', '/v1/my/templates', { body: large });
    const step = { type: 'email', template_id: template.body.id };
    const many = (count: number) => Array.from({ length: count }, () => step);
    const refused = await createFlow(api, { steps: many(17) });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps']]);
    const id = await flowOf(api, { steps: [...many(15), { type: 'email', body: 'Small' }] });
    // Without their contents, which would be too large for a request.
    const kept = stepsOf((await showFlow(api, id)).body).map((own) => ({ type: 'email', id: own.id }));
    const added = [...kept, step];
    expect(fieldsOf(await changeFlow(api, id, { steps: added }))).toEqual(['steps']);
    const own = stepsOf((await showFlow(api, id)).body)[15]?.template_id as number;
    const changed = await api.request('PATCH', `/v1/my/templates/${own}`, { body: { body: large.body } });
    expect([changed.status, fieldsOf(changed)]).toEqual([422, ['body']]);
  }, 60_000);

  it('refuses every_time without an event', async () => {
    const { listId } = await listAndSegment(api, api);
    const trigger = { contact_list_id: listId, data: { reentry: 'every_time' } };
    const refused = await createFlow(api, { trigger });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['trigger.data.reentry']]);
  });

  it('needs the capability', async () => {
    await pool().query(`update accounts set capabilities = '{"flows": false}' where id = $1`, [
      api.accountId,
    ]);
    try {
      expect((await createFlow(api, {})).status).toBe(403);
    } finally {
      await pool().query(`update accounts set capabilities = '{}' where id = $1`, [api.accountId]);
    }
  });
});

describe('GET /flows', () => {
  it('has complete pages, however large their contents are, and leaves these out of a summary', async () => {
    const body = 'x'.repeat(500 * 1024);
    const large = Array.from({ length: 9 }, () => ({ type: 'sms', body }));
    const small = {
      name: 'Large',
      steps: [emailStep, { type: 'webhook', url: 'https://a.test', body: { a: 1 } }],
    };
    const ids = [
      await flowOf(api, { name: 'Large', steps: large }),
      await flowOf(api, small),
      await flowOf(api, { name: 'Large', steps: large }),
    ];
    const { list, headers } = await api.request('GET', `${FLOWS}?name=Large`);
    expect(list.map(({ id }) => Number(id))).toEqual([...ids].reverse());
    expect(headers.get('Link')).not.toContain('rel="next"');
    for (const flow of list) {
      const { body: alone } = await showFlow(api, Number(flow.id));
      expect(flow.steps).toEqual(listedSteps(alone));
    }
    const summary = await api.request('GET', `${FLOWS}?name=Large&summary=true`);
    const bodiless = ({ type, body: content, ...others }: Record<string, unknown>) =>
      type === 'webhook' ? { type, body: content, ...others } : { type, ...others };
    const rows = (of: unknown) => of as Record<string, unknown>[];
    expect(summary.list).toEqual(
      list.map((flow) => ({
        ...flow,
        steps: rows(flow.steps).map(bodiless),
        templates: rows(flow.templates).map(({ body: _, ...others }) => others),
      })),
    );
  });

  it('lists flows newest first, and archived ones only on request', async () => {
    const [kept, gone] = [await flowOf(api, { name: 'Listed', steps: [emailStep] }), await flowOf(api)];
    await api.request('DELETE', `${FLOWS}/${gone}`);
    const ids = async (query: string) => {
      const { list } = await api.request('GET', `${FLOWS}${query}`);
      return list.map(({ id }) => Number(id));
    };
    const all = await ids('');
    expect([all.includes(kept), all.includes(gone)]).toEqual([true, false]);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    expect(await ids('?status=archived')).toContain(gone);
    const named = await api.request('GET', `${FLOWS}?name=Listed&status=draft`);
    expect([named.list.length, named.headers.get('X-Total-Count')]).toEqual([1, '1']);
    const { body } = await showFlow(api, kept);
    expect(named.list[0]?.steps).toEqual(listedSteps(body));
    expect(named.list[0]?.templates).toMatchObject([
      { flow_id: kept, action_id: 1, subject: emailStep.subject },
    ]);
    expect((await api.request('GET', `${FLOWS}?state=draft`)).status).toBe(422);
    expect((await api.request('GET', `${FLOWS}?limit=2`)).list).toHaveLength(2);
  });
});

describe('PATCH /flows/{id}', () => {
  it('accepts what GET returns, and changes nothing', async () => {
    const id = await flowOf(api, {
      steps: [emailStep, { type: 'condition', filters: [filter], yes: [wait] }],
    });
    const before = (await showFlow(api, id)).body;
    const { status, body } = await changeFlow(api, id, before);
    expect([status, { ...body, updated_at: null }]).toEqual([200, { ...before, updated_at: null }]);
  });

  it('keeps the steps that keep their ids, gives new ids to others, and never uses one again', async () => {
    const id = await flowOf(api, { steps: [emailStep, wait] });
    const [email] = stepsOf((await showFlow(api, id)).body);
    const changed = await changeFlow(api, id, { steps: [wait, { ...email, subject: 'Other' }] });
    expect(stepsOf(changed.body)).toMatchObject([
      { id: 3 },
      { id: 1, template_id: email?.template_id, subject: 'Other' },
    ]);
    await changeFlow(api, id, { steps: [] });
    const last = await changeFlow(api, id, { steps: [wait] });
    expect([stepsOf(last.body), last.body.templates]).toEqual([[{ ...wait, id: 4 }], []]);
  });

  it('replaces the content of a step with that of another template', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const template = await api.request('POST', '/v1/my/templates', {
      body: { name: 'T', subject: 'New', body: 'New' },
    });
    const own = stepsOf((await showFlow(api, id)).body)[0]?.template_id;
    const { body } = await changeFlow(api, id, {
      steps: [{ type: 'email', id: 1, template_id: template.body.id }],
    });
    expect(stepsOf(body)[0]).toMatchObject({ template_id: own, subject: 'New', body: 'New' });
  });

  it('keeps fields of a content that are left out', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const { body } = await changeFlow(api, id, { steps: [{ type: 'email', id: 1, preheader: 'Soon' }] });
    expect(stepsOf(body)[0]).toMatchObject({ ...emailStep, preheader: 'Soon' });
  });

  it.each<[name: string, step: object, path: string]>([
    ['an id that the flow does not have', { ...wait, id: 99 }, 'steps[0].id'],
    ['the id of a step of another type', { ...wait, id: 1 }, 'steps[0].id'],
  ])('rejects %s', async (_name, step, path) => {
    const id = await flowOf(api, { steps: [emailStep] });
    const refused = await changeFlow(api, id, { steps: [step] });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, [path]]);
  });

  it('replaces one trigger with another', async () => {
    const { listId, segmentId } = await listAndSegment(api, api);
    const id = await flowOf(api, { trigger: { contact_list_id: listId, data: { reentry: 'once' } } });
    const { body } = await changeFlow(api, id, { trigger: { segment_id: segmentId } });
    expect(body.trigger).toEqual({
      event: null,
      contact_list_id: null,
      segment_id: segmentId,
      data: { reentry: 'once' },
    });
    const cleared = await changeFlow(api, id, { trigger: { segment_id: null, data: null }, goal: null });
    expect(cleared.body.trigger).toMatchObject({ segment_id: null, data: {} });
  });

  it('is a 404 for another brand, and cannot set the status to draft', async () => {
    const id = await activeFlow(api);
    const other = await api.request('PATCH', `${FLOWS}/${id}`, {
      body: { name: 'x' },
      token: api.other.apiKey,
    });
    expect(other.status).toBe(404);
    const { status, body } = await changeFlow(api, id, { status: 'draft' });
    expect([status, body.code]).toEqual([422, 'invalid_transition']);
  });
});

describe('a test key', () => {
  it('neither pauses nor archives', async () => {
    const token = api.testApiKey;
    const id = await activeFlow(api);
    const path = `${FLOWS}/${id}`;
    const refused = [
      await api.request('POST', `${path}/pause`, { token }),
      await api.request('DELETE', path, { token }),
      await api.request('PATCH', path, { token, body: { status: 'paused' } }),
      await api.request('PATCH', path, { token, body: { status: 'archived' } }),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [403, 'test_key']),
    );
    expect((await showFlow(api, id)).body.status).toBe('active');
    const draft = await flowOf(api);
    expect((await api.request('DELETE', `${FLOWS}/${draft}`, { token })).status).toBe(403);
  });

  it('does not open the brand for events', async () => {
    const opened = async () => (await pool().query('select 1 from flow_brands')).rowCount;
    await pool().query('delete from flow_brands');
    const id = await flowOf(api, { steps: [emailStep] });
    const { status } = await api.request('POST', `${FLOWS}/${id}/activate`, { token: api.testApiKey });
    expect([status, await opened()]).toEqual([403, 0]);
    await actOnFlow(api, id, 'activate');
    expect(await opened()).toBe(1);
  });
});

describe('POST /flows/{id}/duplicate', () => {
  it('copies a flow with its contents as a draft', async () => {
    const id = await activeFlow(api, {
      goal: 'bought',
      steps: [emailStep, { type: 'condition', filters: [filter], no: [emailStep] }],
    });
    const before = (await showFlow(api, id)).body;
    const { status, body } = await actOnFlow(api, id, 'duplicate');
    expect([status, body.status, body.name, body.goal]).toEqual([201, 'draft', 'Welcome (copy)', 'bought']);
    expect(body.trigger).toEqual(before.trigger);
    const idsOf = (flow: TestBody) =>
      (flow.templates as unknown as { id: number }[]).map((template) => template.id);
    expect(idsOf(body)).toHaveLength(2);
    expect(idsOf(body).some((each) => idsOf(before).includes(each))).toBe(false);
    expect(stepsOf(body)[0]).toMatchObject({ ...emailStep, id: 1 });
    expect((await actOnFlow(api, id, 'duplicate', { name: 'Again' })).body.name).toBe('Again');
  });
});

describe('templates of flows', () => {
  beforeEach(() =>
    pool().query('update templates set removed_at = now() where campaign_id is null and flow_id is null'),
  );

  it('are listed only on request', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    expect((await api.request('GET', '/v1/my/templates')).list).toEqual([]);
    const { list } = await api.request('GET', `/v1/my/templates?flow_id=${id}`);
    expect(list).toMatchObject([{ flow_id: id, action_id: 1 }]);
  });
});
