import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import { limitSettings, refusalCodes } from '../../delivery/ledger/limits/authority.ts';
import { createSenderIdentities } from '../../delivery/terms/sender-identity.ts';
import { defaultEmailProvider } from '../../delivery/wire/providers/settings-url.ts';
import type { ErrorCode } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
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
import { brandValues, createBrandOf, createMessageContents } from '../templates/service.ts';
import { createAttachments, type FileDecoder } from '../attachments/service.ts';
import { createBatchRoute } from './batch-routes.ts';
import { createFileRoute } from './file-routes.ts';
import { readerOf } from './letter-presenter.ts';
import { createRenderedContents } from './rendered.ts';
import { createMessageService, type MessageService } from './service.ts';

export interface MessageRouteDeps {
  config: Config;
  database: Database;
  waker: Waker;
  keyring: Keyring;
  contents: ContentEngine;
  fileDecoder: FileDecoder;
}

const tag = 'Messages';

const listDescription =
  'With a filter by status, channel, subject, template, contact, or an idempotency key that is no longer kept, a page ' +
  'searches 5,000 messages, newest first. If older ones may match, the page has fewer items than `limit`, perhaps none, ' +
  'and the `next` link of the `Link` header continues the search.';

const sendErrors: ErrorCode[] = ['sender_not_verified', 'reserved_header', 'reserved_tag', ...refusalCodes];

function messageService(deps: MessageRouteDeps): MessageService {
  const { config, database, waker, keyring, contents } = deps;
  const { pool } = database;
  const publicUrl = config.PUBLIC_URL ?? null;
  const brandOf = createBrandOf(pool, keyring, publicUrl);
  return createMessageService({
    pool,
    waker,
    identities: createSenderIdentities(database.pool, config.MAIL_DOMAIN),
    limits: limitSettings(config),
    heldBound: { maxMessages: config.HELD_MESSAGES_MAX, maxMegabytes: config.HELD_MESSAGES_MB },
    tracking: {
      publicUrl,
      keyId: keyring.subkey('tracking').id,
    },
    attachments: createAttachments(deps),
    emailProvider: defaultEmailProvider(config),
    contentDays: config.MESSAGE_CONTENT_RETENTION_DAYS,
    renderTemplate: createMessageContents({ pool, contents, brandOf, keyring, publicUrl }),
    renderedContent: createRenderedContents({
      pool,
      contents,
      readBrand: async (scope) => brandValues(await brandOf(scope)),
    }),
  });
}

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
export function createMessageRoutes(deps: MessageRouteDeps): RouteDefinition[] {
  const messages = messageService(deps);
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
