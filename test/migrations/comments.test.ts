// Every table has a comment, and so has every column whose name does not say it all, with words for everyone.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { selfExplaining } from './self-explaining.ts';

interface Described {
  table: string;
  /** Null: the table itself. */
  column: string | null;
  comment: string | null;
}

let test: TestDatabase;
let described: Described[];
beforeAll(async () => {
  test = await createTestDatabase();
  const { rows } = await test.database.pool.query<Described>(
    `select c.relname as table, a.attname as column,
       case when a.attname is null then obj_description(c.oid, 'pg_class') else col_description(c.oid, a.attnum) end
         as comment
     from pg_class c cross join lateral (
       select null as attname, 0 as attnum
       union all
       select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) a
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by 1, a.attnum`,
  );
  described = rows;
});
afterAll(() => test.drop());

const without = (of: (each: Described) => boolean): Described[] =>
  described.filter((each) => of(each) && each.comment === null);

describe('comments in the database', () => {
  it('say what is in every table', () => {
    expect(without(({ column }) => column === null).map(({ table }) => table)).toEqual([]);
  });

  it('say what every column means, unless its name is a self-explaining one', () => {
    const unexplained = without(({ column }) => column !== null && !selfExplaining.has(column));
    expect(unexplained.map(({ table, column }) => `${table}.${column}`)).toEqual([]);
  });

  it('make every self-explaining name necessary', () => {
    const used = new Set(described.map(({ column }) => column));
    expect([...selfExplaining].filter((name) => !used.has(name))).toEqual([]);
  });
});
