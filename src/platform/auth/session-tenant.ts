import type { Queryable } from '../db/queryable.ts';
import { ALIVE, SESSION_COLUMNS } from './session-rows.ts';
import type { SessionClaims } from './session-token.ts';
import type { UserSession } from './session.ts';
import type { AccountTenant, Role } from './tenant.ts';

/** What a request chooses among what its caller may use. Null: the first. */
export interface Choice {
  accountId: number | null;
  brandId: number | null;
}

/** A session that has not ended, and what its user may use of the {@link Choice}. */
export interface UserCaller {
  session: UserSession;
  /** Null if the user has no such account or brand. */
  tenant: AccountTenant | null;
}

interface Row extends UserSession {
  accountId: number | null;
  brandId: number | null;
  role: Role | null;
}

/**
 * The chosen brand among those that the user may use, or else the first brand of the chosen or first account. With a
 * valid session there is one row, whose account is null if the user has no such account or brand.
 */
const FIND = `
select ${SESSION_COLUMNS}, m.account_id as "accountId", b.id as "brandId", m.role
from sessions s
left join lateral (
  select memberships.account_id, memberships.role, memberships.created_at from memberships
  join accounts on accounts.id = memberships.account_id and accounts.kind = 'customer'
  where memberships.user_id = s.user_id
    and ($4::bigint is null or memberships.account_id = $4)
    and ($5::bigint is null or exists (
      select 1 from brands where brands.id = $5 and brands.account_id = memberships.account_id))
  order by memberships.created_at, memberships.account_id limit 1
) m on true
left join lateral (
  select id from brands where account_id = m.account_id and ($5::bigint is null or id = $5) order by id limit 1
) b on true
where (s.id = $1 and s.user_id = $2 and s.kind = 'token' or s.secret_digest = $3) and ${ALIVE}`;

/**
 * Finds a session, and reads the role of its user, so that removing a session or a user takes effect at once.
 * @param by the claims of a token, or the digest of a cookie
 * @returns null if the session has ended
 */
export async function findUserCaller(
  db: Queryable,
  by: SessionClaims | Buffer,
  { accountId, brandId }: Choice,
): Promise<UserCaller | null> {
  const identity = Buffer.isBuffer(by) ? [null, null, by] : [by.sessionId, by.userId, null];
  const { rows } = await db.query<Row>(FIND, [...identity, accountId, brandId]);
  const [found] = rows;
  if (!found) return null;
  const { accountId: account, brandId: brand, role, ...session } = found;
  if (account === null || role === null) return { session, tenant: null };
  const actor = { kind: 'user', id: session.userId, role } as const;
  return { session, tenant: { accountId: account, brandId: brand, actor, role } };
}
