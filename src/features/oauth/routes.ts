import type { IncomingMessage } from 'node:http';
import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { AppError, notFound } from '../../errors.ts';
import { createClientAddress, loginNetwork } from '../../platform/auth/client-address.ts';
import type { FindCookieSession } from '../../platform/auth/cookie-session.ts';
import { MCP_PATH, requireMcpOrigin } from '../../platform/auth/grant-authenticate.ts';
import type { OwnOrigin } from '../../platform/auth/own-origin.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Egress } from '../../platform/egress/client.ts';
import type { HttpContext } from '../../platform/http/context.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import {
  defineRoute,
  type RawResult,
  type RouteDefinition,
  type RouteInput,
} from '../../platform/http/route.ts';
import { describeJsonFault } from '../../platform/json/fault.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import {
  authorizationProblem,
  authorizationQuery,
  faultyRedirect,
  hasNul,
  NUL_REFUSED,
  withoutRedirect,
} from './authorize.ts';
import { createClientDocuments } from './client-documents.ts';
import { cleanMetadata, ClientMetadataError } from './client-metadata.ts';
import { makeRoom } from './clients.ts';
import { discoveryDocument } from './discovery.ts';
import { hasGranted } from './grant-list.ts';
import { createInteractions, type Interactions } from './interactions.ts';
import { errorPage } from './pages/page.ts';
import { createProviders, type ProviderAnswer, type Providers } from './providers.ts';
import { resumeAuthorization } from './resume.ts';
import { type OAuthRequest, withOAuthRequest } from './oauth-request.ts';
import { requestTokens, revokeToken, type TokenRequestDeps } from './token-requests.ts';

export interface OauthRouteDeps {
  config: Pick<Config, 'TRUSTED_PROXIES'>;
  ownOrigin: OwnOrigin;
  database: Database;
  log: Logger;
  keyring: Keyring;
  egress: Egress;
  rateLimiter: RateLimiter;
  findCookieSession: FindCookieSession;
}

/** What the routes and the pages of authorizations share. */
export interface OauthServer {
  interactions: Interactions;
  routes: RouteDefinition[];
}

const MAX_BODY_BYTES = 16 * 1024;

type NetworkOf = (request: IncomingMessage) => string;

interface Parts extends TokenRequestDeps {
  pool: pg.Pool;
  providers: Providers;
  ownOrigin: OwnOrigin;
  networkOf: NetworkOf;
  rateLimiter: RateLimiter;
  findCookieSession: FindCookieSession;
}

const shared = {
  tag: 'OAuth',
  auth: 'none',
  opaque: true,
  maxBodyBytes: MAX_BODY_BYTES,
  assistants: 'never',
} as const;

/** @throws AppError not_found at any name that is not the service's own */
function requireIssuer({ ownOrigin }: Parts, { req }: HttpContext): string {
  requireMcpOrigin(ownOrigin, req.headers);
  const origin = ownOrigin.of(req.headers);
  if (!origin) throw notFound('page');
  return origin.origin;
}

function replyWith(ctx: HttpContext, { status, headers, body }: ProviderAnswer): RawResult {
  const { 'set-cookie': cookies, 'content-type': contentType, ...others } = headers;
  if (cookies !== undefined) ctx.set('Set-Cookie', [cookies].flat());
  return {
    status,
    raw: { contentType: String(contentType ?? 'text/plain; charset=utf-8'), body },
    headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
  };
}

/** Errors of programs' requests have the shape of OAuth (RFC 6749, section 5.2). */
function oauthError(status: number, error: string, description: string, headers = {}): RawResult {
  return {
    status,
    raw: {
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify({ error, error_description: description }),
    },
    headers: { 'Cache-Control': 'no-store', ...headers },
  };
}

/** Answers what is wrong in the shape that clients of OAuth read. */
async function withOauthErrors(work: () => Promise<RawResult>): Promise<RawResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ClientMetadataError) return oauthError(400, error.code, error.message);
    if (error instanceof AppError && error.code === 'rate_limited') {
      return oauthError(error.status, 'temporarily_unavailable', error.message, error.headers);
    }
    throw error;
  }
}

const programRequest = (parts: Parts, { req }: HttpContext): OAuthRequest => ({
  db: parts.pool,
  isBrowser: false,
  userId: null,
  network: parts.networkOf(req),
});

async function browserRequest(parts: Parts, { req }: HttpContext): Promise<OAuthRequest> {
  const session = await parts.findCookieSession(req);
  return {
    db: parts.pool,
    isBrowser: true,
    userId: session?.userId ?? null,
    network: parts.networkOf(req),
  };
}

function discoveryRoute({ ownOrigin }: Parts): RouteDefinition {
  return defineRoute({
    tag: 'OAuth',
    auth: 'none',
    assistants: 'never',
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    operationId: 'describeAuthorizationServer',
    summary: 'Describe the authorization server',
    description: 'The metadata of RFC 8414, for programs that connect to `/mcp`.',
    responses: { 200: { description: 'The metadata.', schema: z.looseObject({ issuer: z.string() }) } },
    handler: ({ ctx }) => ({
      status: 200,
      body: discoveryDocument(requireMcpOrigin(ownOrigin, ctx.req.headers)),
    }),
  });
}

function authorizeRoutes(parts: Parts): RouteDefinition[] {
  const responses = {
    303: { description: 'To the page that asks the user, or to the client.', schema: null },
  };

  type Work = (issuer: string, oauthRequest: OAuthRequest) => Promise<ProviderAnswer>;

  async function answer(ctx: HttpContext, work: Work): Promise<RawResult> {
    try {
      const issuer = requireIssuer(parts, ctx);
      parts.rateLimiter.program('authorization', parts.networkOf(ctx.req));
      const given = await work(issuer, await browserRequest(parts, ctx));
      return given.status >= 400 ? authorizationProblem(given) : replyWith(ctx, given);
    } catch (error) {
      if (error instanceof AppError) return errorPage(error);
      throw error;
    }
  }

  /** Whether the user whose browser asks has granted the client something before. */
  async function isKnown({ userId }: OAuthRequest, { querystring }: HttpContext): Promise<boolean> {
    const clientId = new URLSearchParams(querystring).get('client_id');
    return userId !== null && clientId !== null && hasGranted(parts.pool, userId, clientId);
  }

  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/oauth/authorize',
      operationId: 'authorizeClient',
      summary: 'Begin an authorization',
      responses,
      handler: ({ ctx }) =>
        answer(ctx, async (issuer, oauthRequest) => {
          const path = `/oauth/authorize?${authorizationQuery(ctx.querystring, issuer + MCP_PATH)}`;
          const request = { method: 'GET', path, headers: ctx.req.headers } as const;
          const given = await withOAuthRequest(oauthRequest, () => parts.providers.answer(issuer, request));
          const target = faultyRedirect(given, issuer);
          // Anyone can register a client with any site, and must not be able to send users there by a link to this one.
          if (target === null || (await isKnown(oauthRequest, ctx))) return given;
          return withoutRedirect(target);
        }),
    }),
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/oauth/authorize/:uid',
      operationId: 'resumeAuthorization',
      summary: 'Continue after the user has decided',
      params: z.strictObject({ uid: z.string().regex(/^[\w-]{1,100}$/) }),
      responses,
      handler: ({ ctx, params: { uid } }) =>
        answer(ctx, (issuer, oauthRequest) => {
          const request = { method: 'GET', path: ctx.path, headers: ctx.req.headers } as const;
          return resumeAuthorization(parts, issuer, uid, request, oauthRequest);
        }),
    }),
  ];
}

function tokenRoutes(parts: Parts): RouteDefinition[] {
  const handle =
    (answer: typeof requestTokens) =>
    ({ ctx, readBytes }: RouteInput) =>
      withOauthErrors(async () => {
        const issuer = requireIssuer(parts, ctx);
        const body = await readBytes();
        if (hasNul(body.toString('latin1'))) return oauthError(400, 'invalid_request', NUL_REFUSED);
        const request = { method: 'POST', path: ctx.path, headers: ctx.req.headers, body } as const;
        return replyWith(ctx, await answer(parts, issuer, request, programRequest(parts, ctx)));
      });
  return [
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/oauth/token',
      operationId: 'issueTokens',
      summary: 'Get tokens for a code or a refresh token',
      idempotency: 'none',
      responses: { 200: { description: 'The tokens.', schema: null, contentType: 'application/json' } },
      handler: handle(requestTokens),
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/oauth/revoke',
      operationId: 'revokeToken',
      summary: 'End the grant of a token',
      idempotency: 'none',
      responses: { 200: { description: 'The token is invalid.', schema: null } },
      handler: handle(revokeToken),
    }),
  ];
}

function parseJson(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new ClientMetadataError(
      'invalid_client_metadata',
      `the body is not JSON: ${describeJsonFault(text)}`,
    );
  }
}

function registerRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'POST',
    path: '/oauth/register',
    operationId: 'registerClient',
    summary: 'Register a client',
    idempotency: 'none',
    responses: { 201: { description: 'The client.', schema: null, contentType: 'application/json' } },
    handler: ({ ctx, readBytes }) =>
      withOauthErrors(async () => {
        const issuer = requireIssuer(parts, ctx);
        const oauthRequest = programRequest(parts, ctx);
        parts.rateLimiter.program('registration', oauthRequest.network);
        const body = JSON.stringify(cleanMetadata(parseJson(await readBytes())));
        await makeRoom(parts.pool, oauthRequest.network);
        const headers = { 'content-type': 'application/json' };
        const request = { method: 'POST', path: ctx.path, headers, body } as const;
        return replyWith(
          ctx,
          await withOAuthRequest(oauthRequest, () => parts.providers.answer(issuer, request)),
        );
      }),
  });
}

/** The authorization server. The pages that ask users are routes of their own, with its `interactions`. */
export function createOauthServer(deps: OauthRouteDeps): OauthServer {
  const { config, database, log, keyring, egress, rateLimiter, ownOrigin } = deps;
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  // The most that one customer has: the limits of all networks together are those of few networks.
  const networkOf: NetworkOf = (request) => loginNetwork(clientAddress(request));
  const documents = createClientDocuments(egress, rateLimiter);
  const providers = createProviders({ keyring, documents, log });
  const parts: Parts = {
    pool: database.pool,
    providers,
    ownOrigin,
    networkOf,
    rateLimiter,
    findCookieSession: deps.findCookieSession,
  };
  return {
    interactions: createInteractions({
      db: database.pool,
      providers,
      ownOrigin,
      requestOf: (request) => ({ isBrowser: true, userId: null, network: networkOf(request) }),
    }),
    routes: [discoveryRoute(parts), ...authorizeRoutes(parts), ...tokenRoutes(parts), registerRoute(parts)],
  };
}
