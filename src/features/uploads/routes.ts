import { z } from 'zod';
import { notFound } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import {
  defineIdempotentRoute,
  defineRoute,
  type RouteDefinition,
  type UploadedFile,
} from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { contentDisposition, isDisplayed } from '../../platform/storage/file.ts';
import { listUploadsQuery, type UploadBody, uploadSchema, uploadUsageSchema } from './schema.ts';
import { createUploads, type UploadRow, type Uploads, uploadUrl } from './service.ts';

export interface UploadRouteDeps {
  config: { CARILLON_HOME: string; UPLOAD_QUOTA_MB: number };
  database: Database;
  keyring: Keyring;
}

const MAX_FILE_BYTES = 5 * 1024 * 1024;
const PATH = '/v1/my/uploads';
const MAX_SIGNED_ID_LENGTH = 64;

/** Presents an upload to clients. */
function presentUpload(upload: UploadRow, signedId: string, publicUrl: string): UploadBody {
  return {
    id: upload.id,
    signed_id: signedId,
    url: uploadUrl(publicUrl, signedId),
    filename: upload.filename,
    content_type: upload.content_type,
    size: upload.size,
    kept: upload.kept,
    created_at: upload.created_at.toISOString(),
  };
}

function createUploadRoute(uploads: Uploads): RouteDefinition {
  const present = (upload: UploadRow, publicUrl: string) =>
    presentUpload(upload, uploads.signedIdOf(upload), publicUrl);
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createUpload',
    tag: 'Uploads',
    summary: 'Upload a file',
    description:
      'Takes one file of at most 5 MB, for example a logo. Use its `signed_id` for `avatar`, `banner` and `logo`. ' +
      'Browsers display PNG, JPEG, GIF and WebP; all other files are offered for download. Uploads that are not in use ' +
      'as an avatar, banner or logo are removed after 30 days, unless `keep` is true. A quota limits the total size of the uploads of an account.',
    auth: 'brand',
    testKeys: 'refused',
    body: z.strictObject({
      keep: z.enum(['true', 'false']).default('false').meta({
        description: '`true` for images of letters: the file is never removed unless you delete it.',
      }),
    }),
    multipart: { file: 'file', maxFileBytes: MAX_FILE_BYTES },
    responses: { 201: { description: 'The upload', schema: uploadSchema } },
    prepare: ({ tenant, file, body }) => uploads.store(tenant, file as UploadedFile, body.keep === 'true'),
    async handler({ tenant, publicUrl }, trx, stored) {
      const upload = await uploads.add(trx, tenant, stored);
      return { status: 201, body: present(upload, publicUrl), resourceId: upload.id };
    },
    discard: (stored) => uploads.discard(stored),
    async load({ tenant, publicUrl }, id) {
      const upload = await uploads.find(tenant.accountId, id);
      return upload && present(upload, publicUrl);
    },
  });
}

function listUploadsRoute(uploads: Uploads): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listUploads',
    tag: 'Uploads',
    summary: 'List uploaded files, newest first',
    auth: 'brand',
    testKeys: 'refused',
    assistants: 'never',
    query: listUploadsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of uploads.', schema: z.array(uploadSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { rows, count } = await uploads.list(input.tenant, input.query.images ?? false, page);
      const shown = rows.map((row) => presentUpload(row, uploads.signedIdOf(row), input.publicUrl));
      return paginate(input, page, shown, count);
    },
  });
}

function usageRoute(uploads: Uploads): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/usage`,
    operationId: 'getUploadUsage',
    tag: 'Uploads',
    summary: 'Get how much of the quota for uploads is used',
    auth: 'brand',
    testKeys: 'refused',
    assistants: 'never',
    responses: { 200: { description: 'The usage of the account.', schema: uploadUsageSchema } },
    handler: async ({ tenant }) => ({ status: 200, body: await uploads.usage(tenant) }),
  });
}

function removeUploadRoute(uploads: Uploads): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:signed_id`,
    operationId: 'deleteUpload',
    tag: 'Uploads',
    summary: 'Remove an uploaded file',
    description:
      'After that, its URL no longer works: messages that show it, also those sent long ago, show a gap instead, and ' +
      'templates that name it need another file. An avatar, banner or logo in use cannot be removed: 409.',
    auth: 'brand',
    testKeys: 'refused',
    assistants: 'never',
    params: z.object({ signed_id: z.string().max(MAX_SIGNED_ID_LENGTH) }),
    responses: { 200: { description: 'The removed upload', schema: uploadSchema } },
    errors: ['conflict'],
    async handler({ tenant, params, publicUrl }) {
      const removed = await uploads.remove(tenant, params.signed_id);
      return { status: 200, body: presentUpload(removed, params.signed_id, publicUrl) };
    },
  });
}

const downloadHeaders = {
  'Content-Disposition': {
    description:
      '`inline` for PNG, JPEG, GIF and WebP, `attachment` for all other files, and the file’s name.',
    schema: z.string(),
  },
};

function downloadRoute(uploads: Uploads): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/uploads/:signed_id',
    operationId: 'downloadUpload',
    tag: 'Uploads',
    summary: 'Fetch an uploaded file',
    description: 'Needs no authentication. The content of a URL never changes.',
    auth: 'none',
    params: z.object({ signed_id: z.string().max(MAX_SIGNED_ID_LENGTH) }),
    responses: {
      200: { description: 'The file', schema: null, contentType: '*/*', headers: downloadHeaders },
    },
    async handler({ params }) {
      const upload = await uploads.findSigned(params.signed_id);
      const blob = upload && (await uploads.open(upload));
      if (!blob) throw notFound('upload');
      const disposition = isDisplayed(upload.content_type) ? 'inline' : 'attachment';
      return {
        status: 200,
        raw: { contentType: upload.content_type, body: blob.stream },
        headers: {
          'Content-Length': String(blob.size),
          'Content-Disposition': contentDisposition(disposition, upload.filename),
          'Content-Security-Policy': "default-src 'none'; sandbox",
          'Cache-Control': 'public, max-age=31536000, immutable',
          'Cross-Origin-Resource-Policy': 'cross-origin',
        },
      };
    },
  });
}

/** `/v1/my/uploads`, their usage, and `GET /uploads/:signed_id`. */
export function createUploadRoutes({
  config,
  database: { pool },
  keyring,
}: UploadRouteDeps): RouteDefinition[] {
  const store = createHomeStore(config.CARILLON_HOME);
  const signedIds = createSignedIds(keyring);
  const quotaBytes = config.UPLOAD_QUOTA_MB * 1024 * 1024;
  const uploads = createUploads({ db: pool, store, signedIds, quotaBytes });
  return [
    createUploadRoute(uploads),
    listUploadsRoute(uploads),
    usageRoute(uploads),
    removeUploadRoute(uploads),
    downloadRoute(uploads),
  ];
}
