import type pg from 'pg';
import { z } from 'zod';
import { pageOf } from '../../../platform/db/paging.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import type { LargeLists } from '../../../platform/http/large-lists.ts';
import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { tag } from './conversation-routes.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import { deleteQuarantined, listQuarantine, type ReleaseDeps, releaseMessage } from './quarantine.ts';
import { conversationMessageSchema, listQuarantineQuery, quarantineParams } from './schema.ts';
import { findPresentedMessage, presentMessages } from './service.ts';

export interface QuarantineRouteParts {
  pool: pg.Pool;
  sanitizer: Pick<HtmlSanitizer, 'sanitize'>;
  largeLists: LargeLists;
  release: ReleaseDeps;
}

const PATH = '/v1/my/inbox_quarantine';

function listRoute({ pool, sanitizer, largeLists }: QuarantineRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listInboxQuarantine',
    tag,
    summary: 'List mail in quarantine, newest first',
    description:
      'Mail in quarantine is in no conversation, and was not reported. It is deleted after 90 days.',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    query: listQuarantineQuery,
    paginated: true,
    responses: { 200: { description: 'A page of messages.', schema: z.array(conversationMessageSchema) } },
    errors: ['unavailable'],
    async handler(input) {
      const { tenant, query } = input;
      const page = pageOf(query);
      const { items, count } = await listQuarantine(pool, tenant, query, page);
      return largeLists.reply(input, page, items, count, (ids) =>
        presentMessages({ db: pool, sanitizer }, tenant, ids),
      );
    },
  });
}

function releaseRoute({ pool, sanitizer, release }: QuarantineRouteParts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/:conversation_message_id/release`,
    operationId: 'releaseFromInboxQuarantine',
    tag,
    summary: 'Release mail from quarantine',
    description:
      'The mail arrives in a conversation and is reported as `email.received`, once. If the operator has mail scanned for ' +
      'viruses, it is scanned first: until then, `conversation_id` stays null. Mail with a virus is never released.',
    auth: 'brand',
    testKeys: 'refused',
    idempotency: 'none',
    assistants: { mail: 'always' },
    params: quarantineParams,
    responses: { 200: { description: 'The released message.', schema: conversationMessageSchema } },
    errors: ['invalid_transition', 'unavailable'],
    async handler({ tenant, params: { conversation_message_id: id } }) {
      const afterCommit = await inTransaction(pool, (trx) => releaseMessage(trx, release, tenant, id));
      afterCommit();
      return { status: 200, body: await findPresentedMessage({ db: pool, sanitizer }, tenant, id) };
    },
  });
}

function deleteRoute({ pool, sanitizer }: QuarantineRouteParts): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:conversation_message_id`,
    operationId: 'deleteFromInboxQuarantine',
    tag,
    summary: 'Delete mail in quarantine',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    params: quarantineParams,
    responses: { 200: { description: 'The deleted message.', schema: conversationMessageSchema } },
    errors: ['invalid_transition', 'unavailable'],
    async handler({ tenant, params: { conversation_message_id: id } }) {
      const body = await findPresentedMessage({ db: pool, sanitizer }, tenant, id);
      await inTransaction(pool, (trx) => deleteQuarantined(trx, tenant, id));
      return { status: 200, body };
    },
  });
}

/** `/v1/my/inbox_quarantine`. */
export function createQuarantineRoutes(parts: QuarantineRouteParts): RouteDefinition[] {
  return [listRoute(parts), releaseRoute(parts), deleteRoute(parts)];
}
