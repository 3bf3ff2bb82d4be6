// A consumer gets each new event of its brand in the event's transaction, and its failure rolls the event back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { lockBrands, lockContacts } from '../../../src/features/contact-events/consumers.ts';
import {
  createEventService,
  type EventService,
  type TrackedEvent,
  type TrackedEventConsumer,
} from '../../../src/features/contact-events/service.ts';
import { trackEventBody } from '../../../src/features/contact-events/schema.ts';
import { ensureContacts } from '../../../src/features/contacts/service.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { insertContacts } from '../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';
import { insertAccount } from '../../support/queued.ts';

let test: TestDatabase;
let watched: Tenant;
let idle: Tenant;
let service: EventService;
/** The events that the consumer saw, and the locks of its transactions. */
let consumed: TrackedEvent[];
let locks: number[];
let woken: number;
let failure: Error | null;
/** SQL that the consumer runs, how often it acted, and what it logged. */
let sabotage: ((attempt: number, ids: number[]) => string) | null;
let attempts: number;
let logged: string[];
let wakes: () => void;

const pool = () => test.database.pool;

async function tenant(): Promise<Tenant> {
  const account = await insertAccount(test.database);
  await insertContacts(pool(), account, 3);
  return { ...account, actor: { kind: 'api_key', id: 1, test: false }, role: 'admin' };
}

/** Waits for events of one brand, and stores what it saw in the transaction of the event. */
const consumer: TrackedEventConsumer = {
  async needsLocks(trx, brandIds) {
    const { rows } = await trx.query<{ id: number }>(
      'select brand_id as id from waiting where brand_id = any($1)',
      [brandIds],
    );
    return new Set(rows.map(({ id }) => id));
  },
  async consume(trx, events) {
    consumed.push(...events);
    const held = await trx.query<{ lock: number }>(
      `select objid::int as lock from pg_locks
       where locktype = 'advisory' and pid = pg_backend_pid() and mode = 'ShareLock' and classid = 1409026`,
    );
    locks.push(...held.rows.map((row) => row.lock));
    for (const { id } of events) await trx.query('insert into seen values ($1)', [id]);
    if (failure) throw failure;
    attempts += 1;
    if (sabotage)
      await trx.query(
        sabotage(
          attempts,
          events.map(({ contactId }) => contactId),
        ),
      );
    return () => wakes();
  },
};

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 10 });
  watched = await tenant();
  idle = await tenant();
  await pool().query(
    'create table seen (event_id bigint primary key); create table waiting (brand_id bigint primary key)',
  );
  await pool().query('insert into waiting values ($1)', [watched.brandId]);
  const consent = {
    keyring: createKeyring('a secret of the tests that is long enough'),
    plusAddresses: false,
  };
  service = createEventService({
    pool: pool(),
    ensureContacts: (trx, brand, addresses) => ensureContacts(trx, consent, brand, addresses, 'event'),
    consumers: [consumer],
    heavyReads: { run: (_read, work) => work(pool()), close: () => Promise.resolve() },
    log: pino({}, { write: (line) => void logged.push(line) }),
  });
});
afterAll(() => test.drop());
beforeEach(async () => {
  [consumed, locks, woken, failure, sabotage, attempts, logged] = [[], [], 0, null, null, 0, []];
  wakes = () => void (woken += 1);
  await pool().query('truncate seen');
});

const parsed = (fields: object) => trackEventBody.parse({ event: 'visit', ...fields });
const track = (by: Tenant, fields: object) => service.track(by, parsed(fields), null);

async function seen(): Promise<number[]> {
  const { rows } = await pool().query<{ event_id: number }>('select event_id from seen order by 1');
  return rows.map((row) => row.event_id);
}

describe('a consumer of tracked events', () => {
  it('acts in the transaction of the event, under a shared lock of its contact, and then does what it returned', async () => {
    const { event } = await track(watched, { contact_email: 'contact1@example.com', data: { a: 1 } });
    expect(consumed).toEqual([
      {
        id: event.id,
        accountId: watched.accountId,
        brandId: watched.brandId,
        contactId: event.contact_id,
        name: 'visit',
        ...{ amount: null, resourceUid: null, resourceName: null, resourceUrl: null },
        data: { a: 1 },
        test: false,
        chainDepth: 0,
        mail: null,
        createdAt: new Date(event.created_at),
      },
    ]);
    expect(locks).toEqual([event.contact_id]);
    expect([await seen(), woken]).toEqual([[event.id], 1]);
  });

  it('gets the events of a batch at once, also of contacts that it creates', async () => {
    const results = await service.trackBatch(
      watched,
      [
        { body: parsed({ contact_email: 'contact0@example.com' }) },
        { body: parsed({ contact_email: 'contact2@example.com' }) },
        { body: parsed({ contact_email: 'fresh@example.com' }) },
      ],
      null,
    );
    expect(await seen()).toEqual(results.map(({ id }) => id));
    expect(consumed.map(({ id }) => id).sort()).toEqual(await seen());
  });

  it('gets no event of another brand, and that event takes no lock', async () => {
    await track(idle, { contact_email: 'contact0@example.com' });
    await Promise.all([
      track(idle, { contact_email: 'contact1@example.com' }),
      track(watched, { contact_email: 'contact1@example.com' }),
    ]);
    expect(consumed.map(({ brandId }) => brandId)).toEqual([watched.brandId]);
    expect(locks).toHaveLength(1);
  });

  it('gets no backfilled event, and no event whose key is known', async () => {
    const contact = { contact_email: 'contact0@example.com' };
    await track(watched, { ...contact, occurred_at: new Date().toISOString() });
    await track(watched, { ...contact, idempotency_key: 'once' });
    await track(watched, { ...contact, idempotency_key: 'once' });
    expect(consumed).toHaveLength(1);
    expect(woken).toBe(1);
  });

  it('gets test events marked as such', async () => {
    await track(watched, { contact_email: 'contact0@example.com', test: true });
    expect(consumed).toMatchObject([{ test: true }]);
  });

  it('rolls back the event, its key and its contact if it fails', async () => {
    failure = new Error('the flow could not be started');
    const fields = { contact_email: 'undone@example.com', idempotency_key: 'undone' };
    await expect(track(watched, fields)).rejects.toBe(failure);
    expect([await seen(), woken]).toEqual([[], 0]);
    failure = null;
    expect((await track(watched, fields)).replayed).toBe(false);
  });

  it('misses no event while a wait begins', async () => {
    const [contactId = 0] = await insertContacts(pool(), watched, 1, 'waiting');
    const { tracking, before } = await inTransaction(pool(), async (trx) => {
      await lockContacts(trx, [contactId], 'exclusive');
      const pending = { tracking: track(watched, { contact_id: contactId }) };
      await eventually(async () => expect(await countWaiting(pool(), 'classid = 1409026')).toBe(1));
      const { rowCount } = await trx.query('select 1 from contact_events where contact_id = $1', [contactId]);
      return { ...pending, before: rowCount };
    });
    const { event } = await tracking;
    // It was not written before the lock, so it is written after it and finds the wait.
    expect([before, consumed.map(({ id }) => id)]).toEqual([0, [event.id]]);
  });
});

describe('the lock of a contact', () => {
  it('is not shared: a slow contact does not delay events of another', async () => {
    await inTransaction(pool(), async (trx) => {
      await lockContacts(trx, [1], 'exclusive');
      await inTransaction(pool(), async (other) => {
        await other.query(`set local lock_timeout = 1`);
        await lockContacts(other, [1 + 256, 1 + 2 ** 20]);
        await expect(lockContacts(other, [1])).rejects.toThrow(/lock timeout/);
      });
    });
  });
});

describe('a group of events', () => {
  const batch = (emails: string[]) =>
    service.trackBatch(
      watched,
      emails.map((contact_email) => ({ body: parsed({ contact_email }) })),
      null,
    );
  const addresses = [0, 1, 2].map((n) => `contact${n}@example.com`);

  it('fails as a whole at a time-out, without trying its halves', async () => {
    sabotage = () => `set local statement_timeout = 1; select pg_sleep(60)`;
    await expect(batch(addresses)).rejects.toMatchObject({ code: 'unavailable' });
    expect([attempts, await seen()]).toEqual([1, []]);
  });

  it('is retried once after a deadlock', async () => {
    const deadlock = `do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$`;
    sabotage = (attempt) => (attempt === 1 ? deadlock : 'select 1');
    expect((await batch(addresses)).map(({ status }) => status)).toEqual(Array(3).fill('created'));
    sabotage = () => deadlock;
    attempts = 0;
    await expect(batch(addresses)).rejects.toMatchObject({ code: 'unavailable' });
    expect(attempts).toBe(2);
  });

  it('is written without the event that the database refuses', async () => {
    const { event } = await track(watched, { contact_email: addresses[1] });
    sabotage = (_attempt, ids) => (ids.includes(event.contact_id) ? 'select 1 / 0' : 'select 1');
    const tracked = await Promise.allSettled(
      addresses.map((contact_email) => track(watched, { contact_email })),
    );
    expect(tracked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('is written once if work after its commit fails, which is logged', async () => {
    wakes = () => {
      throw new Error('the loop is gone');
    };
    const { event } = await track(watched, { contact_email: addresses[0] });
    expect([await seen(), attempts]).toEqual([[event.id], 1]);
    expect(logged.join()).toContain('the loop is gone');
  });
});

describe('a brand that begins to wait for events', () => {
  let brand: Tenant;
  let contactId: number;
  beforeEach(async () => {
    brand = await tenant();
    [contactId = 0] = await insertContacts(pool(), brand, 1, 'first');
  });

  const waits = { brand: 'classid = 1409027', row: `locktype in ('transactionid', 'tuple')` };
  const blocked = (space: keyof typeof waits) =>
    eventually(async () => {
      expect(await countWaiting(pool(), waits[space])).toBeGreaterThan(0);
    });

  it('consumes events that arrive while it begins', async () => {
    const { tracking } = await inTransaction(pool(), async (trx) => {
      await lockBrands(trx, [brand.brandId], 'exclusive');
      await trx.query('insert into waiting values ($1)', [brand.brandId]);
      const pending = { tracking: track(brand, { contact_id: contactId }) };
      await blocked('brand');
      return pending;
    });
    const { event } = await tracking;
    expect(consumed.map(({ id }) => id)).toEqual([event.id]);
  });

  it('finds events that were already being written in the table', async () => {
    const { tracking, beginning } = await inTransaction(pool(), async (holder) => {
      await holder.query('select 1 from contacts where id = $1 for update', [contactId]);
      const writing = track(brand, { contact_id: contactId });
      await blocked('row');
      const begin = inTransaction(pool(), async (trx) => {
        await lockBrands(trx, [brand.brandId], 'exclusive');
        await trx.query('insert into waiting values ($1)', [brand.brandId]);
        return (await trx.query('select 1 from contact_events where contact_id = $1', [contactId])).rowCount;
      });
      await blocked('brand');
      return { tracking: writing, beginning: begin };
    });
    await tracking;
    expect([await beginning, consumed]).toEqual([1, []]);
  });
});

describe('the deletion of a contact', () => {
  it('waits for events that are being written, and later events do not find the contact', async () => {
    const [contactId = 0] = await insertContacts(pool(), idle, 1, 'gone');
    const { tracking } = await inTransaction(pool(), async (trx) => {
      await trx.query('delete from contacts where id = $1', [contactId]);
      const pending = { tracking: track(idle, { contact_id: contactId }).catch((error: unknown) => error) };
      await eventually(async () => {
        const { rowCount } = await pool().query(`select 1 from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database()`);
        expect(rowCount).toBe(1);
      });
      return pending;
    });
    expect(await tracking).toMatchObject({
      validationErrors: { contact_id: ['is not a contact of the brand'] },
    });
    const { rowCount } = await pool().query('select 1 from contact_events where contact_id = $1', [
      contactId,
    ]);
    expect(rowCount).toBe(0);
  });
});
