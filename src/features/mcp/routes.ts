import type { Logger } from 'pino';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { createClientAddress } from '../../platform/auth/client-address.ts';
import { MCP_PATH, requireMcpOrigin } from '../../platform/auth/grant-authenticate.ts';
import type { OwnOrigin } from '../../platform/auth/own-origin.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import type { InnerRequests } from '../../platform/http/inner-requests.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Description } from '../../platform/openapi/routes.ts';
import { toAppError } from '../../platform/http/middlewares/errors.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { listCalls } from './call-log.ts';
import { createConfirmations } from './confirmations.ts';
import { createEndpoint, type EndpointDeps } from './endpoint.ts';
import {
  listMcpCallsQuery,
  mcpCallSchema,
  protectedResourceSchema,
  type ProtectedResource,
  rpcAnswerSchema,
  rpcMessageBody,
} from './schema.ts';
import type { McpServerDeps } from './server.ts';
import { createTools } from './tools.ts';

export interface McpRouteDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  log: Logger;
  keyring: Keyring;
  ownOrigin: OwnOrigin;
  innerRequests: InnerRequests;
  /** The description of the API. */
  description: Pick<Description, 'yaml'>;
}

const tag = 'MCP';
const METADATA_PATH = '/.well-known/oauth-protected-resource';
const MAX_BODY_BYTES = 1024 * 1024;

function metadataRoute(ownOrigin: OwnOrigin, path: string, operationId: string): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path,
    slashAllowed: true,
    operationId,
    tag,
    summary: 'Show where assistants sign in (RFC 9728)',
    auth: 'none',
    errors: ['not_found'],
    responses: { 200: { description: 'The protected resource', schema: protectedResourceSchema } },
    handler({ ctx }) {
      const origin = requireMcpOrigin(ownOrigin, ctx.req.headers);
      const body: ProtectedResource = {
        resource: origin + MCP_PATH,
        resource_name: 'Carillon',
        authorization_servers: [origin],
        // What clients ask for if they do not read the challenge. They get more when a call needs it.
        scopes_supported: ['mcp:read'],
        bearer_methods_supported: ['header'],
      };
      return { status: 200, body };
    },
  });
}

const getRoute = (): RouteDefinition =>
  defineRoute({
    method: 'GET',
    path: MCP_PATH,
    slashAllowed: true,
    operationId: 'openMcpStream',
    tag,
    summary: 'Show assistants where to sign in',
    description:
      'Without a token, the response is a 401 whose `WWW-Authenticate` names the protected-resource metadata. There are ' +
      'no streams, so a client that has signed in gets a 405.',
    auth: 'grant',
    errors: ['method_not_allowed'],
    responses: {},
    handler() {
      throw new AppError('method_not_allowed', 'send messages by POST; there are no streams', {
        headers: { Allow: 'POST' },
      });
    },
  });

function postRoute(deps: EndpointDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: MCP_PATH,
    slashAllowed: true,
    operationId: 'sendMcpMessage',
    tag,
    summary: 'Call tools as an assistant (Model Context Protocol)',
    description:
      'Streamable HTTP without sessions: one message for each request. Serves the protocol of 2026-07-28 and, with ' +
      '`initialize`, the earlier ones. Assistants sign in with OAuth, for which no API key is needed. Errors of the ' +
      'protocol are JSON-RPC errors, also with the status 400 and 404.',
    auth: 'grant',
    idempotency: 'none',
    audit: 'none',
    maxBodyBytes: MAX_BODY_BYTES,
    body: rpcMessageBody,
    responses: {
      200: {
        description: 'The answer; to clients of earlier versions as one event of a stream',
        schema: rpcAnswerSchema,
        otherContentType: 'text/event-stream',
      },
      202: { description: 'The notification was accepted', schema: null },
    },
    handler: createEndpoint(deps),
  });
}

function callsRoute({ database: { pool } }: McpRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/mcp_calls',
    operationId: 'listMcpCalls',
    tag,
    summary: 'Show what assistants did in the account, newest first',
    description:
      'Has every call of a tool, also refused ones, without its contents. Entries are kept for 90 days.',
    auth: 'account',
    usersOnly: true,
    roles: ['owner'],
    query: listMcpCallsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of calls', schema: z.array(mcpCallSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { calls, count } = await listCalls(pool, input.tenant, input.query, page);
      return paginate(input, page, calls, count);
    },
  });
}

/** What the endpoint serves. @param routes those that assistants may use as tools */
function createServerDeps(
  { database: { pool }, keyring, description }: McpRouteDeps,
  routes: RouteDefinition[],
): McpServerDeps {
  const confirmations = createConfirmations(pool, keyring);
  return {
    pool,
    tools: createTools(routes),
    description: () => description.yaml().toString('utf8'),
    confirmations,
    verifyState: confirmations.verifyState,
  };
}

/**
 * The MCP endpoint, its metadata, and the log of its calls.
 * @param routes those that assistants may use as tools
 */
export function createMcpRoutes(deps: McpRouteDeps, routes: RouteDefinition[]): RouteDefinition[] {
  const { log, innerRequests, ownOrigin } = deps;
  const clientAddress = createClientAddress(deps.config.TRUSTED_PROXIES);
  const server = () => createServerDeps(deps, routes);
  return [
    metadataRoute(deps.ownOrigin, `${METADATA_PATH}${MCP_PATH}`, 'getMcpResource'),
    metadataRoute(deps.ownOrigin, METADATA_PATH, 'getProtectedResource'),
    getRoute(),
    postRoute({ log, innerRequests, ownOrigin, clientAddress, server, errorOf: toAppError }),
    callsRoute(deps),
  ];
}
