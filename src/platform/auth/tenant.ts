import type { IncomingHttpHeaders } from 'node:http';
import type { Session } from './session-token.ts';

/** The roles of users in an account. */
export const memberRoles = ['owner', 'admin', 'member'] as const;

export type Role = (typeof memberRoles)[number];

/**
 * The key or user that makes the request. A test key (`crl_test_`) has `test: true`; its messages never leave the
 * service.
 */
export type Actor = { kind: 'api_key'; id: number; test: boolean } | { kind: 'user'; id: number; role: Role };

/** Whether the caller uses a test key. */
export function isTestCaller(actor: Actor): boolean {
  return actor.kind === 'api_key' && actor.test;
}

/** The caller's account, and its current brand if it has one. */
export interface AccountTenant {
  accountId: number;
  brandId: number | null;
  actor: Actor;
  /** An API key acts as `admin` inside its own brand. */
  role: Role;
}

/** The first argument of every finder. */
export interface Tenant extends AccountTenant {
  brandId: number;
}

/** The caller of a request. */
export interface Principal {
  tenant: AccountTenant;
  /** Maximum requests per second. Null means the setting `RATE_LIMIT_PER_KEY`; 0 means no limit. */
  rateLimitPerSecond: number | null;
  /** Name of the caller's rate-limit bucket. */
  rateLimitName: string;
  /** Null for an API key. */
  session: Session | null;
}

/**
 * Identifies the caller by the request headers.
 * @throws AppError `unauthorized` without valid credentials; `validation_error` or `not_found` if `X-Brand-Id` does not
 *   name a brand of the caller
 */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Principal>;
