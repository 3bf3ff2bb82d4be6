import type { IncomingHttpHeaders } from 'node:http';
import { AppError, invalid, notFound } from '../../errors.ts';
import { ID_DIGITS, MAX_ID } from '../db/paging.ts';
import type { Queryable } from '../db/queryable.ts';
import type { KeyLookup, LiveKey } from './key-lookup.ts';
import type { KeyUsage } from './key-usage.ts';
import { findUserTenant } from './session-tenant.ts';
import type { SessionTokens } from './session-token.ts';
import type { Authenticate, Principal } from './tenant.ts';

export interface AuthenticateDeps {
  db: Queryable;
  keys: KeyLookup;
  usage: KeyUsage;
  tokens: SessionTokens;
}

const BEARER = /^Bearer +(\S+)$/i;

function unauthorized(message: string): AppError {
  return new AppError('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function bearerOf(headers: IncomingHttpHeaders): string {
  const given = headers.authorization;
  if (given === undefined) {
    throw unauthorized('send the header Authorization: Bearer, with an API key or a session token');
  }
  const token = BEARER.exec(given)?.[1];
  if (token === undefined) throw unauthorized('the Authorization header must read: Bearer <token>');
  return token;
}

function wantedBrand(headers: IncomingHttpHeaders): number | null {
  const given = headers['x-brand-id'];
  if (given === undefined) return null;
  if (typeof given !== 'string' || !ID_DIGITS.test(given)) {
    throw invalid({ 'X-Brand-Id': [`must be an integer from 1 to ${MAX_ID}`] });
  }
  return Number(given);
}

function keyPrincipal(key: LiveKey, brandId: number | null): Principal {
  // A key belongs to one brand. A request for another brand must not get a response about this brand.
  if (brandId !== null && brandId !== key.brandId) throw notFound('brand');
  return {
    tenant: {
      accountId: key.accountId,
      brandId: key.brandId,
      actor: { kind: 'api_key', id: key.id, test: key.test },
      role: 'admin',
    },
    rateLimitPerSecond: key.rateLimitPerSecond,
    rateLimitName: `key ${key.id}`,
    session: null,
  };
}

/**
 * Tries the bearer value as an API key, then as a session token (interface section 5). Sessions are checked in the
 * database on every request, so that removing a user takes effect at once; for keys see {@link KeyLookup}.
 */
export function createAuthenticate(deps: AuthenticateDeps): Authenticate {
  const { db, keys, usage, tokens } = deps;

  async function byKey(bearer: string): Promise<LiveKey | null> {
    const key = await keys.find(bearer);
    if (key) usage.used(key.id);
    return key;
  }

  async function bySession(bearer: string, brandId: number | null): Promise<Principal | null> {
    const session = await tokens.verify(bearer, 'api');
    const tenant = session && (await findUserTenant(db, session, brandId));
    if (!tenant) return null;
    return { tenant, rateLimitPerSecond: null, rateLimitName: `user ${tenant.actor.id}`, session };
  }

  return async (headers) => {
    const bearer = bearerOf(headers);
    const key = await byKey(bearer);
    if (key) return keyPrincipal(key, wantedBrand(headers));
    // A session token contains dots; an API key does not.
    const principal = bearer.includes('.') ? await bySession(bearer, wantedBrand(headers)) : null;
    if (!principal) throw unauthorized('the API key or session token is not valid');
    return principal;
  };
}
