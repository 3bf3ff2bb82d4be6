import { z } from 'zod';
import { refusalCodes } from '../../delivery/ledger/limits/authority.ts';
import type { ErrorCode } from '../../errors.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { type AssistantArguments, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import {
  acceptedMessage,
  answersMail,
  listMessagesQuery,
  messageDetail,
  MAX_BODY_BYTES,
  messageParams,
  messageReadOnlyFields,
  messageTwins,
  messageResource,
  sendMessageBody,
} from './schema.ts';
import { createBatchRoute } from './batch-routes.ts';
import { createFileRoute } from './file-routes.ts';
import { readerOf } from './letter-presenter.ts';
import { createMessages, type MessageDeps, type MessageService } from './service.ts';

const tag = 'Messages';

const listDescription =
  'With a filter by status, channel, subject, template, contact, or an idempotency key that is no longer kept, a page ' +
  'searches 5,000 messages, newest first. If older ones may match, the page has fewer items than `limit`, perhaps none, ' +
  'and the `next` link of the `Link` header continues the search.';

const sendErrors: ErrorCode[] = ['sender_not_verified', 'reserved_header', 'reserved_tag', ...refusalCodes];

const FOR_TEST_KEYS = {
  only: 'messages of test keys and test runs; those of test runs have no recipient and content',
};

const FOR_SEND_KEYS = { only: 'messages that it sent' };

/** Whether a call has more than one recipient, about which the user decides. */
const hasSeveralRecipients = ({ to, cc, bcc }: AssistantArguments): boolean =>
  [to, cc, bcc].flat().filter((address) => address !== undefined).length > 1;

function sendRoute(messages: MessageService): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/messages',
    operationId: 'sendMessage',
    tag,
    summary: 'Send an email or SMS',
    description:
      'Accepts one message for sending, or one letter to several recipients. It is stored before the response: all copies ' +
      'of a letter, or none. `GET /messages/{id}` and webhooks report the outcome of each message.',
    auth: 'brand',
    testKeys: 'allowed',
    sendKeys: 'allowed',
    idempotency: 'own',
    assistants: { sends: 'always', asks: hasSeveralRecipients, without: ['attachments'] },
    body: sendMessageBody,
    maxBodyBytes: MAX_BODY_BYTES,
    readOnlyFields: messageReadOnlyFields,
    twins: messageTwins,
    responses: { 201: { description: 'Accepted for sending.', schema: acceptedMessage } },
    errors: sendErrors,
    async handler({ tenant, body, idempotencyKey, ctx }) {
      const { status, message, replayed } = await messages.send(
        tenant,
        readerOf({ ctx }),
        body,
        idempotencyKey,
      );
      return { status, body: message, replayed };
    },
  });
}

function resendRoute(messages: MessageService): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/messages/:id/resend',
    operationId: 'resendMessage',
    tag,
    summary: 'Send a transactional message once more',
    description:
      'Accepts a new message with the recipient, sender, content and files of an earlier one, after the same checks as ' +
      '`POST /messages`, with which it shares its idempotency keys. Messages of campaigns and flows cannot be resent, nor ' +
      'can messages whose recipient or content was removed: 422. Of a letter to several recipients, only this copy is resent.',
    auth: 'brand',
    testKeys: { only: 'messages of test keys' },
    idempotency: 'own',
    assistants: { sends: 'always', asks: 'never', mail: answersMail },
    params: messageParams,
    responses: { 201: { description: 'The new message, accepted for sending.', schema: acceptedMessage } },
    errors: sendErrors,
    async handler({ tenant, params, idempotencyKey, ctx }) {
      const { status, message, replayed } = await messages.resend(
        tenant,
        readerOf({ ctx }),
        params.id,
        idempotencyKey,
      );
      return { status, body: message, replayed };
    },
  });
}

/** POST /messages, POST /messages/batch, GET /messages, GET /messages/:id and its files, POST /messages/:id/resend. */
export function createMessageRoutes(deps: MessageDeps): RouteDefinition[] {
  const messages = createMessages(deps);
  return [
    sendRoute(messages),
    createBatchRoute(messages, sendErrors),
    resendRoute(messages),
    createFileRoute(messages),
    defineRoute({
      method: 'GET',
      path: '/v1/my/messages',
      operationId: 'listMessages',
      tag,
      summary: 'List messages, newest first',
      description: listDescription,
      auth: 'brand',
      testKeys: FOR_TEST_KEYS,
      sendKeys: FOR_SEND_KEYS,
      assistants: { mail: answersMail },
      query: listMessagesQuery,
      paginated: true,
      responses: { 200: { description: 'A page of messages.', schema: z.array(messageResource) } },
      async handler(input) {
        const page = pageOf(input.query);
        const found = await messages.list(input.tenant, readerOf(input), input.query, page);
        return paginate(input, page, found.messages, found.counted);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/my/messages/:id',
      operationId: 'getMessage',
      tag,
      summary: 'Get a message with its content and the events of each attempt',
      description:
        'The content of a message of a campaign or flow is rendered from its version, with the present values of its contact. ' +
        'Its links to unsubscribe lead nowhere.',
      auth: 'brand',
      testKeys: FOR_TEST_KEYS,
      sendKeys: FOR_SEND_KEYS,
      assistants: { mail: answersMail },
      params: messageParams,
      responses: { 200: { description: 'The message.', schema: messageDetail } },
      async handler({ tenant, params, ctx }) {
        return { status: 200, body: await messages.get(tenant, readerOf({ ctx }), params.id) };
      },
    }),
  ];
}
