// Each .sql file with a statement is one that PostgreSQL accepts, with the parameters that its heading names.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { onClient } from '../../../src/platform/db/queryable.ts';
import { SqlStatement } from '../../../src/platform/db/sql/define.ts';
import { defineStatement } from '../../../src/platform/db/statements.ts';
import { definedFiles } from '../../ci/sql-files.ts';
import { committedFiles, readFile } from '../../ci/statement-files.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Types that PostgreSQL reports under their long names. */
const longNames: Readonly<Record<string, string>> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
};

/** The types of `$1`, `$2` and so on. */
const typesIn = (contents: string) =>
  [...contents.matchAll(/^-- [$]\d+ ([^:]+): /gm)].map(([, type = '']) =>
    type.replace(/^\w+/, (name) => longNames[name] ?? name),
  );

describe('the statements in files', () => {
  it('are accepted by PostgreSQL, and name the types of their parameters', async () => {
    const composed = [...committedFiles()].map(
      ([path, contents]) => [path, contents, readFile(contents).text] as const,
    );
    expect(composed.length).toBeGreaterThan(0);
    const statements = (await definedFiles()).filter((file) => file instanceof SqlStatement);
    const files = statements.map(({ path, source, text }) => [path, source, text] as const);
    const wrong: unknown[] = [];
    await onClient(test.database.pool, async (client) => {
      for (const [path, contents, text] of [...composed, ...files]) {
        await client.query(`prepare this as ${text}`);
        const { rows } = await client.query<{ types: string[] }>(
          'select parameter_types::text[] as types from pg_prepared_statements',
        );
        await client.query('deallocate all');
        const [types, named] = [rows[0]?.types.join(', '), typesIn(contents).join(', ')];
        if (types !== named) wrong.push({ path, types, named });
      }
    });
    expect(wrong).toEqual([]);
  });
});

describe('a composed statement', () => {
  const composed: string[] = [];
  const statement = defineStatement({
    from: import.meta.url,
    sentBy: 'it',
    does: 'Counts.',
    parameters: [],
    shapes: { few: { limit: 1 }, many: { limit: 2 } },
    version: 4,
    compose({ limit }: { limit: number }, { table }: { table: string }) {
      composed.push(`${table} ${limit}`);
      return `select from ${table} limit ${limit}`;
    },
  });

  it('is composed once for each shape, and for each of what it is given', () => {
    const [one, other] = [{ table: 'one' }, { table: 'other' }];
    expect(statement.prepared('many', one)).toEqual({ name: 'many_4', text: 'select from one limit 2' });
    expect(statement.prepared('many', other).text).toBe('select from other limit 2');
    expect(statement.prepared('many', one)).toBe(statement.prepared('many', one));
    statement.prepared('few', one);
    expect(composed).toEqual(['one 2', 'other 2', 'one 1']);
  });
});
