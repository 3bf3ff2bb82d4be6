// A tracked event enters the flows of its name once, and adds no database work for brands without flows.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import pino from 'pino';
import { lockBrands } from '../../../../src/features/contact-events/consumers.ts';
import { trackEventBody } from '../../../../src/features/contact-events/schema.ts';
import { createEventService, type EventService } from '../../../../src/features/contact-events/service.ts';
import { createFlowConsumer } from '../../../../src/features/flows/entry/consumer.ts';
import type { Tenant } from '../../../../src/platform/auth/tenant.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { entriesOf, insertActiveFlow } from '../../../support/flow-entries.ts';
import { countWaiting } from '../../../support/waiting.ts';
import { insertAccount } from '../../../support/queued.ts';

let test: TestDatabase;
let tenant: Tenant;
let contacts: number[];
let service: EventService;
let woken: string[];
/** The statements of the service outside of transactions, and how many transactions it began. */
let alone: string[];
let transactions: number;

const pool = () => test.database.pool;

async function newTenant(): Promise<Tenant> {
  const account = await insertAccount(test.database);
  contacts = await insertContacts(pool(), account, 50);
  return { ...account, actor: { kind: 'api_key', id: 1, test: false }, role: 'admin' };
}

/** The pool, with an account of what it is used for. */
function watched(): pg.Pool {
  return new Proxy(pool(), {
    get(target, name, receiver) {
      if (name === 'connect') transactions += 1;
      if (name === 'query') {
        return (statement: string | pg.QueryConfig, values?: unknown[]) => {
          alone.push(typeof statement === 'string' ? statement : (statement.name ?? statement.text));
          return target.query(statement, values);
        };
      }
      const value: unknown = Reflect.get(target, name, receiver);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 10 });
  service = createEventService({
    pool: watched(),
    ensureContacts: null,
    consumers: [createFlowConsumer({ waker: { wake: (channel) => void woken.push(channel) } })],
    heavyReads: { run: (_read, work) => work(pool()), close: () => Promise.resolve() },
    log: pino({ level: 'silent' }),
  });
});
afterAll(() => test.drop());
beforeEach(async () => {
  tenant = await newTenant();
  [woken, alone, transactions] = [[], [], 0];
});

const parsed = (fields: object) => trackEventBody.parse({ event: 'ordered', ...fields });
const track = (fields: object) => service.track(tenant, parsed(fields), null);

describe('a tracked event', () => {
  it('lets its contact enter flows triggered by its name', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    const other = await insertActiveFlow(pool(), tenant, { event: 'left' });
    const { event } = await track({ contact_id: contacts[0], data: { total: 5 } });
    expect(await entriesOf(pool(), flowId)).toEqual([
      {
        ...{ flow_id: flowId, contact_id: contacts[0], cause: `e${event.id}`, test: false, chain_depth: 0 },
        event: { id: event.id, name: 'ordered', data: { total: 5 }, created_at: event.created_at },
      },
    ]);
    expect(await entriesOf(pool(), other)).toEqual([]);
    expect(woken).toEqual(['flow_entries']);
  });

  it('passes its amount and resource to the contents of the flow', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    await track({ contact_id: contacts[0], amount: 9.5, resource_uid: 'o-1', resource_name: 'Order' });
    expect(await entriesOf(pool(), flowId)).toMatchObject([
      { event: { name: 'ordered', amount: 9.5, resource_uid: 'o-1', resource_name: 'Order' } },
    ]);
  });

  it.each([
    { status: 'paused' },
    { status: 'draft' },
    { status: 'archived' },
    { approval: 'pending' },
  ] as const)('enters no flow that is %j', async (state) => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered', ...state });
    await track({ contact_id: contacts[0] });
    expect(await entriesOf(pool(), flowId)).toEqual([]);
  });

  it('enters no flow of another brand', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    tenant = await newTenant();
    await track({ contact_id: contacts[0] });
    expect(await entriesOf(pool(), flowId)).toEqual([]);
  });

  it('of a test enters as a test', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    const { event } = await track({ contact_id: contacts[0], test: true });
    expect(await entriesOf(pool(), flowId)).toMatchObject([{ cause: `t${event.id}`, test: true }]);
  });

  it('that is backfilled enters no flow', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    await track({ contact_id: contacts[0], occurred_at: '2026-01-01T00:00:00Z' });
    expect(await entriesOf(pool(), flowId)).toEqual([]);
  });

  it('enters once for all requests with its key', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    await Promise.all(
      Array.from({ length: 32 }, () => track({ contact_id: contacts[0], idempotency_key: 'order/1' })),
    );
    expect(await entriesOf(pool(), flowId)).toHaveLength(1);
  });

  it('of a batch enters together with the others, by one statement', async () => {
    const flowId = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    const second = await insertActiveFlow(pool(), tenant, { event: 'ordered' });
    await pool().query(`
      create table inserts (n int);
      create function note_insert() returns trigger language plpgsql as $$ begin
        insert into inserts select count(*) from added; return null; end $$;
      create trigger note_insert after insert on flow_entries referencing new table as added
        for each statement execute function note_insert()`);
    const items = contacts.map((id) => ({ body: parsed({ contact_id: id }) }));
    await service.trackBatch(
      tenant,
      [...items, { body: parsed({ event: 'left', contact_id: contacts[0] }) }],
      null,
    );
    const { rows } = await pool().query('select n from inserts');
    await pool().query(
      'drop trigger note_insert on flow_entries; drop function note_insert; drop table inserts',
    );
    expect(rows).toEqual([{ n: 100 }]);
    expect((await entriesOf(pool(), flowId)).map((entry) => entry.contact_id)).toEqual(contacts);
    expect(await entriesOf(pool(), second)).toHaveLength(50);
  });
});

describe('an event of a brand without flows', () => {
  it('takes one statement and no transaction, as if there were no flows', async () => {
    await track({ contact_id: contacts[0] });
    [alone, transactions] = [[], 0];
    await track({ contact_id: contacts[1] });
    expect(alone.filter((name) => !name.startsWith('allocate'))).toEqual([
      'write_contact_events_3_past_lock_flow_brands',
    ]);
    expect(transactions).toBe(0);
  });

  it('is consumed if the brand activates its first flow before the event is written', async () => {
    await track({ contact_id: contacts[0] });
    let event: Promise<unknown> = Promise.resolve();
    const flowId = await inTransaction(pool(), async (trx) => {
      await lockBrands(trx, [tenant.brandId], 'exclusive');
      event = track({ contact_id: contacts[1] });
      // The event waits for the lock of the brand now.
      for (;;) {
        if ((await countWaiting(pool(), 'classid = 1409027')) > 0) break;
      }
      return insertActiveFlow(trx, tenant, { event: 'ordered' });
    });
    await event;
    expect((await entriesOf(pool(), flowId)).map((entry) => entry.contact_id)).toEqual([contacts[1]]);
  });
});
