import { fn, type ModelObject, raw, ref } from 'objection';
import type { Finder } from '../../platform/auth/tenant.ts';
import { type AccountScope, type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ExportError, ExportResource, ExportStatus } from './schema.ts';

/** Progress of counting the rows of an export. */
export interface Counted {
  /** The highest id when counting began. */
  lastId: number;
  /** All rows up to this id are counted. */
  after: number;
  totalRows: number;
  /** The most frequent keys of `data` with their counts. */
  keys: [key: string, count: number][];
}

class ExportModel extends TenantModel {
  static override readonly tableName = 'exports';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'resource',
    'filters',
    'status',
    'error',
    'counted',
    'timeouts',
    'data_columns',
    'last_id',
    'cursor_id',
    'parts',
    'total_rows',
    'processed_rows',
    'created_at',
    'started_at',
    'finished_at',
    'expires_at',
  ];
  static override readonly jsonColumns = ['filters', 'counted'];

  declare account_id: number;
  declare brand_id: number;
  declare resource: ExportResource;
  declare filters: Record<string, string | number | boolean>;
  declare status: ExportStatus;
  declare error: ExportError | null;
  /** Null unless the rows are being counted. */
  declare counted: Counted | null;
  /** Number of statements that timed out. */
  declare timeouts: number;
  /** Null until the rows are counted. */
  declare data_columns: string[] | null;
  /** Null until the rows are counted. */
  declare last_id: number | null;
  declare cursor_id: number;
  declare parts: number;
  declare total_rows: number | null;
  declare processed_rows: number;
  declare engine_expected_by: Date | null;
  declare created_at: Date;
  declare started_at: Date | null;
  declare finished_at: Date | null;
  declare expires_at: Date | null;
}
/** A row of `exports`. */
export type ExportRow = Omit<ModelObject<ExportModel>, 'engine_expected_by'>;

/** SQL: the columns of an export `e`. */
const COLUMNS = ExportModel.columns.map((name) => `e.${name}`).join(', ');
/** How long files are kept. */
export const KEPT = `interval '7 days'`;
/** Time in which the workflow must show that it is active: longer than its longest activity. */
const GRACE = `interval '35 minutes'`;
/** Maximum number of exports of one account that are written at the same time. */
export const MAX_UNDER_WAY = 2;

/** Until then, the workflow of an export that was active at `asOf` is not missed. */
const graceFrom = (asOf: Date) => raw(`?::timestamptz + ${GRACE}`, [asOf]);
/** The statuses of exports that have not ended. */
const UNFINISHED: readonly ExportStatus[] = ['queued', 'processing'];

/** Makes transactions for exports of one account wait for each other, so that together they cannot exceed a limit. */
async function lockAccount(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('exports ' || $1::text, 0))`, [accountId]);
}

/**
 * Inserts an export unless the account has too many unfinished ones.
 * @param trx the caller's transaction
 * @returns null if the account has too many
 */
export async function insertExport(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  given: { resource: ExportResource; filters: ExportRow['filters']; named: Buffer[] },
  maxUnfinished: number,
): Promise<ExportRow | null> {
  await lockAccount(trx, accountId);
  const { rows } = await trx.query<ExportRow>(
    `insert into exports as e (account_id, brand_id, resource, filters, named, engine_expected_by)
     select $1, $2, $3, $4, $6, now() + interval '1 minute'
     where (select count(*) from exports where account_id = $1 and status in ('queued', 'processing')) < $5
     returning ${COLUMNS}`,
    [...[accountId, brandId, given.resource, JSON.stringify(given.filters), maxUnfinished], given.named],
  );
  return rows[0] ?? null;
}

/** SQL: whether the caller finds an export `e` of the brand. */
const foundSql = ({ someBrands }: Finder): string => (someBrands ? `e.resource <> 'suppressions'` : 'true');

/** The exports of the brand that the caller finds. */
function found(db: Queryable, scope: Finder) {
  const query = ExportModel.ofBrand(db, scope);
  return scope.someBrands ? query.whereNot('resource', 'suppressions') : query;
}

/** @returns null if the brand has no such export */
export async function findExport(db: Queryable, scope: Finder, id: number): Promise<ExportRow | null> {
  const [row] = await found(db, scope).where('id', id).select(ExportModel.columns);
  return row ?? null;
}

/** Reads an export of any brand. */
export function readExport(db: Queryable, id: number): Promise<ExportRow | null> {
  return ExportModel.findRow(db, id);
}

/** Finds exports, newest first. */
export async function findExports(
  db: Queryable,
  scope: Finder,
  filters: { resource: string | undefined; status: string | undefined },
  page: Page,
): Promise<{ rows: ExportRow[]; count: RowCount }> {
  const source = `exports e where e.brand_id = $1 and ($2::text is null or e.resource = $2)
    and ($3::text is null or e.status = $3) and ${foundSql(scope)}`;
  const values = [scope.brandId, filters.resource ?? null, filters.status ?? null];
  const below = page.after === null ? '' : `and e.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<ExportRow>(
      `select ${COLUMNS} from ${source} ${below} order by e.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { rows, count };
}

/** @returns null if the brand has no such export, or it has ended */
export async function cancel(db: Queryable, scope: Finder, id: number): Promise<ExportRow | null> {
  const [row] = await found(db, scope)
    .where('id', id)
    .whereIn('status', UNFINISHED)
    .patch({ status: 'canceled', finished_at: fn.now(), expires_at: fn.now(), engine_expected_by: null })
    .returning(ExportModel.columns);
  return row ?? null;
}

/**
 * Starts a queued export unless too many of the account's exports are under way, and records that its workflow is
 * active.
 * @param trx the caller's transaction
 * @returns null if the export has ended or was deleted
 */
export async function beginExport(trx: Queryable, id: number, asOf: Date): Promise<ExportRow | null> {
  const [active] = await ExportModel.on(trx)
    .where('id', id)
    .whereIn('status', UNFINISHED)
    .patch({ engine_expected_by: graceFrom(asOf) })
    .returning('account_id');
  if (!active) return null;
  await lockAccount(trx, active.account_id);
  await trx.query(
    `update exports set status = 'processing', started_at = $2
     where id = $1 and status = 'queued'
       and (select count(*) from exports where account_id = $3 and status = 'processing') < ${MAX_UNDER_WAY}`,
    [id, asOf, active.account_id],
  );
  return readExport(trx, id);
}

const underWay = (db: Queryable, id: number) => ExportModel.on(db).where({ id, status: 'processing' });

/** @returns null if the export is not under way */
export async function findUnderWay(db: Queryable, id: number, asOf: Date): Promise<ExportRow | null> {
  const [row] = await underWay(db, id)
    .patch({ engine_expected_by: raw('greatest(engine_expected_by, ?)', [graceFrom(asOf)]) })
    .returning(ExportModel.columns);
  return row ?? null;
}

/**
 * Stores the progress of counting. Processes that count at the same time may overwrite each other, which does no harm.
 */
export async function saveCounted(db: Queryable, id: number, counted: Counted): Promise<void> {
  await underWay(db, id).whereNull('last_id').patch({ counted });
}

/** Records that a statement timed out. @returns the number of time-outs so far */
export async function addTimeout(db: Queryable, id: number): Promise<number> {
  const [row] = await ExportModel.on(db)
    .where('id', id)
    .patch({ timeouts: raw('timeouts + 1') })
    .returning('timeouts');
  return row?.timeouts ?? 0;
}

/** Stores the rows and columns of the export, once. */
export async function savePlan(
  db: Queryable,
  id: number,
  plan: { lastId: number; totalRows: number; dataColumns: string[] },
): Promise<void> {
  const { lastId: last_id, totalRows: total_rows, dataColumns: data_columns } = plan;
  await underWay(db, id).whereNull('last_id').patch({ last_id, total_rows, data_columns, counted: null });
}

export interface NewPart {
  storageKey: string;
  size: number;
  rows: number;
  /** After this part, the file has all rows up to this id. */
  toId: number;
  /** Hashes of the rows' contacts or addresses; null if the source has none that may be erased. */
  holds: Buffer | null;
}

/**
 * Adds a part to an export if that is still as in `row`. The last part completes the export.
 * @param asOf time from which the file is kept
 * @returns whether the part was added: false if another process has added one, or the export has ended
 */
export async function addPart(db: Queryable, row: ExportRow, part: NewPart, asOf: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `with moved as (
       update exports set cursor_id = $4, parts = parts + 1, processed_rows = processed_rows + $5
       where id = $1 and status = 'processing' and parts = $2 and cursor_id = $3
       returning id, account_id, parts
     )
     insert into export_parts (account_id, export_id, number, storage_key, size, rows, holds)
     select account_id, id, parts, $6, $7, $5, $8 from moved`,
    [row.id, row.parts, row.cursor_id, part.toId, part.rows, part.storageKey, part.size, part.holds],
  );
  if (rowCount === 0) return false;
  await complete(db, row.id, asOf);
  return true;
}

/** Records that no further rows up to an id match, if the export is still as in `row`. */
export async function moveCursor(db: Queryable, row: ExportRow, toId: number): Promise<void> {
  const { parts, cursor_id } = row;
  await underWay(db, row.id).where({ parts, cursor_id }).patch({ cursor_id: toId });
}

/** Completes an export whose rows are all in its parts. */
export async function complete(db: Queryable, id: number, asOf: Date): Promise<boolean> {
  const changed = await underWay(db, id)
    .where('parts', '>', 0)
    .whereColumn('cursor_id', '>=', 'last_id')
    .patch({
      status: 'completed',
      total_rows: ref('processed_rows'),
      finished_at: fn.now(),
      expires_at: raw(`?::timestamptz + ${KEPT}`, [asOf]),
      engine_expected_by: null,
    });
  return changed === 1;
}

/** Ends an export without a file. */
export async function fail(db: Queryable, id: number, error: ExportError): Promise<void> {
  await ExportModel.on(db).where('id', id).whereIn('status', UNFINISHED).patch({
    status: 'failed',
    error,
    finished_at: fn.now(),
    expires_at: fn.now(),
    engine_expected_by: null,
  });
}

/** Counts the bytes of the files of an account's exports. */
export async function storedBytes(db: Queryable, { accountId }: AccountScope): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    'select coalesce(sum(size), 0)::bigint as bytes from export_parts where account_id = $1',
    [accountId],
  );
  return Number(rows[0]?.bytes ?? 0);
}

export interface PartRow {
  storage_key: string;
  size: number;
}

/** Returns the parts of an export in their order. */
export async function findParts(db: Queryable, id: number): Promise<PartRow[]> {
  const { rows } = await db.query<PartRow>(
    'select storage_key, size from export_parts where export_id = $1 order by number',
    [id],
  );
  return rows;
}
