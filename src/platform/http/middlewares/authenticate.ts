import { AppError } from '../../../errors.ts';
import { refuseSendKey } from '../../auth/send-keys.ts';
import { requireConfirmed, requireUser } from '../../auth/session.ts';
import type { Authenticate } from '../../auth/tenant.ts';
import { refuseTestKey } from '../../auth/test-keys.ts';
import type { Middleware } from '../context.ts';
import type { RouteDefinition } from '../route.ts';

/** Identifies the caller of a route. @throws AppError the errors of {@link Authenticate} */
export function authenticate(identify: Authenticate, auth: Parameters<Authenticate>[1]): Middleware {
  return async function authenticate(ctx, next) {
    ctx.state.principal = await identify(ctx.req, auth);
    await next();
  };
}

/**
 * Checks that the caller may use the route. Runs after `rateLimit`, so that refused requests count.
 * @throws AppError `forbidden` if the route is for users, does not list the caller's role, or refuses send-only keys;
 *   `test_key` if the route refuses test keys; `confirmation_required` if the user must give the password again;
 *   `brand_required` without a brand
 */
export function authorize({
  roles,
  auth,
  testKeys,
  sendKeys,
  usersOnly,
  confirm,
}: RouteDefinition): Middleware {
  return function authorize({ state: { principal } }, next) {
    if (!principal) throw new Error('authorize runs after authenticate');
    const { tenant, session } = principal;
    if (tenant && sendKeys === undefined) refuseSendKey(tenant);
    if (usersOnly || auth === 'user') requireUser(session);
    if (tenant && testKeys === 'refused') refuseTestKey(tenant, 'use this');
    if (tenant && roles && !roles.includes(tenant.role)) {
      throw new AppError('forbidden', `this requires the role ${roles.join(' or ')}, not ${tenant.role}`);
    }
    if (confirm) requireConfirmed(session);
    if (auth === 'brand' && tenant?.brandId === null) {
      throw new AppError('brand_required', 'the account has no brand yet; create one with PUT /v1/my/brand');
    }
    return next();
  };
}
