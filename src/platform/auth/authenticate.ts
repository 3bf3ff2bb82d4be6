import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { AppError, invalid, notFound } from '../../errors.ts';
import { ID_DIGITS, MAX_ID } from '../db/paging.ts';
import type { Queryable } from '../db/queryable.ts';
import type { FindKey, KeyPrincipal } from './find-key.ts';
import type { LastUses } from './last-use.ts';
import type { SessionCookies } from './session-cookie.ts';
import { authenticateGrant } from './grant-authenticate.ts';
import type { FindGrantCaller } from './grant-caller.ts';
import type { OwnOrigin } from './own-origin.ts';
import { type Choice, findUserCaller, type UserCaller } from './session-tenant.ts';
import type { SessionTokens } from './session-token.ts';
import type { Authenticate, Principal } from './tenant.ts';

export interface AuthenticateDeps {
  db: Queryable;
  findKey: FindKey;
  tokens: SessionTokens;
  cookies: SessionCookies;
  sessionUses: LastUses;
  findGrantCaller: FindGrantCaller;
  ownOrigin: OwnOrigin;
}

const BEARER = /^Bearer +(\S+)$/i;
/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

function unauthorized(message: string): AppError {
  return new AppError('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function idIn(headers: IncomingHttpHeaders, name: 'X-Account-Id' | 'X-Brand-Id'): number | null {
  const given = headers[name.toLowerCase()];
  if (given === undefined) return null;
  if (typeof given !== 'string' || !ID_DIGITS.test(given)) {
    throw invalid({ [name]: [`must be an integer from 1 to ${MAX_ID}`] });
  }
  return Number(given);
}

const choiceOf = (headers: IncomingHttpHeaders): Choice => ({
  accountId: idIn(headers, 'X-Account-Id'),
  brandId: idIn(headers, 'X-Brand-Id'),
});

/** A key belongs to one brand. A request for another brand must not get a response about this brand. */
function requireOwn({ tenant }: KeyPrincipal, { accountId, brandId }: Choice): void {
  if (accountId !== null && accountId !== tenant.accountId) throw notFound('account');
  if (brandId !== null && brandId !== tenant.brandId) throw notFound('brand');
}

/** @param choice null: the route needs no account */
function userPrincipal({ session, tenant }: UserCaller, choice: Choice | null): Principal {
  if (choice && !tenant) {
    if (choice.brandId !== null) throw notFound('brand');
    if (choice.accountId !== null) throw notFound('account');
    throw new AppError('forbidden', 'you belong to no account; an owner can invite you to one');
  }
  return {
    tenant: choice && tenant,
    rateLimitPerSecond: null,
    rateLimitName: `user ${session.userId}`,
    session,
    grant: null,
  };
}

/**
 * Tries the bearer value as an API key, then as a session token; without `Authorization`, tries the cookie. Sessions are
 * checked in the database on every request, so that ending one takes effect at once; for keys see {@link FindKey}.
 * The MCP endpoint has callers of its own, which no other route knows: see {@link authenticateGrant}.
 */
export function createAuthenticate(deps: AuthenticateDeps): Authenticate {
  const { db, findKey, tokens, cookies } = deps;
  const anything: Choice = { accountId: null, brandId: null };

  async function findUser(
    by: Parameters<typeof findUserCaller>[1],
    choice: Choice | null,
  ): Promise<UserCaller | null> {
    const caller = await findUserCaller(db, by, choice ?? anything);
    if (caller) deps.sessionUses.used(caller.session.id);
    return caller;
  }

  async function byBearer(given: string, choice: () => Choice | null): Promise<Principal> {
    const bearer = BEARER.exec(given)?.[1];
    if (bearer === undefined) throw unauthorized('the Authorization header must read: Bearer <token>');
    const key = await findKey(bearer);
    if (key) {
      requireOwn(key, choice() ?? anything);
      return key;
    }
    // A session token contains dots; an API key does not.
    const claims = bearer.includes('.') ? await tokens.verify(bearer, 'api') : null;
    const chosen = claims && choice();
    const caller = claims && (await findUser(claims, chosen));
    if (!caller) throw unauthorized('the API key or session token is not valid');
    return userPrincipal(caller, chosen);
  }

  async function byCookie(
    { headers, method = '' }: Pick<IncomingMessage, 'headers' | 'method'>,
    choice: Choice | null,
  ): Promise<Principal | null> {
    const digest = cookies.digestOf(headers);
    const caller = digest && (await findUser(digest, choice));
    if (!caller) return null;
    if (!SAFE_METHODS.has(method) && !cookies.allowsChanges(headers, caller.session.id)) {
      throw new AppError(
        'forbidden',
        'with a cookie, a change needs the Origin of this service and the X-CSRF-Token of the session',
      );
    }
    return userPrincipal(caller, choice);
  }

  return async (request, auth) => {
    const { headers } = request;
    if (auth === 'grant') return authenticateGrant(deps, headers);
    const choice = () => (auth === 'user' ? null : choiceOf(headers));
    if (headers.authorization !== undefined) return byBearer(headers.authorization, choice);
    const principal = headers.cookie === undefined ? null : await byCookie(request, choice());
    if (principal) return principal;
    throw unauthorized('send the header Authorization: Bearer, with an API key or a session token');
  };
}
