import type pg from 'pg';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { createRecipientFence, type RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { ConsentDeps } from './consent.ts';
import { listContacts } from './list.ts';
import { removeContact } from './remove.ts';
import {
  changeContactBody,
  contactParams,
  contactReadOnlyFields,
  contactResource,
  createContactBody,
  listContactsQuery,
} from './schema.ts';
import { getContact } from './service.ts';
import { hasReceivedMail, readTimeline, timelineItem, timelineQuery } from './timeline.ts';
import { changeContact, createContact } from './write.ts';

export interface ContactRouteDeps {
  config: Pick<Config, 'SUPPRESS_PLUS_ADDRESSES'>;
  database: Database;
  heavyReads: HeavyReads;
  keyring: Keyring;
}

interface RouteParts {
  pool: pg.Pool;
  heavyReads: HeavyReads;
  consent: ConsentDeps;
  fence: RecipientFence;
}

const PATH = '/v1/my/contacts';
const tag = 'Contacts';
/** JSON may escape each byte of `data` with six bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

const WRITING =
  'An unsubscribed address stays so unless `channels_attributes` has `subscribed: true` for it. After the ' +
  'response to `subscribed: false`, only batches that are already on their way to a provider can still reach it.';

function createRoute({ pool, consent, fence }: RouteParts): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createContact',
    tag,
    summary: 'Create a contact, or update the one with this address',
    description: `A brand has one contact for each address. ${WRITING}`,
    auth: 'brand',
    testKeys: 'refused',
    body: createContactBody,
    readOnlyFields: contactReadOnlyFields,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: {
      200: { description: 'The existing contact, updated.', schema: contactResource },
      201: { description: 'The new contact.', schema: contactResource },
    },
    errors: ['conflict'],
    async handler({ tenant, body }, trx) {
      const { contact, created, unsubscribed } = await createContact(trx, consent, tenant, body);
      const result = { status: created ? 201 : 200, body: contact, resourceId: contact.id };
      return unsubscribed ? { ...result, afterCommit: () => fence.wait(tenant.accountId) } : result;
    },
    async load({ tenant }, id) {
      // The first request may have failed after its commit, without a response.
      await fence.wait(tenant.accountId);
      return getContact(pool, tenant, id);
    },
  });
}

function listRoute({ pool, heavyReads }: RouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listContacts',
    tag,
    summary: 'List contacts, newest first',
    description:
      'Filters must all match. A list whose filters take longer than 5 seconds is a 422; a count that takes longer ' +
      'than 2 seconds is an estimate.',
    auth: 'brand',
    testKeys: 'refused',
    query: listContactsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of contacts.', schema: z.array(contactResource) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { page: _page, limit: _limit, after: _after, ...filters } = input.query;
      const { contacts, count } = await listContacts({ pool, heavyReads }, input.tenant, filters, page);
      return paginate(input, page, contacts, count);
    },
  });
}

function getRoute({ pool }: RouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getContact',
    tag,
    summary: 'Get a contact',
    auth: 'brand',
    testKeys: 'refused',
    params: contactParams,
    responses: { 200: { description: 'The contact.', schema: contactResource } },
    handler: async ({ tenant, params }) => ({ status: 200, body: await getContact(pool, tenant, params.id) }),
  });
}

function changeRoute({ pool, consent, fence }: RouteParts): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeContact',
    tag,
    summary: 'Change a contact',
    description: `Fields that you leave out do not change. ${WRITING}`,
    auth: 'brand',
    testKeys: 'refused',
    params: contactParams,
    body: changeContactBody,
    readOnlyFields: contactReadOnlyFields,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: { 200: { description: 'The contact.', schema: contactResource } },
    errors: ['conflict'],
    async handler({ tenant, params, body }) {
      const { contact, unsubscribed } = await inTransaction(pool, (trx) =>
        changeContact(trx, consent, tenant, params.id, body),
      );
      if (unsubscribed) await fence.wait(tenant.accountId);
      return { status: 200, body: contact };
    },
  });
}

function timelineRoute({ pool, heavyReads }: RouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/timeline`,
    operationId: 'getContactTimeline',
    tag,
    summary: 'List the history of a contact, newest first',
    description: 'Tracked events, messages to its addresses, and changes of its subscriptions.',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: hasReceivedMail },
    params: contactParams,
    query: timelineQuery,
    paginated: true,
    responses: { 200: { description: 'A page of the timeline.', schema: z.array(timelineItem) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { items, counted } = await readTimeline(
        { pool, heavyReads },
        input.tenant,
        input.params.id,
        input.query.before,
        page,
      );
      return paginate(input, page, items, counted, 'page');
    },
  });
}

function deleteRoute({ pool, fence }: RouteParts): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteContact',
    tag,
    summary: 'Delete a contact',
    description:
      'Cancels its queued messages and permanently removes its personal data: from the contact at once, and from its ' +
      'events and messages within minutes. Opt-outs and suppressions stay, so that nothing is sent to the address again.',
    auth: 'brand',
    testKeys: 'refused',
    params: contactParams,
    responses: { 200: { description: 'The contact before it was deleted.', schema: contactResource } },
    async handler({ tenant, params }) {
      const contact = await removeContact(pool, tenant, params.id);
      await fence.wait(tenant.accountId);
      return { status: 200, body: contact };
    },
  });
}

/** `/v1/my/contacts`. */
export function createContactRoutes({
  config,
  database,
  heavyReads,
  keyring,
}: ContactRouteDeps): RouteDefinition[] {
  const { pool } = database;
  const consent = { keyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES };
  const parts = { pool, heavyReads, consent, fence: createRecipientFence(pool) };
  return [
    createRoute(parts),
    listRoute(parts),
    getRoute(parts),
    changeRoute(parts),
    timelineRoute(parts),
    deleteRoute(parts),
  ];
}
