import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { AppError } from '../../errors.ts';
import type { ClientAddress } from '../../platform/auth/client-address.ts';
import type { GrantCaller, McpScope } from '../../platform/auth/grant-caller.ts';
import { MCP_PATH, requireMcpOrigin } from '../../platform/auth/grant-authenticate.ts';
import { insufficientScope } from '../../platform/auth/grant-challenge.ts';
import { principalOfGrant } from '../../platform/auth/grant-principal.ts';
import type { OwnOrigin } from '../../platform/auth/own-origin.ts';
import type { InnerRequests } from '../../platform/http/inner-requests.ts';
import type { RouteInput, RouteResult } from '../../platform/http/route.ts';
import { BOTH_TYPES, inAcceptedForm, readAccept } from './accepted.ts';
import { recordCall } from './call-log.ts';
import { scopesOfCall } from './call.ts';
import { scopesOfResource } from './resources.ts';
import { findSelectionTool } from './selection.ts';
import type { RpcMessage } from './schema.ts';
import { createMcpServer, type McpRequest, type McpServerDeps } from './server.ts';

export interface EndpointDeps {
  log: Logger;
  ownOrigin: OwnOrigin;
  clientAddress: ClientAddress;
  innerRequests: InnerRequests;
  /** Called at the first request, since the tools take a while to build. */
  server: () => McpServerDeps;
  errorOf: McpRequest['errorOf'];
  deadlineMs?: number;
}

type McpInput = Pick<RouteInput, 'ctx' | 'requestId' | 'tenant' | 'log'> & { body: RpcMessage };

/** Longer than any route takes. */
const DEADLINE_MS = 60_000;
/** What the protocol needs of the request. Tokens and cookies are left out, so that nothing can pass them on. */
const HEADERS = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];
/** JSON-RPC 2.0: Method not found. */
const METHOD_NOT_FOUND = -32_601;

/** @throws Error unless the route has `auth: 'grant'` */
export function grantOf({ ctx }: Pick<RouteInput, 'ctx'>): GrantCaller {
  const caller = ctx.state.principal?.grant;
  if (!caller) throw new Error('only routes of assistants have a grant');
  return caller;
}

function toWebRequest({ ctx }: McpInput, origin: string, signal: AbortSignal): Request {
  const headers = HEADERS.flatMap((name): [string, string][] => {
    const value = ctx.req.headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const { accept = '' } = ctx.req.headers;
  const { json, events } = readAccept(accept);
  // The library refuses clients that take neither.
  headers.push(['accept', json || events ? BOTH_TYPES : accept]);
  return new Request(origin + MCP_PATH, { method: 'POST', headers, signal });
}

async function toResult({ ctx }: McpInput, response: Response): Promise<RouteResult> {
  const { status } = response;
  const contentType = response.headers.get('content-type');
  if (contentType === null) return { status, raw: { contentType: 'text/plain', body: '' } };
  const answer = { contentType, body: await response.text() };
  // Errors of the protocol are JSON for all clients, which find them by their status.
  return { status, raw: response.ok ? inAcceptedForm(answer, readAccept(ctx.req.headers.accept)) : answer };
}

/** A subscription would outlive its token, and our lists never change. */
const noSubscriptions = ({ id }: RpcMessage): RouteResult => ({
  status: 404,
  body: {
    jsonrpc: '2.0',
    id: id ?? null,
    error: { code: METHOD_NOT_FOUND, message: 'subscriptions are not supported' },
  },
});

/** The scopes that a message needs, as far as they can be known before it is handled. */
function scopesOf({ method, params }: RpcMessage, deps: McpServerDeps, { scopes }: GrantCaller): McpScope[] {
  if (method === 'resources/read') return scopesOfResource(params?.['uri']);
  const name = params?.['name'];
  if (method !== 'tools/call' || typeof name !== 'string' || findSelectionTool(name)) return [];
  const args = params?.['arguments'];
  return scopesOfCall(deps.tools, scopes, name, isObject(args) ? args : {});
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function tooLate(): AppError {
  return new AppError(
    'unavailable',
    'the call took too long; whether it was done is unknown. Read what it would have changed before you repeat it',
  );
}

/** Refuses a call with a challenge, so that the client can ask the user for more; and records it. */
async function requireScopes(
  deps: McpServerDeps,
  { body, requestId, tenant }: McpInput,
  caller: GrantCaller,
  origin: string,
): Promise<void> {
  const needed = scopesOf(body, deps, caller);
  if (needed.every((scope) => caller.scopes.has(scope))) return;
  const name = body.params?.['name'];
  const tool = typeof name === 'string' ? name : 'resources/read';
  const call = { tool, requestId, accountId: tenant?.accountId ?? null };
  const refusal = { target: null, operation: null, resourceId: null, outcome: 'insufficient_scope' };
  await recordCall(deps.pool, caller, call, refusal);
  throw insufficientScope(origin, [...new Set([...caller.scopes, ...needed])]);
}

function requestOf(
  { clientAddress, innerRequests, errorOf }: EndpointDeps,
  { requestId, ctx, tenant, log }: McpInput,
  caller: GrantCaller,
  signal: AbortSignal,
): McpRequest {
  const address = clientAddress(ctx.req) ?? '';
  return {
    caller,
    accountId: tenant?.accountId ?? null,
    requestId,
    requestAs({ accountId, brand }, { headers, ...request }, isConfirmed) {
      const selection = { accountId, brandId: brand?.id ?? null };
      const principal = principalOfGrant(caller, selection, isConfirmed);
      const withId = { ...request, headers: { ...headers, 'x-request-id': requestId } };
      return innerRequests.request(withId, principal, { address, signal });
    },
    report: (error) => log.error({ err: error }, 'call of an assistant failed'),
    errorOf,
  };
}

/** The library writes to the console that `json` drops notifications during a call. This service sends none. */
function withoutWarning<T>(create: () => T): T {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return create();
  } finally {
    console.warn = warn;
  }
}

/** Handles `POST /mcp`: one message of the protocol, of the version of 2026 or an earlier one. */
export function createEndpoint(deps: EndpointDeps): (input: McpInput) => Promise<RouteResult> {
  const { log, ownOrigin, deadlineMs = DEADLINE_MS } = deps;
  const requests = new WeakMap<Request, McpRequest>();
  let servers: McpServerDeps | null = null;
  const serverDeps = () => (servers ??= deps.server());

  const handler = withoutWarning(() =>
    createMcpHandler(
      ({ requestInfo }) => {
        const request = requestInfo && requests.get(requestInfo);
        if (!request) throw new Error('the handler lost its request');
        return createMcpServer(serverDeps(), request);
      },
      {
        legacy: 'stateless',
        responseMode: 'json',
        maxSubscriptions: 1,
        onerror: (error) => log.debug({ err: error }, 'message of an assistant refused'),
      },
    ),
  );

  return async function handleMessage(input) {
    const caller = grantOf(input);
    const origin = requireMcpOrigin(ownOrigin, input.ctx.req.headers);
    const { body } = input;
    if (body.method === 'subscriptions/listen') return noSubscriptions(body);
    await requireScopes(serverDeps(), input, caller, origin);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(tooLate()), deadlineMs);
    try {
      const request = toWebRequest(input, origin, deadline.signal);
      requests.set(request, requestOf(deps, input, caller, deadline.signal));
      const response = await handler.fetch(request, { parsedBody: body });
      const result = await toResult(input, response);
      deadline.signal.throwIfAborted();
      return result;
    } finally {
      clearTimeout(timer);
    }
  };
}
