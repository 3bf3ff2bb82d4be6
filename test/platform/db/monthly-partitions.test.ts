// Monthly partitions exist ahead of time, take over rows from the default, and are dropped after their retention.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { keepPartitionsOf, type TimedTable } from '../../../src/platform/db/partitions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** The start of the month that is `offset` months after the one of `at`. */
function monthAfter(at: Date, offset: number): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset, 1));
}

function nameOf(table: string, at: Date): string {
  return `${table}_${at.toISOString().slice(0, 7).replace('-', '')}`;
}

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1`,
    [table],
  );
  return rows.map((row) => row.name);
}

async function addEvent(at: Date): Promise<number> {
  const { rows } = await test.database.pool.query<{ id: number }>(
    `insert into contact_events (account_id, brand_id, contact_id, name_id, created_at)
     values (1, 1, 1, 1, $1) returning id`,
    [at],
  );
  return rows[0]?.id ?? 0;
}

async function placeOf(id: number): Promise<string | undefined> {
  const { rows } = await test.database.pool.query<{ place: string }>(
    'select tableoid::regclass::text as place from contact_events where id = $1',
    [id],
  );
  return rows[0]?.place;
}

const monthly = upkeep.partitions.filter((table) => table.name.startsWith('contact_'));
const keep = (asOf?: Date) => keepPartitionsOf(test.database.pool, monthly, asOf);

describe('monthly partitions', () => {
  it('exist after a migration: the last 24 months of events, the last month of engagement, the next two', async () => {
    const wanted = (table: string, past: number) =>
      Array.from({ length: past + 3 }, (_each, index) => nameOf(table, monthAfter(new Date(), index - past)));
    expect(await partitionsOf('contact_events')).toEqual(
      [...wanted('contact_events', 24), 'contact_events_default', 'contact_events_past'].sort(),
    );
    expect(await partitionsOf('contact_engagement')).toEqual(
      [...wanted('contact_engagement', 1), 'contact_engagement_default'].sort(),
    );
  });

  it('contain the rows of their UTC month, from its first to its last moment', async () => {
    const month = monthAfter(new Date(), -3);
    const last = new Date(monthAfter(month, 1).getTime() - 1);
    for (const at of [month, last]) {
      expect(await placeOf(await addEvent(at))).toBe(nameOf('contact_events', month));
    }
  });

  it('keep rows older than 24 months out of the default partition, which is read whenever a month is added', async () => {
    const old = await addEvent(new Date(monthAfter(new Date(), -24).getTime() - 1));
    expect((await keep()).made).toEqual([]);
    expect(await placeOf(old)).toBe('contact_events_past');
    // What is kept for earlier times does not change.
    const events = monthly.filter(({ name }) => name === 'contact_events');
    const { made } = await keepPartitionsOf(test.database.pool, events, monthAfter(new Date(), -6));
    expect(made).toEqual([]);
  });

  it('are made for the other tables if one fails', async () => {
    await test.database.pool.query(
      `create table others (created_at timestamptz not null) partition by range (created_at);
       create table others_default partition of others default`,
    );
    const tables: TimedTable[] = ['missing', 'others'].map((name) => ({
      name,
      period: 'month',
      keptDays: null,
    }));
    await expect(keepPartitionsOf(test.database.pool, tables)).rejects.toMatchObject({ code: '42P01' });
    expect(await partitionsOf('others')).toHaveLength(5);
  });

  it('take over the rows of their month from the default partition', async () => {
    const caught = [monthAfter(new Date(), 5), new Date(monthAfter(new Date(), 6).getTime() - 1)];
    const ids = [await addEvent(caught[0] as Date), await addEvent(caught[1] as Date)];
    for (const id of ids) expect(await placeOf(id)).toBe('contact_events_default');
    const { made } = await keep();
    expect(made).toEqual([nameOf('contact_events', caught[0] as Date)]);
    for (const id of ids) expect(await placeOf(id)).toBe(nameOf('contact_events', caught[0] as Date));
  });

  it('can be made by many processes at once', async () => {
    const later = monthAfter(new Date(), 8);
    await Promise.all(Array.from({ length: 4 }, () => keep(later)));
    expect(await partitionsOf('contact_events')).toContain(nameOf('contact_events', monthAfter(later, 2)));
  });

  it('are never dropped if the table keeps its rows', async () => {
    const { dropped } = await keep(monthAfter(new Date(), 12 * 9));
    expect(dropped).toEqual([]);
  });

  it('are dropped when the last of their days is too old, in a table that keeps some days', async () => {
    await test.database.pool.query(
      `create table months (created_at timestamptz not null) partition by range (created_at);
       create table months_default partition of months default`,
    );
    const table: TimedTable = { name: 'months', period: 'month', keptDays: 10 };
    await keepPartitionsOf(test.database.pool, [table], new Date('2026-01-05T12:00:00Z'));
    const until = (at: string) => keepPartitionsOf(test.database.pool, [table], new Date(at));
    expect((await until('2026-02-10T23:59:59Z')).dropped).toEqual(['months_202512']);
    expect((await until('2026-02-11T00:00:00Z')).dropped).toEqual(['months_202601']);
    expect(await partitionsOf('months')).toEqual([
      'months_202602',
      'months_202603',
      'months_202604',
      'months_default',
    ]);
  });
});
