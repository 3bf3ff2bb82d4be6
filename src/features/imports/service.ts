import { AppError, invalid, notFound } from '../../errors.ts';
import type { Finder } from '../../platform/auth/tenant.ts';
import { type OpenFile, readCsvHeader } from '../../platform/csv/inspect.ts';
import { csvRecord } from '../../platform/csv/writer.ts';
import type { AccountScope, BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { clearedPage, type RemovalStep } from '../contacts/service.ts';
import { requireLists } from '../lists/service.ts';
import { ERROR_COLUMN, missingColumns, unknownTargets } from './columns.ts';
import {
  cancelImport,
  clearExamplesOf,
  countUnfinished,
  findImport,
  findImports,
  insertImport,
  type ImportRecord,
  type ListedImport,
  storedBytes,
} from './model.ts';
import { firstErrors } from './error-rows.ts';
import { deleteErrorsOf, type FailedRecord, failedRecords, firstWarnings } from './error-rows.ts';
import { wakeWaiting } from './running-slots.ts';
import { leftOutOf, presentImport } from './presenter.ts';
import { type CreateImportBody, ERROR_DAYS, type Import, type ListImportsQuery } from './schema.ts';
import { importStart, importWake } from './workflow.ts';

/** Maximum number of imports of one account that wait or run. */
export const MAX_UNFINISHED = 20;
/** Maximum number of errors in the import resource. */
const MAX_ERRORS = 100;
/** Maximum number of failed rows that are read at once, and of their bytes. A row can have more than a megabyte. */
const ERRORS_PAGE = { first: 50, rows: 1_000, bytes: 4 * 1024 * 1024 };
/** Approximate number of characters in one piece of the response. */
const PIECE_LENGTH = 64 * 1024;
const MAX_FILENAME = 255;
/** Maximum number of columns that an error names, and of their characters. */
const MAX_NAMED_COLUMNS = 20;
const MAX_NAMES_LENGTH = 500;
const MEGABYTE = 1024 * 1024;
/** The reconciler starts the workflow if the engine has not done so after this time. */
const START_WITHIN_MS = 60_000;

const runningOf = (row: ImportRecord) => ({
  id: row.id,
  accountId: row.account_id,
  brandId: row.brand_id,
  resource: row.resource,
});

async function presentImports(
  db: Queryable,
  rows: readonly (ListedImport | ImportRecord)[],
  publicUrl: string,
): Promise<Import[]> {
  const idsWith = (count: 'failed_count' | 'warning_count') =>
    rows.filter((row) => row[count] > 0).map((row) => row.id);
  const errors = await firstErrors(db, idsWith('failed_count'), MAX_ERRORS);
  const warnings = await firstWarnings(db, idsWith('warning_count'), MAX_ERRORS);
  return rows.map((row) =>
    presentImport(row, { errors: errors.get(row.id) ?? [], warnings: warnings.get(row.id) ?? [] }, publicUrl),
  );
}

async function presentOne(db: Queryable, row: ImportRecord | null, publicUrl: string): Promise<Import> {
  const [presented] = row ? await presentImports(db, [row], publicUrl) : [];
  if (!presented) throw notFound('import');
  return presented;
}

/**
 * Refuses a file if unfinished files and failed rows of the account's imports have too many bytes.
 * @param bytes approximate size of the new file; null if unknown
 * @throws AppError validation_error
 */
export async function requireRoom(
  db: Queryable,
  tenant: AccountScope,
  bytes: number | null,
  quotaBytes: number,
): Promise<void> {
  if ((await storedBytes(db, tenant)) + (bytes ?? 1) <= quotaBytes) return;
  const quota = `${Math.floor(quotaBytes / MEGABYTE)} MB`;
  throw invalid({
    file: [
      `exceeds the import quota: unfinished files and failed rows of the last ${ERROR_DAYS} days may take up to ${quota} together`,
    ],
  });
}

/** A file that has been stored. */
export interface ImportFile {
  filename: string;
  key: string;
  bytes: number;
}

/** Refuses options that the resource has no use for. */
function requireUsable({ resource, options }: CreateImportBody): void {
  const wrong = unknownTargets(resource, options.mapping);
  const errors = Object.fromEntries(
    wrong.map((name) => [`options.mapping.${name}`, [`rows of ${resource} have no such field`]]),
  );
  if (resource === 'suppressions' && options.status !== null)
    errors['options.status'] = ['is only for contacts'];
  if (resource === 'contacts' && options.reason)
    errors['options.reason'] = [
      'is only for suppressions; options.status says what all contacts of a file are',
    ];
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * Accepts an import whose file has been stored. Wake `outbox` after the commit.
 * @throws AppError validation_error for lists of another brand, or if other files have used up the quota meanwhile;
 *   conflict if too many imports of the account wait
 */
export async function createImport(
  trx: Queryable,
  tenant: BrandScope & Pick<Finder, 'someBrands'>,
  body: CreateImportBody,
  file: ImportFile,
  { publicUrl, quotaBytes }: { publicUrl: string; quotaBytes: number },
): Promise<Import> {
  requireUsable(body);
  await requireLists(trx, tenant.brandId, body.options.list_ids, { field: 'options.list_ids' });
  if ((await countUnfinished(trx, tenant.accountId)) >= MAX_UNFINISHED) {
    throw new AppError(
      'conflict',
      `${MAX_UNFINISHED} imports of the account are unfinished; wait until one ends`,
    );
  }
  // `countUnfinished` has locked the account's imports, so no other is accepted until this one commits.
  await requireRoom(trx, tenant, file.bytes, quotaBytes);
  const filename = file.filename
    .toWellFormed()
    .replace(/[\x00-\x1f\x7f]/g, '')
    .slice(-MAX_FILENAME);
  const { resource, options } = body;
  const expectedBy = new Date(Date.now() + START_WITHIN_MS);
  const row = await insertImport(
    trx,
    tenant,
    {
      ...{ resource, filename, options, storageKey: file.key, fileBytes: file.bytes },
      // Suppressions are the account's, so that who sees some of its brands cannot import them.
      maySuppress: tenant.someBrands !== true,
    },
    expectedBy,
  );
  await appendToOutbox(trx, { kind: 'start', ...importStart(runningOf(row)) });
  return presentImport(row, { errors: [], warnings: [] }, publicUrl);
}

/** @throws AppError not_found */
export async function getImport(
  db: Queryable,
  tenant: Finder,
  id: number,
  publicUrl: string,
): Promise<Import> {
  return presentOne(db, await findImport(db, tenant, id), publicUrl);
}

/** Lists the imports of a brand, newest first. */
export async function listImports(
  db: Queryable,
  tenant: Finder,
  query: ListImportsQuery,
  page: Page,
  publicUrl: string,
): Promise<{ imports: Import[]; count: RowCount }> {
  const { rows, count } = await findImports(db, tenant, query, page);
  return { imports: await presentImports(db, rows, publicUrl), count };
}

/**
 * Cancels an import. The chunk that is being written is the last one, and imported rows stay. Canceling again changes
 * nothing. Wake `outbox` after the commit.
 * @throws AppError not_found; invalid_transition if it has ended
 */
export async function stopImport(
  trx: Queryable,
  tenant: Finder,
  id: number,
  publicUrl: string,
): Promise<Import> {
  const canceled = await cancelImport(trx, tenant, id);
  if (canceled) {
    await appendToOutbox(trx, importWake(runningOf(canceled)));
    await wakeWaiting(trx, tenant.accountId);
  }
  const row = canceled ?? (await findImport(trx, tenant, id));
  if (row && row.status !== 'canceled') {
    throw new AppError('invalid_transition', `the import has ended: it is ${row.status}`);
  }
  return presentOne(trx, row, publicUrl);
}

/** Reads the failed rows, a few megabytes at a time. */
async function* eachFailed(db: Queryable, id: number): AsyncGenerator<FailedRecord> {
  let [after, limit] = [0, ERRORS_PAGE.first];
  for (;;) {
    const failed = await failedRecords(db, id, after, { rows: limit, bytes: ERRORS_PAGE.bytes });
    const last = failed.at(-1);
    if (!last) return;
    yield* failed;
    after = last.row_number;
    limit = failed.length < limit ? ERRORS_PAGE.first : Math.min(limit * 2, ERRORS_PAGE.rows);
  }
}

/**
 * Writes the rows that failed or were imported without some cells as CSV, with their original columns and the reason in a
 * last column. If some failed rows are left out, the reason of the first row says so.
 * @throws AppError not_found, before the first piece
 */
export async function failedRowsCsv(
  db: Queryable,
  tenant: Finder,
  id: number,
): Promise<AsyncIterable<string>> {
  const row = await findImport(db, tenant, id);
  if (!row) throw notFound('import');
  const leftOut = leftOutOf(row);
  const header = row.layout?.columns.map(({ name }) => name) ?? [];
  const kept = header.flatMap((name, index) => (name.toLowerCase() === ERROR_COLUMN ? [] : [index]));
  async function* pieces(): AsyncIterable<string> {
    yield csvRecord([...kept.map((index) => header[index] ?? ''), ERROR_COLUMN]);
    let piece = '';
    // As a row of its own, it would fail when the corrected file is imported.
    let notice = leftOut === null ? '' : ` (${leftOut})`;
    for await (const { fields, message } of eachFailed(db, id)) {
      const cells = kept.map((index) => fields[index] ?? '');
      // Surplus values stay surplus: the row fails again unless it is corrected.
      piece += csvRecord([...cells, message + notice, ...fields.slice(header.length)]);
      notice = '';
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
    if (piece !== '') yield piece;
  }
  return pieces();
}

/**
 * Refuses a mapping of columns that the file does not have.
 * @throws AppError validation_error
 */
export async function requireColumns(
  open: OpenFile,
  { mapping, encoding = null }: Pick<CreateImportBody['options'], 'mapping' | 'encoding'>,
): Promise<void> {
  if (Object.keys(mapping).length === 0) return;
  const header = await readCsvHeader(open, encoding);
  // The import itself reports why a file cannot be read.
  if (!header) return;
  const missing = missingColumns(header, mapping);
  if (missing.length === 0) return;
  const found = `its columns are ${header.slice(0, MAX_NAMED_COLUMNS).join(', ')}`.slice(0, MAX_NAMES_LENGTH);
  throw invalid(
    Object.fromEntries(
      missing.map((name) => [`options.mapping.${name}`, [`the file has no such column; ${found}`]]),
    ),
  );
}

/** Clears a page of the failed rows with addresses of a deleted contact, and the examples from its row. */
export const forgetImportedContact: RemovalStep = async (trx, { brandId, addressKeys }, limit) => {
  const examples = await clearExamplesOf(trx, brandId, addressKeys);
  const errors = await deleteErrorsOf(trx, brandId, addressKeys, limit);
  return errors === 0 && examples > 0 ? false : clearedPage([errors], limit);
};
