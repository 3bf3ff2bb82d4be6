import type pg from 'pg';
import { notFound } from '../../errors.ts';
import type { AccountTenant, Role } from '../../platform/auth/tenant.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { removeAccountFromGrants } from '../oauth/index.ts';
import {
  type Caller,
  findRole,
  lockCallersRole,
  removeMembership,
  requireManager,
  requireNotAbove,
  setRole,
} from './memberships.ts';
import type { Member } from './schema.ts';

interface MemberRow {
  id: number;
  first_name: string;
  last_name: string;
  email: string;
  role: Role;
  second_factor: boolean;
  last_active_at: Date | null;
  created_at: Date;
}

/** Sessions end after two weeks; the networks of sign-ins are remembered for a month. */
const MEMBERS = `
  select u.id, u.first_name, u.last_name, u.email, m.role, m.created_at,
    exists (select 1 from second_factors f where f.user_id = u.id and f.confirmed_at is not null) as second_factor,
    greatest(
      (select max(s.last_used_at) from sessions s where s.user_id = u.id),
      (select max(n.logged_in_at) from login_networks n where n.user_id = u.id)) as last_active_at
  from memberships m join users u on u.id = m.user_id
  where m.account_id = $1`;

function presentMember(row: MemberRow): Member {
  return {
    ...row,
    last_active_at: row.last_active_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

/** The users of an account, the newest first. */
export async function listMembers(
  db: Queryable,
  { accountId }: Pick<AccountTenant, 'accountId'>,
  page: Page,
): Promise<{ members: Member[]; count: RowCount }> {
  const [{ rows }, count] = await Promise.all([
    db.query<MemberRow>(
      `${MEMBERS} and ($2::bigint is null or u.id < $2) order by u.id desc limit $3 offset $4`,
      [accountId, page.after, page.limit, page.offset],
    ),
    countRows(db, 'memberships m where m.account_id = $1', [accountId]),
  ]);
  return { members: rows.map(presentMember), count };
}

/** @throws AppError not_found */
async function getMember(db: Queryable, accountId: number, userId: number): Promise<Member> {
  const { rows } = await db.query<MemberRow>(`${MEMBERS} and u.id = $2`, [accountId, userId]);
  if (!rows[0]) throw notFound('user');
  return presentMember(rows[0]);
}

/**
 * Changes the role of a member.
 * @param role undefined: stays
 * @throws AppError `not_found`; `forbidden` if the old or the new role is above the caller's; `conflict` if the account
 *   would lose its last owner
 */
export function changeRole(pool: pg.Pool, caller: Caller, userId: number, role?: Role): Promise<Member> {
  const { accountId } = caller;
  return inTransaction(pool, async (trx) => {
    const own = await lockCallersRole(trx, caller);
    requireManager(own);
    const theirs = await findRole(trx, accountId, userId);
    if (theirs === null) throw notFound('user');
    requireNotAbove(theirs, own);
    requireNotAbove(role ?? theirs, own);
    await setRole(trx, accountId, userId, role ?? theirs);
    return getMember(trx, accountId, userId);
  });
}

/**
 * Removes a user from the account. Users may always remove themselves.
 * @returns the member as it was
 * @throws AppError as {@link changeRole}
 */
export function removeMember(pool: pg.Pool, caller: Caller, userId: number): Promise<Member> {
  const { accountId, actor } = caller;
  return inTransaction(pool, async (trx) => {
    const own = await lockCallersRole(trx, caller);
    if (userId !== actor.id) requireManager(own);
    const member = await getMember(trx, accountId, userId);
    requireNotAbove(member.role, own);
    await removeMembership(trx, accountId, userId);
    // Otherwise the user's assistants could use the account again as soon as the user is invited again.
    await removeAccountFromGrants(trx, accountId, { userId });
    return member;
  });
}
