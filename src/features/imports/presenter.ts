import type { ListedImport } from './model.ts';
import type { Import, ImportError } from './schema.ts';

/** The rows that are decided. */
export function processedRows(row: ListedImport): number {
  return row.created_count + row.updated_count + row.unchanged_count + row.duplicate_count + row.failed_count;
}

/** What concerns the file as a whole. */
function fileErrors({ failure, failure_code: code }: ListedImport): ImportError[] {
  return failure === null ? [] : [{ row: null, column: null, code: code ?? 'failed', message: failure }];
}

/** @param errors the first errors of rows */
export function presentImport(row: ListedImport, errors: readonly ImportError[], publicUrl: string): Import {
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
    errors: [...fileErrors(row), ...errors],
    errors_url: row.failed_count > 0 ? `${publicUrl}/v1/my/imports/${row.id}/errors` : null,
    options: row.options,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
