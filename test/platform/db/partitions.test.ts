// Daily partitions are created and dropped concurrently without deadlock, and never while their rows are needed.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { openDatabase, type Database } from '../../../src/platform/db/database.ts';
import { keepPartitionsOf } from '../../../src/platform/db/partitions.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';
import { startTcpGate } from '../../support/tcp-gate.ts';

let test: TestDatabase;
const DAY_MS = 86_400_000;
const EVENT = '00000000-0000-4000-8000-000000000001';
/** query_canceled. */
const STATEMENT_TIMEOUT = '57014';

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

function nameOf(table: string, at: Date): string {
  return `${table}_${at.toISOString().slice(0, 10).replaceAll('-', '')}`;
}

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1`,
    [table],
  );
  return rows.map((row) => row.name);
}

async function addDelivery(at: Date, status = 'delivered'): Promise<number> {
  const { pool } = test.database;
  await pool.query(
    `insert into events (id, account_id, type, occurred_at, data, created_at)
     values (gen_random_uuid(), 1, 'email.sent', $1, '{}', $1)`,
    [at],
  );
  const { rows } = await pool.query<{ id: number }>(
    `insert into webhook_deliveries (webhook_id, event_id, type, generation, status, next_attempt_at, created_at)
     values (1, $3, 'email.sent', 1, $2, case $2 when 'retrying' then now() end, $1) returning id`,
    [at, status, EVENT],
  );
  const id = rows[0]?.id ?? 0;
  await pool.query(
    `insert into webhook_attempts (delivery_id, created_at, attempt, started_at, duration_ms)
     values ($1, $2, 1, $2, 5)`,
    [id, at],
  );
  return id;
}

async function placeOf(id: number): Promise<string | undefined> {
  const { rows } = await test.database.pool.query<{ place: string }>(
    'select tableoid::regclass::text as place from webhook_deliveries where id = $1',
    [id],
  );
  return rows[0]?.place;
}

/** A connection whose statement timeout is much shorter than the wait for another maker may be. */
function openImpatient(): Database {
  return openDatabase({ url: test.url, poolMax: 1, applicationName: 'impatient', statementTimeoutMs: 1_000 });
}

/** @returns the name of the day's partition of `webhook_deliveries` */
async function addOldDay(day: Date): Promise<string> {
  await keepPartitionsOf(test.database.pool, upkeep.partitions);
  const name = nameOf('webhook_deliveries', day);
  const [from, to] = [day, new Date(day.getTime() + DAY_MS)].map((at) => at.toISOString());
  await test.database.pool.query(
    `create table ${name} partition of webhook_deliveries for values from ('${from}') to ('${to}')`,
  );
  return name;
}

describe('daily partitions', () => {
  it('exist after a migration for yesterday and the next 14 days', async () => {
    for (const table of ['events', 'webhook_deliveries', 'webhook_attempts']) {
      const wanted = Array.from({ length: 16 }, (_each, index) => nameOf(table, daysFromNow(index - 1)));
      expect(await partitionsOf(table)).toEqual([...wanted, `${table}_default`].sort());
    }
  });

  it('contain the rows of their UTC day', async () => {
    const lastMoment = new Date(`${daysFromNow(0).toISOString().slice(0, 10)}T23:59:59.999Z`);
    const id = await addDelivery(lastMoment);
    expect(await placeOf(id)).toBe(nameOf('webhook_deliveries', lastMoment));
  });

  it('can be made by many processes at once', async () => {
    const later = daysFromNow(2);
    await Promise.all(
      Array.from({ length: 4 }, () => keepPartitionsOf(test.database.pool, upkeep.partitions, later)),
    );
    expect(await partitionsOf('events')).toContain(nameOf('events', daysFromNow(16)));
  });

  it('are made after another process has made its own, even if that exceeds the statement timeout', async () => {
    const name = nameOf('events', daysFromNow(14));
    await test.database.pool.query(`drop table ${name}`);
    const impatient = openImpatient();
    const other = inTransaction(test.database.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock(7262514118)');
      await client.query('select pg_sleep(4)');
    });
    expect((await keepPartitionsOf(impatient.pool, upkeep.partitions)).made).toEqual([name]);
    await other;
    await impatient.close();
  }, 60_000);

  it('are made under the statement timeout otherwise', async () => {
    const name = nameOf('events', daysFromNow(14));
    await test.database.pool.query(`drop table ${name}`);
    const impatient = openImpatient();
    await inTransaction(test.database.pool, async (client) => {
      await client.query('lock table only events in access exclusive mode');
      await expect(keepPartitionsOf(impatient.pool, upkeep.partitions)).rejects.toMatchObject({
        code: STATEMENT_TIMEOUT,
      });
    });
    expect((await keepPartitionsOf(impatient.pool, upkeep.partitions)).made).toEqual([name]);
    await impatient.close();
  });

  it('fail, and the process lives, if the connection breaks', async () => {
    const { hostname, port } = new URL(test.url);
    const gate = await startTcpGate({ host: hostname, port: Number(port) });
    const behind = new URL(test.url);
    behind.port = String(gate.port);
    const database = openDatabase({ url: behind.href, poolMax: 1 });
    await test.database.pool.query(`drop table ${nameOf('events', daysFromNow(14))}`);
    await inTransaction(test.database.pool, async (client) => {
      await client.query('lock table only events in access exclusive mode');
      const making = keepPartitionsOf(database.pool, upkeep.partitions);
      making.catch(() => undefined);
      await eventually(async () => {
        const { rowCount } = await client.query(
          `select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
        );
        expect(rowCount).toBeGreaterThan(0);
      });
      gate.shut();
      await expect(making).rejects.toThrow();
    });
    await database.close();
    await gate.close();
  });

  it('take over the rows of their day from the default partition', async () => {
    const caught = daysFromNow(40);
    const ids = [await addDelivery(caught), await addDelivery(caught, 'retrying')];
    const other = await addDelivery(daysFromNow(300));
    expect(await placeOf(ids[0] ?? 0)).toBe('webhook_deliveries_default');
    await keepPartitionsOf(test.database.pool, upkeep.partitions, daysFromNow(39));
    for (const id of ids) expect(await placeOf(id)).toBe(nameOf('webhook_deliveries', caught));
    expect(await placeOf(other)).toBe(nameOf('webhook_deliveries', daysFromNow(300)));
    expect(await partitionsOf('webhook_deliveries')).toContain('webhook_deliveries_default');
    await addDelivery(daysFromNow(500));
  });

  it('are dropped after 7 days, events after 30, but not while a delivery has not ended', async () => {
    const finished = daysFromNow(10);
    const retrying = daysFromNow(11);
    const pending = daysFromNow(12);
    await addDelivery(finished);
    await addDelivery(retrying, 'retrying');
    const waiting = await addDelivery(pending, 'pending');
    await test.database.pool.query(
      `insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation) values ($1, $2, 1, $3, 1)`,
      [waiting, pending, EVENT],
    );
    const { dropped } = await keepPartitionsOf(test.database.pool, upkeep.partitions, daysFromNow(20));
    expect(dropped).toContain(nameOf('webhook_deliveries', finished));
    expect(dropped).toContain(nameOf('webhook_attempts', finished));
    expect(dropped).not.toContain(nameOf('events', finished));
    for (const day of [retrying, pending]) {
      expect(await partitionsOf('webhook_deliveries')).toContain(nameOf('webhook_deliveries', day));
      expect(await partitionsOf('webhook_attempts')).toContain(nameOf('webhook_attempts', day));
    }
    await test.database.pool.query('delete from webhook_queue');
    await test.database.pool.query(`update webhook_deliveries set status = 'failed', next_attempt_at = null`);
    const later = await keepPartitionsOf(test.database.pool, upkeep.partitions, daysFromNow(45));
    expect(later.dropped).toEqual(
      expect.arrayContaining([nameOf('webhook_deliveries', retrying), nameOf('events', finished)]),
    );
  });

  it('keep an event for as long as a delivery needs it', async () => {
    const day = daysFromNow(80);
    const id = await addDelivery(day, 'retrying');
    const { dropped } = await keepPartitionsOf(test.database.pool, upkeep.partitions, daysFromNow(80 + 60));
    expect(dropped).not.toContain(nameOf('events', day));
    expect(dropped).not.toContain(nameOf('webhook_deliveries', day));
    await test.database.pool.query(
      `update webhook_deliveries set status = 'failed', next_attempt_at = null where id = $1`,
      [id],
    );
    const later = await keepPartitionsOf(test.database.pool, upkeep.partitions, daysFromNow(80 + 60));
    const all = ['webhook_deliveries', 'webhook_attempts', 'events'].map((table) => nameOf(table, day));
    expect(later.dropped).toEqual(expect.arrayContaining(all));
  });

  it('are dropped without a deadlock with queries, which lock the table before its partitions', async () => {
    const { pool } = test.database;
    const name = await addOldDay(new Date('2026-01-01'));
    const { keeping } = await inTransaction(pool, async (trx) => {
      await trx.query('lock table only webhook_deliveries in access share mode');
      const begun = { keeping: keepPartitionsOf(pool, upkeep.partitions) };
      await eventually(async () =>
        expect(await countWaiting(pool, `relation = 'webhook_deliveries'::regclass`)).toBe(1),
      );
      await trx.query('select count(*) from webhook_deliveries');
      return begun;
    });
    expect((await keeping).dropped).toContain(name);
  });

  it('are dropped the next time if the table is in use', async () => {
    const { pool } = test.database;
    const name = await addOldDay(new Date('2026-01-02'));
    const beside = await inTransaction(pool, async (trx) => {
      await trx.query('select count(*) from webhook_deliveries');
      return keepPartitionsOf(pool, upkeep.partitions);
    });
    expect(beside.dropped).not.toContain(name);
    expect((await keepPartitionsOf(pool, upkeep.partitions)).dropped).toContain(name);
  });

  it('are kept until 7 days after the end of their day', async () => {
    const day = daysFromNow(60);
    await addDelivery(day);
    const end = new Date(`${day.toISOString().slice(0, 10)}T00:00:00Z`).getTime() + DAY_MS;
    await keepPartitionsOf(test.database.pool, upkeep.partitions, new Date(end + 7 * DAY_MS - 1));
    expect(await partitionsOf('webhook_deliveries')).toContain(nameOf('webhook_deliveries', day));
    await keepPartitionsOf(test.database.pool, upkeep.partitions, new Date(end + 7 * DAY_MS));
    expect(await partitionsOf('webhook_deliveries')).not.toContain(nameOf('webhook_deliveries', day));
  });
});
