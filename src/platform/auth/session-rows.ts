import { hash, randomBytes } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import { IDLE_HOURS, SESSION_SECONDS, type SessionKind, type UserSession } from './session.ts';

const SECRET_BYTES = 32;
/** A user who signs in more often loses the oldest sessions. */
const MAX_SESSIONS = 1_000;
const MAX_USER_AGENT = 400;

/** SQL: a {@link UserSession} of the row `s`. */
export const SESSION_COLUMNS = `s.id, s.user_id as "userId", s.kind, s.confirmed_at as "confirmedAt",
  s.expires_at as "expiresAt", s.second_factor as "secondFactor"`;

/** SQL: whether the row `s` still counts. */
export const ALIVE = `s.expires_at > now()
  and (s.kind = 'token' or s.last_used_at > now() - interval '${IDLE_HOURS} hours')`;

/** What the database stores of a cookie. */
export const cookieDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer');

export interface NewSession {
  userId: number;
  kind: SessionKind;
  /** Whether the user gave a code. */
  secondFactor: boolean;
  /** Where the user signs in from; null: unknown. */
  network: string | null;
  userAgent: string | null;
}

export interface StoredSession {
  session: UserSession;
  /** The value of the cookie; null for a token. */
  secret: string | null;
}

function newSecret(kind: SessionKind): { secret: string | null; digest: Buffer | null } {
  if (kind === 'token') return { secret: null, digest: null };
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, digest: cookieDigest(secret) };
}

/**
 * Locks a user whose password was just checked, unless it has been changed since: a change ends all sessions, and must
 * not miss the one that the caller's transaction is about to start.
 * @returns false if the password was changed
 */
export async function lockPassword(trx: Queryable, userId: number, passwordHash: string): Promise<boolean> {
  const { rowCount } = await trx.query('select 1 from users where id = $1 and password_hash = $2 for share', [
    userId,
    passwordHash,
  ]);
  return rowCount === 1;
}

/** @param trx holds {@link lockPassword}, unless it created the user */
export async function insertSession(trx: Queryable, input: NewSession): Promise<StoredSession> {
  const { userId, kind, secondFactor, network, userAgent } = input;
  const { secret, digest } = newSecret(kind);
  const { rows } = await trx.query<UserSession>(
    `with oldest as (
       delete from sessions where id in (
         select id from sessions where user_id = $1 order by id desc offset ${MAX_SESSIONS - 1})
     )
     insert into sessions as s (user_id, kind, secret_digest, second_factor, network, user_agent, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 second') returning ${SESSION_COLUMNS}`,
    [
      userId,
      kind,
      digest,
      secondFactor,
      network,
      userAgent?.slice(0, MAX_USER_AGENT) ?? null,
      SESSION_SECONDS[kind],
    ],
  );
  return { session: rows[0] as UserSession, secret };
}

/**
 * Replaces a session by a confirmed one with another id and secret, so that a copy of the old ones does not become more
 * powerful. It expires when the old one would have.
 * @param trx as for {@link insertSession}
 * @param given.secondFactor whether the user has just given a code
 * @returns null if the session has ended
 */
export async function replaceSession(
  trx: Queryable,
  { id, userId, kind }: UserSession,
  given: { secondFactor: boolean },
): Promise<StoredSession | null> {
  const { secret, digest } = newSecret(kind);
  const { rows } = await trx.query<UserSession>(
    `with old as (delete from sessions where id = $1 and user_id = $2 returning *)
     insert into sessions as s (user_id, kind, secret_digest, second_factor, network, user_agent, created_at, expires_at)
     select user_id, kind, $3, second_factor or $4, network, user_agent, created_at, expires_at from old
     returning ${SESSION_COLUMNS}`,
    [id, userId, digest, given.secondFactor],
  );
  const [session] = rows;
  return session ? { session, secret } : null;
}

/**
 * Makes sure that a session does not end before the caller's transaction. What ends the sessions of a user, such as a new
 * password, must then see what the transaction has made.
 * @throws AppError unauthorized if it has ended
 */
export async function holdSession(
  trx: Queryable,
  { id, userId }: Pick<UserSession, 'id' | 'userId'>,
): Promise<void> {
  const { rowCount } = await trx.query(
    `select 1 from sessions s where s.id = $1 and s.user_id = $2 and ${ALIVE} for key share`,
    [id, userId],
  );
  if (rowCount === 0) throw new AppError('unauthorized', 'the session has ended; sign in again');
}

/** @returns whether there was such a session of the user */
export async function deleteSession(db: Queryable, userId: number, id: number): Promise<boolean> {
  const { rowCount } = await db.query('delete from sessions where id = $1 and user_id = $2', [id, userId]);
  return rowCount === 1;
}

/** @param digest from `SessionCookies` */
export async function deleteCookieSession(db: Queryable, digest: Buffer): Promise<void> {
  await db.query('delete from sessions where secret_digest = $1', [digest]);
}

/**
 * Ends the sessions of a user. If the caller changes the password, it must do so in an earlier statement of the same
 * transaction, so that no sign-in with the old password comes after this; see {@link lockPassword}.
 * @param except the id of a session that stays
 */
export async function deleteSessions(
  trx: Queryable,
  userId: number,
  except: number | null = null,
): Promise<void> {
  await trx.query('delete from sessions where user_id = $1 and id is distinct from $2', [userId, except]);
}
