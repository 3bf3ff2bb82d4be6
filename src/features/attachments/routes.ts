import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { createFileSink } from '../../platform/http/file-sink.ts';
import {
  defineIdempotentRoute,
  defineRoute,
  type RouteDefinition,
  type StoredFile,
} from '../../platform/http/route.ts';
import { foldedStore } from '../../platform/storage/folded.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { UPLOAD_HOURS } from './model.ts';
import { attachmentParams, contentTypeSchema, uploadedAttachmentSchema } from './schema.ts';
import {
  addUpload,
  admitUpload,
  checkStored,
  getReplayed,
  getUpload,
  presentUpload,
  removeUpload,
  type UploadsDeps,
} from './uploads.ts';

export interface AttachmentRouteDeps {
  config: {
    CARILLON_HOME: string;
    ATTACHMENTS_MB: number;
    ATTACHMENT_QUOTA_MB: number;
    ATTACHMENT_BLOCKED_EXTENSIONS: ReadonlySet<string>;
  };
  database: Database;
}

const tag = 'Attachments';
const path = '/v1/my/attachments';
const MEGABYTE = 1024 * 1024;
/** Maximum number of files that one account may send to one process at the same time. */
const MAX_FILES_AT_ONCE = 4;

function createRoute({ config, database: { pool } }: AttachmentRouteDeps): RouteDefinition {
  const store = createHomeStore(config.CARILLON_HOME);
  const quotaBytes = config.ATTACHMENT_QUOTA_MB * MEGABYTE;
  const deps: UploadsDeps = { db: pool, store, blocked: config.ATTACHMENT_BLOCKED_EXTENSIONS, quotaBytes };
  return defineIdempotentRoute({
    path,
    operationId: 'createAttachment',
    tag,
    summary: 'Upload a file for messages',
    description:
      'Takes one file, which any number of messages of the brand can name by its `attachment_id` during the next ' +
      `${UPLOAD_HOURS} hours. The file is not public. A setting limits its size, 20 MB by default, and a quota the size ` +
      'of all uploads of an account, in which equal files count once.',
    auth: 'brand',
    testKeys: 'refused',
    sendKeys: 'allowed',
    assistants: 'never',
    body: z.strictObject({ content_type: contentTypeSchema.optional() }),
    multipart: {
      file: 'file',
      maxFileBytes: config.ATTACHMENTS_MB * MEGABYTE,
      sink: createFileSink({
        store: foldedStore(store),
        kind: 'attachments',
        maxAtOnce: MAX_FILES_AT_ONCE,
        admit: admitUpload(deps),
      }),
    },
    responses: { 201: { description: 'The upload', schema: uploadedAttachmentSchema } },
    prepare: ({ stored, body }) => checkStored(deps, stored as StoredFile, body.content_type ?? null),
    async handler({ tenant, stored }, trx, checked) {
      const upload = await addUpload(trx, tenant, checked, stored as StoredFile, quotaBytes);
      return { status: 201, body: presentUpload(upload), resourceId: upload.id };
    },
    load: async ({ tenant }, id) => presentUpload(await getReplayed(pool, tenant, id)),
  });
}

/** POST, GET and DELETE of /v1/my/attachments. */
export function createAttachmentRoutes(deps: AttachmentRouteDeps): RouteDefinition[] {
  const { pool } = deps.database;
  const shared = {
    tag,
    path: `${path}/:id`,
    auth: 'brand',
    testKeys: 'refused',
    sendKeys: { only: 'files that it uploaded' },
    assistants: 'never',
    params: attachmentParams,
  } as const;
  return [
    createRoute(deps),
    defineRoute({
      ...shared,
      method: 'GET',
      operationId: 'getAttachment',
      summary: 'Get an uploaded file',
      description: 'Until it expires.',
      responses: { 200: { description: 'The upload', schema: uploadedAttachmentSchema } },
      handler: async ({ tenant, params }) => ({
        status: 200,
        body: presentUpload(await getUpload(pool, tenant, params.id)),
      }),
    }),
    defineRoute({
      ...shared,
      method: 'DELETE',
      operationId: 'deleteAttachment',
      summary: 'Remove an uploaded file',
      description: 'New messages can no longer name it. Messages that have named it keep the file.',
      responses: { 200: { description: 'The removed upload', schema: uploadedAttachmentSchema } },
      handler: async ({ tenant, params }) => ({
        status: 200,
        body: presentUpload(await removeUpload(pool, tenant, params.id)),
      }),
    }),
  ];
}
