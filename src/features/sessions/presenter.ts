import type { UserSession } from '../../platform/auth/session.ts';
import type { SessionRow } from './model.ts';
import type { Session } from './schema.ts';

/** @param current the session of the request */
export function presentSession(row: SessionRow, current: UserSession): Session {
  return {
    id: row.id,
    kind: row.kind,
    current: row.id === current.id,
    second_factor: row.secondFactor,
    network: row.network,
    user_agent: row.userAgent,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt.toISOString(),
    confirmed_at: row.confirmedAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  };
}
