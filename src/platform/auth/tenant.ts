import type { IncomingHttpHeaders } from 'node:http';

/** The roles of users in an account. */
export const memberRoles = ['owner', 'admin', 'member'] as const;

export type Role = (typeof memberRoles)[number];

/** Who acts. A test key (`crl_test_`) has `test: true`: nothing it sends leaves. */
export type Actor = { kind: 'api_key'; id: number; test: boolean } | { kind: 'user'; id: number; role: Role };

/** The caller's account, and its current brand where it has one. */
export interface AccountTenant {
  accountId: number;
  brandId: number | null;
  actor: Actor;
  /** An API key acts as `admin` inside its own brand. */
  role: Role;
}

/** The tenant every finder takes first. */
export interface Tenant extends AccountTenant {
  brandId: number;
}

/** Who sends a request, as read from the database for this very request. */
export interface Principal {
  tenant: AccountTenant;
  /** Requests a second; null: the setting `RATE_LIMIT_PER_KEY`; 0: no limit. */
  rateLimitPerSecond: number | null;
  /** Whose bucket of requests it is. */
  rateLimitName: string;
}

/**
 * @throws AppError unauthorized where the headers name nobody;
 *   validation_error or not_found where `X-Brand-Id` names no brand of theirs
 */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Principal>;
