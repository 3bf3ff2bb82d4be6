import { AppError, notFound } from '../../errors.ts';
import { memberRoles, type AccountTenant, type Role } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A signed-in user in one of their accounts. */
export type Caller = Pick<AccountTenant, 'accountId' | 'actor'>;

/** Whether a role may do more than another. */
const isAbove = (role: Role, other: Role): boolean => memberRoles.indexOf(role) < memberRoles.indexOf(other);

/**
 * Nobody grants, changes or removes a role above their own.
 * @throws AppError forbidden
 */
export function requireNotAbove(role: Role, own: Role): void {
  if (isAbove(role, own)) throw new AppError('forbidden', `this requires the role ${role}, not ${own}`);
}

/** @throws AppError forbidden unless the role is owner or admin */
export function requireManager(own: Role): void {
  if (own === 'member') throw new AppError('forbidden', 'this requires the role owner or admin, not member');
}

/**
 * Allows one change of an account's members at a time, until the transaction ends. Two owners who lose the role at once
 * would otherwise each see the other as owner.
 */
async function lockMembers(trx: Queryable, accountId: number): Promise<void> {
  await trx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
}

/**
 * Locks the account's members, and reads the caller's role again: it may have changed since the request began.
 * @throws AppError forbidden if the caller is not a member any more
 */
export async function lockCallersRole(trx: Queryable, { accountId, actor }: Caller): Promise<Role> {
  await lockMembers(trx, accountId);
  const role = await findRole(trx, accountId, actor.id);
  if (actor.kind !== 'user' || role === null)
    throw new AppError('forbidden', 'you are not a member any more');
  return role;
}

/** @returns null if the user is not a member */
export async function findRole(db: Queryable, accountId: number, userId: number): Promise<Role | null> {
  const { rows } = await db.query<{ role: Role }>(
    'select role from memberships where account_id = $1 and user_id = $2',
    [accountId, userId],
  );
  return rows[0]?.role ?? null;
}

/** SQL: revokes the pending invitations to account `$1` by user `$2` for the roles in `$3`. */
const REVOKE_INVITATIONS = `
  update invitations set revoked_at = now()
  where account_id = $1 and invited_by = $2 and accepted_at is null and revoked_at is null
    and role = any ($3::text[])`;

/** Roles that a user with a role may not grant. @param role null: the user is not a member any more */
function rolesBeyond(role: Role | null): Role[] {
  if (role === null || role === 'member') return [...memberRoles];
  return memberRoles.filter((each) => isAbove(each, role));
}

/**
 * Gives a user a role in an account, and revokes the user's invitations for roles that the user may not grant any more.
 * @throws AppError `conflict` if the account would lose its last owner
 */
export async function setRole(trx: Queryable, accountId: number, userId: number, role: Role): Promise<void> {
  await lockMembers(trx, accountId);
  const { rowCount } = await trx.query(
    `insert into memberships as m (account_id, user_id, role) values ($1, $2, $3)
     on conflict (account_id, user_id) do update set role = excluded.role
       where m.role <> 'owner' or excluded.role = 'owner' or exists (
         select 1 from memberships o where o.account_id = $1 and o.user_id <> $2 and o.role = 'owner')`,
    [accountId, userId, role],
  );
  if (rowCount === 0) throw lastOwner();
  await trx.query(REVOKE_INVITATIONS, [accountId, userId, rolesBeyond(role)]);
}

/** Adds a user to an account; a member keeps the role. */
export async function addMembership(
  trx: Queryable,
  accountId: number,
  userId: number,
  role: Role,
): Promise<void> {
  await trx.query(
    `insert into memberships (account_id, user_id, role) values ($1, $2, $3)
     on conflict (account_id, user_id) do nothing`,
    [accountId, userId, role],
  );
}

/**
 * Removes a user from an account, and revokes the user's invitations to it. The account's members must be locked.
 * @throws AppError `conflict` if the account would lose its last owner; `not_found`
 */
export async function removeMembership(trx: Queryable, accountId: number, userId: number): Promise<void> {
  const role = await findRole(trx, accountId, userId);
  if (role === null) throw notFound('user');
  const { rowCount } = await trx.query(
    `delete from memberships m where account_id = $1 and user_id = $2
       and (m.role <> 'owner' or exists (
         select 1 from memberships o where o.account_id = $1 and o.user_id <> $2 and o.role = 'owner'))`,
    [accountId, userId],
  );
  if (rowCount === 0) throw lastOwner();
  await trx.query(REVOKE_INVITATIONS, [accountId, userId, rolesBeyond(null)]);
}

const lastOwner = () => new AppError('conflict', 'an account must keep at least one owner');
