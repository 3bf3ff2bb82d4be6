import { notFound } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import type { Session } from './session-token.ts';
import type { AccountTenant, Role } from './tenant.ts';

interface TenantRow {
  accountId: number | null;
  brandId: number | null;
  role: Role | null;
}

/**
 * Finds the requested brand among those the user may use, or else the first brand of the user's first account. Returns
 * one row if the session is valid, with nulls if the brand or membership does not exist.
 */
const FIND = `
select m.account_id as "accountId", b.id as "brandId", m.role
from users u
left join lateral (
  select memberships.account_id, memberships.role, memberships.created_at from memberships
  join accounts on accounts.id = memberships.account_id and accounts.kind = 'customer'
  where memberships.user_id = u.id
    and ($3::bigint is null or exists (
      select 1 from brands where brands.id = $3 and brands.account_id = memberships.account_id))
  order by memberships.created_at, memberships.account_id limit 1
) m on true
left join lateral (
  select id from brands where account_id = m.account_id and ($3::bigint is null or id = $3) order by id limit 1
) b on true
where u.id = $1 and u.session_version = $2 and not exists (select 1 from ended_sessions where token_id = $4)`;

/**
 * Finds the tenant of a session. Reads the user's role on every request, so that removing a user takes effect at once.
 * @param brandId the requested brand; null means the first brand of the account
 * @returns null if the session has ended or the user belongs to no account
 * @throws AppError `not_found` if the user has no such brand
 */
export async function findUserTenant(
  db: Queryable,
  session: Session,
  brandId: number | null,
): Promise<AccountTenant | null> {
  const { userId, sessionVersion, tokenId } = session;
  const { rows } = await db.query<TenantRow>(FIND, [userId, sessionVersion, brandId, tokenId]);
  const found = rows[0];
  if (!found) return null;
  if (found.accountId === null || found.role === null) {
    if (brandId !== null) throw notFound('brand');
    return null;
  }
  return {
    accountId: found.accountId,
    brandId: found.brandId,
    actor: { kind: 'user', id: session.userId, role: found.role },
    role: found.role,
  };
}
