import { z } from 'zod';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { contentDisposition, downloadType, safeFilename } from '../../platform/storage/file.ts';
import { messageFileParams } from './schema.ts';
import type { MessageService } from './service.ts';

/** What the client downloads runs nowhere. */
const SANDBOX = "default-src 'none'; sandbox";

const described = (description: string) => ({ description, schema: z.string() });

/** The download of a file of a message. */
export function createFileRoute(messages: Pick<MessageService, 'openFile'>): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/messages/:id/attachments/:n',
    operationId: 'downloadMessageAttachment',
    tag: 'Messages',
    summary: 'Download a file of a message',
    description:
      'The file as it was sent, for as long as the content of the message is kept. Files of test keys are checked but not ' +
      'kept: 404.',
    auth: 'brand',
    testKeys: { only: 'messages of test keys' },
    sendKeys: { only: 'messages that it sent' },
    params: messageFileParams,
    responses: {
      200: {
        description: 'The file.',
        schema: null,
        contentType: '*/*',
        headers: {
          'Content-Disposition': described('`attachment`, with the name of the file.'),
          ETag: described('The file never changes, so the tag does not, either.'),
        },
      },
    },
    async handler({ tenant, params }) {
      const file = await messages.openFile(tenant, params.id, params.n);
      return {
        status: 200,
        raw: { contentType: downloadType(file.contentType), body: file.stream },
        headers: {
          'Content-Length': String(file.size),
          'Content-Disposition': contentDisposition('attachment', safeFilename(file.filename)),
          'Content-Security-Policy': SANDBOX,
          ETag: `"${file.sha256}"`,
        },
      };
    },
  });
}
