import type { Queryable } from '../../platform/db/queryable.ts';
import { createOneTimeToken } from '../../platform/secrets/one-time-token.ts';

/** How long a link works. */
export const RESET_HOURS = 1;

/** The path of the console's page that sets a new password. Opening it changes nothing. */
export const resetPath = (token: string) => `/console/reset/${token}`;

/** Makes a link. @returns its token, which is not stored */
export async function createReset(db: Queryable, userId: number): Promise<string> {
  const { token, digest } = createOneTimeToken();
  await db.query(
    `insert into password_resets (user_id, token_digest, expires_at)
     values ($1, $2, now() + interval '${RESET_HOURS} hours')`,
    [userId, digest],
  );
  return token;
}
