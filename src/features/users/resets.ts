import type pg from 'pg';
import { notFound } from '../../errors.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { digestOfToken } from '../../platform/secrets/one-time-token.ts';
import { mailSecret, type Notice } from '../system-mail/service.ts';
import { lockUser } from './model.ts';
import { replacePassword } from './passwords.ts';
import { createReset, resetPath } from './reset-links.ts';
import { emailKey, lineOfUser, type PasswordChecks } from './service.ts';

/** Maximum number of mails to one user in an hour. */
const MAILS_PER_HOUR = 3;
const BATCH = 100;

/**
 * Requests a link. Whether the address has a user is not looked up here but by a worker, so that the response and its
 * time are the same for all addresses.
 */
export async function requestReset(db: Queryable, email: string): Promise<void> {
  await db.query('insert into password_reset_requests (email_key) values ($1)', [emailKey(email)]);
}

function resetNotice(link: string): Notice {
  return {
    subject: 'Set a new password',
    paragraphs: [
      'Someone, probably you, asked for a new password of your sign-in.',
      `To set one, open this link within an hour:\n${link}`,
      'If you did not ask, ignore this mail. Your password stays as it is.',
    ],
  };
}

interface Requester {
  id: number;
  email: string;
}

/** Removes a batch of requests. @returns their addresses */
async function takeRequests(trx: Queryable): Promise<string[]> {
  const { rows } = await trx.query<{ email_key: string }>(
    `delete from password_reset_requests where id = any (array(
       select id from password_reset_requests order by id limit ${BATCH} for update skip locked))
     returning email_key`,
  );
  return rows.map(({ email_key }) => email_key);
}

/** Finds the users with these addresses who have not had too many mails. Another worker waits, and counts these mails. */
async function findRequesters(trx: Queryable, emailKeys: string[]): Promise<Requester[]> {
  const { rows: users } = await trx.query<Requester>(
    'select id, email from users where email_key = any ($1) order by id for no key update',
    [emailKeys],
  );
  const { rows: full } = await trx.query<{ user_id: number }>(
    `select user_id from password_resets where user_id = any ($1) and created_at > now() - interval '1 hour'
     group by user_id having count(*) >= ${MAILS_PER_HOUR}`,
    [users.map(({ id }) => id)],
  );
  return users.filter(({ id }) => full.every(({ user_id }) => user_id !== id));
}

/**
 * Mails the links of a batch of requests, and removes the requests. Several requests of one address in the batch make
 * one mail.
 * @param publicUrl without a trailing slash
 * @param from the sender; null: no mail can be sent, so requests are only removed
 */
export function mailResets(
  pool: pg.Pool,
  { publicUrl, from }: { publicUrl: string | null; from: string | null },
): Promise<{ taken: number; mailed: number }> {
  return inTransaction(pool, async (trx) => {
    const emailKeys = await takeRequests(trx);
    if (from === null || emailKeys.length === 0) return { taken: emailKeys.length, mailed: 0 };
    let mailed = 0;
    for (const { id, email } of await findRequesters(trx, emailKeys)) {
      const link = `${publicUrl}${resetPath(await createReset(trx, id))}`;
      mailed += await mailSecret(trx, email, from, resetNotice(link));
    }
    return { taken: emailKeys.length, mailed };
  });
}

const OPEN = 'token_digest = $1 and used_at is null and expires_at > now()';

export interface ResetDeps extends Pick<PasswordChecks, 'hashPassword'> {
  pool: pg.Pool;
}

/** A link that works. */
export interface Reset {
  userId: number;
  email: string;
  expiresAt: Date;
}

/**
 * Looks at a link, and changes nothing: scanners of mail follow links.
 * @throws AppError not_found if it does not exist, was used, or has expired
 */
export async function getReset(db: Queryable, token: string): Promise<Reset> {
  const { rows } = await db.query<Reset>(
    `select r.user_id as "userId", u.email, r.expires_at as "expiresAt"
     from password_resets r join users u on u.id = r.user_id where ${OPEN}`,
    [digestOfToken(token)],
  );
  if (!rows[0]) throw notFound('password reset');
  return rows[0];
}

/**
 * Sets a new password by a link, which then no longer works, and ends all sessions of the user.
 * @throws AppError not_found as {@link getReset}
 */
export async function resetPassword(
  { pool, hashPassword }: ResetDeps,
  token: string,
  password: string,
): Promise<Reset> {
  const reset = await getReset(pool, token);
  const { userId } = reset;
  const passwordHash = await hashPassword(password, lineOfUser(userId));
  await inTransaction(pool, async (trx) => {
    await lockUser(trx, userId);
    const { rowCount } = await trx.query(`update password_resets set used_at = now() where ${OPEN}`, [
      digestOfToken(token),
    ]);
    if (rowCount === 0) throw notFound('password reset');
    await replacePassword(trx, userId, passwordHash);
  });
  return reset;
}
