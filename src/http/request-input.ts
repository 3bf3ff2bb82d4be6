import type Koa from 'koa';
import type { Logger } from 'pino';
import type { AccountTenant } from '../auth/tenant.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { RouteInput } from './route.ts';

export interface InputContext {
  requestId: string;
  tenant: AccountTenant | null;
  ctx: Koa.Context;
  log: Logger;
  /** Null: as the client addressed us. */
  publicUrl: string | null;
}

/** What a handler gets; its log and base address are made only when asked for. */
export function createRouteInput(parsed: ParsedRequest, context: InputContext): RouteInput {
  const { requestId, tenant, ctx } = context;
  return {
    ...parsed,
    tenant,
    requestId,
    ctx,
    get publicUrl() {
      return context.publicUrl ?? ctx.origin;
    },
    get log() {
      return context.log.child({
        request_id: requestId,
        account_id: tenant?.accountId,
        brand_id: tenant?.brandId,
      });
    },
  };
}
