// After a restore, no id of the lost interval is given to another row.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RANGE_IDS } from '../../src/platform/db/id-ranges.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../support/api.ts';
import { carillonCommand } from '../support/commands.ts';
import { insertAccount, queueEmails } from '../support/queued.ts';

const DAYS = 86_400_000;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row>(sql, values)).rows;

const skipIds = (...args: string[]) =>
  carillonCommand(['database', 'skip-ids', ...args], {
    DATABASE_URL: api.database.url,
    APP_SECRET: TEST_SECRET,
  });

interface Sequence {
  name: string;
  last: number | null;
  max: string;
}

const sequences = () =>
  query<Sequence>(
    `select sequencename::text as name, last_value as last, max_value::text as max from pg_sequences
     where schemaname = 'public' and sequencename <> 'messages_id_seq' order by 1`,
  );

/** Sets the sequences, beside that of messages, to what a backup had. */
async function restore(backup: readonly Sequence[]): Promise<void> {
  for (const { name, last } of backup) {
    await query('select setval($1::regclass, $2, $3)', [name, last ?? 1, last !== null]);
  }
}

async function create(path: string, body: object): Promise<number> {
  const answer = await api.request('POST', `/v1/my/${path}`, { body });
  expect(answer.status).toBe(201);
  return Number(answer.body.id);
}

/** The ids of a new contact, list and campaign. */
async function createRows(name: string): Promise<number[]> {
  return [
    await create('contacts', { email: `${name}@example.com` }),
    await create('lists', { name }),
    await create('campaigns', { name, channel: 'email' }),
  ];
}

describe('carillon database skip-ids', () => {
  it('gives no id of the lost interval to another contact, list or campaign', async () => {
    await createRows('before');
    const backup = await sequences();
    const lost = [await createRows('lost'), await createRows('also-lost')];
    await query(`delete from campaigns where name like '%lost'`);
    await query(`delete from lists where name like '%lost'`);
    await query(`delete from contacts where email like '%lost@example.com'`);
    await restore(backup);
    expect(await skipIds()).toMatchObject({ code: 0 });
    const found = [await createRows('after'), await createRows('later')];
    for (const [index, ids] of [0, 1, 2].map((n) => [n, found.map((each) => each[n] ?? 0)] as const)) {
      expect(Math.min(...ids)).toBeGreaterThan(Math.max(...lost.map((each) => each[index] ?? 0)));
    }
  });

  it('moves every sequence, also those that were not used yet', async () => {
    const before = await sequences();
    const { output } = await skipIds('--by', '5000', '--json');
    const after = new Map((await sequences()).map(({ name, last }) => [name, last ?? 0]));
    expect(after.size).toBeGreaterThan(40);
    for (const { name, last } of before) {
      expect([name, after.get(name)]).toEqual([name, (last ?? 1) + 5_000]);
    }
    const moved = JSON.parse(output) as { sequence: string; from: number; to: number }[];
    expect(
      moved.filter(({ sequence }) => after.has(sequence)).map(({ sequence, to }) => [sequence, to]),
    ).toEqual([...after]);
  });

  it('skips more than a table can take, but at most a hundredth of what is left', async () => {
    const next = async () =>
      (await query<{ id: number }>(`select nextval('event_names_id_seq') as id`))[0]?.id ?? 0;
    const before = await next();
    expect(await skipIds('--by', '999999999999')).toMatchObject({ code: 0 });
    const moved = (await next()) - before;
    expect(moved).toBeGreaterThan(20_000_000);
    expect(moved).toBeLessThan(22_000_000);
    expect((await skipIds('--by', '0')).output).toContain('--by');
  });
});

describe('ids of messages', () => {
  it('skip the ranges that were opened since the backup, and can be used at once', async () => {
    await query('truncate message_ranges');
    const openedAt = new Date(Date.now() - 30 * DAYS);
    await query('insert into message_ranges (n, opened_at) values (3, $1)', [openedAt]);
    await query(`select setval('messages_id_seq', $1)`, [3 * RANGE_IDS + 7]);
    expect(await skipIds()).toMatchObject({ code: 0 });
    // A range is in use for a week at least, so up to four were opened, and number 7 was the last.
    expect(await queueEmails(api.database, await insertAccount(api.database), 2)).toEqual([
      8 * RANGE_IDS,
      8 * RANGE_IDS + 1,
    ]);
    expect(await query('select n, closed_at is null as open from message_ranges order by n')).toEqual([
      { n: 3, open: false },
      { n: 8, open: true },
    ]);
  });
});
