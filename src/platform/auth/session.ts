import { AppError } from '../../errors.ts';

/** How a session is proved: by a signed token in `Authorization`, or by a cookie, for browsers. */
export type SessionKind = 'token' | 'cookie';

/** Lifetime of a session. */
export const SESSION_SECONDS: Record<SessionKind, number> = { token: 24 * 3_600, cookie: 14 * 86_400 };

/** A cookie that no request has had for so long ends its session. */
export const IDLE_HOURS = 12;

/** How long a sign-in, or a confirmation by the password, allows changes to keys, secrets and roles, and consents. */
const CONFIRMED_MINUTES = 15;

/** The session of a signed-in user. */
export interface UserSession {
  id: number;
  userId: number;
  kind: SessionKind;
  /** When the user last gave the password, and the code if there is a second factor. */
  confirmedAt: Date;
  expiresAt: Date;
  /** Whether the user gave a code. */
  secondFactor: boolean;
}

/** Whether the password was given recently enough for what only a confirmed session may do. */
export const isConfirmed = ({ confirmedAt }: UserSession): boolean =>
  Date.now() - confirmedAt.getTime() < CONFIRMED_MINUTES * 60_000;

/**
 * For routes in which only some requests need a confirmation; others declare `confirm: true`.
 * @param session null for an API key, which is not asked
 * @throws AppError confirmation_required
 */
export function requireConfirmed(session: UserSession | null): void {
  if (session === null || isConfirmed(session)) return;
  throw new AppError(
    'confirmation_required',
    `the password was given more than ${CONFIRMED_MINUTES} minutes ago; give it again: POST /v1/my/session/confirm`,
  );
}

/**
 * The session of a caller who must be a user.
 * @throws AppError forbidden for an API key
 */
export function requireUser(session: UserSession | null): UserSession {
  if (session !== null) return session;
  throw new AppError('forbidden', 'an API key belongs to a brand, not to a user; sign in as a user');
}
