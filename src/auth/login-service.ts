import type { Queryable } from '../db/queryable.ts';
import { AppError } from '../errors.ts';
import { emailKey, generatePassword, hashPassword, verifyPassword } from '../users/service.ts';

/** A row of `users`, as login shows it. */
export interface UserRow {
  id: number;
  first_name: string;
  last_name: string;
  email: string;
  mobile: string;
  country_code: string;
  admin: boolean;
  password_hash: string;
  session_version: number;
  created_at: Date;
  updated_at: Date;
}

export interface Login {
  /** @throws AppError unauthorized, the same and as late for an unknown address as for a wrong password */
  logIn(email: string, password: string): Promise<UserRow>;
}

/** Check passwords. */
export function createLogin(db: Queryable): Login {
  // Verified where there is no such user, so that the answer takes as long.
  const nobodysHash = hashPassword(generatePassword());
  return {
    async logIn(email, password) {
      const { rows } = await db.query<UserRow>(
        `select id, first_name, last_name, email, mobile, country_code, admin, password_hash, session_version,
           created_at, updated_at
         from users where email_key = $1`,
        [emailKey(email)],
      );
      const user = rows[0];
      const right = await verifyPassword(user?.password_hash ?? (await nobodysHash), password);
      if (!user || !right) throw new AppError('unauthorized', 'wrong email or password');
      return user;
    },
  };
}
