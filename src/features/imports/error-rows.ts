import type { Queryable } from '../../platform/db/queryable.ts';
import type { ImportError } from './schema.ts';

/** Finds the first cells that each import has left out, in the order of rows. */
export async function firstWarnings(
  db: Queryable,
  importIds: readonly number[],
  limit: number,
): Promise<Map<number, ImportError[]>> {
  const { rows } = await db.query<{ import_id: number; row: number; warnings: Omit<ImportError, 'row'>[] }>(
    `select e.import_id, e.row_number as "row", e.warnings
     from unnest($1::bigint[]) as i (id) cross join lateral (
       select * from import_errors e where e.import_id = i.id and e.warnings is not null order by row_number limit $2) e
     order by e.import_id, e.row_number`,
    [importIds, limit],
  );
  const found = new Map<number, ImportError[]>();
  for (const { import_id: id, row, warnings } of rows) {
    const before = found.get(id) ?? [];
    const more = warnings.map(({ column, code, message }) => ({ row, column, code, message }));
    found.set(id, [...before, ...more].slice(0, limit));
  }
  return found;
}

/** A row of the report, as it is in the file. */
export interface FailedRecord {
  row_number: number;
  message: string;
  fields: string[];
}

/**
 * Reads a page of the rows that failed or were imported without some cells, in the order of the file. Unless none are left, it has at least one row, however large.
 */
export async function failedRecords(
  db: Queryable,
  importId: number,
  afterRow: number,
  page: { rows: number; bytes: number },
): Promise<FailedRecord[]> {
  const { rows } = await db.query<FailedRecord>(
    `select row_number, message, fields from (
       select row_number, message, fields, octet_length(array_to_string(fields, '')) as size,
         sum(octet_length(array_to_string(fields, ''))) over (order by row_number rows unbounded preceding) as total
       from (select * from import_errors where import_id = $1 and row_number > $2 order by row_number limit $3) page) p
     where total - size < $4 order by row_number`,
    [importId, afterRow, page.rows, page.bytes],
  );
  return rows;
}

/** Deletes failed rows with one of the addresses. @returns the number of deleted rows */
export async function deleteErrorsOf(
  trx: Queryable,
  brandId: number,
  addressKeys: readonly string[],
  limit: number,
): Promise<number> {
  const { rowCount } = await trx.query(
    `delete from import_errors e using (
       select import_id, row_number from import_errors where brand_id = $1 and email_key = any($2)
       union select import_id, row_number from import_errors where brand_id = $1 and phone = any($2)
       limit $3) found
     where e.import_id = found.import_id and e.row_number = found.row_number`,
    [brandId, addressKeys, limit],
  );
  return rowCount ?? 0;
}

/** Finds the first errors of each import, in the order of rows. */
export async function firstErrors(
  db: Queryable,
  importIds: readonly number[],
  limit: number,
): Promise<Map<number, ImportError[]>> {
  const { rows } = await db.query<ImportError & { import_id: number }>(
    `select e.import_id, e.row_number as "row", e.column_name as "column", e.code, e.message
     from unnest($1::bigint[]) as i (id) cross join lateral (
       select * from import_errors e where e.import_id = i.id and e.warnings is null order by row_number limit $2) e
     order by e.import_id, e.row_number`,
    [importIds, limit],
  );
  const found = new Map<number, ImportError[]>();
  for (const { import_id: id, ...error } of rows) found.set(id, [...(found.get(id) ?? []), error]);
  return found;
}
