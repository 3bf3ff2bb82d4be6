import { type Column, ofThisVersion } from './columns.ts';
import type { ConsentUse } from './consent/read-word.ts';
import type { ImportRecord, ListedImport } from './model.ts';
import {
  consentFields,
  type Import,
  type ImportColumn,
  type ImportError,
  MAX_ERROR_BYTES,
} from './schema.ts';

/** The number of rows that have an outcome. */
export function processedRows(row: ListedImport): number {
  return row.created_count + row.updated_count + row.unchanged_count + row.duplicate_count + row.failed_count;
}

/** The errors of the whole file. */
function fileErrors({ failure, failure_code: code }: ListedImport): ImportError[] {
  return failure === null ? [] : [{ row: null, column: null, code: code ?? 'failed', message: failure }];
}

const MEGABYTE = 1024 * 1024;

/** Describes the failed rows that the report of an import leaves out; null if there are none. */
export function leftOutOf({ left_out_count: count, left_out_from: from }: ListedImport): string | null {
  if (from === null) return null;
  const rows =
    count === 1 ? `1 failed row, row ${from}, is` : `${count} failed rows, from row ${from} on, are`;
  return `${rows} not in this report, which is limited to ${MAX_ERROR_BYTES / MEGABYTE} MB per import`;
}

/** The error about rows that the report leaves out. */
function leftOutErrors(row: ListedImport): ImportError[] {
  const message = leftOutOf(row);
  return message === null ? [] : [{ row: null, column: null, code: 'errors_left_out', message }];
}

/** Returns the field of the mapping that means what a column says. */
function consentField({ channel, kind }: ConsentUse): string {
  const wanted = kind === 'ambiguous' ? 'positive' : kind;
  const found = Object.entries(consentFields).find(([, of]) => of.kind === wanted && of.channel === channel);
  return found?.[0] ?? kind;
}

function usedAs({ use }: Column): string | null {
  if (use === null) return null;
  if ('consent' in use) return consentField(use.consent);
  if ('others' in use) return 'data';
  return 'field' in use ? use.field : `data.${use.data}`;
}

const presentColumns = ({ layout, examples }: ImportRecord): ImportColumn[] =>
  ofThisVersion(layout?.columns ?? []).map((column, index) => ({
    name: column.name,
    used_as: usedAs(column),
    examples: examples?.[index] ?? [],
    words: column.words ?? null,
    ignored_because: column.because ?? null,
  }));

/** The entry about cells that the report leaves out. */
function leftOutWarnings({ warnings_left_out: count }: ListedImport): ImportError[] {
  if (count === 0) return [];
  const rows = count === 1 ? '1 more row was' : `${count} more rows were`;
  const message = `${rows} imported without some of their cells`;
  return [{ row: null, column: null, code: 'warnings_left_out', message }];
}

/** The entries about columns that became data although some of their words say no. */
const columnWarnings = ({ layout }: ImportRecord): ImportError[] =>
  ofThisVersion(layout?.columns ?? [])
    .filter(({ saysNo }) => saysNo)
    .map(({ name, because }) => ({
      row: null,
      column: name,
      code: 'unread_consent',
      message:
        `the column "${name}" may say who wants no mail, but ${because}. To read it, give the meanings of its words in ` +
        `options.mapping`,
    }));

/** What is reported of the rows of an import. */
export interface RowReports {
  /** The first errors of rows. */
  errors: readonly ImportError[];
  /** The first cells that were left out. */
  warnings: readonly ImportError[];
}

/** @param row without its layout in lists */
export function presentImport(
  row: ListedImport | ImportRecord,
  { errors, warnings }: RowReports,
  publicUrl: string,
): Import {
  return {
    id: row.id,
    resource: row.resource,
    filename: row.filename,
    status: row.status,
    total_rows: row.total_rows,
    processed_rows: processedRows(row),
    created_count: row.created_count,
    updated_count: row.updated_count,
    unchanged_count: row.unchanged_count,
    duplicate_count: row.duplicate_count,
    failed_count: row.failed_count,
    columns: 'layout' in row ? presentColumns(row) : null,
    warning_count: row.warning_count,
    warnings: [...('layout' in row ? columnWarnings(row) : []), ...leftOutWarnings(row), ...warnings],
    encoding: row.encoding && { samples: [], ...row.encoding },
    errors: [...fileErrors(row), ...leftOutErrors(row), ...errors],
    errors_url:
      row.failed_count + row.warning_count > 0 ? `${publicUrl}/v1/my/imports/${row.id}/errors` : null,
    // Imports of earlier versions have no `status`.
    options: { ...row.options, status: row.options.status ?? null },
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
