import { Readable } from 'node:stream';
import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { createFileSink, type FileSinkOptions } from '../../platform/http/file-sink.ts';
import { paginate } from '../../platform/http/pagination.ts';
import {
  defineIdempotentRoute,
  defineRoute,
  type RouteDefinition,
  type StoredFile,
} from '../../platform/http/route.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { createImportBody, importParams, importResource, listImportsQuery } from './schema.ts';
import { openStored } from './stored-file.ts';
import {
  createImport,
  failedRowsCsv,
  getImport,
  listImports,
  requireColumns,
  requireRoom,
  stopImport,
} from './service.ts';

export interface ImportRouteDeps {
  config: { CARILLON_HOME: string; IMPORT_QUOTA_MB: number };
  database: Database;
  waker: Waker;
}

const tag = 'Imports';
const path = '/v1/my/imports';
const MAX_FILE_BYTES = 1024 * 1024 * 1024;
/** Maximum number of files that one account may send to one process at the same time. */
const MAX_FILES_AT_ONCE = 2;

function createRoute({ config, database: { pool }, waker }: ImportRouteDeps): RouteDefinition {
  const store = createHomeStore(config.CARILLON_HOME);
  const quotaBytes = config.IMPORT_QUOTA_MB * 1024 * 1024;
  const admit: FileSinkOptions['admit'] = (tenant, bytes) => requireRoom(pool, tenant, bytes, quotaBytes);
  return defineIdempotentRoute({
    path,
    operationId: 'createImport',
    tag,
    summary: 'Import contacts or suppressions from a CSV file',
    description:
      'Takes a CSV file of at most 1 GB and imports it in the background. Its encoding is detected. The first row ' +
      'names the columns. Poll `GET /imports/{id}`, or subscribe to `import.completed` and `import.failed`.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { fileAsText: 'csv', allBrands: ({ resource }) => resource === 'suppressions' },
    body: createImportBody,
    multipart: {
      file: 'file',
      maxFileBytes: MAX_FILE_BYTES,
      sink: createFileSink({ store, kind: 'imports', maxAtOnce: MAX_FILES_AT_ONCE, admit }),
    },
    responses: { 201: { description: 'The import, which is queued', schema: importResource } },
    errors: ['conflict'],
    async handler({ tenant, body, stored, publicUrl }, trx) {
      const { filename, key, size, keep } = stored as StoredFile;
      const file = { filename, key, bytes: size };
      await requireColumns(openStored(store, key), body.options);
      const created = await createImport(trx, tenant, body, file, { publicUrl, quotaBytes });
      keep();
      return { status: 201, body: created, resourceId: created.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant, publicUrl }, id) => getImport(pool, tenant, id, publicUrl),
  });
}

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path,
    operationId: 'listImports',
    tag,
    summary: 'List imports',
    auth: 'brand',
    testKeys: 'refused',
    query: listImportsQuery,
    paginated: true,
    responses: { 200: { description: 'Imports, newest first', schema: z.array(importResource) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { imports, count } = await listImports(pool, input.tenant, input.query, page, input.publicUrl);
      return paginate(input, page, imports, count);
    },
  });
}

/** Routes of one import. */
function importRoutes({ database: { pool }, waker }: ImportRouteDeps): RouteDefinition[] {
  const shared = { tag, auth: 'brand', testKeys: 'refused', params: importParams } as const;
  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getImport',
      summary: 'Get an import and its progress',
      responses: { 200: { description: 'The import', schema: importResource } },
      handler: async ({ tenant, params, publicUrl }) => ({
        status: 200,
        body: await getImport(pool, tenant, params.id, publicUrl),
      }),
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: `${path}/:id/cancel`,
      operationId: 'cancelImport',
      audit: 'keys too',
      summary: 'Cancel an import',
      description: 'Rows that are already imported stay.',
      idempotency: 'none',
      responses: { 200: { description: 'The canceled import', schema: importResource } },
      errors: ['invalid_transition'],
      async handler({ tenant, params, publicUrl }) {
        const body = await inTransaction(pool, (trx) => stopImport(trx, tenant, params.id, publicUrl));
        waker.wake('outbox');
        return { status: 200, body };
      },
    }),
    defineRoute({
      ...shared,
      method: 'GET',
      path: `${path}/:id/errors`,
      operationId: 'getImportErrors',
      summary: 'Download the failed rows as CSV',
      description:
        'The failed rows, and those that were imported without some of their cells, with their original columns and the ' +
        'reason in the column `error`. Correct them and import ' +
        'the file again. Kept for 30 days, up to 32 MB per import. If there are more, the first row says so.',
      responses: { 200: { description: 'A CSV file', schema: null, contentType: 'text/csv' } },
      async handler({ tenant, params }) {
        const pieces = await failedRowsCsv(pool, tenant, params.id);
        return {
          status: 200,
          raw: { contentType: 'text/csv; charset=utf-8', body: Readable.from(pieces) },
          headers: {
            'Content-Disposition': `attachment; filename="import-${params.id}-errors.csv"`,
            'Cache-Control': 'no-store',
          },
        };
      },
    }),
  ];
}

/** POST and GET of /v1/my/imports, POST …/cancel and GET …/errors. */
export function createImportRoutes(deps: ImportRouteDeps): RouteDefinition[] {
  return [createRoute(deps), listRoute(deps.database.pool), ...importRoutes(deps)];
}
