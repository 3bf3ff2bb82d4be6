import type pg from 'pg';
import { z } from 'zod';
import { invalid, notFound } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { parseWith } from '../../platform/input/validation.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import {
  createExportBody,
  type CreateExportBody,
  exportFilters,
  exportParams,
  exportSchema,
  filterTexts,
  listExportsQuery,
  type ParsedFilters,
} from './schema.ts';
import {
  checkAudience,
  cancelExport,
  createExport,
  listExports,
  loadExport,
  openExportFile,
} from './service.ts';

export interface ExportRouteDeps {
  config: { CARILLON_HOME: string; EXPORT_QUOTA_MB: number };
  database: Database;
  waker: Pick<Waker, 'wake'>;
}

interface Parts {
  pool: pg.Pool;
  store: BlobStore;
  quotaBytes: number;
  waker: Pick<Waker, 'wake'>;
}

const PATH = '/v1/my/exports';
const tag = 'Exports';

/**
 * @returns the parsed filters
 * @throws AppError validation_error with the keys `filters.<name>`
 */
function checkFilters({ resource, filters }: CreateExportBody): ParsedFilters {
  const parsed = parseWith(exportFilters[resource], filterTexts(filters), 'field');
  if (parsed.ok) return parsed.value as ParsedFilters;
  throw invalid(
    Object.fromEntries(
      Object.entries(parsed.errors).map(([name, problems]) => [`filters.${name}`, problems]),
    ),
  );
}

function createRoute({ pool, waker, quotaBytes }: Parts): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createExport',
    tag,
    summary: 'Export a list as a CSV file',
    description:
      'Takes the filters of the list in `filters`. The file is written in the background. `GET /exports/{id}` returns ' +
      'the progress, and the `url` of the complete file. The file has the rows that exist when the export starts, ' +
      'oldest first, and is kept for 7 days. Cells that a spreadsheet would run as formulas begin with an apostrophe.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { allBrands: ({ resource }) => resource === 'suppressions' },
    body: createExportBody,
    responses: { 201: { description: 'The export.', schema: exportSchema } },
    errors: ['conflict'],
    async handler({ tenant, body, publicUrl }, trx) {
      await checkAudience(trx, tenant, checkFilters(body));
      const created = await createExport(trx, tenant, body, { quotaBytes, publicUrl });
      const afterCommit = () => waker.wake('outbox');
      return { status: 201, body: created, resourceId: created.id, afterCommit };
    },
    load: ({ tenant, publicUrl }, id) => loadExport(pool, tenant, id, publicUrl),
  });
}

function listRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listExports',
    tag,
    summary: 'List exports, newest first',
    auth: 'brand',
    testKeys: 'refused',
    query: listExportsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of exports.', schema: z.array(exportSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { exports, count } = await listExports(pool, input.tenant, input.query, page, input.publicUrl);
      return paginate(input, page, exports, count);
    },
  });
}

function getRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getExport',
    tag,
    summary: 'Get an export',
    auth: 'brand',
    testKeys: 'refused',
    params: exportParams,
    responses: { 200: { description: 'The export.', schema: exportSchema } },
    async handler({ tenant, params, publicUrl }) {
      const found = await loadExport(pool, tenant, params.id, publicUrl);
      if (!found) throw notFound('export');
      return { status: 200, body: found };
    },
  });
}

function cancelRoute({ pool, waker }: Parts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/:id/cancel`,
    operationId: 'cancelExport',
    tag,
    summary: 'Cancel an unfinished export',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    idempotency: 'none',
    params: exportParams,
    responses: { 200: { description: 'The canceled export.', schema: exportSchema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params, publicUrl }) {
      const body = await inTransaction(pool, (trx) => cancelExport(trx, tenant, params.id, publicUrl));
      waker.wake('outbox');
      return { status: 200, body };
    },
  });
}

const fileHeaders = {
  'Content-Disposition': { description: '`attachment`, with the name of the file.', schema: z.string() },
};

function fileRoute({ pool, store }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/file`,
    operationId: 'downloadExport',
    tag,
    summary: 'Download the file of an export',
    description: 'CSV as in RFC 4180, in UTF-8. 404 until the export is complete, and after it has expired.',
    auth: 'brand',
    testKeys: 'refused',
    params: exportParams,
    responses: {
      200: { description: 'The file.', schema: null, contentType: 'text/csv', headers: fileHeaders },
    },
    async handler({ tenant, params }) {
      const file = await openExportFile(pool, store, tenant, params.id);
      return {
        status: 200,
        raw: { contentType: 'text/csv; charset=utf-8; header=present', body: file.content },
        headers: {
          'Content-Length': String(file.size),
          'Content-Disposition': `attachment; filename="${file.filename}"`,
        },
      };
    },
  });
}

/** `/v1/my/exports`, each export, its cancellation and its file. */
export function createExportRoutes({ config, database, waker }: ExportRouteDeps): RouteDefinition[] {
  const parts: Parts = {
    pool: database.pool,
    waker,
    store: createHomeStore(config.CARILLON_HOME),
    quotaBytes: config.EXPORT_QUOTA_MB * 1024 * 1024,
  };
  return [createRoute(parts), listRoute(parts), getRoute(parts), cancelRoute(parts), fileRoute(parts)];
}
