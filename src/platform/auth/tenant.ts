import type { IncomingMessage } from 'node:http';
import type { GrantCaller } from './grant-caller.ts';
import type { UserSession } from './session.ts';

/** The roles of users in an account. */
export const memberRoles = ['owner', 'admin', 'member'] as const;

export type Role = (typeof memberRoles)[number];

/**
 * The key or user that makes the request. A test key (`crl_test_`) has `test: true`; its messages never leave the
 * service. A send-only key (`crl_send_`) has `scope: 'send'`: it can send, and read what it sent.
 */
export type Actor =
  | { kind: 'api_key'; id: number; test: boolean; scope?: 'send' | undefined }
  | { kind: 'user'; id: number; role: Role };

/** Whether the caller uses a test key. */
export function isTestCaller(actor: Actor): boolean {
  return actor.kind === 'api_key' && actor.test;
}

/** The send-only key with which the caller sends, which sees nothing but what it sent; null for all other callers. */
export const sendKeyOf = ({ actor }: Pick<AccountTenant, 'actor'>): number | null =>
  actor.kind === 'api_key' && actor.scope === 'send' ? actor.id : null;

/** The caller's account, and its current brand if it has one. */
export interface AccountTenant {
  accountId: number;
  brandId: number | null;
  actor: Actor;
  /** An API key acts as `admin` inside its own brand, a send-only one as `member`. */
  role: Role;
  /** An assistant calls, and its user has not confirmed that it changes what is being sent; see `requireSender`. */
  unconfirmed?: true;
  /** An assistant calls, and its user allowed only some brands of the account: it does not find what all of them share. */
  someBrands?: true;
}

/** The first argument of every finder. */
export interface Tenant extends AccountTenant {
  brandId: number;
}

/** The first argument of finders of a brand's things some of which are about what all brands of the account share. */
export type Finder = Pick<Tenant, 'accountId' | 'brandId' | 'someBrands'>;

/** The caller of a request. */
export interface Principal {
  /** Null in routes with `auth: 'user'`, which need no account. */
  tenant: AccountTenant | null;
  /** Maximum requests per second. Null means the setting `RATE_LIMIT_PER_KEY`; 0 means no limit. */
  rateLimitPerSecond: number | null;
  /** Name of the caller's rate-limit bucket. */
  rateLimitName: string;
  /** Null for an API key. */
  session: UserSession | null;
  /** The assistant that calls for a user; null for all others. */
  grant: GrantCaller | null;
}

/**
 * Identifies the caller by the request headers.
 * @param auth what the route requires
 * @throws AppError `unauthorized` without valid credentials; `forbidden` if another site may have sent the cookie, or
 *   the user belongs to no account; `validation_error` or `not_found` if `X-Account-Id` and `X-Brand-Id` do not name an
 *   account and a brand of the caller
 */
export type Authenticate = (
  request: Pick<IncomingMessage, 'headers' | 'method'>,
  auth: 'user' | 'account' | 'brand' | 'grant',
) => Promise<Principal>;
