// A send reports every problem at once or pins the content and audience, and invalid transitions are refused.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ContentSource } from '../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import { createCompiledContents } from '../../../src/features/templates/service.ts';
import { inPreparedTransaction, inTransaction } from '../../../src/platform/db/queryable.ts';
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
  writeRecipients,
} from '../../support/campaign-requests.ts';
import { withBody } from '../../delivery/content/templates/sources.ts';

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
const codeOf = ({ status, body }: { status: number; body: { code?: unknown } }) => [status, body.code];
const ab = (variants: unknown) => ({ data: { options: { ab: { variants } } } });
const rowOf = async (id: number) =>
  (await pool().query<Record<string, unknown>>('select * from campaigns where id = $1', [id])).rows[0] ?? {};

describe('a send', () => {
  it('returns all problems at once, and changes nothing', async () => {
    const empty = await filledList(api, api, 0);
    await pool().query('update brands set physical_address = null where id = $1', [api.brandId]);
    const id = await readyCampaign(api, empty.listId, {
      data: { options: { send_at_local_time: true } },
      template_attributes: { body: '<p>{{ oops', from_email: 'me@elsewhere.test' },
    });
    const response = await act(api, id, 'send', { template_attributes: { preheader: 'New' } });
    await pool().query(`update brands set physical_address = '1 Main St' where id = $1`, [api.brandId]);
    expect(codeOf(response)).toEqual([422, 'validation_error']);
    expect(fieldsOf(response)).toEqual([
      'brand.physical_address',
      'scheduled_at',
      'template_attributes.body',
      'template_attributes.from_email',
      'template_attributes.subject',
      'trigger_attributes.contact_list_id',
    ]);
    expect((await show(api, id)).body).toMatchObject({ status: 'draft', template: { preheader: null } });
  });

  it('needs an audience', async () => {
    const id = await readyCampaign(api, listId, { trigger_attributes: {} });
    const response = await act(api, id, 'send');
    expect([response.status, fieldsOf(response)]).toEqual([422, ['trigger_attributes.contact_list_id']]);
  });

  it('has its own error code if an unverified sender is the only problem', async () => {
    const id = await readyCampaign(api, listId, {
      template_attributes: { ...content, from_email: 'me@elsewhere.test' },
    });
    expect(codeOf(await act(api, id, 'send'))).toEqual([422, 'sender_not_verified']);
  });

  it('refuses a list that has been deleted', async () => {
    const gone = await filledList(api, api, 1);
    const id = await readyCampaign(api, gone.listId);
    await api.request('DELETE', `/v1/my/lists/${gone.listId}`);
    expect(fieldsOf(await act(api, id, 'send'))).toEqual(['trigger_attributes.contact_list_id']);
  });

  it('refuses an SMS that may need more than ten segments', async () => {
    const id = await readyCampaign(api, listId, {
      channel: 'sms',
      template_attributes: { body: 'x'.repeat(2_000) },
    });
    expect(fieldsOf(await act(api, id, 'send'))).toEqual(['template_attributes.body']);
  });

  it('refuses a sandbox whose monthly cap is smaller than the audience', async () => {
    await pool().query(`update accounts set sandbox_monthly_cap = 2 where id = $1`, [api.other.accountId]);
    await pool().query(`update brands set physical_address = '1 Main St' where id = $1`, [api.other.brandId]);
    const others = await filledList(api, api.other, 3);
    const made = await api.request('POST', CAMPAIGNS, {
      token: api.other.apiKey,
      body: {
        name: 'Sandbox',
        status: 'active',
        trigger_attributes: { contact_list_id: others.listId },
        template_attributes: content,
      },
    });
    expect(codeOf(made)).toEqual([422, 'sandbox_limit_reached']);
  });

  it('names the variant whose template is not one of the brand', async () => {
    const field = 'data.options.ab.variants.1.template_id';
    const made = async (token: string) =>
      Number(
        (await api.request('POST', '/v1/my/templates', { token, body: { name: 'B', ...content } })).body.id,
      );
    const id = await readyCampaign(api, listId);
    const own = (await show(api, id)).body.template?.id;
    for (const named of [999_999, await made(api.other.apiKey), own]) {
      const options = ab([
        { subject: 'A', weight: 50 },
        { template_id: named, weight: 50 },
      ]);
      const response = await change(api, id, options);
      expect([response.status, fieldsOf(response)]).toEqual([422, [field]]);
      const body = { name: 'x', ...options };
      expect(fieldsOf(await api.request('POST', CAMPAIGNS, { body }))).toEqual([field]);
    }
    const gone = await made(api.apiKey);
    await change(
      api,
      id,
      ab([
        { subject: 'A', weight: 50 },
        { template_id: gone, weight: 50 },
      ]),
    );
    await api.request('DELETE', `/v1/my/templates/${gone}`);
    expect(fieldsOf(await act(api, id, 'send'))).toEqual([field]);
  });

  it('does not show a template of another tenant', async () => {
    const foreign = await api.request('POST', '/v1/my/templates', {
      token: api.other.apiKey,
      body: { name: 'B', ...content, subject: 'Secret' },
    });
    const id = await readyCampaign(api, listId);
    const options = ab([
      { subject: 'A', weight: 50 },
      { template_id: foreign.body.id, weight: 50 },
    ]).data.options;
    await pool().query('update campaigns set options = $2 where id = $1', [id, JSON.stringify(options)]);
    const { status, body } = await show(api, id);
    expect([status, JSON.stringify(body).includes('Secret')]).toEqual([200, false]);
  });

  it('refuses a test whose winner cannot be decided', async () => {
    await pool().query('update brands set track_opens = false where id = $1', [api.brandId]);
    const blind = await readyCampaign(
      api,
      listId,
      ab([
        { subject: 'A', weight: 10 },
        { subject: 'B', weight: 10 },
      ]),
    );
    expect(fieldsOf(await act(api, blind, 'send'))).toEqual(['data.options.ab.by']);
    await pool().query('update brands set track_opens = true where id = $1', [api.brandId]);
  });

  it('is refused to a test key', async () => {
    const id = await readyCampaign(api, listId);
    const response = await api.request('POST', `${CAMPAIGNS}/${id}/send`, { token: api.testApiKey });
    expect(codeOf(response)).toEqual([403, 'test_key']);
  });

  it('applies the attributes of its request', async () => {
    const other = await filledList(api, api, 1);
    const id = await readyCampaign(api, listId);
    const { status, body } = await act(api, id, 'send', {
      trigger_attributes: { contact_list_id: other.listId },
      template_attributes: { subject: 'Now' },
    });
    expect([status, body.status, body.trigger?.contact_list_id]).toEqual([200, 'active', other.listId]);
    expect(body.template?.subject).toBe('Now');
  });

  it('pins content, sender, tracking and audience, and asks for the workflow', async () => {
    await pool().query('truncate outbox');
    const excluded = await filledList(api, api, 1);
    const segment = await api.request('POST', '/v1/my/segments', {
      body: { name: 'Pro', filters: [{ name: 'subscribed_email', predicate: 'true' }] },
    });
    const id = await readyCampaign(api, listId, {
      trigger_attributes: {
        contact_list_id: listId,
        segment_id: segment.body.id,
        data: { exclude_list_ids: [excluded.listId] },
      },
    });
    const { body } = await act(api, id, 'send');
    expect(body).toMatchObject({
      status: 'active',
      approval_state: 'not_required',
      trigger: { triggered_count: 1, last_triggered_at: expect.any(String) },
      data: { progress: { waiting_for: { reason: 'snapshot', until: null } } },
    });
    const row = await rowOf(id);
    expect(row).toMatchObject({
      phase: 'waiting',
      from_address: '"Acme" <news@acme.test>',
      provider_id: 0,
      audience: {
        ...{ listId, segmentId: segment.body.id, excludeListIds: [excluded.listId], excludeSegmentIds: [] },
        filters: [{ name: 'subscribed_email', predicate: 'true', value: null }],
        excludeFilters: [],
      },
      begin_at: expect.any(Date),
      engine_expected_by: expect.any(Date),
    });
    expect(row.version_ids).toHaveLength(1);
    expect(row.domain_id).toEqual(expect.any(Number));
    const { rows } = await pool().query('select kind, workflow_id from outbox');
    expect(rows).toEqual([{ kind: 'signal_with_start', workflow_id: `campaign/${id}` }]);
  });

  it('pins a version for each variant of an A/B test', async () => {
    const made = await api.request('POST', '/v1/my/templates', {
      body: { name: 'B', ...content, subject: 'B' },
    });
    const id = await readyCampaign(api, listId, {
      data: {
        options: {
          ab: {
            variants: [
              { subject: 'A', weight: 50 },
              { template_id: made.body.id, weight: 50 },
            ],
          },
        },
      },
    });
    expect((await show(api, id)).body.templates).toMatchObject([{ subject: 'A' }, { subject: 'B' }]);
    const { body } = await act(api, id, 'send');
    expect(body.templates).toMatchObject([{ subject: 'A' }, { subject: 'B' }]);
    const versions = (await rowOf(id)).version_ids as number[];
    const { rows } = await pool().query<{ subject: string }>(
      'select v.subject from unnest($1::bigint[]) with ordinality as i (id, n) join template_versions v using (id) order by n',
      [versions],
    );
    expect(rows.map(({ subject }) => subject)).toEqual(['A', 'B']);
  });

  it('copies the template that a variant names, which may then be deleted', async () => {
    const made = await api.request('POST', '/v1/my/templates', {
      body: { name: 'B', ...content, subject: 'B' },
    });
    const id = await readyCampaign(
      api,
      listId,
      ab([
        { subject: 'A', weight: 50 },
        { template_id: made.body.id, weight: 50 },
      ]),
    );
    expect((await act(api, id, 'send')).status).toBe(200);
    await writeRecipients(api, id, [{ status: 'queued' }]);
    expect((await api.request('DELETE', `/v1/my/templates/${Number(made.body.id)}`)).status).toBe(200);
    const { rows } = await pool().query<{ campaign_id: number | null }>(
      'select t.campaign_id from template_versions v join templates t on t.id = v.template_id where v.id = any($1)',
      [(await rowOf(id)).version_ids],
    );
    expect(rows).toEqual([{ campaign_id: id }, { campaign_id: id }]);
    await change(api, id, { status: 'paused' });
    const { status, body } = await change(api, id, { template_attributes: { preheader: 'New' } });
    expect([status, body.templates]).toMatchObject([
      200,
      [
        { subject: 'A', preheader: 'New' },
        { subject: 'B', preheader: null },
      ],
    ]);
  });

  it('needs a subject for each variant', async () => {
    const made = await api.request('POST', '/v1/my/templates', {
      body: { name: 'B', body: content.body },
    });
    const id = await readyCampaign(
      api,
      listId,
      ab([
        { subject: 'A', weight: 50 },
        { template_id: made.body.id, weight: 50 },
      ]),
    );
    const response = await act(api, id, 'send');
    expect([response.status, fieldsOf(response)]).toEqual([422, ['data.options.ab.variants.1.subject']]);
  });

  it('pins the name that contents show', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    expect((await change(api, id, { name: 'Renamed' })).body.name).toBe('Renamed');
    const { rows } = await pool().query('select name from campaigns_to_send(array[$1::bigint])', [id]);
    expect(rows).toEqual([{ name: 'Spring sale' }]);
  });

  it('happens once for one Idempotency-Key', async () => {
    const id = await readyCampaign(api, listId);
    const headers = { 'Idempotency-Key': 'send-1' };
    const send = () => api.request('POST', `${CAMPAIGNS}/${id}/send`, { headers });
    const answers = await Promise.all([send(), send()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await show(api, id)).body.trigger?.triggered_count).toBe(1);
  });
});

describe('a concurrent send', () => {
  it('does not wait for intents while the campaign has no recipients', async () => {
    const id = await readyCampaign(api, listId);
    await inTransaction(pool(), async (trx) => {
      // What an intent of this campaign would lock.
      await trx.query('select campaigns_to_send(array[$1::bigint])', [id]);
      const { status } = await change(api, id, { template_attributes: { subject: 'Other' } });
      expect([status, (await act(api, id, 'send')).status]).toEqual([200, 200]);
    });
  }, 60_000);

  it('compiles contents while no transaction is open', async () => {
    const engine = createContentEngine({ threads: 1, compileMs: 60_000 });
    const busy: number[] = [];
    const contents = {
      ...engine,
      compile(source: ContentSource, accountId: number) {
        busy.push(own.totalCount - own.idleCount);
        return engine.compile(source, accountId);
      },
    };
    const own = new pg.Pool({ connectionString: api.config.DATABASE_URL });
    const source = withBody('<p>Hi</p>');
    try {
      const compiled = createCompiledContents(contents);
      const { content } = await inPreparedTransaction(own, async () => {
        const found = await compiled.compile(source, 1);
        compiled.requireAll();
        return found;
      });
      expect([content?.html?.includes('Hi'), busy]).toEqual([true, [0]]);
    } finally {
      await own.end();
      await engine.close();
    }
  }, 90_000);
});

describe('a schedule', () => {
  it('is honoured if it is in the future, and means now if it has passed', async () => {
    const later = tomorrow();
    const future = await readyCampaign(api, listId, { scheduled_at: later });
    expect((await act(api, future, 'send')).body).toMatchObject({
      status: 'active',
      scheduled_at: later,
      data: { progress: { waiting_for: { reason: 'schedule', until: later } } },
    });
    const past = await readyCampaign(api, listId, { scheduled_at: '2020-01-01T00:00:00Z' });
    expect((await act(api, past, 'send')).body.data?.progress?.waiting_for?.reason).toBe('snapshot');
  });

  it('moves earlier and later while the campaign waits, but not to null', async () => {
    const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
    await change(api, id, { status: 'active' });
    for (const scheduled of ['2098-01-01T00:00:00.000Z', '2097-01-01T00:00:00.000Z']) {
      const { status, body } = await change(api, id, { scheduled_at: scheduled });
      expect([status, body.data?.progress?.waiting_for?.until]).toEqual([200, scheduled]);
    }
    const refused = await change(api, id, { scheduled_at: null });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['scheduled_at']]);
  });

  it('is replaced by a second send, which sends now', async () => {
    const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
    await act(api, id, 'send');
    const { status, body } = await act(api, id, 'send');
    expect([status, body.scheduled_at, body.data?.progress?.waiting_for?.reason]).toEqual([
      200,
      null,
      'snapshot',
    ]);
    expect(body.trigger?.triggered_count).toBe(2);
  });
});

describe('transitions', () => {
  it('pause and resume, and count rates for the thresholds from the resume', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    const first = (await rowOf(id)).counted_from as Date;
    expect((await change(api, id, { status: 'paused' })).body.status).toBe('paused');
    expect((await change(api, id, { status: 'active' })).body).toMatchObject({
      status: 'active',
      trigger: { triggered_count: 1 },
    });
    expect((await rowOf(id)).counted_from).not.toEqual(first);
  });

  it('cancel to a draft before the snapshot, which can be sent again', async () => {
    const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
    await act(api, id, 'send');
    expect((await act(api, id, 'cancel')).body).toMatchObject({ status: 'draft', data: { outcome: null } });
    expect(await rowOf(id)).toMatchObject({ phase: 'draft', audience: null, engine_expected_by: null });
    expect((await act(api, id, 'send')).body.status).toBe('active');
  });

  it('cancel to completed after it', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await writeRecipients(api, id, [{ status: 'sent', sent: true }, { status: 'queued' }]);
    const { body } = await act(api, id, 'cancel');
    expect(body).toMatchObject({ status: 'completed', data: { outcome: 'canceled', stop: null } });
    expect((await rowOf(id)).finished_at).not.toBeNull();
  });

  it.each<[string, string[], string, unknown]>([
    ['cancel of a draft', [], 'cancel', undefined],
    ['resume of a draft that was never sent as paused', [], 'status', { status: 'paused' }],
    ['completion by a client', ['send'], 'status', { status: 'completed' }],
    ['draft by a client', ['send'], 'status', { status: 'draft' }],
    ['change of the audience while active', ['send'], 'status', { trigger_attributes: { event: 'x' } }],
    ['change of the content while active', ['send'], 'status', { template_attributes: { subject: 'x' } }],
    ['change of the channel once sent', ['send'], 'status', { channel: 'sms' }],
    ['change of options while active', ['send'], 'status', { data: { options: { throttle_per_minute: 1 } } }],
    ['second cancel', ['send', 'snapshot', 'cancel'], 'cancel', undefined],
    ['send of a completed campaign', ['send', 'snapshot', 'cancel'], 'send', undefined],
    ['send while it is sent', ['send', 'snapshot'], 'send', undefined],
    ['schedule after the snapshot', ['send', 'snapshot'], 'status', { scheduled_at: '2099-01-01T00:00:00Z' }],
    ['resend of unknown ones before the end', ['send', 'snapshot'], 'resend_unknown', undefined],
  ])('refuse the %s', async (_name, steps, action, body) => {
    const id = await readyCampaign(api, listId);
    for (const step of steps) {
      if (step === 'snapshot') await writeRecipients(api, id, [{ status: 'queued' }]);
      else expect((await act(api, id, step)).status).toBe(200);
    }
    const response = action === 'status' ? await change(api, id, body) : await act(api, id, action);
    expect(codeOf(response)).toEqual([422, 'invalid_transition']);
  });

  it('let exactly one of several sends, pauses or cancels at once win', async () => {
    for (let round = 0; round < 4; round += 1) {
      const id = await readyCampaign(api, listId);
      const times = Array.from({ length: 6 });
      const sends = await Promise.all(times.map(() => act(api, id, 'send')));
      expect(sends.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1);
      expect((await rowOf(id)).triggered_count).toBe(sends.filter(({ status }) => status === 200).length);
      await writeRecipients(api, id, [{ status: 'queued' }]);
      const cancels = await Promise.all(times.map(() => act(api, id, 'cancel')));
      expect(cancels.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
    }
  });
});

describe('content that changes while the campaign is paused', () => {
  it('is pinned for the remaining recipients', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await writeRecipients(api, id, [{ status: 'queued' }]);
    const [before] = (await rowOf(id)).version_ids as number[];
    await change(api, id, { status: 'paused' });
    const { status } = await change(api, id, { template_attributes: { subject: 'Better' } });
    const [after] = (await rowOf(id)).version_ids as number[];
    expect([status, after === before]).toEqual([200, false]);
    const wrong = await change(api, id, { template_attributes: { body: '{% if %}' } });
    expect([wrong.status, fieldsOf(wrong)]).toEqual([422, ['template_attributes.body']]);
    expect((await rowOf(id)).version_ids).toEqual([after]);
  });

  it('keeps its sender once the recipients are fixed', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await writeRecipients(api, id, [{ status: 'queued' }]);
    await change(api, id, { status: 'paused' });
    const response = await change(api, id, { template_attributes: { from_name: 'Other' } });
    expect([response.status, fieldsOf(response)]).toEqual([422, ['template_attributes.from_name']]);
  });

  it('may come with another audience before the snapshot', async () => {
    const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
    await act(api, id, 'send');
    await change(api, id, { status: 'paused' });
    const other = await filledList(api, api, 1);
    const { status } = await change(api, id, { trigger_attributes: { contact_list_id: other.listId } });
    expect([status, (await rowOf(id)).audience]).toMatchObject([200, { listId: other.listId }]);
    const empty = await filledList(api, api, 0);
    const refused = await change(api, id, { trigger_attributes: { contact_list_id: empty.listId } });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ['trigger_attributes.contact_list_id']]);
  });
});

describe('a segment', () => {
  it('cannot be deleted while a campaign waits to be sent to it', async () => {
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 'All', filters: [] } });
    const at = `/v1/my/segments/${Number(segment.body.id)}`;
    const id = await readyCampaign(api, listId, {
      scheduled_at: tomorrow(),
      trigger_attributes: { contact_list_id: listId, data: { exclude_segment_ids: [] } },
    });
    await change(api, id, { trigger_attributes: { segment_id: segment.body.id } });
    await act(api, id, 'send');
    expect(codeOf(await api.request('DELETE', at))).toEqual([409, 'conflict']);
    await act(api, id, 'cancel');
    expect((await api.request('DELETE', at)).status).toBe(200);
  });
});

it('lists cannot be deleted while a campaign waits to be sent to them, or excludes them', async () => {
  const lists = [await filledList(api, api, 1), await filledList(api, api, 1)].map((one) => one.listId);
  const removeAll = () => Promise.all(lists.map((id) => api.request('DELETE', `/v1/my/lists/${id}`)));
  const id = await readyCampaign(api, lists[0] as number, {
    scheduled_at: tomorrow(),
    trigger_attributes: { contact_list_id: lists[0], data: { exclude_list_ids: [lists[1]] } },
  });
  await act(api, id, 'send');
  expect((await removeAll()).map(codeOf)).toEqual([409, 409].map((status) => [status, 'conflict']));
  await act(api, id, 'cancel');
  expect((await removeAll()).map(({ status }) => status)).toEqual([200, 200]);
});
