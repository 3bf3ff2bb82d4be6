import type { Logger } from 'pino';
import type { UserSession } from '../auth/session.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import type { IfMatch } from '../db/revisions.ts';
import type { Copied } from '../input/read-only.ts';
import type { HttpContext } from './context.ts';

/** The file of a multipart/form-data request, read into memory; `contentType` is what the client claims. */
export interface UploadedFile {
  filename: string;
  contentType: string;
  size: number;
  bytes: Buffer;
}

/**
 * The file of a multipart/form-data request that was stored while it arrived; `contentType` is what the client claims.
 */
export interface StoredFile {
  filename: string;
  contentType: string;
  /** Bytes. */
  size: number;
  /** Of the content, in hexadecimal digits. */
  sha256: string;
  /** Of the blob. */
  key: string;
  /**
   * Keeps the file, which is otherwise removed after the request. Call this in the transaction that inserts the row:
   * the file then survives a commit of unknown outcome, and housekeeping removes it if there is no row.
   */
  keep(): void;
}

/** What a handler receives: values parsed by the route's schemas, and the caller's tenant. */
export interface RouteInput<
  Params = unknown,
  Query = unknown,
  Body = unknown,
  T = AccountTenant | null,
  S = UserSession | null,
> {
  params: Params;
  query: Query;
  /** `undefined` if the route has no `body` schema. */
  body: Body;
  /** The read-only fields with a twin; a handler that changes a resource compares them with what is stored. */
  copied: Copied;
  /** Null except in routes with `multipart`. */
  file: UploadedFile | null;
  /** Null except in routes with `multipart.sink`, where `file` is null. */
  stored: StoredFile | null;
  /**
   * Reads the body as it was sent; only in opaque routes. Without this call, nothing of the body is read.
   * @param sender `provider` if a secret has proved that a provider sends it; strangers cannot use up its budget
   * @throws AppError `payload_too_large`, `malformed_json`, `unavailable`
   */
  readBytes(sender?: 'stranger' | 'provider'): Promise<Buffer>;
  /**
   * Passes on the body while it arrives, as it was sent; only in opaque routes. The process limits how many bodies
   * arrive so at once, instead of their bytes, so do not collect them.
   * @throws AppError `unavailable` at once if too many are arriving; `payload_too_large` and `malformed_json` while it
   *   arrives
   */
  openBody(): AsyncGenerator<Buffer, void>;
  /** Null in routes with `auth: 'none'` and `auth: 'user'`. */
  tenant: T;
  /** Null for an API key, and in routes with `auth: 'none'`. */
  session: S;
  requestId: string;
  /** The validated `Idempotency-Key` header; null if the client sent none. */
  idempotencyKey: string | null;
  /** The `If-Match` header; null except in routes with `etag: 'checked'`. */
  ifMatch: IfMatch;
  /** The service's base URL without a trailing slash: `PUBLIC_URL`, or else the address that the client used. */
  readonly publicUrl: string;
  ctx: HttpContext;
  /** Logs `request_id`, `account_id` and `brand_id`. */
  readonly log: Logger;
}

/** The values that the route's schemas parsed. */
export type ParsedRequest = Pick<
  RouteInput,
  | 'params'
  | 'query'
  | 'body'
  | 'copied'
  | 'file'
  | 'stored'
  | 'readBytes'
  | 'openBody'
  | 'idempotencyKey'
  | 'ifMatch'
>;

/**
 * The input of a request, whose log and base URL are created on first use. This is a class because getters in an object
 * literal would give every object its own hidden class, which keeps the whole request in memory for seconds.
 */
export class RequestInput implements RouteInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly copied: Copied;
  readonly file: UploadedFile | null;
  readonly stored: StoredFile | null;
  readonly readBytes: RouteInput['readBytes'];
  readonly openBody: RouteInput['openBody'];
  readonly idempotencyKey: string | null;
  readonly ifMatch: IfMatch;
  readonly tenant: AccountTenant | null;
  readonly session: UserSession | null;
  readonly requestId: string;
  readonly ctx: HttpContext;
  readonly #log: Logger;
  readonly #publicUrl: string | null;

  /** @param publicUrl null means the address that the client used */
  constructor(parsed: ParsedRequest, ctx: HttpContext, log: Logger, publicUrl: string | null) {
    this.params = parsed.params;
    this.query = parsed.query;
    this.body = parsed.body;
    this.copied = parsed.copied;
    this.file = parsed.file;
    this.stored = parsed.stored;
    this.readBytes = parsed.readBytes;
    this.openBody = parsed.openBody;
    this.idempotencyKey = parsed.idempotencyKey;
    this.ifMatch = parsed.ifMatch;
    this.tenant = ctx.state.principal?.tenant ?? null;
    this.session = ctx.state.principal?.session ?? null;
    this.requestId = ctx.state.requestId;
    this.ctx = ctx;
    this.#log = log;
    this.#publicUrl = publicUrl;
  }

  get publicUrl(): string {
    if (this.#publicUrl !== null) return this.#publicUrl;
    // The Host header may contain anything, and may be missing in HTTP/1.0.
    return URL.parse(`http://${this.ctx.req.headers.host ?? ''}`)?.origin ?? 'http://localhost';
  }

  get log(): Logger {
    return this.#log.child({
      request_id: this.requestId,
      account_id: this.tenant?.accountId,
      brand_id: this.tenant?.brandId,
    });
  }
}
