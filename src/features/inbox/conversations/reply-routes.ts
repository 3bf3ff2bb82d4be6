import { refusalCodes } from '../../../delivery/ledger/limits/authority.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { defineIdempotentRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { fingerprintOfFiles } from '../../attachments/service.ts';
import { MAX_BODY_BYTES } from '../../messages/schema.ts';
import { CONVERSATIONS, tag } from './conversation-routes.ts';
import { prepareReply, type ReplyDeps, writeReply } from './reply.ts';
import { conversationMessageSchema, conversationParams, replyBody } from './schema.ts';
import { findPresentedMessage } from './service.ts';

export interface ReplyRouteParts extends ReplyDeps {
  waker: Pick<Waker, 'wake'>;
}

export function createReplyRoute(parts: ReplyRouteParts): RouteDefinition {
  return defineIdempotentRoute({
    path: `${CONVERSATIONS}/:id/reply`,
    operationId: 'replyToConversation',
    tag,
    summary: 'Answer a conversation',
    description:
      'Sends an email from the address of the inbox, which must be a verified sender of the brand, with the headers by ' +
      'which mail clients show it as an answer. It is an ordinary message: limits, prices, suppressions and events are ' +
      'those of `POST /messages`.',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always', sends: 'always', asks: 'never', without: ['attachments'] },
    params: conversationParams,
    body: replyBody,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: { 201: { description: 'The answer.', schema: conversationMessageSchema } },
    errors: ['sender_not_verified', 'invalid_transition', ...refusalCodes],
    payload: ({ body }) =>
      body.attachments ? { ...body, attachments: fingerprintOfFiles(body.attachments) } : body,
    prepare: ({ tenant, params, body }) => prepareReply(parts, tenant, params.id, body),
    async handler({ tenant, params, body }, trx, prepared) {
      const { message, backlog } = await writeReply(trx, parts, tenant, params.id, body, prepared);
      const afterCommit = () => parts.waker.wake('send', [backlog]);
      return { status: 201, body: message, resourceId: message.id, afterCommit };
    },
    discard: (prepared) => parts.attachments.releaseFiles(prepared.scope, prepared.files),
    load: ({ tenant }, id) =>
      findPresentedMessage({ db: parts.pool, sanitizer: parts.sanitizer }, tenant, id),
  });
}
