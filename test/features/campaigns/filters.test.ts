// A campaign is sent to the contacts who match the filters of its trigger, and no older process sends it to others.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createCampaignRun, type Stay } from '../../../src/features/campaigns/run/run.ts';
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
import { evaluationsIn, recipientsOf } from '../../support/campaign-runs.ts';
import { testEvents } from '../../support/events.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

let api: TestApi;
let listId: number;
let contactIds: number[];
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUp(api, (await filledList(api, api, 1)).listId);
}, 240_000);
beforeEach(async () => {
  ({ listId, contactIds } = await filledList(api, api, 6));
  await pool().query(`update contacts set first_name = 'Ada' where id = any($1)`, [contactIds.slice(0, 4)]);
});
afterAll(() => api.close());

const pool = () => api.database.pool;
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();
const ada = { name: 'first_name', predicate: 'eq', value: 'Ada' };
const newest = () => ({ name: 'id', predicate: 'gteq', value: contactIds[0] });
const mailOf = (id: number) => (name: string, predicate: string) => ({
  ...{ name, predicate },
  value: { campaign_id: id },
});
const notOpened = (id: number) => [mailOf(id)('email_sent', 'did'), mailOf(id)('email_opened', 'did_not')];

const filtered = (filters: unknown, more: object = {}, trigger: object = {}) =>
  api.request('POST', CAMPAIGNS, {
    body: {
      ...{ name: 'Filtered', template_attributes: content },
      trigger_attributes: { ...trigger, data: { filters } },
      ...more,
    },
  });

async function draft(...given: Parameters<typeof filtered>): Promise<number> {
  const { status, body, text } = await filtered(...given);
  if (status !== 201) throw new Error(text);
  return Number(body.id);
}

const run = () =>
  createCampaignRun({
    pool: pool(),
    evaluations: evaluationsIn(pool()),
    events: testEvents,
    waker: { wake: () => undefined },
    limits: TEST_LIMITS,
    thresholds: { bounceRate: 1, minBounces: 1, complaintRate: 1, minComplaints: 1, minCounted: 1 },
    plusAddresses: false,
    log: pino({ level: 'silent' }),
    pageContacts: 2,
  });
const onePage: Stay = { progress: () => undefined, signal: new AbortController().signal, forMs: 0 };

/** Writes the recipients of a campaign that was sent. @returns the positions of their contacts */
async function writeAll(id: number): Promise<number[]> {
  while ((await run().look(id, new Date())).next === 'snapshot')
    await run().snapshot(id, new Date(), onePage);
  return (await recipientsOf(pool(), id)).map((each) => contactIds.indexOf(each.contact_id));
}

/** Sends a campaign. @returns the positions of the contacts that get it */
async function recipients(id: number): Promise<number[]> {
  const { status, text } = await act(api, id, 'send');
  if (status !== 200) throw new Error(text);
  return writeAll(id);
}

/** Makes a campaign that was sent to the list: two of its recipients have opened it, and one never got it. */
async function sentCampaign(tracking: object | null = { opens: true, clicks: true }): Promise<number> {
  const id = await readyCampaign(api, listId, {
    trigger_attributes: {
      contact_list_id: listId,
      data: { exclude_list_ids: [(await filledList(api, api, 1)).listId] },
    },
  });
  await writeRecipients(
    api,
    id,
    contactIds.slice(0, 5).map((contactId, n) => ({
      ...{ contactId, address: `of-${id}-${n}@example.com`, opened: n < 2, sent: n < 4 },
      status: n < 4 ? 'delivered' : 'failed',
    })),
  );
  await pool().query(
    `update campaigns set status = 'completed', phase = 'done', outcome = 'completed', tracking = $2 where id = $1`,
    [id, tracking && JSON.stringify(tracking)],
  );
  return id;
}

describe('filters of a campaign', () => {
  it('select its recipients, without a list and within one', async () => {
    const alone = await draft([ada, newest()]);
    expect((await show(api, alone)).body.trigger).toMatchObject({
      ...{ contact_list_id: null, segment_id: null, data: { filters: [ada, newest()] } },
    });
    expect(await recipients(alone)).toEqual([0, 1, 2, 3]);
    await pool().query('delete from list_members where list_id = $1 and contact_id <> all($2)', [
      listId,
      contactIds.slice(3),
    ]);
    expect(await recipients(await draft([ada], {}, { contact_list_id: listId }))).toEqual([3]);
  });

  it('apply together with a segment and exclusions', async () => {
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 'Ada', filters: [ada] } });
    const other = await filledList(api, api, 1);
    await pool().query('insert into list_members values ($1, $2)', [other.listId, contactIds[1]]);
    const id = await readyCampaign(api, listId, {
      trigger_attributes: {
        segment_id: segment.body.id,
        data: { filters: [newest()], exclude_list_ids: [other.listId] },
      },
    });
    expect(await recipients(id)).toEqual([0, 2, 3]);
  });

  it('are pinned by the send, and can change while the campaign is paused', async () => {
    const id = await draft([ada, newest()], { scheduled_at: tomorrow() });
    await act(api, id, 'send');
    await change(api, id, { status: 'paused' });
    const others = [newest(), { ...ada, predicate: 'not_eq' }];
    const changed = await change(api, id, { trigger_attributes: { data: { filters: others } } });
    expect([changed.status, changed.body.trigger?.data]).toEqual([200, { filters: others }]);
    expect(await recipients(id)).toEqual([4, 5]);
  });

  it('are copied with the campaign', async () => {
    const { status, body } = await act(api, await draft([ada, newest()]), 'duplicate');
    expect(status).toBe(201);
    expect(await recipients(Number(body.id))).toEqual([0, 1, 2, 3]);
  });

  it.each<[string, unknown, string]>([
    ['no array', {}, 'filters'],
    ['an unknown name', [{ name: 'emial', predicate: 'eq', value: 'x' }], 'filters.0.name'],
    ['a value of a flow', [{ name: 'trigger.plan', predicate: 'eq', value: 'x' }], 'filters.0.name'],
    ['a list of nobody', [{ name: 'list', predicate: 'in', value: [2_000_000_000] }], 'filters.0.value.0'],
    ['a campaign of nobody', notOpened(2_000_000_000), 'filters.0.value.campaign_id'],
  ])('are refused with %s, and nothing changes', async (_, filters, field) => {
    const id = await draft([ada]);
    const before = (await show(api, id)).body;
    for (const response of [
      await filtered(filters),
      await change(api, id, { name: 'New', trigger_attributes: { data: { filters } } }),
    ]) {
      expect([response.status, fieldsOf(response)[0]]).toEqual([422, `trigger_attributes.data.${field}`]);
    }
    expect((await show(api, id)).body).toEqual(before);
  });

  it('name only campaigns of the brand', async () => {
    const foreign = await pool().query<{ id: number }>(
      `insert into campaigns (account_id, brand_id, channel, name, phase, status, tracking)
       values ($1, $2, 'email', 'Theirs', 'done', 'completed', '{"opens": true}') returning id`,
      [api.other.accountId, api.other.brandId],
    );
    const response = await filtered(notOpened(foreign.rows[0]?.id ?? 0));
    expect([response.status, fieldsOf(response)]).toEqual([
      422,
      [0, 1].map((n) => `trigger_attributes.data.filters.${n}.value.campaign_id`),
    ]);
  });

  it('are no audience if there are none, and one if a check or a send asks for it', async () => {
    const errorsOf = async (filters: unknown) => {
      const id = await draft(filters);
      const checked = await act(api, id, 'check', {});
      const sent = await act(api, id, 'send');
      expect([checked.status, sent.status, sent.body.validation_errors]).toEqual([
        200,
        422,
        checked.body.errors,
      ]);
      return Object.keys(checked.body.errors ?? {});
    };
    expect(await errorsOf([])).toEqual(['trigger_attributes.contact_list_id']);
    expect(await errorsOf([{ ...ada, value: 'Grace' }])).toEqual(['trigger_attributes.data.filters']);
  });
});

describe('a copy for those who have not opened the campaign', () => {
  const duplicate = (id: number) => act(api, id, 'duplicate', { audience: 'not_opened', name: 'Once more' });

  it('is a draft for those of the same list, by activity, without another list, and keeps the exclusions', async () => {
    const id = await sentCampaign();
    const lists = async () => (await api.request('GET', '/v1/my/lists')).headers.get('x-total-count');
    const before = await lists();
    const { status, body } = await duplicate(id);
    expect([status, body.status, body.name]).toEqual([201, 'draft', 'Once more']);
    expect(body.trigger).toMatchObject({
      ...{ contact_list_id: listId, segment_id: null },
      data: { filters: notOpened(id), exclude_list_ids: [expect.any(Number)] },
    });
    expect(await lists()).toBe(before);
    expect(await recipients(Number(body.id))).toEqual([2, 3]);
  });

  it('is not for those who have left the list or the segment since', async () => {
    const id = await sentCampaign();
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 'Ada', filters: [ada] } });
    await pool().query('update campaigns set segment_id = $2 where id = $1', [id, segment.body.id]);
    const { body } = await duplicate(id);
    expect(body.trigger).toMatchObject({ contact_list_id: listId, segment_id: segment.body.id });
    const another = Number((await duplicate(id)).body.id);
    await pool().query('delete from list_members where list_id = $1 and contact_id = $2', [
      listId,
      contactIds[2],
    ]);
    expect(await recipients(Number(body.id))).toEqual([3]);
    await pool().query(`update contacts set first_name = 'Grace' where id = $1`, [contactIds[3]]);
    await pool().query('insert into list_members values ($1, $2)', [listId, contactIds[2]]);
    expect(await recipients(another)).toEqual([2]);
  });

  it('is not for those who open it before the copy is sent', async () => {
    const id = await sentCampaign();
    const { body } = await duplicate(id);
    await pool().query('update messages set opened_at = now() where campaign_id = $1 and contact_id = $2', [
      id,
      contactIds[2],
    ]);
    expect(await recipients(Number(body.id))).toEqual([3]);
  });

  it.each([[null], [{ opens: false, clicks: true }]])(
    'is refused if opens were not recorded: %j',
    async (tracking) => {
      const { status, body } = await duplicate(await sentCampaign(tracking));
      expect([status, body.validation_errors]).toEqual([
        422,
        { audience: ['is not possible, because the opens of this campaign were not recorded'] },
      ]);
    },
  );
});

describe('filters that were stored before campaigns had any', () => {
  /** Stores trigger data as a former version does. */
  const store = (id: number, data: unknown) =>
    pool().query('update campaigns set trigger_data = $2 where id = $1', [id, JSON.stringify(data)]);

  it('have no effect, are shown under another name, and stay so if a client sends them back', async () => {
    const id = await readyCampaign(api, listId);
    await store(id, { filters: [ada], note: 'mine' });
    const shown = (await show(api, id)).body.trigger?.data;
    expect(shown).toEqual({ inert_filters: [ada], note: 'mine' });
    const back = await change(api, id, { trigger_attributes: { data: shown } });
    expect([back.status, back.body.trigger?.data]).toEqual([200, shown]);
    expect(await recipients(id)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('have no effect in a copy', async () => {
    const id = await readyCampaign(api, listId);
    await store(id, { filters: 'a word' });
    const { body } = await act(api, id, 'duplicate');
    expect(body.trigger?.data).toEqual({ inert_filters: 'a word' });
    expect(await recipients(Number(body.id))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('replace those of a campaign with filters if a process of a former version stores others', async () => {
    const id = await draft([ada], {}, { contact_list_id: listId });
    await store(id, { filters: [newest()] });
    expect((await show(api, id)).body.trigger?.data).toEqual({ inert_filters: [newest()] });
    await store(id, {});
    expect((await show(api, id)).body.trigger?.data).toEqual({});
  });
});

describe('a process of a former version', () => {
  /** What it pins when it sends a campaign. */
  const pinFormerly = (id: number) =>
    pool().query(
      `update campaigns set status = 'active', phase = 'waiting', audience = jsonb_build_object('version', 2,
         'listId', contact_list_id, 'segmentId', null, 'filters', null, 'excludeListIds', '[]'::jsonb,
         'excludeSegmentIds', '[]'::jsonb, 'excludeFilters', '[]'::jsonb, 'segments', '{}'::jsonb,
         'listIds', jsonb_build_array(contact_list_id), 'segmentIds', '[]'::jsonb, 'evaluated', false) where id = $1`,
      [id],
    );

  it('cannot send a campaign with filters, or pin its audience again', async () => {
    const id = await draft([ada], { scheduled_at: tomorrow() }, { contact_list_id: listId });
    await expect(pinFormerly(id)).rejects.toMatchObject({ constraint: 'campaigns_pinned_filters' });
    await act(api, id, 'send');
    await expect(pinFormerly(id)).rejects.toMatchObject({ constraint: 'campaigns_pinned_filters' });
    expect((await show(api, id)).body.status).toBe('active');
  });

  it('does not write recipients of a campaign whose audience it cannot read, but those of others', async () => {
    const versionOf = async (id: number) => {
      await act(api, id, 'send');
      const { rows } = await pool().query<{ version: number }>(
        `select (audience ->> 'version')::int as version from campaigns where id = $1`,
        [id],
      );
      return rows[0]?.version;
    };
    const segment = await api.request('POST', '/v1/my/segments', {
      body: { name: 'S', filters: notOpened(await sentCampaign()) },
    });
    const bySegment = { trigger_attributes: { contact_list_id: listId, segment_id: segment.body.id } };
    expect(await versionOf(await draft([ada], {}, { contact_list_id: listId }))).toBe(3);
    expect(await versionOf(await readyCampaign(api, listId, bySegment))).toBe(3);
    expect(await versionOf(await readyCampaign(api, listId))).toBe(2);
  });

  it('is waited for: a pin of an unknown version is left to a newer process', async () => {
    const id = await readyCampaign(api, listId);
    await act(api, id, 'send');
    await pool().query(`update campaigns set audience = audience || '{"version": 4}' where id = $1`, [id]);
    await expect(run().look(id, new Date())).rejects.toThrow('newer version');
    expect(await recipientsOf(pool(), id)).toEqual([]);
  });
});
