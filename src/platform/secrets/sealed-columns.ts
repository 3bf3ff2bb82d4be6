/** The columns with values that the service has sealed: who sealed them, and how to seal them again. */
import pg from 'pg';
import type { Queryable } from '../db/queryable.ts';
import { type Keyring, UnsealError } from './keyring.ts';

/** A column of sealed values. Each feature lists its own in `upkeep.ts`. */
export interface SealedColumn {
  table: string;
  column: string;
  /** SQL: the `row` of the places of its values. */
  row: string;
  /** SQL: the `accountId` of the places; by default null. */
  accountId?: string;
  /** The `column` of the places, if it is another: a value that has moved there can still be opened. */
  sealedAs?: string;
}

/** Values of a column by the secret that sealed them. */
export interface SealedCount {
  table: string;
  column: string;
  /** The id of the secret. */
  secret: string;
  count: number;
}

const BATCH = 500;
const id = pg.escapeIdentifier;

/** SQL: the id of the secret that sealed the value of a column. */
const sealedBySql = (column: string) => `split_part(${id(column)}, '.', 2)`;

/** Whether the column exists. During an upgrade, the table of a newer version may be missing. */
async function exists(db: Queryable, { table, column }: SealedColumn): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from pg_attribute where attrelid = to_regclass($1) and attname = $2 and not attisdropped`,
    [id(table), column],
  );
  return rowCount === 1;
}

/** Counts the sealed values, by column and secret. */
export async function countSealed(db: Queryable, columns: readonly SealedColumn[]): Promise<SealedCount[]> {
  const counts: SealedCount[] = [];
  for (const each of columns) {
    if (!(await exists(db, each))) continue;
    const { table, column } = each;
    const { rows } = await db.query<{ secret: string; count: number }>(
      `select ${sealedBySql(column)} as secret, count(*)::int as count from ${id(table)}
       where ${id(column)} is not null group by 1 order by 1`,
    );
    counts.push(...rows.map((row) => ({ table, column, ...row })));
  }
  return counts;
}

interface SealedRow {
  sealed: string;
  row: string;
  accountId: number | null;
}

/** What became of the values of a column. */
export interface Resealed {
  table: string;
  column: string;
  /** Values that were sealed again, with APP_SECRET. */
  resealed: number;
  /** One line for each value that cannot be opened: it stays as it is. */
  unopened: string[];
}

function sealAgain(keyring: Keyring, { table, column, sealedAs }: SealedColumn, from: SealedRow): string {
  const place = { table, column: sealedAs ?? column, row: from.row, accountId: from.accountId };
  return keyring.seal(keyring.open(from.sealed, place), place);
}

/** Seals the values of a page. @returns pairs of the old and the new value; adds those that do not open to `unopened` */
function sealPage(
  keyring: Keyring,
  column: SealedColumn,
  page: readonly SealedRow[],
  unopened: string[],
): [string, string][] {
  return page.flatMap((row): [string, string][] => {
    try {
      return [[row.sealed, sealAgain(keyring, column, row)]];
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      unopened.push(error.message);
      return [];
    }
  });
}

async function resealColumn(db: Queryable, keyring: Keyring, column: SealedColumn): Promise<Resealed> {
  const { table, column: name, row, accountId = 'null' } = column;
  const result: Resealed = { table, column: name, resealed: 0, unopened: [] };
  // Pages by the value itself: it is unique, and a new one that sorts behind is already current.
  let after = '';
  for (;;) {
    const { rows } = await db.query<SealedRow>(
      `select ${id(name)} as sealed, (${row})::text as row, (${accountId})::bigint as "accountId" from ${id(table)}
       where ${sealedBySql(name)} <> $1 and ${id(name)} collate "C" > $2 order by ${id(name)} collate "C" limit $3`,
      [keyring.subkey('at-rest').id, after, BATCH],
    );
    const pairs = sealPage(keyring, column, rows, result.unopened);
    // A value that has changed meanwhile was sealed by a running process, with its APP_SECRET.
    const { rowCount } = await db.query(
      `update ${id(table)} t set ${id(name)} = n.value from unnest($1::text[], $2::text[]) n (former, value)
       where t.${id(name)} = n.former`,
      [pairs.map(([former]) => former), pairs.map(([, value]) => value)],
    );
    result.resealed += rowCount ?? 0;
    if (rows.length < BATCH) return result;
    after = rows.at(-1)?.sealed ?? '';
  }
}

/**
 * Seals every value again that a previous secret has sealed, with APP_SECRET. Repeating it continues where it ended.
 * Processes that do not know APP_SECRET yet can no longer open these values.
 */
export async function reseal(
  db: Queryable,
  keyring: Keyring,
  columns: readonly SealedColumn[],
): Promise<Resealed[]> {
  const results: Resealed[] = [];
  for (const column of columns) results.push(await resealColumn(db, keyring, column));
  return results;
}
