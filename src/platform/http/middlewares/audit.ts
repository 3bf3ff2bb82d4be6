import type pg from 'pg';
import type { Logger } from 'pino';
import {
  type AuditedRequest,
  beginEntries,
  completeEntries,
  dropEntries,
  insertRefusal,
} from '../../audit/entries.ts';
import type { ClientAddress } from '../../auth/client-address.ts';
import { requestFields, type HttpContext, type Middleware } from '../context.ts';
import type { RouteDefinition } from '../route.ts';
import { toAppError } from './errors.ts';

export interface AuditDeps {
  pool: pg.Pool;
  log: Logger;
  clientAddress: ClientAddress;
}

const FORBIDDEN = 403;
/** Refused requests may name anything in their path. */
const STORABLE = /^[\x21-\x7e]{1,100}$/;

/** Whether the log has changes by this route. */
export const isAudited = ({ method, auth, audit }: RouteDefinition) =>
  method !== 'GET' && auth !== 'none' && audit !== 'none' && audit !== 'too many';

/** The request as the log shows it; null for an API key, unless the route records keys, too. */
function auditedRequest(
  { clientAddress }: AuditDeps,
  route: RouteDefinition,
  { state, req, params }: HttpContext,
): AuditedRequest | null {
  const { principal, requestId } = state;
  if (!principal) throw new Error('audit runs after authenticate');
  const { tenant, session } = principal;
  const actor = session ? { kind: 'user' as const, id: session.userId } : tenant?.actor;
  if (!actor || (!session && route.audit !== 'keys too')) return null;
  const [named] = Object.values(params ?? {});
  return {
    actorKind: actor.kind,
    actorId: actor.id,
    accountId: tenant?.accountId ?? null,
    brandId: tenant?.brandId ?? null,
    action: route.operationId,
    resourceId: named !== undefined && STORABLE.test(named) ? named : null,
    ip: clientAddress(req),
    requestId,
  };
}

/** Records that the caller may not use the route. */
export function auditRefusals(deps: AuditDeps, route: RouteDefinition): Middleware {
  return async function auditRefusals(ctx, next) {
    try {
      await next();
    } catch (error) {
      if (!ctx.state.isAudited && toAppError(error).status === FORBIDDEN) {
        const request = auditedRequest(deps, route, ctx);
        if (request) await insertRefusal(deps.pool, request, FORBIDDEN);
      }
      throw error;
    }
  };
}

/**
 * Records a change. The entry is written before the handler runs, so that there is no change without one, and gets the
 * status of the response afterwards. Requests that changed nothing leave no entry, except refusals with 403.
 */
export function auditChanges(deps: AuditDeps, route: RouteDefinition): Middleware {
  const { pool, log } = deps;

  async function complete(ctx: HttpContext, ids: number[], status: number): Promise<void> {
    const isRefused = status >= 400 && status < 500 && status !== FORBIDDEN;
    const isReplayed = ctx.res.hasHeader('Idempotent-Replayed');
    try {
      if (isRefused || isReplayed) await dropEntries(pool, ids);
      else await completeEntries(pool, ids, status, ctx.state.resourceId ?? null);
    } catch (error) {
      // The change was made. An entry without a status says that its outcome is unknown.
      log.warn({ ...requestFields(ctx), err: error }, 'status not recorded in the audit log');
    }
  }

  return async function auditChanges(ctx, next) {
    const request = auditedRequest(deps, route, ctx);
    if (!request) {
      await next();
      return;
    }
    ctx.state.isAudited = true;
    const ids = await beginEntries(pool, request);
    try {
      await next();
    } catch (error) {
      await complete(ctx, ids, toAppError(error).status);
      throw error;
    }
    await complete(ctx, ids, ctx.status);
  };
}
