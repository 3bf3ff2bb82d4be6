// One statement a second looks at all queues of a process, and wakes the loops whose queues have work.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import type { Pulse } from '../../../src/platform/processes/pulse.ts';
import type { Repeating } from '../../../src/platform/processes/repeat.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { testPulse } from '../../support/pulse.ts';

let db: TestDatabase;
let pulse: Pulse;
const statements: string[] = [];
const running: Repeating[] = [];
const INTERVAL_MS = 10;

/** Notes what the pulse sends. */
const noting: Queryable = {
  query(statement, values) {
    statements.push(typeof statement === 'string' ? statement : statement.text);
    return db.database.pool.query(statement, values);
  },
};

const looked = async (times: number) => {
  const enough = statements.length + times;
  await eventually(async () => expect(statements.length).toBeGreaterThanOrEqual(enough));
};

/** A loop over the rows of a table, one a round. */
function startLoop(table: string, waiting = `exists (select from ${table})`) {
  const counts = { rounds: 0, done: 0 };
  const loop = pulse.repeat({ name: 'testing', waiting }, async () => {
    counts.rounds += 1;
    const { rowCount } = await db.database.pool.query(
      `delete from ${table} where ctid = any (array(select ctid from ${table} limit 1))`,
    );
    counts.done += rowCount ?? 0;
    return rowCount === 1;
  });
  running.push(loop);
  return Object.assign(counts, { loop });
}

beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.pool.query('create table one (n int); create table other (n int)');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
  await pulse.stop();
  statements.length = 0;
});
afterAll(() => db.drop());

describe('the pulse', () => {
  it('wakes only the loops whose queues have work, and looks at all with one statement', async () => {
    pulse = testPulse(noting, { intervalMs: INTERVAL_MS });
    const one = startLoop('one');
    const other = startLoop('other');
    await looked(5);
    expect([one.rounds, other.rounds]).toEqual([1, 1]);
    await db.database.pool.query('insert into one select generate_series(1, 3)');
    await eventually(async () => expect(one.done).toBe(3));
    await looked(5);
    expect(other.rounds).toBe(1);
    const text = statements.at(-1);
    expect(text).toContain('exists (select from one)');
    expect(text).toContain('exists (select from other)');
  });

  it('finds work that is committed during a round', async () => {
    pulse = testPulse(noting, { intervalMs: INTERVAL_MS });
    const begun = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    let rounds = 0;
    running.push(
      pulse.repeat({ name: 'testing', waiting: 'exists (select from one)' }, async () => {
        rounds += 1;
        if (rounds > 1) return (await db.database.pool.query('delete from one')).rowCount === 1;
        begun.resolve();
        await ending.promise;
        return false;
      }),
    );
    await begun.promise;
    await db.database.pool.query('insert into one values (1)');
    await looked(2);
    ending.resolve();
    await eventually(async () => expect((await db.database.pool.query('select from one')).rowCount).toBe(0));
  });

  it('wakes every loop if the statement fails, so that one queue cannot stop the others', async () => {
    pulse = testPulse(noting, { intervalMs: INTERVAL_MS });
    const one = startLoop('one');
    startLoop('other', 'exists (select from no_such_table)');
    await db.database.pool.query('insert into one values (1)');
    await eventually(async () => expect(one.done).toBe(1));
    await db.database.pool.query('insert into one values (2)');
    await eventually(async () => expect(one.done).toBe(2));
  });

  it('looks only while a loop runs', async () => {
    pulse = testPulse(noting, { intervalMs: INTERVAL_MS });
    expect(statements).toEqual([]);
    const { loop } = startLoop('one');
    await looked(2);
    await loop.stop();
    const before = statements.length;
    const other = startLoop('other');
    await looked(2);
    expect(statements.slice(before).filter((text) => text.includes('from one'))).toEqual([]);
    await other.loop.stop();
  });
});
