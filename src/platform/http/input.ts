import type Koa from 'koa';
import type { Logger } from 'pino';
import type { AccountTenant } from '../auth/tenant.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { RouteInput, UploadedFile } from './route.ts';

export interface InputContext {
  requestId: string;
  tenant: AccountTenant | null;
  ctx: Koa.Context;
  log: Logger;
  /** Null: as the client addressed us. */
  publicUrl: string | null;
}

/**
 * What a handler gets; its log and base address are made only when asked for. A class, because getters in an
 * object literal give every object a hidden class of its own, which keeps the whole request alive for seconds.
 */
class RequestInput implements RouteInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly file: UploadedFile | null;
  readonly idempotencyKey: string | null;
  readonly tenant: AccountTenant | null;
  readonly requestId: string;
  readonly ctx: Koa.Context;
  readonly #log: Logger;
  readonly #publicUrl: string | null;

  constructor(parsed: ParsedRequest, context: InputContext) {
    this.params = parsed.params;
    this.query = parsed.query;
    this.body = parsed.body;
    this.file = parsed.file;
    this.idempotencyKey = parsed.idempotencyKey;
    this.tenant = context.tenant;
    this.requestId = context.requestId;
    this.ctx = context.ctx;
    this.#log = context.log;
    this.#publicUrl = context.publicUrl;
  }

  get publicUrl(): string {
    if (this.#publicUrl !== null) return this.#publicUrl;
    // A client may send any Host, or in HTTP/1.0 none.
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

/** @param parsed by the route's schemas */
export function createRouteInput(parsed: ParsedRequest, context: InputContext): RouteInput {
  return new RequestInput(parsed, context);
}
