// A flow with a segment lets a contact enter once each time it begins to match, even across pages and pauses.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createFlowAudience, type FlowAudience } from '../../../../src/features/flows/entry/audience.ts';
import { enterExisting } from '../../../../src/features/flows/entry/existing.ts';
import { rememberMembers } from '../../../../src/features/flows/entry/members.ts';
import { type FlowRow, findFlowById } from '../../../../src/features/flows/model.ts';
import { addToLists, removeFromList } from '../../../../src/features/lists/service.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { entriesOf, insertActiveFlow } from '../../../support/flow-entries.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';

const MINUTE = 60_000;

let test: TestDatabase;
let account: QueuedAccount;
let audience: FlowAudience;
let woken: number;

const pool = () => test.database.pool;

beforeAll(async () => {
  test = await createTestDatabase();
  audience = createFlowAudience({
    pool: pool(),
    heavyReads: { run: (_read, work) => work(pool()), close: () => Promise.resolve() },
    waker: { wake: () => void (woken += 1) },
  });
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  woken = 0;
});

async function insertSegment(filters: readonly unknown[]): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'Segment', $3) returning id`,
    [account.accountId, account.brandId, JSON.stringify(filters)],
  );
  return rows[0]?.id ?? 0;
}

const named = (name: string) => [{ name: 'first_name', predicate: 'eq', value: name }];
const rename = (ids: readonly number[], name: string) =>
  pool().query('update contacts set first_name = $2 where id = any($1)', [ids, name]);

const rowOf = async (flowId: number) => (await findFlowById(pool(), flowId)) as FlowRow;

/** An active flow whose audience was remembered, or is to be compared first. */
async function flowFor(segmentId: number, compared = true): Promise<number> {
  const flowId = await insertActiveFlow(pool(), account, { segmentId });
  await pool().query('update flows set audience_seen_at = null where id = $1', [flowId]);
  if (compared) await inTransaction(pool(), async (trx) => rememberMembers(trx, await rowOf(flowId)));
  return flowId;
}

const stay = { forMs: 60_000, signal: new AbortController().signal };
/** @param after minutes from now */
const match = (flowId: number, after = 0, forMs = stay.forMs) =>
  audience.match(flowId, new Date(Date.now() + after * MINUTE), { ...stay, forMs });
const entered = async (flowId: number) => (await entriesOf(pool(), flowId)).map((entry) => entry.contact_id);

async function members(flowId: number): Promise<number[]> {
  const { rows } = await pool().query<{ contact_id: number }>(
    'select contact_id from flow_segment_members where flow_id = $1 order by contact_id',
    [flowId],
  );
  return rows.map((row) => row.contact_id);
}

async function track(db: Queryable, contactId: number, name: string): Promise<void> {
  await db.query(
    `with n as (
       insert into event_names (brand_id, name) values ($1, $2) on conflict (brand_id, name) do update set name = $2
       returning id)
     insert into contact_events (account_id, brand_id, contact_id, name_id, created_at)
     select $3, $1, $4, n.id, now() from n`,
    [account.brandId, name, account.accountId, contactId],
  );
}

describe('the audience of a flow', () => {
  it('remembers who matches when the flow is activated, without letting them enter', async () => {
    const [one, two, three] = await insertContacts(pool(), account, 3);
    await rename([one as number, two as number], 'Ada');
    const flowId = await flowFor(await insertSegment(named('Ada')));
    expect(await members(flowId)).toEqual([one, two]);
    expect(await match(flowId)).toMatchObject({ next: 'wait' });
    expect(await entered(flowId)).toEqual([]);
    await rename([three as number], 'Ada');
    await match(flowId, 1);
    expect(await entered(flowId)).toEqual([three]);
    expect((await entriesOf(pool(), flowId))[0]?.cause).toMatch(/^s\d+$/);
    expect(woken).toBe(1);
  });

  it('lets all contacts who match enter on request', async () => {
    const ids = await insertContacts(pool(), account, 3);
    await rename(ids, 'Ada');
    const flowId = await flowFor(await insertSegment(named('Ada')));
    await inTransaction(pool(), async (trx) => enterExisting(trx, await rowOf(flowId)));
    await match(flowId);
    expect(await entered(flowId)).toEqual(ids);
    await match(flowId, 10);
    expect(await entered(flowId)).toEqual(ids);
  });

  it('lets a contact enter again who ceased to match and matches again', async () => {
    const [id] = (await insertContacts(pool(), account, 1)) as [number];
    const flowId = await flowFor(await insertSegment(named('Ada')));
    for (const [minute, name] of ['Ada', 'Ada', 'Bea', 'Ada'].entries()) {
      await rename([id], name);
      await match(flowId, minute);
    }
    expect(await entered(flowId)).toEqual([id, id]);
  });

  it('finds new contacts, members of lists, and contacts with events within a look', async () => {
    const list = await pool().query<{ id: number }>(
      `insert into lists (account_id, brand_id, name) values ($1, $2, 'VIP') returning id`,
      [account.accountId, account.brandId],
    );
    const listId = list.rows[0]?.id ?? 0;
    const [member, active] = (await insertContacts(pool(), account, 2)) as [number, number];
    const flowId = await flowFor(
      await insertSegment([
        {
          name: 'any',
          predicate: 'or',
          value: [
            ...named('Ada'),
            { name: 'list', predicate: 'in', value: [listId] },
            { name: 'event.visited', predicate: 'did', value: { at_least: 1 } },
          ],
        },
      ]),
    );
    await addToLists(pool(), [member], [listId]);
    await track(pool(), active, 'visited');
    const [fresh] = (await insertContacts(pool(), account, 1, 'fresh')) as [number];
    await rename([fresh], 'Ada');
    await match(flowId, 1);
    expect((await entered(flowId)).sort((one, other) => one - other)).toEqual([member, active, fresh]);
    await removeFromList(pool(), [member], listId);
    await match(flowId, 2);
    expect(await members(flowId)).toEqual([active, fresh]);
  });

  it('finds contacts who match because time has passed within ten minutes', async () => {
    const [id] = await insertContacts(pool(), account, 1);
    const flowId = await flowFor(
      await insertSegment([
        { name: 'created_at', predicate: 'older_than', value: { count: 5, unit: 'minutes' } },
      ]),
    );
    await match(flowId, 1);
    expect(await entered(flowId)).toEqual([]);
    await match(flowId, 10);
    expect(await entered(flowId)).toEqual([id]);
  });

  it('compares in pages across activities, and forgets deleted contacts', async () => {
    const ids = await insertContacts(pool(), account, 10_050);
    await rename(ids, 'Ada');
    const flowId = await flowFor(await insertSegment(named('Ada')), false);
    expect(await match(flowId, 0, 0)).toMatchObject({ next: 'again' });
    await match(flowId);
    expect(await members(flowId)).toHaveLength(10_050);
    expect(await entered(flowId)).toEqual([]);
    await pool().query('delete from contacts where id = any($1)', [ids.slice(-20)]);
    await match(flowId, 10);
    expect(await members(flowId)).toHaveLength(10_030);
  });

  it('lets contacts enter who were created before the first comparison', async () => {
    const [old] = (await insertContacts(pool(), account, 1)) as [number];
    await rename([old], 'Ada');
    const flowId = await flowFor(await insertSegment(named('Ada')), false);
    await pool().query('insert into flow_audiences (flow_id, opened_at) values ($1, now())', [flowId]);
    const [fresh] = (await insertContacts(pool(), account, 1, 'fresh')) as [number];
    await rename([fresh], 'Ada');
    await match(flowId);
    expect(await entered(flowId)).toEqual([fresh]);
    expect(await members(flowId)).toEqual([old, fresh]);
  });

  it('is left to the workflow if the brand is too large for the request that activates the flow', async () => {
    const [old] = (await insertContacts(pool(), account, 1)) as [number];
    await rename([old], 'Ada');
    const flowId = await flowFor(await insertSegment(named('Ada')), false);
    await inTransaction(pool(), async (trx) => {
      const other = await pool().connect();
      try {
        // A transaction that reads the members waits.
        await other.query('begin; lock table flow_segment_members');
        await rememberMembers(trx, await rowOf(flowId));
      } finally {
        await other.query('rollback');
        other.release();
      }
    });
    expect([await rowOf(flowId), await members(flowId)]).toMatchObject([{ audience_seen_at: null }, []]);
    const [fresh] = (await insertContacts(pool(), account, 1, 'fresh')) as [number];
    await rename([fresh], 'Ada');
    await match(flowId);
    expect([await entered(flowId), await members(flowId)]).toEqual([[fresh], [old, fresh]]);
  });

  it('restarts its first comparison when the flow gets another segment, or existing members may enter', async () => {
    const ids = await insertContacts(pool(), account, 3);
    await rename(ids, 'Ada');
    const flowId = await flowFor(await insertSegment(named('Bea')), false);
    const interrupt = async () => {
      await match(flowId, 0, 0);
      await pool().query('update flow_audiences set cursor = $2 where flow_id = $1', [flowId, ids[1]]);
    };
    await interrupt();
    await pool().query('update flows set segment_id = $2 where id = $1', [
      flowId,
      await insertSegment(named('Ada')),
    ]);
    await inTransaction(pool(), async (trx) => {
      const other = await pool().connect();
      try {
        await other.query('begin; lock table flow_segment_members');
        await rememberMembers(trx, await rowOf(flowId));
      } finally {
        await other.query('rollback');
        other.release();
      }
    });
    await match(flowId);
    expect([await members(flowId), await entered(flowId)]).toEqual([ids, []]);
    await pool().query('update flows set audience_seen_at = null where id = $1', [flowId]);
    await interrupt();
    await inTransaction(pool(), async (trx) => enterExisting(trx, await rowOf(flowId)));
    await match(flowId);
    expect(await entered(flowId)).toEqual(ids);
  });

  it('does not catch up with contacts who began to match while the flow was paused', async () => {
    const [id] = (await insertContacts(pool(), account, 1)) as [number];
    const flowId = await flowFor(await insertSegment(named('Ada')));
    await pool().query(`update flows set status = 'paused' where id = $1`, [flowId]);
    await rename([id], 'Ada');
    expect(await match(flowId, 20)).toMatchObject({ next: 'done' });
    await pool().query(`update flows set status = 'active', audience_seen_at = null where id = $1`, [flowId]);
    await inTransaction(pool(), async (trx) => rememberMembers(trx, await rowOf(flowId)));
    await match(flowId, 40);
    expect(await entered(flowId)).toEqual([]);
  });

  it('is compared by two activities at once without letting a contact enter twice', async () => {
    const ids = await insertContacts(pool(), account, 300);
    const flowId = await flowFor(await insertSegment(named('Ada')));
    await rename(ids, 'Ada');
    await Promise.all([match(flowId, 10), match(flowId, 10), match(flowId, 1)]);
    expect(await entered(flowId)).toEqual(ids);
  });

  it('records when its workflow must act again, and when it is not needed', async () => {
    const flowId = await flowFor(await insertSegment(named('Ada')));
    const { until } = await match(flowId);
    expect((await rowOf(flowId)).engine_expected_by?.getTime()).toBe(Date.parse(until ?? '') + 2 * MINUTE);
    await pool().query(`update flows set approval_state = 'pending' where id = $1`, [flowId]);
    expect(await match(flowId)).toMatchObject({ next: 'done' });
    expect((await rowOf(flowId)).engine_expected_by).toBeNull();
  });
});

describe('contacts that change', () => {
  const noted = async (ids: readonly number[]) => {
    const { rows } = await pool().query<{ flow_id: number; n: number }>(
      'select flow_id, count(*)::int as n from flow_candidates where flow_id = any($1) group by flow_id order by flow_id',
      [ids],
    );
    return rows;
  };

  it('are not noted for a flow that waits for approval', async () => {
    const segmentId = await insertSegment(named('Ada'));
    const active = await insertActiveFlow(pool(), account, { segmentId });
    const pending = await insertActiveFlow(pool(), account, { segmentId, approval: 'pending' });
    await rename(await insertContacts(pool(), account, 2, 'noted'), 'Bea');
    expect(await noted([active, pending])).toEqual([{ flow_id: active, n: 4 }]);
  });

  it('are forgotten when a comparison of all contacts begins', async () => {
    const segmentId = await insertSegment(named('Ada'));
    const flowId = await insertActiveFlow(pool(), account, { segmentId });
    const ids = await insertContacts(pool(), account, 3, 'before');
    await match(flowId);
    await rename(ids, 'Bea');
    expect(await noted([flowId])).toEqual([{ flow_id: flowId, n: 3 }]);
    // Ten minutes later the activity stays for no page: it begins the comparison only.
    await match(flowId, 10, 0);
    expect(await noted([flowId])).toEqual([]);
  });

  it('are noted by one statement at most 50,000 times for all flows together', async () => {
    const segmentId = await insertSegment(named('Ada'));
    const flows: number[] = [];
    for (let n = 0; n < 60; n += 1) flows.push(await insertActiveFlow(pool(), account, { segmentId }));
    const ids = await insertContacts(pool(), account, 1_000, 'many');
    await pool().query('delete from flow_candidates');
    await rename(ids, 'Bea');
    expect((await noted(flows)).reduce((sum, { n }) => sum + n, 0)).toBe(50_000);
  });
});
