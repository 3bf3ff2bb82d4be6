import type { Database } from '../../platform/db/database.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { createPasswordChange } from './password-change.ts';
import { presentUser } from './presenter.ts';
import { changePasswordBody, userSchema } from './schema.ts';
import type { PasswordChecks } from './service.ts';

export interface PasswordRouteDeps extends PasswordChecks {
  database: Database;
  rateLimiter: RateLimiter;
}

/** `PUT /v1/my/user/password` */
export function createPasswordRoute({
  database: { pool },
  checkPassword,
  hashPassword,
  rateLimiter,
}: PasswordRouteDeps): RouteDefinition {
  const changePassword = createPasswordChange({
    pool,
    checkPassword,
    hashPassword,
    countFailure: (userId) => rateLimiter.confirmation(userId),
  });
  return defineRoute({
    method: 'PUT',
    path: '/v1/my/user/password',
    operationId: 'changePassword',
    tag: 'Users',
    summary: 'Change the password of the logged-in user',
    description:
      'Ends all other sessions of the user, disconnects the user’s assistants, and makes links for new passwords ' +
      'useless. Wrong passwords are limited: 10 per minute.',
    auth: 'user',
    body: changePasswordBody,
    responses: { 200: { description: 'The user.', schema: userSchema } },
    errors: ['conflict'],
    handler: async ({ session, body }) => ({
      status: 200,
      body: presentUser(await changePassword(session, body)),
    }),
  });
}
