// A .sql file runs under a name that stands for its text, and its functions are installed, kept and dropped with versions.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '../../../src/config.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { defineSql } from '../../../src/platform/db/sql/define.ts';
import { correctPlanning, createFunctions, installFunctions } from '../../../src/platform/db/sql/install.ts';
import { type DatabaseFunction, functionsOf } from '../../../src/platform/db/sql/names.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let test: TestDatabase;
const folder = mkdtempSync(join(tmpdir(), 'sql-files-'));

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(async () => {
  await test.drop();
  rmSync(folder, { recursive: true });
});

const written = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return pathToFileURL(join(folder, 'code.ts')).href;
};

const counting = (number: string) => `-- Returns ${number}.
--
-- sees: nothing
create function count_of() returns int language sql as $$ select ${number} $$;
`;

const doubling = `-- Returns twice the number.
--
-- partitions: pretends to change them
create function twice_of() returns int language plpgsql as $$ begin return 2 * count_of(); end $$;
`;

/** The functions of a version of Carillon. */
const version = (number: string) =>
  functionsOf(
    new Map([
      ['twice_of', doubling],
      ['count_of', counting(number)],
    ]),
  );

const named = (functions: readonly DatabaseFunction[], base: string) =>
  functions.find((each) => each.base === base)?.name ?? '';

describe('a statement', () => {
  it('runs without some of its parts under another name', async () => {
    const parted = `-- Returns numbers.
select n from (values (1)
  -- [more]
  , (2)
  -- [most]
  , (3)
  -- [/most]
  -- [/more]
  -- [most]
  , (4)
  -- [/most]
) as i (n)`;
    const all = defineSql(written('find_numbers.sql', parted), './find_numbers.sql');
    const numbers = async (statement: { name: string; text: string }) =>
      (await test.database.pool.query<{ n: number }>({ ...statement })).rows.map(({ n }) => n);
    const without = [all.without('more'), all.without('most'), all.without('most', 'more')];
    expect(await numbers(all)).toEqual([1, 2, 3, 4]);
    expect(await Promise.all(without.map(numbers))).toEqual([[1, 4], [1, 2], [1]]);
    expect(new Set([all, ...without].map(({ name }) => name)).size).toBe(4);
    expect(() => all.without('less')).toThrow('the statement has no part less');
    const torn = defineSql(written('torn.sql', 'select 1\n-- [more]\n'), './torn.sql');
    expect(() => torn.without('more')).toThrow('ends with -- [/name]: see more');
  });

  it('is named after its file and its text, and can be spread into a query', async () => {
    const from = written('find_seven.sql', '-- Returns a number.\nselect 7 as n');
    const findSeven = defineSql(from, './find_seven.sql');
    expect(findSeven.name).toMatch(/^find_seven_[0-9a-f]{8}$/);
    expect(findSeven.text).toBe('-- Returns a number.\nselect 7 as n');
    expect((await test.database.pool.query({ ...findSeven })).rows).toEqual([{ n: 7 }]);
    written('find_seven.sql', '-- Returns a number.\nselect 8 as n');
    expect(defineSql(from, './find_seven.sql').name).not.toBe(findSeven.name);
  });

  it('has another text and name if its regions are filled from another table', async () => {
    const from = written('add_up.sql', 'select 0\n  -- <numbers>\n  + 1\n    + 2\n  -- </numbers>\n  as sum');
    const addUp = defineSql(from, './add_up.sql', {
      table: [1, 2],
      regions: { numbers: (table) => table.map((n) => `+ ${n}`).join('\n') },
    });
    const other = addUp.filled([3, 4, 5]);
    expect(other.text).toBe('select 0\n  -- <numbers>\n  + 3\n  + 4\n  + 5\n  -- </numbers>\n  as sum');
    expect(other.name).not.toBe(addUp.name);
    expect((await test.database.pool.query({ ...addUp })).rows).toEqual([{ sum: 3 }]);
    expect((await test.database.pool.query(other)).rows).toEqual([{ sum: 12 }]);
    const faulty = defineSql(written('faulty.sql', '-- <a>\n-- </b>\n'), './faulty.sql', {
      table: 1,
      regions: {},
    });
    expect(() => faulty.filled(2)).toThrow('each region begins with -- <name> and ends with -- </name>');
  });
});

describe('functions of the database', () => {
  it('are named after all that they call, and follow it', () => {
    const [one, other] = [version('1').all, version('2').all];
    expect(one.map(({ base }) => base)).toEqual(['count_of', 'twice_of']);
    expect(one[1]?.text).toContain(`2 * ${named(one, 'count_of')}()`);
    expect(named(one, 'twice_of')).not.toBe(named(other, 'twice_of'));
    expect(version('1').resolve('select count_of ( ), discount_of(), count_of')).toBe(
      `select ${named(one, 'count_of')} ( ), discount_of(), count_of`,
    );
  });

  it('must not have names that PostgreSQL would cut, so that two versions would have the same', () => {
    const base = 'a'.repeat(55);
    const source = `create function ${base}() returns int language sql as $$ select 1 $$`;
    expect(() => functionsOf(new Map([[base, source]]))).toThrow(`${base} is longer than 54 characters`);
  });

  it('must not call each other in a circle', () => {
    const circle = new Map([
      ['one', 'create function one() returns int language sql as $$ select other() $$'],
      ['other', 'create function other() returns int language sql as $$ select one() $$'],
    ]);
    expect(() => functionsOf(circle)).toThrow('functions call each other: one, other, one');
  });
});

describe('installing', () => {
  const install = ({ all }: { all: readonly DatabaseFunction[] }, serverVersion?: string) =>
    inTransaction(test.database.pool, (client) => installFunctions(client, all, serverVersion));

  const installed = async () => {
    const { rows } = await test.database.pool.query<{ name: string; comment: string; settings: string[] }>(
      `select proname as name, obj_description(oid) as comment, proconfig as settings from pg_proc
       where proname ~ '^(count|twice)_of_' order by 1`,
    );
    return rows;
  };
  const names = async () => (await installed()).map(({ name }) => name);
  const namesOf = (...versions: { all: readonly DatabaseFunction[] }[]) =>
    versions.flatMap(({ all }) => all.map(({ name }) => name)).sort();

  beforeEach(async () => {
    for (const name of await names()) await test.database.pool.query(`drop function ${name}`);
    await test.database.pool.query('truncate installed_functions');
  });

  it('creates functions with a comment, once', async () => {
    for (let n = 0; n < 2; n += 1) await install(version('1'));
    expect((await installed()).map(({ comment }) => comment)).toEqual([
      'Returns 1.',
      'Returns twice the number.',
    ]);
    const { rows } = await test.database.pool.query(
      `select ${named(version('1').all, 'twice_of')}() as twice`,
    );
    expect(rows).toEqual([{ twice: 2 }]);
  });

  it('keeps the functions of the two versions before, of which one may never have run, and drops older ones', async () => {
    const [one, two, three, four] = [version('1'), version('2'), version('3'), version('4')];
    await install(one);
    await install(two);
    for (let n = 0; n < 2; n += 1) await install(three);
    expect(await names()).toEqual(namesOf(one, two, three));
    await install(four);
    expect(await names()).toEqual(namesOf(two, three, four));
  });

  it('keeps the functions of versions that are started in turn, and brings back those of an older one', async () => {
    const [one, two, three, four] = [version('1'), version('2'), version('3'), version('4')];
    for (const each of [one, two, three, two, one, three, one, two]) await install(each);
    expect(await names()).toEqual(namesOf(one, two, three));
    await install(four);
    expect(await names()).toEqual(namesOf(one, two, four));
    await install(three);
    expect(await names()).toEqual(namesOf(two, three, four));
  });

  it('creates again what was dropped by hand', async () => {
    await install(version('1'));
    await test.database.pool.query(`drop function ${named(version('1').all, 'count_of')}`);
    await install(version('1'));
    expect(await names()).toEqual(namesOf(version('1')));
  });

  it('lets functions over partitions keep no plans on PostgreSQL 18, also if the server was upgraded since', async () => {
    const { all } = version('1');
    const settings = async () => (await installed()).map((each) => each.settings);
    await install(version('1'), '17.10');
    expect(await settings()).toEqual([null, null]);
    await Promise.all(
      Array.from({ length: 5 }, () => correctPlanning(test.database.pool, all, '18.4 (Debian 18.4-1)')),
    );
    expect(await settings()).toEqual([null, ['plan_cache_mode=force_custom_plan']]);
    await install(version('1'), '17.10');
    expect(await settings()).toEqual([null, null]);
    await createFunctions(test.database.pool, version('2').all, '18.4');
    expect((await settings()).filter(Boolean)).toEqual([['plan_cache_mode=force_custom_plan']]);
  });

  describe('as a role that does not own the functions', () => {
    /** @param installedFor the version of the server that the functions were installed for */
    const correctAs = (serverVersion: string, installedFor: string) =>
      inTransaction(test.database.pool, async (client) => {
        const { all } = version('1');
        await installFunctions(client, all, installedFor);
        // The rollback of the transaction removes the role.
        await client.query('create role sql_files_stranger; set local role sql_files_stranger');
        return correctPlanning(client, all, serverVersion);
      });

    it('does not start where functions would lose rows, and says what to do', async () => {
      const corrected = correctAs('18.4', '17.10');
      await expect(corrected).rejects.toThrow(ConfigError);
      await expect(corrected).rejects.toThrow(
        `run carillon migrate as the owner of ${named(version('1').all, 'twice_of')}`,
      );
    });

    it('starts where they are only slow, and names them', async () => {
      expect(await correctAs('17.10', '18.4')).toEqual([named(version('1').all, 'twice_of')]);
    });
  });
});
