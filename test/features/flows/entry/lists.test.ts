// A contact enters the flow of a list exactly when it is added, whichever feature adds it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fillLists, startListFill } from '../../../../src/features/campaigns/list-fills.ts';
import { chainEntries } from '../../../../src/features/flows/entry/entries.ts';
import { enterExisting } from '../../../../src/features/flows/entry/existing.ts';
import { fillFlow } from '../../../../src/features/flows/entry/list-backfill.ts';
import { addToLists } from '../../../../src/features/lists/service.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { writeRecipients } from '../../../support/campaign-requests.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { entriesOf, insertActiveFlow } from '../../../support/flow-entries.ts';
import { importFile } from '../../../support/imports.ts';

let api: TestApi;
let listId: number;
let flowId: number;
let prefix = 0;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  listId = await createList();
  flowId = await insertActiveFlow(pool(), api, { listId });
});

const pool = () => api.database.pool;
const contacts = (count: number) => insertContacts(pool(), api, count, `l${(prefix += 1)}-`);

async function createList(): Promise<number> {
  const { body } = await api.request('POST', '/v1/my/lists', { body: { name: 'VIP' } });
  return Number(body.id);
}

/** The contacts with an entry, in the order of the entries. */
const entered = async (id = flowId) => (await entriesOf(pool(), id)).map((entry) => entry.contact_id);
const add = (ids: readonly number[], list = listId) => addToLists(pool(), ids, [list]);

describe('a contact that is added to the list of a flow enters it', () => {
  it('by POST /contacts', async () => {
    const { body } = await api.request('POST', '/v1/my/contacts', {
      body: { email: `new${(prefix += 1)}@example.com`, list_ids: [listId] },
    });
    expect(await entered()).toEqual([body.id]);
  });

  it('by PATCH /contacts/{id}, once', async () => {
    const [id] = await contacts(1);
    for (const first_name of ['Ada', 'Bea']) {
      await api.request('PATCH', `/v1/my/contacts/${id}`, { body: { list_ids: [listId], first_name } });
    }
    expect(await entered()).toEqual([id]);
  });

  it('by a bulk change of the list', async () => {
    const ids = await contacts(2);
    const body = { add: [...ids, `bulk${(prefix += 1)}@example.com`] };
    const { body: done } = await api.request('POST', `/v1/my/lists/${listId}/contacts/bulk`, { body });
    const { results } = done as unknown as { results: { contact_id: number }[] };
    expect(await entered()).toEqual(
      results.map((result) => result.contact_id).sort((one, other) => one - other),
    );
  });

  it('by an import', async () => {
    const done = await importFile(api, {
      file: 'Email\nimported1@example.com\nimported2@example.com\n',
      options: { list_ids: [listId] },
    });
    expect(done).toMatchObject({ created_count: 2 });
    expect(await entered()).toHaveLength(2);
  });

  it('by a step of another flow', async () => {
    const ids = await contacts(1);
    await inTransaction(pool(), (trx) => addToLists(trx, ids, [listId]));
    expect(await entered()).toEqual(ids);
  });

  it('by a list fill of a campaign', async () => {
    const ids = await contacts(3);
    const { rows } = await pool().query<{ id: number }>(
      `insert into campaigns (account_id, brand_id, name) values ($1, $2, 'Sale') returning id`,
      [api.accountId, api.brandId],
    );
    const campaignId = rows[0]?.id ?? 0;
    await writeRecipients(
      api,
      campaignId,
      ids.map((contactId) => ({ status: 'sent', sent: true, contactId })),
    );
    const campaign = { id: campaignId, account_id: api.accountId, brand_id: api.brandId };
    await startListFill(pool(), campaign, listId, {});
    while (await fillLists(pool()));
    expect(await entered()).toEqual(ids);
  });
});

describe('the list of a flow', () => {
  it('lets a contact enter again who was removed and added again, as another cause', async () => {
    const ids = await contacts(1);
    await add(ids);
    await api.request('POST', `/v1/my/lists/${listId}/contacts/bulk`, { body: { remove: ids } });
    await add(ids);
    const entries = await entriesOf(pool(), flowId);
    expect(entries.map(({ cause }) => cause[0])).toEqual(['l', 'l']);
    expect(entries[0]?.cause).not.toBe(entries[1]?.cause);
  });

  it('lets no earlier members enter, and no contacts into inactive flows', async () => {
    const other = await createList();
    await add(await contacts(2), other);
    const late = await insertActiveFlow(pool(), api, { listId: other });
    const paused = await insertActiveFlow(pool(), api, { listId, status: 'paused' });
    const pending = await insertActiveFlow(pool(), api, { listId, approval: 'pending' });
    await add(await contacts(1));
    expect([await entered(late), await entered(paused), await entered(pending)]).toEqual([[], [], []]);
  });

  it('lets no contacts enter beyond the depth of chained flows', async () => {
    const ids = await contacts(2);
    for (const [n, depth] of [5, 6].entries()) {
      await inTransaction(pool(), async (trx) => {
        await chainEntries(trx, depth);
        await addToLists(trx, [ids[n] as number], [listId]);
      });
    }
    expect(await entriesOf(pool(), flowId)).toMatchObject([{ contact_id: ids[0], chain_depth: 5 }]);
  });

  it('stops being filled when the flow gets another list', async () => {
    const other = await createList();
    await add(await contacts(2), other);
    const late = await insertActiveFlow(pool(), api, { listId: other });
    await enterExisting(pool(), { id: late, contact_list_id: other, segment_id: null });
    const path = `/v1/my/flows/${late}`;
    const { status } = await api.request('PATCH', path, { body: { trigger: { contact_list_id: listId } } });
    expect(status).toBe(200);
    expect([await fillFlow(pool()), await entered(late)]).toEqual([false, []]);
  });

  it('lets its current members enter in pages, on request', async () => {
    const other = await createList();
    const ids = await contacts(2_500);
    await add(ids, other);
    const late = await insertActiveFlow(pool(), api, { listId: other, status: 'paused' });
    await enterExisting(pool(), { id: late, contact_list_id: other, segment_id: null });
    expect(await fillFlow(pool())).toBe(false);
    await pool().query(`update flows set status = 'active' where id = $1`, [late]);
    const later = await contacts(1);
    await add(later, other);
    let pages = 0;
    while (await fillFlow(pool())) pages += 1;
    expect(pages).toBe(3);
    const all = await entered(late);
    expect(all).toHaveLength(2_501);
    expect(new Set(all)).toEqual(new Set([...ids, ...later]));
  });

  it('lets members who are added during the activation enter once', async () => {
    const other = await createList();
    const [before = 0, during = 0, after = 0] = await contacts(3);
    const late = await insertActiveFlow(pool(), api, { listId: other, status: 'draft' });
    const [early, activation, slow] = await Promise.all([
      pool().connect(),
      pool().connect(),
      pool().connect(),
    ]);
    await activation.query('begin');
    await early.query('begin');
    await addToLists(early, [before], [other]);
    await activation.query(`update flows set status = 'active' where id = $1`, [late]);
    await enterExisting(activation, { id: late, contact_list_id: other, segment_id: null });
    await slow.query('begin');
    await addToLists(slow, [during], [other]);
    await activation.query('commit');
    await add([after], other);
    await fillFlow(pool());
    await early.query('commit');
    await fillFlow(pool());
    await slow.query('commit');
    while (await fillFlow(pool()));
    expect((await entered(late)).sort((one, two) => one - two)).toEqual([before, during, after]);
    for (const client of [early, activation, slow]) client.release();
  });
});
