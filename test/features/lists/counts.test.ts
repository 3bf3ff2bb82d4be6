// Contact counts stay exact under concurrency and crashes, and a nightly comparison repairs wrong ones.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { countOf, foldCounts } from '../../../src/features/lists/counts.ts';
import { listsUpkeep } from '../../../src/features/lists/upkeep.ts';
import { loadConfig } from '../../../src/config.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const BRAND = 1;
const LIST = 1;
const NIGHT = new Date('2026-03-01T03:10:00Z');

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 12 });
});
afterAll(() => test.drop());
beforeEach(async () => {
  await pool().query(
    'truncate lists, contacts, audience_counts, audience_count_changes restart identity cascade',
  );
  await pool().query(`insert into lists (account_id, brand_id, name) values (1, ${BRAND}, 'VIP')`);
});

const pool = () => test.database.pool;

async function addContacts(count: number): Promise<number[]> {
  const { rows } = await pool().query<{ id: number }>(
    'insert into contacts (account_id, brand_id) select 1, $1 from generate_series(1, $2) returning id',
    [BRAND, count],
  );
  return rows.map((row) => row.id);
}

const join = (ids: readonly number[]) =>
  pool().query('insert into list_members (list_id, contact_id) select $1, unnest($2::bigint[])', [LIST, ids]);

const listCount = async () => (await countOf(pool(), 'list', [LIST])).get(LIST);
const brandCount = async () => (await countOf(pool(), 'brand', [BRAND])).get(BRAND);

async function fold(): Promise<void> {
  while (await foldCounts(pool()));
}

const pending = async () => (await pool().query('select 1 from audience_count_changes')).rowCount;

describe('counts of contacts', () => {
  it('include each statement at once, folded or not', async () => {
    const ids = await addContacts(5);
    await join(ids);
    expect([await brandCount(), await listCount(), await pending()]).toEqual([5, 5, 2]);
    await fold();
    expect([await brandCount(), await listCount(), await pending()]).toEqual([5, 5, 0]);
    await pool().query('delete from contacts where id = any($1)', [ids.slice(0, 2)]);
    expect([await brandCount(), await listCount()]).toEqual([3, 3]);
    await fold();
    expect([await brandCount(), await listCount()]).toEqual([3, 3]);
  });

  it('are zero for a brand or list without contacts', async () => {
    expect(await countOf(pool(), 'list', [LIST, 999])).toEqual(
      new Map([
        [LIST, 0],
        [999, 0],
      ]),
    );
  });

  it('leave out statements that were rolled back', async () => {
    const client = await pool().connect();
    await client.query('begin');
    await client.query('insert into contacts (account_id, brand_id) values (1, $1)', [BRAND]);
    await client.query('rollback');
    client.release();
    await fold();
    expect(await brandCount()).toBe(0);
  });

  it('stay exact while many write and several fold', async () => {
    let writing = true;
    const seen: (number | undefined)[] = [];
    const folders = Array.from({ length: 3 }, async () => {
      while (writing) await foldCounts(pool());
    });
    const reader = (async () => {
      while (writing) seen.push(await brandCount());
    })();
    const writers = Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 40; n += 1) await join(await addContacts(1));
    });
    await Promise.all(writers);
    writing = false;
    await Promise.all([...folders, reader]);
    // Nothing was deleted, so no reader may see a count fall. It would fall if a folded change were not visible yet.
    expect(seen).toEqual(seen.toSorted((one, other) => (one ?? 0) - (other ?? 0)));
    expect([await brandCount(), await listCount()]).toEqual([240, 240]);
    await fold();
    expect([await brandCount(), await listCount(), await pending()]).toEqual([240, 240, 0]);
  });

  it('stay exact when writers and folders are killed midway', async () => {
    const killed = { count: 0 };
    let writing = true;
    const killer = (async () => {
      while (writing) {
        const { rows } = await pool().query<{ killed: number }>(
          `select count(*) filter (where pg_terminate_backend(pid)) as killed from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and random() < 0.3`,
        );
        killed.count += rows[0]?.killed ?? 0;
      }
    })().catch(() => undefined);
    const tolerant = (work: () => Promise<unknown>) => work().catch(() => undefined);
    const folders = Array.from({ length: 2 }, async () => {
      while (writing) await tolerant(() => foldCounts(pool()));
    });
    const writers = Array.from({ length: 5 }, async () => {
      for (let n = 0; n < 60; n += 1) await tolerant(async () => join(await addContacts(3)));
    });
    await Promise.all(writers);
    writing = false;
    await Promise.all([...folders, killer]);
    await fold();
    const { rows } = await pool().query<{ contacts: number; members: number }>(
      'select (select count(*) from contacts) as contacts, (select count(*) from list_members) as members',
    );
    expect(killed.count).toBeGreaterThan(0);
    expect([await brandCount(), await listCount()]).toEqual([rows[0]?.contacts, rows[0]?.members]);
  });
});

describe('the nightly comparison', () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const task = listsUpkeep.tasks?.find(({ name }) => name === 'contact_counts');

  const compare = (asOf = NIGHT) =>
    task?.run(
      {
        config: loadConfig({ NODE_ENV: 'test' }),
        database: test.database,
        log,
        partitions: [],
        processWork: [],
      },
      asOf,
      () => undefined,
    );

  beforeEach(async () => {
    lines.length = 0;
    await join(await addContacts(4));
  });

  it('changes nothing if the counts are right, including changes that are not folded', async () => {
    expect(await compare()).toBe(0);
    expect([await listCount(), lines.length]).toEqual([4, 0]);
  });

  it('corrects and logs a wrong count, even if several processes compare', async () => {
    await fold();
    await pool().query(`update audience_counts set count = 9 where subject = 'list'`);
    await Promise.all([compare(), compare(), compare()]);
    expect(await listCount()).toBe(4);
    expect(lines.map((line) => (JSON.parse(line) as { difference: number }).difference)).toEqual([-5]);
  });

  it('corrects it while other processes write', async () => {
    await pool().query(`insert into audience_count_changes values ('list', ${LIST}, 7)`);
    await Promise.all([
      compare(),
      ...Array.from({ length: 20 }, async () => join(await addContacts(1))),
      fold(),
    ]);
    await fold();
    expect(await listCount()).toBe(24);
  });

  it('deletes the counts of deleted lists', async () => {
    await fold();
    await pool().query('delete from lists');
    await fold();
    await compare();
    expect((await pool().query(`select 1 from audience_counts where subject = 'list'`)).rowCount).toBe(0);
  });

  it('waits for the night', async () => {
    await pool().query(`insert into audience_count_changes values ('list', ${LIST}, 7)`);
    expect(await compare(new Date('2026-03-01T12:10:00Z'))).toBe(0);
    expect(await listCount()).toBe(11);
  });
});
