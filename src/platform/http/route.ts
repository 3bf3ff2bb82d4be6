import type { Readable } from 'node:stream';
import type Koa from 'koa';
import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { AccountTenant, Role, Tenant } from '../auth/tenant.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `none` anybody, `brand` whoever has a current brand (an account without one gets 422
 * `brand_required`), `account` also somebody whose account has no brand yet (`tenant.brandId` may be null).
 */
export type RouteAuth = 'none' | 'account' | 'brand';

interface TenantOf {
  none: null;
  account: AccountTenant;
  brand: Tenant;
}

/** One file of a multipart/form-data request, read whole; `contentType` is what the client claims. */
export interface UploadedFile {
  filename: string;
  contentType: string;
  size: number;
  bytes: Buffer;
}

/** A multipart/form-data body: one required file, and text fields which `RouteDefinition.body` parses. */
export interface MultipartBody {
  /** The form field of the file. */
  file: string;
  /** A longer file is a 413. */
  maxFileBytes: number;
}

/** What a handler gets: everything parsed by the route's schemas, and nothing of another tenant. */
export interface RouteInput<Params = unknown, Query = unknown, Body = unknown, T = AccountTenant | null> {
  params: Params;
  query: Query;
  /** `undefined` where the route has no `body` schema. */
  body: Body;
  /** Null but in routes with `multipart`. */
  file: UploadedFile | null;
  tenant: T;
  requestId: string;
  /** The `Idempotency-Key` header, already validated; null where none was sent. */
  idempotencyKey: string | null;
  /** The service's base address without a slash at its end: `PUBLIC_URL`, or how the client addressed us. */
  readonly publicUrl: string;
  ctx: Koa.Context;
  /** Carries `request_id`, `account_id` and `brand_id`; made when first asked for. */
  readonly log: Logger;
}

/** A JSON answer; `body` is serialised by the floor, once. `null` is the JSON value null. */
export interface JsonResult {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** An answer that is not JSON: a page, a file, a YAML document. */
export interface RawResult {
  status: number;
  raw: { contentType: string; body: string | Buffer | Readable };
  headers?: Record<string, string>;
}

export type RouteResult = JsonResult | RawResult;

/** The answer of a handler that ran in a transaction; `resourceId` is what a replay loads again. */
export interface CreatedResult extends JsonResult {
  resourceId: number;
  /** Called once the transaction is committed (wake-up hints); not called in a replay. */
  afterCommit?: () => void;
}

export interface ResponseHeader {
  description: string;
  schema: z.ZodType;
}

export interface RouteResponse {
  description: string;
  /** Null where there is no body, or where `contentType` is not JSON. */
  schema: z.ZodType | null;
  contentType?: string;
  headers?: Record<string, ResponseHeader>;
}

/**
 * How a POST treats its `Idempotency-Key` header:
 * `middleware` — the handler runs in a transaction that also keeps the key ({@link defineIdempotentRoute});
 * `own` — the room does it itself (`input.idempotencyKey`); `none` — there is nothing to repeat, the header is ignored.
 */
export type Idempotency = 'middleware' | 'own' | 'none';

interface RouteFacts<Auth extends RouteAuth = RouteAuth> {
  /** With `:name` parameters, e.g. `/v1/my/messages/:id`; each name has a schema in `params`. */
  path: string;
  /** Unique, camelCase: `listMessages`. */
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  auth: Auth;
  /** Roles that may call; everybody else gets 403. Default: all. An API key acts as `admin`. */
  roles?: Role[];
  /** Fields of the resource that a client may send back and that are ignored (`id`, `created_at` …). */
  readOnlyFields?: string[];
  /** Largest JSON body in bytes; default 5 MB. */
  maxBodyBytes?: number;
  multipart?: MultipartBody;
  /** Success answers; errors are listed in `errors`. */
  responses: Record<number, RouteResponse>;
  /** Codes beyond those that {@link commonErrors} derives. */
  errors?: ErrorCode[];
  /** Query parameters a list answers with headers for; set by lists that use `paginate`. */
  paginated?: boolean;
}

/** A route as the app, OpenAPI and tests see it: its schemas are values, its types erased. */
export interface RouteDefinition extends RouteFacts {
  method: HttpMethod;
  params: z.ZodObject | null;
  query: z.ZodObject | null;
  body: z.ZodType | null;
  idempotency: Idempotency;
  /** True where the JSON body may be left out altogether (an empty body is parsed as `{}`). */
  bodyOptional: boolean;
  handler: (input: RouteInput) => Promise<RouteResult> | RouteResult;
  /** Only with `idempotency: 'middleware'`. */
  create: ((input: RouteInput, trx: pg.PoolClient) => Promise<CreatedResult>) | null;
  /** Only with `idempotency: 'middleware'`. */
  load: ((input: RouteInput, resourceId: number) => Promise<unknown>) | null;
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

interface Schemas<P, Q, B> {
  params?: P;
  /** A strict object: unknown query parameters are a 422. */
  query?: Q;
  /** Objects in it are strict: unknown fields are a 422 with the nearest known name. */
  body?: B;
  bodyOptional?: boolean;
}

type Optional<S> = S | undefined;

export interface PlainRoute<
  Auth extends RouteAuth,
  P extends Optional<z.ZodObject>,
  Q extends Optional<z.ZodObject>,
  B extends Optional<z.ZodType>,
>
  extends RouteFacts<Auth>, Schemas<P, Q, B> {
  method: HttpMethod;
  /** Required of a POST; any other method ignores the header. */
  idempotency?: 'own' | 'none';
  handler: (
    input: RouteInput<Output<P>, Output<Q>, Output<B>, TenantOf[Auth]>,
  ) => Promise<RouteResult> | RouteResult;
}

export interface IdempotentRoute<
  P extends Optional<z.ZodObject>,
  Q extends Optional<z.ZodObject>,
  B extends Optional<z.ZodType>,
>
  extends RouteFacts<'brand'>, Schemas<P, Q, B> {
  /** Does the work inside `trx`, which also keeps the idempotency key: both commit, or neither. */
  handler: (
    input: RouteInput<Output<P>, Output<Q>, Output<B>, Tenant>,
    trx: pg.PoolClient,
  ) => Promise<CreatedResult>;
  /**
   * The answer's body as the resource is now, for a replay.
   * @returns null where it is gone: the replay is then a 404
   */
  load: (input: RouteInput<Output<P>, Output<Q>, Output<B>, Tenant>, resourceId: number) => Promise<unknown>;
}

/**
 * Declare a route: any method, or a POST that deals with idempotency itself.
 * @throws Error for a POST that does not say `idempotency: 'own' | 'none'`; use {@link defineIdempotentRoute}
 */
export function defineRoute<
  Auth extends RouteAuth,
  P extends Optional<z.ZodObject> = undefined,
  Q extends Optional<z.ZodObject> = undefined,
  B extends Optional<z.ZodType> = undefined,
>(route: PlainRoute<Auth, P, Q, B>): RouteDefinition {
  if (route.method === 'POST' && route.idempotency === undefined) {
    throw new Error(`${route.operationId}: a POST says how it treats Idempotency-Key`);
  }
  return {
    ...route,
    ...schemasOf(route, route.method),
    idempotency: route.idempotency ?? 'none',
    // The floor parses by these very schemas and authenticates by `auth`, so the input is what the handler takes.
    handler: route.handler as unknown as RouteDefinition['handler'],
    create: null,
    load: null,
  };
}

/** Declare a POST whose `Idempotency-Key` the floor keeps in the handler's transaction. */
export function defineIdempotentRoute<
  P extends Optional<z.ZodObject> = undefined,
  Q extends Optional<z.ZodObject> = undefined,
  B extends Optional<z.ZodType> = undefined,
>(route: IdempotentRoute<P, Q, B>): RouteDefinition {
  return {
    ...route,
    ...schemasOf(route, 'POST'),
    method: 'POST',
    idempotency: 'middleware',
    handler: () => {
      throw new Error(`${route.operationId} runs in a transaction`);
    },
    create: route.handler as unknown as RouteDefinition['create'],
    load: route.load as unknown as RouteDefinition['load'],
  };
}

/** The body of a POST that takes none: nobody is to believe that what they sent was heeded. */
const noFields = z.strictObject({});

function schemasOf(
  route: Schemas<Optional<z.ZodObject>, Optional<z.ZodObject>, Optional<z.ZodType>>,
  method: HttpMethod,
) {
  const takesNone = method === 'POST' && route.body === undefined;
  return {
    params: route.params ?? null,
    query: route.query ?? null,
    body: route.body ?? (takesNone ? noFields : null),
    bodyOptional: takesNone || (route.bodyOptional ?? false),
  };
}

/** Error codes that the floor itself may answer this route with; OpenAPI adds them to `errors`. */
export function commonErrors(route: RouteDefinition): ErrorCode[] {
  const codes: ErrorCode[] = ['validation_error', 'rate_limited', 'internal_error', 'unavailable'];
  // A brand that is not the caller's, in X-Brand-Id, is not found.
  if (route.auth !== 'none') codes.push('unauthorized', 'not_found');
  if (route.auth === 'brand') codes.push('brand_required');
  if (route.roles) codes.push('forbidden');
  if (route.params && route.auth === 'none') codes.push('not_found');
  if (route.body || route.multipart)
    codes.push('malformed_json', 'payload_too_large', 'unsupported_media_type');
  if (route.idempotency !== 'none') codes.push('idempotency_conflict');
  return codes;
}

/** Every code this route may answer with, each once. */
export function errorsOf(route: RouteDefinition): ErrorCode[] {
  return [...new Set([...commonErrors(route), ...(route.errors ?? [])])];
}
