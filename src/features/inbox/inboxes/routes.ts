import { z } from 'zod';
import type { Config } from '../../../config.ts';
import type { Database } from '../../../platform/db/database.ts';
import { pageOf } from '../../../platform/db/paging.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import { paginate } from '../../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { serviceHosts } from '../../domains/service.ts';
import {
  changeInboxBody,
  createInboxBody,
  inboxParams,
  inboxReadOnlyFields as readOnlyFields,
  inboxRoles as roles,
  inboxSchema,
  inboxUsageSchema,
  listInboxesQuery,
} from './schema.ts';
import { createInboxManager, type InboxManager } from './service.ts';

export interface InboxAddressRouteDeps {
  config: Config;
  database: Database;
  resolver: Resolver;
  waker: Waker;
}

const tag = 'Inboxes';
const path = '/v1/my/inboxes';

function createRoute(inboxes: InboxManager, waker: Waker): RouteDefinition {
  return defineIdempotentRoute({
    path,
    operationId: 'createInbox',
    tag,
    summary: 'Create an inbox',
    description:
      'Mail to its address becomes conversations of the brand, and is reported as `email.received`. The MX record to ' +
      'publish is in the `dns_records` of the address’s domain. A domain whose mail already goes elsewhere is refused: ' +
      'use a subdomain. Without `address`, the brand gets its built-in inbox, whose address it may also send from. A ' +
      'brand has at most 100 inboxes. The account needs the capability `inboxes`.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    body: createInboxBody,
    readOnlyFields,
    responses: { 201: { description: 'The inbox', schema: inboxSchema } },
    errors: ['conflict', 'forbidden'],
    // Looks up the MX records of the domain.
    prepare: ({ tenant, body }) => inboxes.prepare(tenant, body),
    async handler({ tenant, body }, trx, address) {
      const inbox = await inboxes.create(trx, tenant, body, address);
      return { status: 201, body: inbox, resourceId: inbox.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => inboxes.get(tenant, id),
  });
}

function listRoute(inboxes: InboxManager): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path,
    operationId: 'listInboxes',
    tag,
    summary: 'List inboxes, newest first',
    auth: 'brand',
    testKeys: 'refused',
    query: listInboxesQuery,
    paginated: true,
    responses: { 200: { description: 'A page of inboxes', schema: z.array(inboxSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const found = await inboxes.list(input.tenant, page);
      return paginate(input, page, found.inboxes, found.count);
    },
  });
}

function usageRoute(inboxes: InboxManager): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${path}/usage`,
    operationId: 'getInboxUsage',
    tag,
    summary: 'Get how much of the quota for mail is used',
    auth: 'brand',
    testKeys: 'refused',
    assistants: 'never',
    responses: { 200: { description: 'What the mail of the account stores', schema: inboxUsageSchema } },
    handler: async ({ tenant }) => ({ status: 200, body: await inboxes.usage(tenant) }),
  });
}

/** Routes of one inbox. */
function inboxRoutes(inboxes: InboxManager): RouteDefinition[] {
  const shared = {
    path: `${path}/:id`,
    tag,
    auth: 'brand',
    testKeys: 'refused',
    params: inboxParams,
  } as const;
  return [
    defineRoute({
      ...shared,
      method: 'GET',
      operationId: 'getInbox',
      summary: 'Get an inbox',
      responses: { 200: { description: 'The inbox', schema: inboxSchema } },
      handler: async ({ tenant, params }) => ({ status: 200, body: await inboxes.get(tenant, params.id) }),
    }),
    defineRoute({
      ...shared,
      method: 'PATCH',
      operationId: 'changeInbox',
      summary: 'Change an inbox, or turn it on or off',
      description: 'An omitted field stays unchanged. Mail to an inbox that is off is refused.',
      roles,
      body: changeInboxBody,
      readOnlyFields,
      errors: ['forbidden'],
      responses: { 200: { description: 'The changed inbox', schema: inboxSchema } },
      handler: async ({ tenant, params, body }) => ({
        status: 200,
        body: await inboxes.change(tenant, params.id, body),
      }),
    }),
    defineRoute({
      ...shared,
      method: 'DELETE',
      operationId: 'deleteInbox',
      audit: 'keys too',
      summary: 'Remove an inbox',
      description: 'Mail to it is refused from then on. Its conversations stay.',
      roles,
      responses: { 200: { description: 'The removed inbox', schema: inboxSchema } },
      handler: async ({ tenant, params }) => ({ status: 200, body: await inboxes.remove(tenant, params.id) }),
    }),
  ];
}

/** POST, GET, PATCH and DELETE of /v1/my/inboxes. */
export function createInboxAddressRoutes(deps: InboxAddressRouteDeps): RouteDefinition[] {
  const { config, database, resolver, waker } = deps;
  const inboxes = createInboxManager({
    pool: database.pool,
    resolver,
    waker,
    hosts: serviceHosts(config),
    quotaBytes: config.INBOX_QUOTA_MB * 1024 * 1024,
  });
  return [createRoute(inboxes, waker), listRoute(inboxes), usageRoute(inboxes), ...inboxRoutes(inboxes)];
}
