/** Stores the rows of imports that failed or were imported without some of their cells, up to a limit of each. */
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ImportRecord } from './model.ts';
import type { CellWarning } from './cells.ts';
import type { FailedRow, ImportRow } from './rows.ts';

/** Bytes that a row takes besides its texts: for each text, and for the row. */
const TEXT_BYTES = 4;
const ROW_BYTES = 100;

/** A row of the report. */
export interface ReportedRow extends Omit<FailedRow, 'consent'> {
  /** The cells without which the row was imported; null if it failed. */
  warnings: readonly CellWarning[] | null;
}

function reportedBytes({ fields, problem, email, phone, warnings }: ReportedRow): number {
  // Addresses are also in an index.
  const keys = [email?.key, phone].flatMap((key) => (key ? [key, key] : []));
  const cells = (warnings ?? []).flatMap(({ column, code, message }) => [column, code, message]);
  const texts = [...fields, problem.message, problem.column ?? '', ...keys, ...cells];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + TEXT_BYTES, ROW_BYTES);
}

/** Returns a row that was imported without some of its cells, as the report has it. */
export function warnedRow({ number, next, fields, email, phone, warnings }: ImportRow): ReportedRow {
  const [first] = warnings;
  const columns = warnings.map(({ column }) => column).join(', ');
  const reasons = warnings.map(({ message }) => message).join('; ');
  const message = `imported without ${columns}: ${reasons}`;
  const problem = { code: first?.code ?? '', column: first?.column ?? null, message };
  return { number, next, fields, email, phone, problem, warnings };
}

/** What an import has already kept of rows of this kind. */
interface Kept {
  bytes: number;
  /** Number of rows that were left out. */
  leftOut: number;
}

export const keptErrors = ({ error_bytes: bytes, left_out_count: leftOut }: ImportRecord): Kept => ({
  bytes,
  leftOut,
});
export const keptWarnings = ({ warning_bytes: bytes, warnings_left_out: leftOut }: ImportRecord): Kept => ({
  bytes,
  leftOut,
});

/** Rows of a chunk, divided into those to keep and the others. */
interface Report {
  kept: ReportedRow[];
  bytes: number;
  leftOut: ReportedRow[];
}

/** Keeps rows in the order of the file, up to the first one that exceeds the import's limit of bytes. */
export function reportOf(before: Kept, reported: readonly ReportedRow[], maxBytes: number): Report {
  const rows = reported.toSorted((one, other) => one.number - other.number);
  let bytes = 0;
  const end = rows.findIndex((row) => {
    const more = reportedBytes(row);
    if (before.leftOut > 0 || before.bytes + bytes + more > maxBytes) return true;
    bytes += more;
    return false;
  });
  const count = end === -1 ? rows.length : end;
  return { kept: rows.slice(0, count), bytes, leftOut: rows.slice(count) };
}

const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Stores rows of the report with their contents. */
export async function insertErrors(
  trx: Queryable,
  record: ImportRecord,
  rows: readonly ReportedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await trx.query(
    `insert into import_errors (import_id, row_number, brand_id, email_key, phone, column_name, code, message, fields, warnings)
     select $1, e.number, $2, e.email_key, e.phone, e.column_name, e.code, e.message,
       array(select json_array_elements_text(e.fields)), e.warnings
     from json_to_recordset($3) as e (number bigint, email_key text, phone text, column_name text, code text,
       message text, fields json, warnings jsonb)`,
    [
      record.id,
      record.brand_id,
      JSON.stringify(
        rows.map(({ number, email, phone, problem, fields, warnings }) => ({
          number,
          email_key: email?.key ?? null,
          phone,
          column_name: problem.column === null ? null : storable(problem.column),
          code: problem.code,
          message: storable(problem.message),
          fields: fields.map(storable),
          warnings:
            warnings?.map(({ column, code, message }) => ({
              column: storable(column),
              code,
              message: storable(message),
            })) ?? null,
        })),
      ),
    ],
  );
}
