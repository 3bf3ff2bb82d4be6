import { z } from 'zod';
import type { Config } from '../../config.ts';
import { defaultEmailProvider } from '../../delivery/wire/providers/settings-url.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { ownHosts, serviceHosts } from './name.ts';
import { createDomainBody, domainParams, domainResource, listDomainsQuery } from './schema.ts';
import { createDomainManager, type DomainManager } from './service.ts';

export interface DomainRouteDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  waker: Waker;
}

const tag = 'Domains';
const path = '/v1/my/domains';

function createRoute(domains: DomainManager, waker: Waker): RouteDefinition {
  return defineIdempotentRoute({
    path,
    operationId: 'createDomain',
    tag,
    summary: 'Register a sending domain',
    description:
      'Returns the DNS records to publish. They are checked after a minute, then less and less often for three days; ' +
      '`POST /domains/{id}/recheck` checks them at once. Several accounts may register a domain: it belongs to the one ' +
      'whose DKIM key is in the DNS.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { reachesOut: true },
    body: createDomainBody,
    readOnlyFields: [],
    responses: { 201: { description: 'The domain with the records to publish', schema: domainResource } },
    errors: ['conflict', 'forbidden'],
    // Generating keys takes a while.
    prepare: ({ tenant, body }) => domains.prepare(tenant, body),
    async handler({ tenant }, trx, prepared) {
      const domain = await domains.create(trx, tenant, prepared);
      return { status: 201, body: domain, resourceId: domain.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => domains.get(tenant, id),
  });
}

function listRoute(domains: DomainManager): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path,
    operationId: 'listDomains',
    tag,
    summary: 'List sending domains',
    auth: 'brand',
    testKeys: 'allowed',
    query: listDomainsQuery,
    paginated: true,
    responses: { 200: { description: 'Domains, newest first', schema: z.array(domainResource) } },
    async handler(input) {
      const page = pageOf(input.query);
      const found = await domains.list(input.tenant, page);
      return paginate(input, page, found.domains, found.count);
    },
  });
}

/** Routes of one domain. */
function domainRoutes(domains: DomainManager): RouteDefinition[] {
  const shared = { tag, auth: 'brand', params: domainParams } as const;
  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getDomain',
      testKeys: 'allowed',
      summary: 'Get a sending domain and the state of its DNS records',
      responses: { 200: { description: 'The domain', schema: domainResource } },
      handler: async ({ tenant, params }) => ({ status: 200, body: await domains.get(tenant, params.id) }),
    }),
    defineRoute({
      ...shared,
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'deleteDomain',
      audit: 'keys too',
      testKeys: 'refused',
      summary: 'Remove a sending domain and its keys',
      description: 'Mail from the domain that was not handed over yet fails with `sender_rejected`.',
      responses: { 200: { description: 'The removed domain', schema: domainResource } },
      handler: async ({ tenant, params }) => ({ status: 200, body: await domains.remove(tenant, params.id) }),
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: `${path}/:id/recheck`,
      operationId: 'recheckDomain',
      testKeys: 'refused',
      summary: 'Check the DNS records of a sending domain now',
      description: 'Returns the domain in its current state; the result of the check follows within seconds.',
      idempotency: 'none',
      responses: { 200: { description: 'The domain', schema: domainResource } },
      handler: async ({ tenant, params }) => ({
        status: 200,
        body: await domains.recheck(tenant, params.id),
      }),
    }),
  ];
}

/** POST, GET and DELETE of /v1/my/domains, and POST …/recheck. */
export function createDomainRoutes({ config, database, keyring, waker }: DomainRouteDeps): RouteDefinition[] {
  const { pool } = database;
  const domains = createDomainManager({
    pool,
    keyring,
    waker,
    own: ownHosts(config),
    presentation: { hosts: serviceHosts(config), defaultProvider: defaultEmailProvider(config) },
  });
  return [createRoute(domains, waker), listRoute(domains), ...domainRoutes(domains)];
}
