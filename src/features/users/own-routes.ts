import { AppError } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { presentUser } from './presenter.ts';
import { changeUserBody, type ChangeUserBody, userReadOnlyFields, userSchema } from './schema.ts';
import { changeUser, getUser, type UserChanges } from './service.ts';

const PATH = '/v1/my/user';
const tag = 'Users';

/** @throws AppError forbidden */
function requireUser({ actor }: AccountTenant): number {
  if (actor.kind === 'user') return actor.id;
  throw new AppError('forbidden', 'an API key belongs to a brand, not to a user; log in as a user');
}

function changesOf({ first_name, last_name, mobile, country_code }: ChangeUserBody): UserChanges {
  const textOf = (value: string | null | undefined) => (value === null ? '' : value);
  return {
    firstName: textOf(first_name),
    lastName: textOf(last_name),
    mobile: textOf(mobile),
    countryCode: textOf(country_code),
  };
}

/** `GET` and `PATCH /v1/my/user`. */
export function createOwnUserRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'getUser',
      tag,
      summary: 'Show the logged-in user',
      description: 'An API key has no user: 403.',
      auth: 'account',
      testKeys: 'refused',
      responses: { 200: { description: 'The user.', schema: userSchema } },
      errors: ['forbidden'],
      handler: async ({ tenant }) => ({
        status: 200,
        body: presentUser(await getUser(pool, requireUser(tenant))),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: PATH,
      operationId: 'changeUser',
      tag,
      summary: 'Change the logged-in user',
      description: 'An API key has no user: 403. An omitted field stays unchanged; null clears it.',
      auth: 'account',
      testKeys: 'refused',
      body: changeUserBody,
      readOnlyFields: userReadOnlyFields,
      responses: { 200: { description: 'The changed user.', schema: userSchema } },
      errors: ['forbidden'],
      async handler({ tenant, body }) {
        const id = requireUser(tenant);
        const row = await inTransaction(pool, (trx) => changeUser(trx, id, changesOf(body)));
        return { status: 200, body: presentUser(row) };
      },
    }),
  ];
}
