/** PATCH /messages/:id and POST /messages/:id/cancel. */
import type { Config } from '../../config.ts';
import { notFound } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { createAttachments, type FileDecoder } from '../attachments/service.ts';
import { cancelMessage, presentChanged, type Recall } from './cancel.ts';
import { moveMessage, type MoveDeps } from './change.ts';
import { readerOf } from './letter-presenter.ts';
import {
  acceptedMessage,
  answersMail,
  cancelMessageBody,
  changeMessageBody,
  messageParams,
} from './schema.ts';

interface ChangeRouteDeps {
  config: Config;
  database: Database;
  waker: Waker;
  fileDecoder: FileDecoder;
}

const tag = 'Messages';
const testKeys = { only: 'messages of test keys' };

function moveRoute(deps: MoveDeps): RouteDefinition {
  const { pool } = deps;
  return defineRoute({
    method: 'PATCH',
    path: '/v1/my/messages/:id',
    operationId: 'changeMessage',
    tag,
    summary: 'Move a scheduled message to another time',
    description:
      'The present time sends the message now. Of a letter to several recipients, all copies that are scheduled move. A ' +
      'message that is no longer `scheduled` cannot be moved: 422.',
    auth: 'brand',
    testKeys,
    assistants: { sends: 'always', asks: 'never', mail: answersMail },
    params: messageParams,
    body: changeMessageBody,
    responses: { 200: { description: 'The message.', schema: acceptedMessage } },
    errors: ['invalid_transition'],
    async handler({ tenant, params, body, ctx }) {
      const reader = readerOf({ ctx });
      await moveMessage(deps, tenant, reader, params.id, body.scheduled_at);
      const moved = await presentChanged(pool, deps, tenant, reader, params.id);
      if (!moved) throw notFound('message');
      return { status: 200, body: moved };
    },
  });
}

function cancelRoute(deps: MoveDeps): RouteDefinition {
  const { pool } = deps;
  return defineIdempotentRoute({
    path: '/v1/my/messages/:id/cancel',
    operationId: 'cancelMessage',
    tag,
    summary: 'Cancel a message that has not been sent',
    description:
      'Ends a transactional message that is `scheduled`, `queued` or `held`, and returns what it has reserved. After the ' +
      'response it is never sent. If it is being sent, has left, or has an attempt without a known outcome: 422. Of a ' +
      'letter to several recipients, all copies that wait are canceled, or none, unless `only` is given.',
    auth: 'brand',
    testKeys,
    assistants: { mail: answersMail },
    params: messageParams,
    body: cancelMessageBody,
    bodyOptional: true,
    responses: { 200: { description: 'The canceled message.', schema: acceptedMessage } },
    errors: ['invalid_transition'],
    prepare: (): Promise<Recall> => Promise.resolve({ needed: false }),
    async handler({ tenant, params: { id }, body: { only = false }, ctx }, trx, recall) {
      const reader = readerOf({ ctx });
      await cancelMessage(trx, deps, tenant, reader, { id, only, recall });
      const canceled = await presentChanged(trx, deps, tenant, reader, id);
      return { status: 200, body: canceled, resourceId: id };
    },
    load: ({ tenant, ctx }, id) => presentChanged(pool, deps, tenant, readerOf({ ctx }), id),
  });
}

export function createChangeRoutes(deps: ChangeRouteDeps): RouteDefinition[] {
  const { config, database, waker } = deps;
  const moving: MoveDeps = {
    pool: database.pool,
    plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
    waker,
    attachments: createAttachments(deps),
    contentDays: config.MESSAGE_CONTENT_RETENTION_DAYS,
  };
  return [moveRoute(moving), cancelRoute(moving)];
}
