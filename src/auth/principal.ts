import type { IncomingHttpHeaders } from 'node:http';
import type { AccountTenant } from './tenant.ts';

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
