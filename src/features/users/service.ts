import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { AppError, notFound } from '../../errors.ts';
import type { Role } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** RFC 9106's second recommendation for memory-bound hosts (OWASP: 19 MiB, 2 passes, 1 lane). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** @returns an argon2id hash in PHC form; some 20 ms in the thread pool */
export function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}

export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  try {
    return await verify(passwordHash, password);
  } catch {
    return false;
  }
}

/** Easy to copy, 120 random bits. */
export function generatePassword(): string {
  return randomBytes(15).toString('base64url');
}

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

export interface NewUser {
  email: string;
  /** Made where none is given. */
  password?: string;
  firstName?: string;
  lastName?: string;
}

export interface NewMember extends NewUser {
  accountId: number;
  role: Role;
}

export interface AddedMember {
  userId: number;
  accountId: number;
  email: string;
  role: Role;
  /** Whether the user was made now; false: someone with this address was already there. */
  created: boolean;
  /** The password made for a new user, to be shown once; null where it was given or the user was there. */
  password: string | null;
}

/** What login looks a user up by. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}

async function insertUser(db: Queryable, input: NewUser, password: string): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `insert into users (email, email_key, first_name, last_name, password_hash) values ($1, $2, $3, $4, $5)
     on conflict (email_key) do nothing returning id`,
    [
      input.email.trim(),
      emailKey(input.email),
      input.firstName ?? '',
      input.lastName ?? '',
      await hashPassword(password),
    ],
  );
  return rows[0]?.id ?? null;
}

/** @returns the id of the user with this address, in any letter case */
export async function findUserId(db: Queryable, email: string): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>('select id from users where email_key = $1', [
    emailKey(email),
  ]);
  return rows[0]?.id ?? null;
}

/**
 * Let someone into an account, or change their role. A new user gets the password given or a new one.
 * @param db inside a transaction
 * @throws AppError `not_found` where there is no such account; `conflict` where it would be left without an owner
 */
export async function addMember(db: Queryable, input: NewMember): Promise<AddedMember> {
  const account = await db.query(`select 1 from accounts where id = $1 and kind = 'customer'`, [
    input.accountId,
  ]);
  if (account.rowCount === 0) throw notFound('account');
  const password = input.password ?? generatePassword();
  const known = await findUserId(db, input.email);
  const userId = known ?? (await insertUser(db, input, password)) ?? (await findUserId(db, input.email));
  if (userId === null) throw notFound('user');
  await setRole(db, input.accountId, userId, input.role);
  const created = known === null;
  const shown = created && input.password === undefined ? password : null;
  return {
    userId,
    accountId: input.accountId,
    email: input.email.trim(),
    role: input.role,
    created,
    password: shown,
  };
}

async function setRole(db: Queryable, accountId: number, userId: number, role: Role): Promise<void> {
  // One change at a time, so that two owners who lose the role at once do not each count on the other.
  await db.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const { rowCount } = await db.query(
    `insert into memberships as m (account_id, user_id, role) values ($1, $2, $3)
     on conflict (account_id, user_id) do update set role = excluded.role
       where m.role <> 'owner' or excluded.role = 'owner' or exists (
         select 1 from memberships o where o.account_id = $1 and o.user_id <> $2 and o.role = 'owner')`,
    [accountId, userId, role],
  );
  if (rowCount === 0) throw new AppError('conflict', 'an account keeps at least one owner');
}

/** Set a new password and end every session of the user. */
export async function setPassword(db: Queryable, userId: number, password: string): Promise<void> {
  const { rowCount } = await db.query(
    'update users set password_hash = $2, session_version = session_version + 1, updated_at = now() where id = $1',
    [userId, await hashPassword(password)],
  );
  if (rowCount === 0) throw notFound('user');
}
