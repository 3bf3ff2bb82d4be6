// Each model agrees with its table: its columns exist, and those of type jsonb are serialized as such.
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

interface DeclaredModel {
  name: string;
  table: string;
  columns: string[];
  jsonColumns: string[];
  /** The properties that the class declares. */
  declared: string[];
}

const namesIn = (text = ''): string[] => [...text.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);

/** Reads the models from their sources: many classes are private to their file. */
function declaredModels(): DeclaredModel[] {
  const files = globSync('src/features/**/*.ts').map((path) => readFileSync(path, 'utf8'));
  const classes = files.flatMap((text) => [
    ...text.matchAll(/^(?:export )?class (\w+) extends (?:Tenant|Row)Model \{\n(.*?)^\}/gms),
  ]);
  return classes.map(([, name = '', body = '']) => {
    const list = (property: string) => namesIn(body.match(new RegExp(`${property} = \\[(.*?)\\]`, 's'))?.[1]);
    return {
      name,
      table: body.match(/tableName = '(\w+)'/)?.[1] ?? '',
      columns: list('readonly columns'),
      jsonColumns: list('readonly jsonColumns'),
      declared: [...body.matchAll(/^ {2}declare (\w+)/gm)].map(([, property = '']) => property),
    };
  });
}

const models = declaredModels();

describe('a model', () => {
  let made: TestDatabase;
  /** The type of each column, by table. */
  const tables = new Map<string, Map<string, string>>();
  beforeAll(async () => {
    made = await createTestDatabase();
    const { rows } = await made.database.pool.query<{ table: string; column: string; type: string }>(
      `select table_name as table, column_name as column, data_type as type
       from information_schema.columns where table_schema = 'public'`,
    );
    for (const { table, column, type } of rows) {
      tables.set(table, (tables.get(table) ?? new Map<string, string>()).set(column, type));
    }
  });
  afterAll(() => made.drop());

  it('is found in the sources, with its table and columns', () => {
    expect(models.length).toBeGreaterThan(10);
    expect(models.filter(({ table, columns }) => table === '' || columns.length === 0)).toEqual([]);
  });

  it.each(models)('$name reads columns of its table', ({ table, columns, declared }) => {
    const known = tables.get(table) ?? new Map<string, string>();
    expect([...columns, ...declared].filter((name) => !known.has(name))).toEqual([]);
    expect(columns.filter((name) => name !== 'id' && !declared.includes(name))).toEqual([]);
  });

  it.each(models)(
    '$name serializes exactly its columns of type jsonb',
    ({ table, jsonColumns, ...model }) => {
      const known = tables.get(table) ?? new Map<string, string>();
      const mentioned = [...new Set([...model.columns, ...model.declared])];
      expect(jsonColumns.toSorted()).toEqual(
        mentioned.filter((name) => known.get(name) === 'jsonb').toSorted(),
      );
    },
  );
});
