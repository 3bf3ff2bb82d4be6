import type pg from 'pg';
import { AppError, notFound } from '../../errors.ts';
import { insertJoining, type Joining } from '../../platform/audit/entries.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { digestOfToken } from '../../platform/secrets/one-time-token.ts';
import { addMembership, getUser, insertUser, type PasswordChecks, type UserRow } from '../users/service.ts';
import { endInvitation, findAcceptable, findOfUser, type NamedInvitationRow } from './model.ts';
import type { AcceptBody, OwnInvitation, ShownInvitation } from './schema.ts';

const presentShown = (row: NamedInvitationRow): ShownInvitation => ({
  account_name: row.account_name,
  email: row.email,
  role: row.role,
  expires_at: row.expires_at.toISOString(),
});

const presentOwn = (row: NamedInvitationRow): OwnInvitation => ({
  ...presentShown(row),
  id: row.id,
  account_id: row.account_id,
  created_at: row.created_at.toISOString(),
});

/**
 * Looks at a link, and changes nothing: scanners of mail follow links.
 * @throws AppError not_found if it does not exist, was used or revoked, or has expired
 */
export async function showInvitation(db: Queryable, token: string): Promise<ShownInvitation> {
  const row = await findAcceptable(db, digestOfToken(token));
  if (!row) throw notFound('invitation');
  return presentShown(row);
}

const recordJoining = (
  trx: Queryable,
  { id, account_id: accountId }: NamedInvitationRow,
  userId: number,
  as: Pick<Joining, 'action' | 'status'>,
) => insertJoining(trx, { accountId, userId, resourceId: id, ...as });

export interface AcceptDeps extends Pick<PasswordChecks, 'hashPassword'> {
  pool: pg.Pool;
}

/**
 * Creates the invited user. Starts no session: the user signs in.
 * @throws AppError `not_found` as {@link showInvitation}; `conflict` if the address has got a user since
 */
export async function acceptByLink(
  { pool, hashPassword }: AcceptDeps,
  token: string,
  body: AcceptBody,
): Promise<UserRow> {
  const { email } = await showInvitation(pool, token);
  const passwordHash = await hashPassword(body.password, `invitation of ${email}`);
  return inTransaction(pool, async (trx) => {
    const invitation = await endInvitation(trx, { digest: digestOfToken(token) }, 'accepted_at');
    if (!invitation) throw notFound('invitation');
    const { first_name: firstName, last_name: lastName } = body;
    const userId = await insertUser(trx, { email: invitation.email, firstName, lastName }, passwordHash);
    if (userId === null) {
      throw new AppError('conflict', 'this address has a user now; sign in to accept the invitation');
    }
    await addMembership(trx, invitation.account_id, userId, invitation.role);
    await recordJoining(trx, invitation, userId, { action: 'acceptInvitation', status: 201 });
    return getUser(trx, userId);
  });
}

/** The invitations that a signed-in user can accept. */
export async function listOwnInvitations(db: Queryable, userId: number): Promise<OwnInvitation[]> {
  return (await findOfUser(db, userId)).map(presentOwn);
}

/** @throws AppError not_found if the invitation is not for the user, or has ended */
export function acceptSignedIn(pool: pg.Pool, userId: number, id: number): Promise<OwnInvitation> {
  return inTransaction(pool, async (trx) => {
    const invitation = await endInvitation(trx, { userId, id }, 'accepted_at');
    if (!invitation) throw notFound('invitation');
    await addMembership(trx, invitation.account_id, userId, invitation.role);
    await recordJoining(trx, invitation, userId, { action: 'acceptOwnInvitation', status: 200 });
    return presentOwn(invitation);
  });
}

/** @throws AppError not_found as {@link acceptSignedIn} */
export async function declineSignedIn(db: Queryable, userId: number, id: number): Promise<OwnInvitation> {
  const invitation = await endInvitation(db, { userId, id }, 'revoked_at');
  if (!invitation) throw notFound('invitation');
  return presentOwn(invitation);
}
