// What a campaign's audience names is fixed by its send, at any depth, and cannot be deleted until its recipients are written.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createCampaignRun, type Stay } from '../../../src/features/campaigns/run/run.ts';
import { approveCampaign } from '../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  change,
  fieldsOf,
  filledList,
  prepareSender,
  readyCampaign,
  show,
  warmUp,
} from '../../support/campaign-requests.ts';
import { evaluationsIn, recipientsOf } from '../../support/campaign-runs.ts';
import { testEvents } from '../../support/events.ts';
import { runBehindLock } from '../../support/lock-order.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

let api: TestApi;
let listId: number;
let contactIds: number[];
beforeAll(async () => {
  api = await startTestApi({ env: { APPROVAL_TIERS: 'trusted', PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUp(api, (await filledList(api, api, 1)).listId);
}, 240_000);
beforeEach(async () => {
  ({ listId, contactIds } = await filledList(api, api, 8));
  await pool().query(`update contacts set first_name = 'Ada' where id = any($1)`, [contactIds.slice(0, 6)]);
});
afterAll(() => api.close());

const pool = () => api.database.pool;
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();
const ada = { name: 'first_name', predicate: 'eq', value: 'Ada' };
const bought = { name: 'event.bought', predicate: 'did' };
const inSegment = (id: number) => ({ name: 'segment', predicate: 'eq', value: id });
const notInSegment = (id: number) => ({ name: 'segment', predicate: 'not_in', value: [id] });
const statusOf = ({ status }: { status: number }) => status;

async function segmentOf(...filters: unknown[]): Promise<number> {
  const { status, body, text } = await api.request('POST', '/v1/my/segments', {
    body: { name: 'A segment', filters },
  });
  if (status !== 201) throw new Error(text);
  return Number(body.id);
}

const changeSegment = (id: number, ...filters: unknown[]) =>
  api.request('PATCH', `/v1/my/segments/${id}`, { body: { filters } });
const deleteSegment = (id: number) => api.request('DELETE', `/v1/my/segments/${id}`);
const deleteList = (id: number) => api.request('DELETE', `/v1/my/lists/${id}`);

/** Sends a campaign to the list and what else its trigger names. */
async function sent(trigger: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<number> {
  const id = await readyCampaign(api, listId, {
    trigger_attributes: { contact_list_id: listId, ...trigger },
    ...more,
  });
  const { status, text } = await act(api, id, 'send');
  if (status !== 200) throw new Error(text);
  return id;
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

/** An activity that writes one page. */
const onePage: Stay = { progress: () => undefined, signal: new AbortController().signal, forMs: 0 };

/** Begins the snapshot of a campaign and writes a page of recipients. */
async function firstPage(id: number): Promise<void> {
  expect((await run().look(id, new Date())).next).toBe('snapshot');
  await run().snapshot(id, new Date(), onePage);
}

/** Writes all pages that are left. @returns the contacts of the campaign */
async function writeRest(id: number): Promise<number[]> {
  while ((await run().look(id, new Date())).next === 'snapshot')
    await run().snapshot(id, new Date(), onePage);
  return (await recipientsOf(pool(), id)).map((each) => each.contact_id);
}

/** What former processes pinned. */
async function pinAsFormerly(id: number): Promise<void> {
  await pool().query(
    `update campaigns set audience = audience - '{version,segments,listIds,segmentIds,evaluated}'::text[] where id = $1`,
    [id],
  );
}

describe('the audience of a campaign', () => {
  it('keeps inner segments as they were if they change while the campaign is paused', async () => {
    const inner = await segmentOf(ada);
    const outer = await segmentOf(inSegment(inner));
    const id = await sent({ segment_id: outer });
    await firstPage(id);
    await change(api, id, { status: 'paused' });
    expect(statusOf(await changeSegment(inner, bought))).toBe(200);
    expect(statusOf(await changeSegment(outer, bought))).toBe(200);
    await change(api, id, { status: 'active' });
    expect(await writeRest(id)).toEqual(contactIds.slice(0, 6));
  });

  it('keeps inner segments while a campaign waits for its time', async () => {
    const inner = await segmentOf(ada);
    const id = await sent(
      { data: { exclude_segment_ids: [await segmentOf(inSegment(inner))] } },
      { scheduled_at: tomorrow() },
    );
    await changeSegment(inner, { ...ada, value: 'Bob' });
    await pool().query(`update campaigns set begin_at = now() - interval '1 second' where id = $1`, [id]);
    expect(await writeRest(id)).toEqual(contactIds.slice(6));
  });

  it('is pinned after an uncommitted change of an inner segment', async () => {
    const inner = await segmentOf(ada);
    const outer = await segmentOf(inSegment(inner));
    const trigger_attributes = { contact_list_id: listId, segment_id: outer };
    const id = await readyCampaign(api, listId, { trigger_attributes });
    const lock = `update segments set filters = jsonb_set(filters, '{0,predicate}', '"not_eq"') where id = $1`;
    await runBehindLock(pool(), { lock, values: [inner] }, [() => act(api, id, 'send')]);
    await changeSegment(inner, ada);
    expect(await writeRest(id)).toEqual(contactIds.slice(6));
  });

  it('must not need more filters than one segment may have', async () => {
    const many = (count: number) => Array.from({ length: count }, () => ada);
    const inner = await segmentOf(...many(30));
    const included = await segmentOf(inSegment(inner));
    const trigger = (count: number, excluded: number) => ({
      ...{ contact_list_id: listId, segment_id: included },
      data: { exclude_segment_ids: [excluded], note: count },
    });
    const id = await readyCampaign(api, listId, {
      trigger_attributes: trigger(19, await segmentOf(...many(19))),
    });
    const refused = await change(api, id, { trigger_attributes: trigger(20, await segmentOf(...many(20))) });
    expect([refused.status, fieldsOf(refused)]).toEqual([
      422,
      ['trigger_attributes.data.exclude_segment_ids'],
    ]);
    await changeSegment(inner, ...many(31));
    const unsent = await act(api, id, 'send');
    expect([unsent.status, fieldsOf(unsent)]).toEqual([422, ['trigger_attributes.data.exclude_segment_ids']]);
  });
});

describe('while recipients are not all written, a 409 keeps from deletion', () => {
  it('an inner segment that the outer one no longer names', async () => {
    const inner = await segmentOf(ada);
    const outer = await segmentOf(notInSegment(inner));
    const id = await sent({ segment_id: outer });
    await firstPage(id);
    await changeSegment(outer);
    expect(statusOf(await deleteSegment(inner))).toBe(409);
    expect(statusOf(await deleteSegment(outer))).toBe(409);
    expect(await writeRest(id)).toEqual(contactIds.slice(6));
    expect([statusOf(await deleteSegment(inner)), statusOf(await deleteSegment(outer))]).toEqual([200, 200]);
  });

  it('lists of the trigger, and of its filters at any depth', async () => {
    const named = await filledList(api, api, 1);
    const inner = await segmentOf({ name: 'list', predicate: 'not_in', value: [named.listId] });
    const outer = await segmentOf(inSegment(inner));
    const id = await sent({ segment_id: outer });
    await firstPage(id);
    await changeSegment(inner);
    const lists = [listId, named.listId];
    const deletions = async () => {
      const statuses: number[] = [];
      for (const each of lists) statuses.push(statusOf(await deleteList(each)));
      return statuses;
    };
    expect(await deletions()).toEqual([409, 409]);
    expect(await writeRest(id)).toEqual(contactIds);
    expect(await deletions()).toEqual([200, 200]);
  });

  it('nothing once the campaign is canceled', async () => {
    const segment = await segmentOf(ada);
    const id = await sent({ segment_id: segment });
    await firstPage(id);
    expect(statusOf(await deleteList(listId))).toBe(409);
    await act(api, id, 'cancel');
    expect([statusOf(await deleteList(listId)), statusOf(await deleteSegment(segment))]).toEqual([200, 200]);
  });
});

describe('an approval', () => {
  async function sentNow(change: (inner: number) => Promise<unknown>): Promise<unknown> {
    await pool().query(`update accounts set tier = 'trusted' where id = $1`, [api.accountId]);
    const inner = await segmentOf(ada);
    const id = await sent({ segment_id: await segmentOf(inSegment(inner)) }, { scheduled_at: tomorrow() });
    await inTransaction(pool(), (trx) => approveCampaign(trx, { id }));
    await change(inner);
    const { body } = await act(api, id, 'send');
    await pool().query(`update accounts set tier = 'free' where id = $1`, [api.accountId]);
    return body.approval_state;
  }

  it('is needed again if an inner segment has changed', async () => {
    expect(await sentNow((inner) => changeSegment(inner, { ...ada, predicate: 'not_eq' }))).toBe('pending');
  });

  it('remains valid if the segments select the same contacts as before', async () => {
    expect(await sentNow((inner) => changeSegment(inner, ada))).toBe('approved');
  });
});

describe('an audience that was pinned before pins had a version', () => {
  it('is expanded at the next look', async () => {
    const inner = await segmentOf(ada);
    const id = await sent({ segment_id: await segmentOf(inSegment(inner)) }, { scheduled_at: tomorrow() });
    await pinAsFormerly(id);
    await run().look(id, new Date());
    await changeSegment(inner, bought);
    await pool().query(`update campaigns set begin_at = now() - interval '1 second' where id = $1`, [id]);
    expect(await writeRest(id)).toEqual(contactIds.slice(0, 6));
  });

  it('continues in the middle of the recipients, even if an inner segment now depends on events', async () => {
    const inner = await segmentOf(ada);
    const id = await sent({ segment_id: await segmentOf(inSegment(inner)) });
    await firstPage(id);
    await pinAsFormerly(id);
    await changeSegment(inner, ada, { ...bought, predicate: 'did_not' });
    expect(await writeRest(id)).toEqual(contactIds.slice(0, 6));
  });

  it('pauses the campaign if it names a deleted segment, instead of sending to those it excluded', async () => {
    const inner = await segmentOf(ada);
    const id = await sent({ segment_id: await segmentOf(notInSegment(inner)) });
    await firstPage(id);
    await pinAsFormerly(id);
    await pool().query('delete from segments where id = $1', [inner]);
    expect((await run().snapshot(id, new Date(), onePage)).next).toBe('wait');
    const stopped = { reason: 'audience_deleted', rate: null, threshold: null, at: expect.any(String) };
    expect((await show(api, id)).body).toMatchObject({ status: 'paused', data: { stop: stopped } });
    await change(api, id, { status: 'active' });
    expect((await run().look(id, new Date())).next).toBe('wait');
    expect((await show(api, id)).body).toMatchObject({ status: 'paused', data: { stop: stopped } });
    expect(await recipientsOf(pool(), id)).toEqual([]);
  });

  it('keeps a segment that it names from deletion', async () => {
    const inner = await segmentOf(ada);
    const outer = await segmentOf(inSegment(inner));
    const id = await sent({ segment_id: outer });
    await pinAsFormerly(id);
    await changeSegment(outer);
    expect(statusOf(await deleteSegment(inner))).toBe(409);
  });
});

it('a campaign pauses if a process of an earlier version deletes a list of its audience', async () => {
  const id = await sent({});
  await firstPage(id);
  await pool().query('update lists set removed_at = now() where id = $1', [listId]);
  expect((await run().snapshot(id, new Date(), onePage)).next).toBe('wait');
  expect((await show(api, id)).body).toMatchObject({
    status: 'paused',
    data: { stop: { reason: 'audience_deleted' }, progress: { audience_count: 2 } },
  });
});
