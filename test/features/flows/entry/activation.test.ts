// An active flow takes contacts by event, list or segment, and does not catch up after a pause.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { fillFlow } from '../../../../src/features/flows/entry/list-backfill.ts';
import { judgePage } from '../../../../src/features/flows/entry/pages.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { entriesOf, runsOf } from '../../../support/flow-entries.ts';

let api: TestApi;
let prefix = 0;
let listId: number;
let contacts: number[];

const pool = () => api.database.pool;
const post = async (path: string, body: unknown = {}) => {
  const response = await api.request('POST', `/v1/my${path}`, { body });
  expect({ ok: response.status < 300, text: response.text }).toMatchObject({ ok: true });
  return response.body;
};

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  listId = Number((await post('/lists', { name: 'VIP' })).id);
  contacts = await insertContacts(pool(), api, 3, `a${(prefix += 1)}-`);
});

const add = (ids: readonly number[]) => post(`/lists/${listId}/contacts/bulk`, { add: ids });

async function createFlow(trigger: object): Promise<number> {
  const steps = [{ type: 'wait', duration: 60 }];
  return Number((await post('/flows', { name: 'Welcome', trigger, steps })).id);
}

/** Lets all who are about to enter begin. @returns the contacts with a run */
async function begun(flowId: number): Promise<number[]> {
  while (await fillFlow(pool()));
  await judgePage({ pool: pool(), log: pino({ level: 'silent' }) }, flowId);
  return (await runsOf(pool(), flowId)).map((run) => run.contact_id);
}

describe('an activated flow', () => {
  it('with an event lets contacts of later events enter', async () => {
    const [before, after] = contacts;
    const flowId = await createFlow({ event: 'ordered' });
    await post('/events', { event: 'ordered', contact_id: before });
    await post(`/flows/${flowId}/activate`);
    await post('/events', { event: 'ordered', contact_id: after });
    expect(await begun(flowId)).toEqual([after]);
  });

  it('lets no contacts enter while it is paused, and does not catch up', async () => {
    const [before, during, after] = contacts;
    const flowId = await createFlow({ event: 'ordered' });
    await post(`/flows/${flowId}/activate`);
    await post('/events', { event: 'ordered', contact_id: before });
    await post(`/flows/${flowId}/pause`);
    await post('/events', { event: 'ordered', contact_id: during });
    await post(`/flows/${flowId}/resume`);
    await post('/events', { event: 'ordered', contact_id: after });
    expect(await begun(flowId)).toEqual([before, after]);
  });

  it('with a list lets contacts enter who are added later, or its members, too', async () => {
    const [present, later] = contacts;
    await add([present as number]);
    const flowId = await createFlow({ contact_list_id: listId });
    await post(`/flows/${flowId}/activate`);
    const all = await createFlow({ contact_list_id: listId });
    await post(`/flows/${all}/activate`, { enter_existing: true });
    await add([later as number]);
    expect(await begun(flowId)).toEqual([later]);
    expect((await begun(all)).sort((one, other) => one - other)).toEqual([present, later]);
  });

  it('with a segment remembers who matches, even after it gets another segment', async () => {
    const membersOf = async (flowId: number) => {
      const { rows } = await pool().query<{ contact_id: number; seen: boolean }>(
        `select m.contact_id, f.audience_seen_at is not null as seen
         from flow_segment_members m join flows f on f.id = m.flow_id where f.id = $1 order by 1`,
        [flowId],
      );
      return rows.map((row) => (row.seen ? row.contact_id : null));
    };
    const segment = async (name: string) => {
      const filters = [{ name: 'first_name', predicate: 'eq', value: name }];
      return Number((await post('/segments', { name, filters })).id);
    };
    const name = async (id: number | undefined, first_name: string) =>
      api.request('PATCH', `/v1/my/contacts/${id}`, { body: { first_name } });
    const [ada, bea] = contacts;
    await name(ada, `Ada${prefix}`);
    await name(bea, `Bea${prefix}`);
    const flowId = await createFlow({ segment_id: await segment(`Ada${prefix}`) });
    await post(`/flows/${flowId}/activate`);
    expect(await membersOf(flowId)).toEqual([ada]);
    const trigger = { segment_id: await segment(`Bea${prefix}`) };
    expect((await api.request('PATCH', `/v1/my/flows/${flowId}`, { body: { trigger } })).status).toBe(200);
    expect(await membersOf(flowId)).toEqual([bea]);
    expect(await entriesOf(pool(), flowId)).toEqual([]);
    const { rows } = await pool().query('select 1 from outbox where workflow_id = $1', [
      `flow-audience/${flowId}`,
    ]);
    expect(rows.length).toBeGreaterThan(0);
  });
});
