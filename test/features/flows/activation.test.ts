// Activating a flow reports every problem, and changes to an active flow take effect as pinned versions.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
const stepsOf = (body: unknown) => (body as { steps: Record<string, unknown>[] }).steps;

async function one<Row extends object>(sql: string, values: unknown[]): Promise<Row> {
  const { rows } = await pool().query<Row>(sql, values);
  return rows[0] as Row;
}

describe('PATCH of an active flow', () => {
  interface Pinned {
    version_id: number;
    content: number;
    versions: number;
    moves: number;
  }
  const pinned = (id: number) =>
    one<Pinned>(
      `select f.version_id, (select version_id from flow_contents where flow_id = f.id and step_id = 1) as content,
         (select count(*)::int from flow_versions where flow_id = f.id) as versions,
         (select count(*)::int from flow_changes where flow_id = f.id and change = 'move') as moves
       from flows f where id = $1`,
      [id],
    );
  const addRun = (id: number) =>
    pool().query(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
       select account_id, brand_id, id, version_id, 1, 'e1', '{}' from flows where id = $1`,
      [id],
    );

  it('pins the new content and keeps the version if only the content changes', async () => {
    const id = await activeFlow(api);
    const before = await pinned(id);
    const { status } = await changeFlow(api, id, { steps: [{ type: 'email', id: 1, subject: 'Other' }] });
    const after = await pinned(id);
    expect([status, after.version_id, after.versions]).toEqual([200, before.version_id, 1]);
    expect(after.content).not.toBe(before.content);
  });

  it('writes another version if steps, goal or trigger change', async () => {
    const id = await activeFlow(api);
    const [email] = stepsOf((await showFlow(api, id)).body);
    await changeFlow(api, id, { steps: [email, wait] });
    await changeFlow(api, id, { goal: 'bought' });
    await changeFlow(api, id, { trigger: { data: { exit_filters: [filter] } } });
    await changeFlow(api, id, { trigger: { data: { exit_filters: [filter], filters: [filter] } } });
    await changeFlow(api, id, { name: 'Other' });
    expect(await pinned(id)).toMatchObject({ versions: 5, moves: 0 });
  });

  it('moves active runs if the client asks for it', async () => {
    const id = await activeFlow(api);
    await addRun(id);
    const [email] = stepsOf((await showFlow(api, id)).body);
    await changeFlow(api, id, { steps: [email, wait], apply_to: 'waiting' });
    expect(await pinned(id)).toMatchObject({ versions: 2, moves: 1 });
  });

  it('is refused if the flow could not be activated with it', async () => {
    const id = await activeFlow(api);
    const before = await pinned(id);
    for (const [body, fields] of [
      [{ steps: [] }, ['steps']],
      [{ trigger: { event: null } }, ['trigger']],
      [{ steps: [{ type: 'email', id: 1, subject: '{{ oops' }] }, ['steps[0].subject']],
      [{ steps: [{ type: 'email', id: 1, from_email: 'a@other.test' }] }, ['steps[0].from_email']],
    ] as const) {
      const refused = await changeFlow(api, id, body);
      expect([refused.status, fieldsOf(refused)]).toEqual([422, fields]);
    }
    expect(await pinned(id)).toEqual(before);
  });

  it('pins a change of a step made by PATCH of its template, too', async () => {
    const id = await activeFlow(api);
    const before = await pinned(id);
    const template = Number(stepsOf((await showFlow(api, id)).body)[0]?.template_id);
    const path = `/v1/my/templates/${template}`;
    expect((await api.request('PATCH', path, { body: { subject: 'From the template' } })).status).toBe(200);
    const after = await pinned(id);
    expect([after.version_id, after.content === before.content]).toEqual([before.version_id, false]);
    const refused = await api.request('PATCH', path, { body: { subject: '' } });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['steps[0].subject']]);
    expect((await api.request('DELETE', path)).status).toBe(409);
  });

  it('starts the comparison over if the trigger changes to a segment', async () => {
    const { segmentId } = await listAndSegment(api, api);
    const id = await activeFlow(api);
    await changeFlow(api, id, { trigger: { segment_id: segmentId } });
    const row = await one<{ expected: boolean; wakes: number }>(
      `select engine_expected_by is not null as expected, (select count(*)::int from outbox
         where workflow_id = 'flow-audience/' || f.id and signal_name = 'wake') as wakes from flows f where id = $1`,
      [id],
    );
    expect(row).toEqual({ expected: true, wakes: 1 });
  });
});

describe('activation', () => {
  it('reports all problems at once', async () => {
    const { listId } = await listAndSegment(api, api);
    const { body } = await createFlow(api, {
      trigger: { contact_list_id: listId },
      steps: [
        { type: 'email' },
        { type: 'email', subject: 'Hi {{ contact.first_name', body: 'Text', from_email: 'a@other.test' },
        { type: 'condition', filters: [filter], yes: [{ type: 'sms', body: '{% if %}' }] },
        { type: 'add_to_list', list_id: listId },
      ],
    });
    await pool().query('update lists set removed_at = now() where id = $1', [listId]);
    await pool().query('update brands set physical_address = null where id = $1', [api.brandId]);
    const refused = await actOnFlow(api, Number(body.id), 'activate');
    await pool().query(`update brands set physical_address = '1 Main St' where id = $1`, [api.brandId]);
    expect([refused.status, refused.body.code, fieldsOf(refused)]).toEqual([
      422,
      'validation_error',
      [
        'brand.physical_address',
        'steps[0].body',
        'steps[0].subject',
        'steps[1].from_email',
        'steps[1].subject',
        'steps[2].yes[0].body',
        'steps[3].list_id',
        'trigger.contact_list_id',
      ],
    ]);
  });

  it('has its own error code if an unverified sender is the only problem', async () => {
    const id = await flowOf(api, { steps: [{ ...emailStep, from_email: 'a@other.test' }] });
    const refused = await actOnFlow(api, id, 'activate');
    expect([refused.status, refused.body.code]).toEqual([422, 'sender_not_verified']);
  });

  it('is replayed for its key even if it would be refused now', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const activate = (body: object) =>
      api.request('POST', `${FLOWS}/${id}/activate`, { body, headers: { 'Idempotency-Key': 'activate' } });
    expect((await activate({})).status).toBe(200);
    await actOnFlow(api, id, 'pause');
    await pool().query(`update accounts set capabilities = '{"flows":false}' where id = $1`, [api.accountId]);
    const [again, other] = [await activate({}), await activate({ enter_existing: true })];
    const refused = await actOnFlow(api, id, 'activate');
    await pool().query(`update accounts set capabilities = '{}' where id = $1`, [api.accountId]);
    expect([again.status, again.body.status]).toEqual([200, 'paused']);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  });

  it('pins the contents and the version, and opens the brand for events', async () => {
    const id = await activeFlow(api, { steps: [emailStep, wait, { type: 'sms', body: 'Hi' }] });
    const row = await one<Record<string, unknown>>(
      `select f.status, f.pending, f.counted_from is not null as counted, v.n, v.steps = f.steps as same,
         (select array_agg(c.step_id order by c.step_id) from flow_contents c
          join template_versions t on t.id = c.version_id and t.template_id = c.template_id where c.flow_id = f.id) as contents,
         exists (select 1 from flow_brands b where b.brand_id = f.brand_id) as open
       from flows f join flow_versions v on v.id = f.version_id where f.id = $1`,
      [id],
    );
    expect(row).toEqual({
      status: 'active',
      pending: null,
      counted: true,
      n: 1,
      same: true,
      contents: [1, 3],
      open: true,
    });
  });

  it('needs a live key', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const { status } = await api.request('POST', `${FLOWS}/${id}/activate`, { token: api.testApiKey });
    expect(status).toBe(403);
  });

  it('lets existing contacts enter only on request', async () => {
    const { listId } = await listAndSegment(api, api);
    const fills = async (id: number) =>
      (await one<{ n: number }>('select count(*)::int as n from flow_fills where flow_id = $1', [id])).n;
    const [plain, asked] = [
      await activeFlow(api, { trigger: { contact_list_id: listId } }),
      await flowOf(api, { trigger: { contact_list_id: listId }, steps: [emailStep] }),
    ];
    expect((await actOnFlow(api, asked, 'activate', { enter_existing: true })).status).toBe(200);
    expect([await fills(plain), await fills(asked)]).toEqual([0, 1]);
  });

  it.each([
    [{ enter_existing: 'yes' }, 'enter_existing'],
    [{ enter_all: true }, 'enter_all'],
    [{ enter_existing: true }, 'enter_existing'],
  ])('rejects %j', async (body, field) => {
    const refused = await actOnFlow(api, await flowOf(api, { steps: [emailStep] }), 'activate', body);
    expect([refused.status, fieldsOf(refused)]).toEqual([422, [field]]);
  });
});

describe('transitions', () => {
  const begin: Record<string, (id: number) => Promise<unknown>> = {
    draft: () => Promise.resolve(),
    active: (id) => actOnFlow(api, id, 'activate'),
    paused: async (id) => {
      await actOnFlow(api, id, 'activate');
      await actOnFlow(api, id, 'pause');
    },
    archived: (id) => api.request('DELETE', `${FLOWS}/${id}`),
  };
  const acts: Record<string, (id: number) => Promise<{ status: number; body: TestBody }>> = {
    activate: (id) => actOnFlow(api, id, 'activate'),
    pause: (id) => actOnFlow(api, id, 'pause'),
    resume: (id) => actOnFlow(api, id, 'resume'),
    archive: (id) => api.request('DELETE', `${FLOWS}/${id}`),
    'set active': (id) => changeFlow(api, id, { status: 'active' }),
    'set paused': (id) => changeFlow(api, id, { status: 'paused' }),
    'set archived': (id) => changeFlow(api, id, { status: 'archived' }),
    rename: (id) => changeFlow(api, id, { name: 'Other' }),
  };
  const allowed: [state: string, next: Record<string, string>][] = [
    [
      'draft',
      {
        activate: 'active',
        archive: 'archived',
        'set active': 'active',
        'set archived': 'archived',
        rename: 'draft',
      },
    ],
    [
      'active',
      {
        ...{ pause: 'paused', archive: 'archived', 'set active': 'active', 'set paused': 'paused' },
        ...{ 'set archived': 'archived', rename: 'active' },
      },
    ],
    [
      'paused',
      {
        ...{ activate: 'active', resume: 'active', archive: 'archived', 'set active': 'active' },
        ...{ 'set paused': 'paused', 'set archived': 'archived', rename: 'paused' },
      },
    ],
    ['archived', { archive: 'archived', 'set archived': 'archived' }],
  ];
  const cases = allowed.flatMap(([state, next]) =>
    Object.keys(acts).map((action): [string, string, string | null] => [state, action, next[action] ?? null]),
  );

  it.each(cases)('a flow that is %s: %s leads to %s', async (state, action, next) => {
    const id = await flowOf(api, { steps: [wait] });
    await begin[state]?.(id);
    const { status, body } = (await acts[action]?.(id)) ?? { status: 0, body: {} };
    if (next === null) expect([status, body.code]).toEqual([422, 'invalid_transition']);
    else expect([status, body.status]).toEqual([200, next]);
  });

  it('request the changes of runs in the same transaction', async () => {
    const id = await activeFlow(api, { steps: [wait] });
    const { rows } = await pool().query<{ id: number }>(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
       select account_id, brand_id, id, version_id, 1, 'e1', '{}' from flows where id = $1 returning id`,
      [id],
    );
    await actOnFlow(api, id, 'pause');
    await actOnFlow(api, id, 'resume');
    await actOnFlow(api, id, 'pause');
    await actOnFlow(api, id, 'resume', { overdue: 'exit' });
    await api.request('DELETE', `${FLOWS}/${id}`);
    const changes = await pool().query(
      'select change, up_to from flow_changes where flow_id = $1 order by id',
      [id],
    );
    const up_to = rows[0]?.id;
    expect(changes.rows).toEqual([
      { change: 'resume', up_to },
      { change: 'exit_overdue', up_to },
      { change: 'archive', up_to },
    ]);
    const ofMessages = await pool().query(
      'select change from flow_message_changes where flow_id = $1 order by id',
      [id],
    );
    expect(ofMessages.rows.map(({ change }) => change as unknown)).toEqual([
      ...['hold', 'release', 'hold', 'cancel', 'cancel'],
    ]);
    const refused = await actOnFlow(api, id, 'resume', { overdue: 'skip' });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['overdue']]);
  });

  it('compare a segment with the contacts at the time of a resume', async () => {
    const { segmentId } = await listAndSegment(api, api);
    const id = await activeFlow(api, { trigger: { segment_id: segmentId }, steps: [wait] });
    const state = () =>
      one<{ old: boolean; expected: boolean }>(
        `select audience_seen_at < '2021-01-01' as old, engine_expected_by is not null as expected from flows where id = $1`,
        [id],
      );
    await pool().query(`update flows set audience_seen_at = '2020-01-01' where id = $1`, [id]);
    await actOnFlow(api, id, 'pause');
    expect(await state()).toEqual({ old: true, expected: false });
    await actOnFlow(api, id, 'resume');
    expect(await state()).toEqual({ old: false, expected: true });
  });
});

describe('concurrent requests', () => {
  it('activate a flow once', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const answers = await Promise.all(Array.from({ length: 6 }, () => actOnFlow(api, id, 'activate')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
  });

  it('that change and activate a flow leave the last change in force', async () => {
    const id = await flowOf(api, { steps: [emailStep] });
    const subjects = Array.from({ length: 5 }, (_, n) => `Subject ${n}`);
    const answers = await Promise.all([
      actOnFlow(api, id, 'activate'),
      ...subjects.map((subject) => changeFlow(api, id, { steps: [{ type: 'email', id: 1, subject }] })),
    ]);
    // A change that found a draft and then an active flow has pinned nothing, and says so.
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const shown = (await showFlow(api, id)).body;
    const { subject } = await one<{ subject: string }>(
      'select v.subject from flow_contents c join template_versions v on v.id = c.version_id where c.flow_id = $1',
      [id],
    );
    expect(subject).toBe(stepsOf(shown)[0]?.subject);
  });
});
