import type pg from 'pg';
import { AppError } from '../../../errors.ts';
import { isTestCaller } from '../../auth/tenant.ts';
import { isKeyTaken, keyConflict, keySpace } from '../../db/idempotency.ts';
import type { HttpContext, Middleware } from '../context.ts';
import type { RouteDefinition } from '../route.ts';

async function isKnown(pool: pg.Pool, { method, path }: RouteDefinition, ctx: HttpContext): Promise<boolean> {
  const tenant = ctx.state.principal?.tenant;
  const key = ctx.req.headers['idempotency-key'];
  const brandId = tenant?.brandId ?? null;
  if (!tenant || brandId === null || typeof key !== 'string') return false;
  const endpoint = keySpace(`${method} ${path}`, isTestCaller(tenant.actor));
  return isKeyTaken(pool, { brandId, endpoint, key });
}

/**
 * Answers 409 to an invalid payload if an earlier request has taken its key: that request had a different, valid
 * payload.
 */
export function knownKeys(pool: pg.Pool, route: RouteDefinition): Middleware {
  return async function knownKeys(ctx, next) {
    try {
      await next();
    } catch (error) {
      const isUnparsed = error instanceof AppError && error.code === 'validation_error' && !ctx.state.input;
      if (isUnparsed && (await isKnown(pool, route, ctx))) throw keyConflict();
      throw error;
    }
  };
}
