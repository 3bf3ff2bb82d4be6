import { Readable } from 'node:stream';
import { AppError, invalid, notFound } from '../../errors.ts';
import type { Finder } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import type { Blob, BlobStore } from '../../platform/storage/blob-store.ts';
import { requireLists } from '../lists/service.ts';
import { segmentCondition } from '../segments/index.ts';
import { namedIn } from '../contacts/service.ts';
import {
  cancel,
  type ExportRow,
  findExport,
  findExports,
  findParts,
  insertExport,
  type PartRow,
  storedBytes,
} from './model.ts';
import type { CreateExportBody, Export, ListExportsQuery, ParsedFilters } from './schema.ts';
import { exportStart, exportWake } from './workflow.ts';

export { endExportsOfContact, forgetContactInExports } from './held.ts';
export { createExportWriter } from './write.ts';

const MAX_UNFINISHED = 10;
const MEGABYTE = 1024 * 1024;

function hasFile(row: ExportRow): boolean {
  return row.status === 'completed' && row.expires_at !== null && row.expires_at > new Date();
}

/** @param publicUrl base URL of the service */
function presentExport(row: ExportRow, publicUrl: string): Export {
  return {
    id: row.id,
    resource: row.resource,
    status: row.status,
    total_rows: row.total_rows,
    processed_rows: row.processed_rows,
    url: hasFile(row) ? `${publicUrl}/v1/my/exports/${row.id}/file` : null,
    filters: row.filters,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    error: row.error,
  };
}

/**
 * Checks that the list and the segment of the filters belong to the brand.
 * @throws AppError validation_error
 */
export async function checkAudience(
  db: Queryable,
  { brandId }: BrandScope,
  { list_id: listId, segment_id: segmentId }: ParsedFilters,
): Promise<void> {
  if (listId !== undefined) await requireLists(db, brandId, [listId], { field: 'filters.list_id' });
  if (segmentId === undefined) return;
  await segmentCondition(db, { brandId, asOf: new Date() }, segmentId, 1).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    throw invalid({ 'filters.segment_id': ['is not a segment of the brand'] });
  });
}

/**
 * Creates an export, and requests its workflow.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @param body whose filters were already checked by the schema of the resource
 * @throws AppError conflict if the account has too many unfinished exports; validation_error if its files are too large
 */
export async function createExport(
  trx: Queryable,
  tenant: BrandScope,
  body: CreateExportBody,
  options: { quotaBytes: number; publicUrl: string },
): Promise<Export> {
  const { quotaBytes, publicUrl } = options;
  if ((await storedBytes(trx, tenant)) >= quotaBytes) {
    const quota = `${Math.floor(quotaBytes / MEGABYTE)} MB`;
    throw invalid({
      resource: [
        `cannot be exported now: the files of the account have reached ${quota}; they are removed after 7 days`,
      ],
    });
  }
  const named = namedIn(tenant.brandId, body.filters);
  const row = await insertExport(trx, tenant, { ...body, named }, MAX_UNFINISHED);
  if (!row) {
    throw new AppError(
      'conflict',
      `the account has ${MAX_UNFINISHED} unfinished exports; wait or cancel one`,
    );
  }
  const { id, resource } = row;
  await appendToOutbox(trx, {
    kind: 'start',
    ...exportStart({ id, resource, accountId: row.account_id, brandId: row.brand_id }),
  });
  return presentExport(row, publicUrl);
}

/** Lists the exports of a brand, newest first. */
export async function listExports(
  db: Queryable,
  tenant: Finder,
  query: ListExportsQuery,
  page: Page,
  publicUrl: string,
): Promise<{ exports: Export[]; count: RowCount }> {
  const { rows, count } = await findExports(
    db,
    tenant,
    { resource: query.resource, status: query.status },
    page,
  );
  return { exports: rows.map((row) => presentExport(row, publicUrl)), count };
}

/** @returns null if the brand has no such export */
export async function loadExport(
  db: Queryable,
  tenant: Finder,
  id: number,
  publicUrl: string,
): Promise<Export | null> {
  const row = await findExport(db, tenant, id);
  return row && presentExport(row, publicUrl);
}

/**
 * Cancels an unfinished export. The parts of its file are removed within the hour.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @throws AppError not_found; invalid_transition if it has ended
 */
export async function cancelExport(
  trx: Queryable,
  tenant: Finder,
  id: number,
  publicUrl: string,
): Promise<Export> {
  const row = await cancel(trx, tenant, id);
  if (!row) {
    const found = await findExport(trx, tenant, id);
    if (!found) throw notFound('export');
    throw new AppError('invalid_transition', `the export is ${found.status} and can no longer be canceled`);
  }
  await appendToOutbox(trx, exportWake(id));
  return presentExport(row, publicUrl);
}

async function* contentOf(store: BlobStore, first: Blob, rest: readonly PartRow[]): AsyncIterable<Buffer> {
  yield* first.stream as AsyncIterable<Buffer>;
  for (const { storage_key: key } of rest) {
    const part = await store.open(key);
    // The client notices from `Content-Length` that the file is incomplete.
    if (!part) throw new Error('a part of the export was removed while it was read');
    yield* part.stream as AsyncIterable<Buffer>;
  }
}

export interface ExportFile {
  filename: string;
  /** In bytes. */
  size: number;
  content: Readable;
}

/**
 * Opens the file of an export.
 * @throws AppError not_found, also if the export is not complete or has expired
 */
export async function openExportFile(
  db: Queryable,
  store: BlobStore,
  tenant: Finder,
  id: number,
): Promise<ExportFile> {
  const row = await findExport(db, tenant, id);
  if (!row) throw notFound('export');
  const [first, ...rest] = hasFile(row) ? await findParts(db, id) : [];
  const blob = first && (await store.open(first.storage_key));
  if (!blob) throw notFound('file of the export');
  const content = Readable.from(contentOf(store, blob, rest), { objectMode: false });
  // The reader may stop before it opens the first part.
  content.once('close', () => blob.stream.destroy());
  const size = [first, ...rest].reduce((sum, part) => sum + part.size, 0);
  return { filename: `${row.resource}-${id}.csv`, size, content };
}
