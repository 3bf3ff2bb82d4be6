import type { ErrorCode } from '../../errors.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { batchResource, sendBatchBody, sendBatchQuery } from './batch-schema.ts';
import { readerOf } from './letter-presenter.ts';
import type { MessageService } from './service.ts';

/** POST /messages/batch. @param errors those of messages, which an atomic batch has as a whole */
export function createBatchRoute(messages: MessageService, errors: ErrorCode[]): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/messages/batch',
    operationId: 'sendMessageBatch',
    tag: 'Messages',
    summary: 'Send up to 1,000 messages',
    description:
      'Accepts messages of any kind, each as `POST /messages` does, and says of each in order whether it was created, ' +
      'replayed by its own idempotency key, or refused, with its errors: the response is a 200 even if all are refused. With ' +
      '`atomic=true`, all are accepted or none: the errors of any message are those of the request, and name it, as in ' +
      '`messages.3.to`. A batch counts as one request for every ten messages.\n\n' +
      'A repeated request with the same `Idempotency-Key` gets the same results, refusals included, with the messages as they ' +
      'are now. A message may have an `idempotency_key` of its own, which it shares with `POST /messages`.',
    auth: 'brand',
    testKeys: 'allowed',
    sendKeys: 'allowed',
    idempotency: 'own',
    manyRequests: true,
    assistants: { sends: 'always', asks: 'always' },
    query: sendBatchQuery,
    body: sendBatchBody,
    responses: { 200: { description: 'What became of each message.', schema: batchResource } },
    errors,
    async handler({ tenant, query, body, idempotencyKey, ctx }) {
      const options = { atomic: query.atomic === 'true', idempotencyKey, requests: ctx.state.requests };
      const { answer, replayed } = await messages.sendBatch(tenant, readerOf({ ctx }), body, options);
      return { status: 200, body: answer, replayed };
    },
  });
}
