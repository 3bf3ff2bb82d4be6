/** Stores failed rows of imports, up to a limit. */
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ImportRecord } from './model.ts';
import type { FailedRow } from './rows.ts';

/** Bytes that a row takes besides its texts: for each text, and for the row. */
const TEXT_BYTES = 4;
const ROW_BYTES = 100;

function errorBytes({ fields, problem, email, phone }: FailedRow): number {
  // Addresses are also in an index.
  const keys = [email?.key, phone].flatMap((key) => (key ? [key, key] : []));
  const texts = [...fields, problem.message, problem.column ?? '', ...keys];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + TEXT_BYTES, ROW_BYTES);
}

/** The failed rows of a chunk, divided into those to keep and the others. */
interface Report {
  kept: FailedRow[];
  bytes: number;
  leftOut: FailedRow[];
}

/** Keeps rows in the order of the file, up to the first one that exceeds the import's limit of bytes. */
export function reportOf(record: ImportRecord, failed: readonly FailedRow[], maxBytes: number): Report {
  const rows = failed.toSorted((one, other) => one.number - other.number);
  let bytes = 0;
  const end = rows.findIndex((row) => {
    const more = errorBytes(row);
    if (record.left_out_count > 0 || record.error_bytes + bytes + more > maxBytes) return true;
    bytes += more;
    return false;
  });
  const count = end === -1 ? rows.length : end;
  return { kept: rows.slice(0, count), bytes, leftOut: rows.slice(count) };
}

const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Stores failed rows with their contents. */
export async function insertErrors(
  trx: Queryable,
  record: ImportRecord,
  failed: readonly FailedRow[],
): Promise<void> {
  if (failed.length === 0) return;
  await trx.query(
    `insert into import_errors (import_id, row_number, brand_id, email_key, phone, column_name, code, message, fields)
     select $1, e.number, $2, e.email_key, e.phone, e.column_name, e.code, e.message,
       array(select json_array_elements_text(e.fields))
     from json_to_recordset($3) as e (number bigint, email_key text, phone text, column_name text, code text,
       message text, fields json)`,
    [
      record.id,
      record.brand_id,
      JSON.stringify(
        failed.map(({ number, email, phone, problem, fields }) => ({
          number,
          email_key: email?.key ?? null,
          phone,
          column_name: problem.column === null ? null : storable(problem.column),
          code: problem.code,
          message: storable(problem.message),
          fields: fields.map(storable),
        })),
      ),
    ],
  );
}
