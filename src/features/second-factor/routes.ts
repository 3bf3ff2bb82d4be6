import type { IncomingMessage } from 'node:http';
import type pg from 'pg';
import type { SessionIssuer } from '../../platform/auth/session-issuer.ts';
import { deleteSessions } from '../../platform/auth/session-rows.ts';
import type { UserSession } from '../../platform/auth/session.ts';
import type { Database } from '../../platform/db/database.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { credentialHeaders } from '../sessions/schema.ts';
import { getUser, lockUser } from '../users/service.ts';
import {
  confirmSecondFactorBody,
  recoveryCodesSchema,
  secondFactorSchema,
  secondFactorSecretSchema,
} from './schema.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  getSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
  requireOn,
} from './service.ts';

export interface SecondFactorRouteDeps {
  database: Database;
  keyring: Keyring;
  sessions: SessionIssuer;
}

const path = '/v1/my/user/second_factor';
const tag = 'Users';

function showRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path,
    operationId: 'getSecondFactor',
    tag,
    summary: 'Show whether sign-in needs a code',
    auth: 'user',
    responses: { 200: { description: 'The second factor', schema: secondFactorSchema } },
    handler: async ({ session }) => ({ status: 200, body: await getSecondFactor(pool, session.userId) }),
  });
}

function beginRoute(pool: pg.Pool, keyring: Keyring): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path,
    operationId: 'createSecondFactor',
    tag,
    summary: 'Make a secret for an authenticator app',
    description:
      'Codes are those of RFC 6238: SHA-1, 6 digits, 30 seconds. Sign-in needs no code until the user has confirmed to ' +
      'have the secret. A new secret replaces one that was not confirmed. If the second factor is on: 409.',
    auth: 'user',
    confirm: true,
    idempotency: 'none',
    responses: { 201: { description: 'The secret', schema: secondFactorSecretSchema } },
    errors: ['conflict'],
    async handler({ session }) {
      const { id, email } = await getUser(pool, session.userId);
      return { status: 201, body: await beginSecondFactor(pool, keyring, { id, email }) };
    },
  });
}

function confirmRoute({ database: { pool }, keyring, sessions }: SecondFactorRouteDeps): RouteDefinition {
  /** No session without a code stays: neither another one of the user, nor this one under its old id. */
  async function replaceSessions(trx: pg.PoolClient, request: IncomingMessage, session: UserSession) {
    // Waits for sign-ins that have checked the password; later ones find the second factor on.
    await lockUser(trx, session.userId);
    await deleteSessions(trx, session.userId, session.id);
    return sessions.renew(trx, request, session, { secondFactor: true });
  }
  return defineRoute({
    method: 'POST',
    path: `${path}/confirm`,
    operationId: 'confirmSecondFactor',
    tag,
    summary: 'Turn the second factor on',
    description:
      'Returns the recovery codes. All other sessions of the user end, and this one gets a new token or cookie. After ' +
      'five wrong codes, further ones are refused for 15 minutes.',
    auth: 'user',
    confirm: true,
    idempotency: 'none',
    body: confirmSecondFactorBody,
    responses: {
      200: { description: 'The recovery codes', schema: recoveryCodesSchema, headers: credentialHeaders },
    },
    errors: ['not_found', 'conflict', 'rate_limited'],
    async handler({ session, body, ctx: { req } }) {
      const turnedOn = await confirmSecondFactor({ pool, keyring }, session.userId, body.otp, (trx) =>
        replaceSessions(trx, req, session),
      );
      const { recoveryCodes: recovery_codes, also: issued } = turnedOn;
      return { status: 200, body: { recovery_codes }, headers: issued.headers };
    },
  });
}

function removeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path,
    operationId: 'deleteSecondFactor',
    tag,
    summary: 'Turn the second factor off',
    auth: 'user',
    confirm: true,
    responses: { 200: { description: 'The second factor', schema: secondFactorSchema } },
    errors: ['not_found'],
    async handler({ session: { userId } }) {
      requireOn(await removeSecondFactor(pool, userId));
      return { status: 200, body: await getSecondFactor(pool, userId) };
    },
  });
}

function recoveryCodesRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${path}/recovery_codes`,
    operationId: 'createRecoveryCodes',
    tag,
    summary: 'Replace the recovery codes',
    auth: 'user',
    confirm: true,
    idempotency: 'none',
    responses: { 201: { description: 'The new recovery codes', schema: recoveryCodesSchema } },
    errors: ['not_found'],
    async handler({ session }) {
      const recovery_codes = await inTransaction(pool, (trx) => renewRecoveryCodes(trx, session.userId));
      return { status: 201, body: { recovery_codes } };
    },
  });
}

/** GET, POST and DELETE of /v1/my/user/second_factor, and what is below it. */
export function createSecondFactorRoutes(deps: SecondFactorRouteDeps): RouteDefinition[] {
  const { pool } = deps.database;
  return [
    showRoute(pool),
    beginRoute(pool, deps.keyring),
    confirmRoute(deps),
    removeRoute(pool),
    recoveryCodesRoute(pool),
  ];
}
