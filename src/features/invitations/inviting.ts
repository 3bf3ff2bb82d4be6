import type pg from 'pg';
import { AppError, notFound, tooMany } from '../../errors.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { createOneTimeToken } from '../../platform/secrets/one-time-token.ts';
import { type LinkDelivery, mailSecret } from '../system-mail/service.ts';
import {
  type Caller,
  emailKey,
  findRole,
  findUserId,
  lockCallersRole,
  requireManager,
  requireNotAbove,
} from '../users/service.ts';
import { invitationNotice } from './mails.ts';
import {
  countRecent,
  findInvitation,
  findInvitations,
  insertInvitation,
  type InvitationRow,
  renewInvitation,
  revokeInvitation,
} from './model.ts';
import type { CreateInvitationBody, Invitation, NewInvitation } from './schema.ts';

/** The limits keep customers from sending the installation's mail to strangers. */
const MAX_PER_DAY = { ofAccount: 100, ofAddress: 3 };
const MAX_MAILS = 5;

function presentInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: row.expires_at.getTime() > Date.now() ? 'pending' : 'expired',
    invited_by: row.invited_by,
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

export async function listInvitations(
  db: Queryable,
  scope: AccountScope,
  page: Page,
): Promise<{ invitations: Invitation[]; count: RowCount }> {
  const { rows, count } = await findInvitations(db, scope, page);
  return { invitations: rows.map(presentInvitation), count };
}

/** The path of the console's page for a new user. Opening it changes nothing. */
const pathOf = (token: string) => `/console/invitations/${token}`;

interface Sent {
  invitation: NewInvitation;
  /** Whether a mail was queued: wake the senders after the commit. */
  mailed: boolean;
}

/** Gives an invitation a token, unless the address has a user, and mails it if that is possible. */
async function send(
  trx: Queryable,
  { publicUrl, from }: LinkDelivery,
  row: InvitationRow,
  callerId: number,
): Promise<Sent> {
  const isKnown = (await findUserId(trx, row.email)) !== null;
  const made = isKnown ? null : createOneTimeToken();
  const link = made && `${publicUrl ?? ''}${pathOf(made.token)}`;
  const mailed = from !== null && publicUrl !== null;
  const renewed = await renewInvitation(trx, row.id, { digest: made?.digest ?? null, mailed });
  if (mailed) {
    const { inviter, accountName } = await readNames(trx, callerId, row.account_id);
    const { role, expires_at: expiresAt } = renewed;
    const notice = invitationNotice({ inviter, accountName, role, publicUrl, link, expiresAt });
    await mailSecret(trx, row.email, from, notice);
  }
  return { invitation: { ...presentInvitation(renewed), link: mailed ? null : link }, mailed };
}

async function readNames(trx: Queryable, userId: number, accountId: number) {
  const { rows } = await trx.query<{ inviter: string; accountName: string | null }>(
    'select u.email as inviter, a.name as "accountName" from users u, accounts a where u.id = $1 and a.id = $2',
    [userId, accountId],
  );
  return rows[0] as { inviter: string; accountName: string | null };
}

/** @throws AppError `conflict` for a member, and for an address with a pending invitation */
async function requireInvitable(trx: Queryable, accountId: number, email: string): Promise<void> {
  const userId = await findUserId(trx, email);
  if (userId !== null && (await findRole(trx, accountId, userId)) !== null) {
    throw new AppError('conflict', 'this address belongs to a user of the account');
  }
  const pending = await findInvitation(trx, { accountId }, { email_key: emailKey(email) });
  if (pending && pending.expires_at.getTime() > Date.now()) {
    throw new AppError(
      'conflict',
      'this address is invited already; send the invitation again, or revoke it',
    );
  }
  if (pending) await revokeInvitation(trx, pending.id);
}

/** @throws AppError rate_limited */
async function requireFew(trx: Queryable, accountId: number, email: string): Promise<void> {
  const recent = await countRecent(trx, accountId, emailKey(email));
  if (recent.all >= MAX_PER_DAY.ofAccount) {
    throw tooMany(`an account invites at most ${MAX_PER_DAY.ofAccount} addresses a day`, recent.seconds ?? 0);
  }
  if (recent.of_address >= MAX_PER_DAY.ofAddress) {
    const limit = `an address is invited at most ${MAX_PER_DAY.ofAddress} times a day`;
    throw tooMany(limit, recent.seconds_of_address ?? 0);
  }
}

/**
 * Invites an address to the caller's account.
 * @throws AppError `forbidden` if the role is above the caller's; `conflict` if the address belongs to a member or is
 *   invited already; `rate_limited`
 */
export function invite(
  pool: pg.Pool,
  delivery: LinkDelivery,
  caller: Caller,
  { email, role }: CreateInvitationBody,
): Promise<Sent> {
  return inTransaction(pool, async (trx) => {
    const { accountId, actor } = caller;
    const own = await lockCallersRole(trx, caller);
    requireManager(own);
    requireNotAbove(role, own);
    await requireInvitable(trx, accountId, email);
    await requireFew(trx, accountId, email);
    const row = await insertInvitation(trx, {
      ...{ account_id: accountId, email: email.trim(), email_key: emailKey(email), role },
      invited_by: actor.id,
    });
    return send(trx, delivery, row, actor.id);
  });
}

/** Finds a pending invitation that the caller may change. @throws AppError `not_found`; `forbidden` */
async function lockInvitation(trx: Queryable, caller: Caller, id: number): Promise<InvitationRow> {
  const own = await lockCallersRole(trx, caller);
  requireManager(own);
  const row = await findInvitation(trx, caller, { id });
  if (!row) throw notFound('invitation');
  requireNotAbove(row.role, own);
  return row;
}

/** @throws AppError not_found */
export async function getInvitation(db: Queryable, scope: AccountScope, id: number): Promise<Invitation> {
  const row = await findInvitation(db, scope, { id });
  if (!row) throw notFound('invitation');
  return presentInvitation(row);
}

/**
 * Sends an invitation again, with another link; the old one no longer works.
 * @throws AppError `not_found`; `forbidden`; `rate_limited`
 */
export function resendInvitation(
  pool: pg.Pool,
  delivery: LinkDelivery,
  caller: Caller,
  id: number,
): Promise<Sent> {
  return inTransaction(pool, async (trx) => {
    const row = await lockInvitation(trx, caller, id);
    if (row.mail_count >= MAX_MAILS) {
      throw new AppError('rate_limited', `an invitation is mailed at most ${MAX_MAILS} times; revoke it`);
    }
    return send(trx, delivery, row, caller.actor.id);
  });
}

/** @throws AppError `not_found`; `forbidden` */
export function revoke(pool: pg.Pool, caller: Caller, id: number): Promise<Invitation> {
  return inTransaction(pool, async (trx) => {
    const row = await lockInvitation(trx, caller, id);
    await revokeInvitation(trx, row.id);
    return presentInvitation(row);
  });
}
