import { fn, type ModelObject, raw } from 'objection';
import type { Finder } from '../../platform/auth/tenant.ts';
import type { SuppressionReason } from '../../delivery/ledger/consent/suppressions.ts';
import type { CsvDialect } from '../../platform/csv/inspect.ts';
import type { CsvPosition } from '../../platform/csv/scanner.ts';
import { type AccountScope, type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Column } from './columns.ts';
import type { ConsentState } from './consent/words.ts';
import {
  ERROR_DAYS,
  type ImportKind,
  type ImportOptions,
  type ImportStatus,
  type ListImportsQuery,
  type UsedEncoding,
} from './schema.ts';

/** The format of the file, and what its columns are for. */
export interface Layout extends CsvDialect {
  columns: Column[];
  /** What all people of the file are; null or absent: the columns say it. */
  status?: ConsentState | null;
  /** Of suppressions: why those are suppressed whose rows do not say it. Null or missing: unknown. */
  reason?: SuppressionReason | null;
  /** Of times in the file that name no zone: that of the brand. */
  timezone?: string | null;
}

/**
 * Marks a position as written by a worker that knows columns about subscriptions, and the options and encodings that
 * came with them: see migration 0130.
 */
export const markedPosition = (position: CsvPosition) => ({ ...position, consent: true });

export class ImportModel extends TenantModel {
  static override readonly tableName = 'imports';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'resource',
    'filename',
    'storage_key',
    'file_bytes',
    'status',
    'options',
    'layout',
    'examples',
    'may_suppress',
    'position',
    'total_rows',
    'created_count',
    'updated_count',
    'unchanged_count',
    'duplicate_count',
    'failed_count',
    'error_bytes',
    'left_out_count',
    'left_out_from',
    'warning_count',
    'warning_bytes',
    'warnings_left_out',
    'encoding',
    'failure_code',
    'failure',
    'created_at',
    'started_at',
    'finished_at',
  ];
  static override readonly jsonColumns = ['options', 'layout', 'examples', 'position', 'encoding'];
  declare account_id: number;
  declare brand_id: number;
  declare resource: ImportKind;
  declare filename: string;
  declare storage_key: string | null;
  declare file_bytes: number;
  declare status: ImportStatus;
  declare options: ImportOptions;
  declare layout: Layout | null;
  declare examples: string[][] | null;
  declare may_suppress: boolean;
  declare position: CsvPosition | null;
  declare total_rows: number | null;
  declare created_count: number;
  declare updated_count: number;
  declare unchanged_count: number;
  declare duplicate_count: number;
  declare failed_count: number;
  declare error_bytes: number;
  declare left_out_count: number;
  declare left_out_from: number | null;
  declare warning_count: number;
  declare warning_bytes: number;
  declare warnings_left_out: number;
  declare encoding: (Omit<UsedEncoding, 'samples'> & Partial<UsedEncoding>) | null;
  declare failure_code: string | null;
  declare failure: string | null;
  /** The keys of the addresses in the examples and samples. */
  declare example_keys: string[] | null;
  declare engine_expected_by: Date | null;
  declare created_at: Date;
  declare started_at: Date | null;
  declare finished_at: Date | null;
}
export type ImportRecord = Omit<ModelObject<ImportModel>, 'example_keys' | 'engine_expected_by'>;
/** Columns that may be large. */
const LARGE = ['layout', 'examples', 'position'] as const;
export type ListedImport = Omit<ImportRecord, (typeof LARGE)[number]>;

const listedColumns = ImportModel.columns.filter((column) => !LARGE.some((large) => large === column));

export interface NewImport {
  resource: ImportKind;
  filename: string;
  storageKey: string;
  fileBytes: number;
  options: ImportOptions;
  /** Whether bounces and complaints of a file of contacts suppress addresses of the account. */
  maySuppress: boolean;
}

/** Makes imports of the account that are created or begin meanwhile wait until the transaction ends. */
export async function lockImports(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('imports ' || $1::text, 0))`, [accountId]);
}

/** Counts the unfinished imports of the account, under {@link lockImports}. */
export async function countUnfinished(trx: Queryable, accountId: number): Promise<number> {
  await lockImports(trx, accountId);
  const { rows } = await trx.query<{ count: number }>(
    `select count(*) from imports where account_id = $1 and status in ('queued', 'processing')`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Sums up the bytes of the files and failed rows of an account's imports. */
export async function storedBytes(db: Queryable, { accountId }: AccountScope): Promise<number> {
  const { rows } = await db.query<{ bytes: string }>(
    `select (coalesce((select sum(file_bytes) from imports where account_id = $1 and storage_key is not null), 0)
       + coalesce((select sum(error_bytes) from imports where account_id = $1 and error_bytes > 0
           and coalesce(finished_at, now()) > now() - make_interval(days => $2)), 0)
       + coalesce((select sum(warning_bytes) from imports where account_id = $1 and warning_bytes > 0
           and coalesce(finished_at, now()) > now() - make_interval(days => $2)), 0))::text as bytes`,
    [accountId, ERROR_DAYS],
  );
  return Number(rows[0]?.bytes ?? 0);
}

/** @param expectedBy time by which the workflow must have started */
export async function insertImport(
  trx: Queryable,
  { accountId: account_id, brandId: brand_id }: BrandScope,
  {
    resource,
    filename,
    storageKey: storage_key,
    fileBytes: file_bytes,
    options,
    maySuppress: may_suppress,
  }: NewImport,
  expectedBy: Date,
): Promise<ImportRecord> {
  const row = {
    account_id,
    brand_id,
    resource,
    filename,
    storage_key,
    file_bytes,
    options,
    may_suppress,
    engine_expected_by: expectedBy,
  };
  return ImportModel.on(trx).insert(row).returning(ImportModel.columns);
}

/** The imports of the brand that the caller finds. */
function found(db: Queryable, scope: Finder) {
  const query = ImportModel.ofBrand(db, scope);
  return scope.someBrands ? query.whereNot('resource', 'suppressions') : query;
}

/** @returns null if the brand has no such import */
export async function findImport(db: Queryable, scope: Finder, id: number): Promise<ImportRecord | null> {
  const [row] = await found(db, scope).where({ id }).select(ImportModel.columns);
  return row ?? null;
}

/** Reads an import of any brand, for its workflow. @param lock whether to lock it until the transaction ends */
export async function readImport(
  db: Queryable,
  id: number,
  { lock = false } = {},
): Promise<ImportRecord | null> {
  const query = ImportModel.on(db).where({ id }).select(ImportModel.columns);
  const [row] = await (lock ? query.forUpdate() : query);
  return row ?? null;
}

/** Finds imports, newest first. */
export async function findImports(
  db: Queryable,
  scope: Finder,
  { status, resource }: ListImportsQuery,
  page: Page,
): Promise<{ rows: ListedImport[]; count: RowCount }> {
  const query = found(db, scope).select(listedColumns).orderBy('id', 'desc');
  const values: unknown[] = [scope.brandId];
  const conditions = ['i.brand_id = $1'];
  if (scope.someBrands) conditions.push(`i.resource <> 'suppressions'`);
  for (const [column, value] of Object.entries({ status, resource })) {
    if (value === undefined) continue;
    void query.where(column, value);
    conditions.push(`i.${column} = $${values.push(value)}`);
  }
  if (page.after !== null) void query.where('id', '<', page.after);
  const rows = await query.limit(page.limit).offset(page.offset);
  return { rows, count: await countRows(db, `imports i where ${conditions.join(' and ')}`, values) };
}

/** @returns null if the import has already ended, or the brand has no such import */
export async function cancelImport(trx: Queryable, scope: Finder, id: number): Promise<ImportRecord | null> {
  const [row] = await found(trx, scope)
    .where({ id })
    .whereIn('status', ['queued', 'processing'])
    .patch({ status: 'canceled', finished_at: fn.now() })
    .returning(ImportModel.columns);
  return row ?? null;
}

/** What looking through a file has found. */
export interface LookedThrough {
  layout: Layout;
  encoding: ImportRecord['encoding'];
  /** Of each column. */
  examples: string[][];
  /** The addresses of the rows that have the examples, and the samples of the encoding. */
  keys: readonly string[];
}

/** A running import whose file has not been looked through. */
const uninspected = (db: Queryable, id: number) =>
  ImportModel.on(db).where({ id, status: 'processing' }).whereNull('position');

/** Stores what looking through the file has found, before its first row is imported. */
export async function storeLayout(
  db: Queryable,
  id: number,
  { layout, encoding, examples, keys }: LookedThrough,
): Promise<void> {
  await uninspected(db, id).patch({ layout, examples, example_keys: [...keys], encoding });
}

/** When the workflow of an import that has just done something must do the next thing. */
const soon = () => raw(`now() + interval '2 minutes'`);

/** Stores where the rows begin, and how many there are. The first row is imported next. */
export async function storeBeginning(
  db: Queryable,
  id: number,
  { position, totalRows: total_rows }: { position: CsvPosition; totalRows: number },
): Promise<void> {
  await uninspected(db, id).patch({
    position: markedPosition(position),
    total_rows,
    engine_expected_by: soon(),
  });
}

/** Why an import fails as a whole. */
export interface Failure {
  code: string;
  message: string;
}

/** Ends a running import. @returns false if it has already ended */
export async function endImport(trx: Queryable, id: number, failure: Failure | null): Promise<boolean> {
  const changed = await ImportModel.on(trx)
    .where({ id, status: 'processing' })
    .patch({
      ...{ status: failure ? 'failed' : 'completed', finished_at: fn.now() },
      ...{ failure_code: failure?.code ?? null, failure: failure?.message ?? null },
      total_rows: raw('coalesce(total_rows, 0)'),
      engine_expected_by: soon(),
    });
  return changed === 1;
}

/** Records that the file of an import is gone, so that its workflow may end. */
export async function forgetFile(db: Queryable, id: number): Promise<void> {
  await ImportModel.on(db).where('id', id).patch({ storage_key: null, engine_expected_by: null });
}

/** Clears the examples and samples of imports that have some from a row with one of the addresses. */
export async function clearExamplesOf(
  trx: Queryable,
  brandId: number,
  addressKeys: readonly string[],
): Promise<number> {
  const { rowCount } = await trx.query(
    `update imports set examples = null, example_keys = null, encoding = encoding - 'samples'
     where brand_id = $1 and example_keys && $2::text[]`,
    [brandId, addressKeys],
  );
  return rowCount ?? 0;
}

/** The time zone of the brand, for date-times of the file that name none; null if it has none. */
export async function timezoneOf(db: Queryable, brandId: number): Promise<string | null> {
  const { rows } = await db.query<{ timezone: string | null }>('select timezone from brands where id = $1', [
    brandId,
  ]);
  return rows[0]?.timezone ?? null;
}
