import type pg from 'pg';
import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { UserSession } from '../auth/session.ts';
import type { AccountTenant, Role, Tenant } from '../auth/tenant.ts';
import type { CreatedResult } from '../db/idempotency.ts';
import type { Twins } from '../input/read-only.ts';
import type { FileSink } from './file-sink.ts';
import type { RouteInput } from './input.ts';
import type { RouteResult } from './reply.ts';

export type { RouteInput, StoredFile, UploadedFile } from './input.ts';
export type { JsonResult, RawResult, RouteResult } from './reply.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call the route. `none`: everyone. `user`: signed-in users, also those without an account; the handler gets a
 * `session` and no `tenant`. `brand`: callers with a current brand; an account without one gets 422 `brand_required`.
 * `account`: also users of an account without a brand; `tenant.brandId` may be null. `grant`: assistants, by an OAuth
 * access token; `tenant` is where the caller acts unless a call says otherwise.
 */
export type RouteAuth = 'none' | 'user' | 'account' | 'brand' | 'grant';

/**
 * What a test key (`crl_test_`) may do with a route: everything, nothing, or a part that the handler checks; `only`
 * describes that part to clients. Anything else is a 403 `test_key`. Test keys are often stored where many people can
 * read them, as in CI, so they must not reach a recipient, change what is live, or read many contacts.
 */
export type TestKeys = 'allowed' | 'refused' | { only: string };

/** What a user can grant to an assistant (MCP). */
export type AssistantScope = 'read' | 'write' | 'send' | 'inbox';

/** The arguments of a call by an assistant, not parsed yet: path and query parameters and the fields of the body. */
export type AssistantArguments = Readonly<Record<string, unknown>>;

/** What assistants may do with a route, if it differs from the defaults of `features/mcp/access.ts`. */
export interface AssistantRules {
  /** By default `write`, and `read` for routes that change nothing: GET, and those with `audit: 'none'`. */
  scope?: AssistantScope;
  /**
   * Which calls send to recipients: they need `send`. `unless draft`: a change of a resource that is not a draft also
   * changes what is being sent. `isLive` says so of resources without a status. `if in use`: the route itself decides,
   * by `requireSender`.
   */
  sends?:
    | 'always'
    | 'unless draft'
    | 'if in use'
    | { isLive: (resource: unknown) => boolean }
    | ((args: AssistantArguments) => boolean);
  /**
   * Which calls the user must confirm. By default DELETE, and calls that send: only those with one recipient need not
   * ask.
   */
  asks?: 'always' | 'never' | ((args: AssistantArguments) => boolean);
  /** Which calls read or change what all brands of the account share, so that the user must have allowed all of them. */
  allBrands?: 'always' | ((args: AssistantArguments) => boolean);
  /**
   * Fields of the resource that are about all brands, such as `commercial.wallet_balance_cents`: they are left out unless
   * the user has allowed all brands. Items of lists are left out by `tenant.someBrands`.
   */
  sharedFields?: readonly string[];
  /**
   * Whether a call lets Carillon look up or connect to a name that the call can choose. That is a way out for what the
   * assistant has read, so an assistant that may read mail of strangers needs `send`, too.
   */
  reachesOut?: true;
  /**
   * Whether the response has mail of strangers, which may carry instructions: it needs `inbox`, and is marked as
   * untrusted. A function says so of each item of a list, or of the resource; items are left out without `inbox`.
   */
  mail?: 'always' | ((item: unknown) => boolean);
  /** Arguments that assistants cannot give. */
  without?: readonly string[];
  /** The file of a `multipart` body is given as the text of this argument. Without this, such routes are not offered. */
  fileAsText?: string;
}

interface TenantOf {
  none: null;
  user: null;
  account: AccountTenant;
  brand: Tenant;
  grant: AccountTenant | null;
}

interface SessionOf {
  none: null;
  user: UserSession;
  account: UserSession | null;
  brand: UserSession | null;
  grant: null;
}

/** A multipart/form-data body: one required file, and text fields that `RouteDefinition.body` parses. */
export interface MultipartBody {
  /** The form field of the file. */
  file: string;
  /** A larger file is a 413. */
  maxFileBytes: number;
  /**
   * Stores the file while it arrives. The file is never in memory, may be large, and has a longer deadline. The handler
   * gets `input.stored` instead of `input.file`. The route needs authentication.
   */
  sink?: FileSink;
}

export interface ResponseHeader {
  description: string;
  schema: z.ZodType;
}

export interface RouteResponse {
  description: string;
  /** Null if there is no body, or if `contentType` is not JSON. */
  schema: z.ZodType | null;
  contentType?: string;
  /** Another content type that the body may have. */
  otherContentType?: string;
  headers?: Record<string, ResponseHeader>;
}

interface RouteBase<Auth extends RouteAuth = RouteAuth> {
  /**
   * With `:name` parameters, e.g. `/v1/my/messages/:id`; each name has a schema in `params`. An opaque route may end in
   * `{*name}`, which is the rest of the path.
   */
  path: string;
  /** Whether a slash may follow a path without parameters, because people type it into other programs. */
  slashAllowed?: true;
  /** Unique, camelCase: `listMessages`. */
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  auth: Auth;
  /** Required, unless no API key may call the route. */
  testKeys?: TestKeys;
  /** Whether send-only keys may call the route, all of it or what `only` says. By default they get 403. */
  sendKeys?: 'allowed' | { only: string };
  /** Roles that may call the route; all others get 403. All roles by default. An API key acts as `admin`, a send-only one as `member`. */
  roles?: Role[];
  /** Whether only signed-in users may call the route; an API key then gets 403. */
  usersOnly?: true;
  /**
   * Whether the user must have given the password, and the code of the second factor, within the last 15 minutes; else
   * the response is a 403 `confirmation_required`. API keys are not asked.
   */
  confirm?: true;
  /**
   * Whether responses have the `ETag` of the resource, from the `revision` of their body. `checked`: the handler also
   * passes `input.ifMatch` to `requireRevision`, under the lock of the row.
   */
  etag?: 'shown' | 'checked';
  /** A PUT that makes the resource if there is none: `If-None-Match: *` requires that. */
  mayCreate?: true;
  /**
   * Which calls the audit log has, in routes of other methods than GET. By default those of users. `keys too`: also
   * those of API keys, for routes that programs call rarely and that matter. `none`: the route changes nothing.
   * `too many`: editors call it while people type, and nothing live changes.
   */
  audit?: 'keys too' | 'none' | 'too many';
  /** What assistants may do with the route. `never` if it is for people only, or shows what they must not see. */
  assistants?: 'never' | AssistantRules;
  /** Fields of the resource that clients may send back and that are ignored (`id`, `created_at` …). */
  readOnlyFields?: string[];
  /**
   * Those of `readOnlyFields` that another field changes. A route without path parameters refuses them if they have a
   * value and their twin is not given; other handlers call `input.copied.requireUnchanged`.
   */
  twins?: Twins;
  /** Largest JSON body in bytes; 5 MB by default. */
  maxBodyBytes?: number;
  multipart?: MultipartBody;
  /**
   * For requests whose form another service defines, such as callbacks. Query and body are not parsed: the handler
   * reads `ctx.querystring`, and calls `input.readBytes()` for a body of at most `maxBodyBytes`. The route is not part
   * of the API description.
   */
  opaque?: true;
  /** Whether a call may count as several requests. The handler counts them by `ctx.state.requests`. */
  manyRequests?: true;
  /** Success responses; errors are listed in `errors`. */
  responses: Record<number, RouteResponse>;
  /** Error codes of this route, beside those that every route of its kind has. */
  errors?: ErrorCode[];
  /** Whether responses have the headers of `paginate`. */
  paginated?: boolean;
}

/**
 * The phases of a POST that is handled once for each idempotency key:
 *
 * 1. If an earlier request has used the key, the resource that it created is loaded and returned; a different payload
 *    is a 409.
 * 2. `prepare` does slow work, or refuses the request, outside of the transaction.
 * 3. In one transaction, the key is taken and `handler` does the work. If another request has just taken the key, its
 *    outcome is returned as in 1.
 * 4. If the request was not handled, `discard` removes what was prepared.
 *
 * A route without `prepare` begins with 3. After a crash in any phase, the request can be repeated.
 */
export interface IdempotentPhases<Early = RouteInput, Input = Early, Prepared = unknown> {
  /** What stands for the body in the fingerprint of a request with a key, before `prepare`. By default the body itself. */
  payload?(input: Early): unknown;
  /**
   * May run for several requests with the same key, of which only one is handled. So it may write only what `discard`
   * removes, or what does no harm and is found again by the next request.
   * @throws AppError the refusal of the request
   */
  prepare?(input: Early): Promise<Prepared>;
  /** Makes the first brand of a caller's account that has none, after `prepare`. The key belongs to that brand. */
  ensureBrand?(tenant: AccountTenant): Promise<number>;
  /** Runs again after a `NotPreparedError`. */
  handler(input: Input, trx: pg.PoolClient, prepared: Prepared): Promise<CreatedResult>;
  /**
   * Runs if another request took the key, or `handler` throws. It does not run after a crash, or if it is unknown
   * whether the transaction was committed; housekeeping then removes what no row refers to.
   */
  discard?(prepared: Prepared): Promise<void>;
  /**
   * Returns the body for a replay: the current state of the resource.
   * @returns null if the resource was removed; the replay is then a 404
   */
  load(input: Input, resourceId: number): Promise<unknown>;
}

export type Handler<Input = RouteInput> = (input: Input) => Promise<RouteResult> | RouteResult;

interface ErasedRoute extends RouteBase {
  method: HttpMethod;
  params: z.ZodObject | null;
  query: z.ZodObject | null;
  body: z.ZodType | null;
  /** Whether the JSON body may be left out; an empty body is parsed as `{}`. */
  bodyOptional: boolean;
}

/**
 * A route as the app, OpenAPI and tests see it: its schemas are values, and their types are erased.
 *
 * `idempotency` says how the route treats the `Idempotency-Key` header. `middleware`: the handler runs in a transaction
 * that also stores the key. `own`: the feature uses `input.idempotencyKey` itself, because many requests share a
 * transaction, or because its keys live as long as the resources they created. `none`: the header is ignored, since
 * repeating the request does no harm.
 */
export type RouteDefinition = HandledRoute | OnceRoute;
export type HandledRoute = ErasedRoute & { idempotency: 'own' | 'none'; handler: Handler };
export type OnceRoute = ErasedRoute & { idempotency: 'middleware' } & IdempotentPhases;

type MaybeObject = z.ZodObject | undefined;
type MaybeSchema = z.ZodType | undefined;
type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

interface Schemas<P, Q, B> {
  params?: P;
  /** A strict object: an unknown query parameter is a 422. */
  query?: Q;
  /** Its objects are strict: an unknown field is a 422 that suggests the nearest known name. */
  body?: B;
  bodyOptional?: boolean;
}

export interface PlainRoute<
  Auth extends RouteAuth,
  P extends MaybeObject,
  Q extends MaybeObject,
  B extends MaybeSchema,
>
  extends RouteBase<Auth>, Schemas<P, Q, B> {
  method: HttpMethod;
  /** Required for a POST; other methods ignore the header. */
  idempotency?: 'own' | 'none';
  handler: Handler<RouteInput<Output<P>, Output<Q>, Output<B>, TenantOf[Auth], SessionOf[Auth]>>;
}

type ParsedInput<P, Q, B, T> = RouteInput<Output<P>, Output<Q>, Output<B>, T>;

export interface IdempotentRoute<
  Auth extends 'account' | 'brand',
  P extends MaybeObject,
  Q extends MaybeObject,
  B extends MaybeSchema,
  Prepared,
>
  extends
    RouteBase<Auth>,
    Schemas<P, Q, B>,
    IdempotentPhases<ParsedInput<P, Q, B, TenantOf[Auth]>, ParsedInput<P, Q, B, Tenant>, Prepared> {}

/**
 * Declares a route of any method. A POST handles idempotency itself; see also {@link defineIdempotentRoute}.
 * @throws Error for a POST without `idempotency`, and for a route for API keys without `testKeys`
 */
export function defineRoute<
  Auth extends RouteAuth,
  P extends MaybeObject = undefined,
  Q extends MaybeObject = undefined,
  B extends MaybeSchema = undefined,
>(route: PlainRoute<Auth, P, Q, B>): RouteDefinition {
  if (route.method === 'POST' && route.idempotency === undefined) {
    throw new Error(`${route.operationId}: a POST must declare how it treats Idempotency-Key`);
  }
  requireTestKeys(route);
  return {
    ...route,
    ...schemasOf(route, route.method),
    idempotency: route.idempotency ?? 'none',
    // The middlewares authenticate by `auth` and parse by these schemas, so the input has the type that was erased.
    handler: route.handler as unknown as Handler,
  };
}

/**
 * Declares a POST that is handled once for each `Idempotency-Key`, in the phases of {@link IdempotentPhases}.
 * @throws Error for a route without `testKeys`, and for one with `auth: 'account'` without `ensureBrand`
 */
export function defineIdempotentRoute<
  Auth extends 'account' | 'brand',
  P extends MaybeObject = undefined,
  Q extends MaybeObject = undefined,
  B extends MaybeSchema = undefined,
  Prepared = undefined,
>(route: IdempotentRoute<Auth, P, Q, B, Prepared>): RouteDefinition {
  requireTestKeys(route);
  if (route.auth === 'account' && !route.ensureBrand) {
    throw new Error(`${route.operationId}: idempotency keys belong to a brand, which ensureBrand must make`);
  }
  return {
    // As in defineRoute, the input has the type that was erased.
    ...(route as unknown as RouteBase & IdempotentPhases),
    ...schemasOf(route, 'POST'),
    method: 'POST',
    idempotency: 'middleware',
  };
}

function requireTestKeys({
  auth,
  testKeys,
  usersOnly,
  operationId,
}: Pick<RouteBase, 'auth' | 'testKeys' | 'usersOnly' | 'operationId'>) {
  if (auth === 'none' || auth === 'user' || auth === 'grant' || usersOnly) return;
  if (testKeys === undefined) {
    throw new Error(`${operationId}: a route for API keys must declare what test keys may do`);
  }
}

/** The body of a POST that takes none. A field is refused instead of ignored. */
const noFields = z.strictObject({});

function schemasOf(
  route: Schemas<MaybeObject, MaybeObject, MaybeSchema> & { opaque?: true },
  method: HttpMethod,
) {
  const takesNone = method === 'POST' && route.body === undefined && !route.opaque;
  return {
    params: route.params ?? null,
    query: route.query ?? null,
    body: route.body ?? (takesNone ? noFields : null),
    bodyOptional: takesNone || (route.bodyOptional ?? false),
  };
}
