// Each word of the glossary has one meaning, stands in order, and names tables, columns, files and folders that exist.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

interface Entry {
  term: string;
  meaning: string;
  where: string[];
}

/** Reads the lists of words: `| term | meaning | where | not |`. */
function readTables(): Entry[][] {
  const page = readFileSync('docs/glossary.md', 'utf8');
  return page.split(/^## /m).flatMap((section) => {
    const rows = [...section.matchAll(/^\| +\*\*(.+?)\*\* +\|(.+?)\|(.+?)\|.*\|$/gm)];
    const entries = rows.map(([, term = '', meaning = '', where = '']) => {
      return {
        term,
        meaning: meaning.trim(),
        where: [...where.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      };
    });
    return entries.length === 0 ? [] : [entries];
  });
}

const tables = readTables();
const entries = tables.flat();
const placesOf = (isPath: boolean) =>
  entries.flatMap(({ term, where }) =>
    where.filter((name) => /\/|\.ts$/.test(name) === isPath).map((name) => ({ term, name })),
  );

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('the glossary', () => {
  it('has words of the product and words of the code', () => {
    expect(tables.length).toBeGreaterThanOrEqual(2);
    expect(entries.length).toBeGreaterThan(60);
  });

  it('gives each word one meaning, in alphabetical order', () => {
    const terms = entries.map(({ term }) => term);
    expect(terms).toEqual([...new Set(terms)]);
    for (const table of tables) {
      const names = table.map(({ term }) => term);
      expect(names).toEqual(names.toSorted((one, other) => one.localeCompare(other, 'en')));
    }
    expect(entries.filter(({ meaning }) => meaning === '')).toEqual([]);
  });

  it('says of each word where it is in the code or the database', () => {
    expect(entries.filter(({ where }) => where.length === 0)).toEqual([]);
  });

  it('names files and folders that exist', () => {
    const lost = placesOf(true).filter(({ name }) => !['', 'src/'].some((root) => existsSync(root + name)));
    expect(lost).toEqual([]);
  });

  it('names tables and columns that exist', async () => {
    const { rows } = await test.database.pool.query<{ name: string }>(
      `select c.relname::text as name from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
       union all
       select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0`,
    );
    const known = new Set(rows.map(({ name }) => name));
    expect(placesOf(false).filter(({ name }) => !known.has(name))).toEqual([]);
  });
});
