import { AppError } from '../../../errors.ts';
import type { Authenticate } from '../../auth/tenant.ts';
import { refuseTestKey } from '../../auth/test-keys.ts';
import type { Middleware } from '../context.ts';
import type { RouteDefinition } from '../route.ts';

/** Identifies the caller. @throws AppError `unauthorized`, and the other errors of {@link Authenticate} */
export function authenticate(identify: Authenticate): Middleware {
  return async function authenticate(ctx, next) {
    ctx.state.principal = await identify(ctx.req.headers);
    await next();
  };
}

/**
 * Checks that the caller may use the route. Runs after `rateLimit`, so that refused requests count.
 * @throws AppError `test_key` if the route refuses test keys; `forbidden` if the route does not list the caller's role;
 *   `brand_required` without a brand
 */
export function authorize({ roles, auth, testKeys, usersOnly }: RouteDefinition): Middleware {
  return function authorize(ctx, next) {
    const tenant = ctx.state.principal?.tenant;
    if (!tenant) throw new Error('authorize runs after authenticate');
    if (testKeys === 'refused') refuseTestKey(tenant, 'use this');
    if (usersOnly && tenant.actor.kind !== 'user') {
      throw new AppError('forbidden', 'an API key cannot use this; sign in as a user');
    }
    if (roles && !roles.includes(tenant.role)) {
      throw new AppError('forbidden', `this requires the role ${roles.join(' or ')}, not ${tenant.role}`);
    }
    if (auth === 'brand' && tenant.brandId === null) {
      throw new AppError('brand_required', 'the account has no brand yet; create one with PUT /v1/my/brand');
    }
    return next();
  };
}
