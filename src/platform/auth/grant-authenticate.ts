import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import type { FindGrantCaller, GrantCaller } from './grant-caller.ts';
import { challengeHeader } from './grant-challenge.ts';
import { principalOfGrant } from './grant-principal.ts';
import type { OwnOrigin } from './own-origin.ts';
import type { Principal } from './tenant.ts';

export interface AuthenticateGrantDeps {
  db: Queryable;
  findGrantCaller: FindGrantCaller;
  ownOrigin: OwnOrigin;
}

const BEARER = /^Bearer +(\S+)$/i;
/** Requests per second that a grant may make. */
const REQUESTS_PER_SECOND = 10;
/** The path of the MCP endpoint, which tokens name as their resource. */
export const MCP_PATH = '/mcp';

/**
 * The base URL of the MCP endpoint and of OAuth.
 * @throws AppError not_found without `PUBLIC_URL`, if the client did not reach the service on this machine
 */
export function requireMcpOrigin(ownOrigin: OwnOrigin, headers: IncomingHttpHeaders): string {
  const base = ownOrigin.configured ?? ownOrigin.of(headers);
  if (base) return base.origin;
  throw new AppError(
    'not_found',
    'MCP needs the setting PUBLIC_URL, with https; without it, it works on this machine only',
  );
}

function unauthorized(origin: string, message: string, error?: 'invalid_token'): AppError {
  const challenge = challengeHeader(origin, { ...(error && { error }), scopes: ['mcp:read'] });
  return new AppError('unauthorized', message, { headers: { 'WWW-Authenticate': challenge } });
}

/** Where the caller acts unless a call says otherwise; only logs and budgets need it before. */
function tenantOf(caller: GrantCaller): Principal['tenant'] {
  const [first] = caller.choices;
  const choice = caller.selected ?? (first ? { accountId: first.accountId, brandId: null } : null);
  return choice && principalOfGrant(caller, choice).tenant;
}

/**
 * Identifies the caller of the MCP endpoint by an OAuth access token, and refuses requests that another website may
 * have sent: by a name that it made lead to this machine, or by a script in its pages.
 * @throws AppError `unauthorized`, `forbidden`, `not_found`
 */
export async function authenticateGrant(
  { db, findGrantCaller, ownOrigin }: AuthenticateGrantDeps,
  headers: IncomingHttpHeaders,
): Promise<Principal> {
  const origin = requireMcpOrigin(ownOrigin, headers);
  if (headers.authorization === undefined) {
    throw unauthorized(origin, 'sign in with OAuth: WWW-Authenticate names where');
  }
  const bearer = BEARER.exec(headers.authorization)?.[1];
  const caller = bearer === undefined ? null : await findGrantCaller(db, bearer, origin + MCP_PATH);
  if (!caller) {
    throw unauthorized(
      origin,
      'the access token is not valid here; API keys and session tokens are not accepted',
      'invalid_token',
    );
  }
  if (!ownOrigin.of(headers)) throw new AppError('forbidden', `use ${origin}${MCP_PATH}`);
  if (headers.origin !== undefined && headers.origin !== origin) {
    throw new AppError('forbidden', 'pages of other websites may not use MCP');
  }
  return {
    tenant: tenantOf(caller),
    rateLimitPerSecond: REQUESTS_PER_SECOND,
    rateLimitName: `grant ${caller.grantId}`,
    session: null,
    grant: caller,
  };
}
