import type pg from 'pg';
import { z } from 'zod';
import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { type AttachmentFile, openAttachment, openRawMail } from './attachments.ts';
import { attachmentParams, attachmentQuery, messageParams, rawMailQuery } from './schema.ts';

interface AttachmentRouteParts {
  pool: pg.Pool;
  store: Pick<BlobStore, 'open'>;
}

const MESSAGES = '/v1/my/conversations/:conversation_id/messages';
const PATH = `${MESSAGES}/:conversation_message_id/attachments/:id`;
/** What the client downloads runs nowhere. */
const SANDBOX = "default-src 'none'; sandbox";

function headersOf({ size, range, etag, disposition }: AttachmentFile): Record<string, string> {
  return {
    'Content-Length': String(range ? range.end - range.start + 1 : size),
    'Content-Disposition': disposition,
    'Content-Security-Policy': SANDBOX,
    'Accept-Ranges': 'bytes',
    ETag: etag,
    ...(range ? { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` } : {}),
  };
}

const described = (description: string) => ({ description, schema: z.string() });
const fileHeaders = {
  'Content-Disposition': described('`attachment`, with the name of the file.'),
  'Accept-Ranges': described('`bytes`.'),
  ETag: described('The file never changes, so the tag does not, either.'),
};

/** The download of an attachment (interface section 4.2). */
export function createAttachmentRoute({ pool, store }: AttachmentRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'downloadConversationAttachment',
    tag: 'Conversations',
    summary: 'Download an attachment',
    description:
      'The type of the content is detected from the file. 404 for infected attachments. `Range` with one range is supported, ' +
      'and `If-Range` with the `ETag`.',
    auth: 'brand',
    testKeys: 'refused',
    params: attachmentParams,
    query: attachmentQuery,
    responses: {
      200: { description: 'The file.', schema: null, contentType: '*/*', headers: fileHeaders },
      206: {
        description: 'The part of the file that `Range` names.',
        schema: null,
        contentType: '*/*',
        headers: { ...fileHeaders, 'Content-Range': described('The part, and the size of the file.') },
      },
    },
    errors: ['unscanned_attachment', 'range_not_satisfiable'],
    async handler({ tenant, params, query, ctx }) {
      const ids = {
        conversationId: params.conversation_id,
        messageId: params.conversation_message_id,
        id: params.id,
      };
      const wanted = { range: ctx.headers.range, ifRange: ctx.headers['if-range'] as string | undefined };
      const acknowledged = query.acknowledge_unscanned === 'true';
      const file = await openAttachment({ db: pool, store }, tenant, ids, acknowledged, wanted);
      return {
        status: file.range ? 206 : 200,
        raw: { contentType: file.contentType, body: file.content },
        headers: headersOf(file),
      };
    },
  });
}

/** The download of a mail as it arrived. */
export function createRawMailRoute({ pool, store }: AttachmentRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${MESSAGES}/:id/raw`,
    operationId: 'downloadConversationMessage',
    tag: 'Conversations',
    summary: 'Download a mail as it arrived',
    description:
      'The mail with its header and all its parts, for as long as it is kept: see `raw_available`. 404 if it is kept no ' +
      'longer, if a file in it is infected, and for outbound messages and mail in quarantine.',
    auth: 'brand',
    testKeys: 'refused',
    params: messageParams,
    query: rawMailQuery,
    responses: {
      200: {
        description: 'The mail (RFC 5322).',
        schema: null,
        contentType: 'message/rfc822',
        headers: { 'Content-Disposition': described('`attachment`, with a name.') },
      },
    },
    errors: ['unscanned_attachment'],
    async handler({ tenant, params, query }) {
      const ids = { conversationId: params.conversation_id, id: params.id };
      const acknowledged = query.acknowledge_unscanned === 'true';
      const mail = await openRawMail({ db: pool, store }, tenant, ids, acknowledged);
      return {
        status: 200,
        raw: { contentType: 'message/rfc822', body: mail.content },
        headers: {
          'Content-Length': String(mail.size),
          'Content-Disposition': mail.disposition,
          'Content-Security-Policy': SANDBOX,
        },
      };
    },
  });
}
