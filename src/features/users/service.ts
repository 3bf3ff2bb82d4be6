import { randomBytes } from 'node:crypto';
import { readPhone } from '../../delivery/terms/addresses/phone.ts';
import { invalid, notFound } from '../../errors.ts';
import type { Role } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { setRole } from './memberships.ts';
import { hashPassword } from './password-checks.ts';
import { replacePassword } from './passwords.ts';

export {
  addMembership,
  type Caller,
  findRole,
  lockCallersRole,
  requireManager,
  requireNotAbove,
} from './memberships.ts';
export { lockUser } from './passwords.ts';
export { presentUser } from './presenter.ts';
export { createReset, resetPath } from './reset-links.ts';
export {
  createPasswordChecks,
  hashPassword,
  lineOfUser,
  type PasswordChecks,
  verifyPassword,
} from './password-checks.ts';

const GENERATED_PASSWORD_BYTES = 15;

/** Generates a password of 20 characters. */
export function generatePassword(): string {
  return randomBytes(GENERATED_PASSWORD_BYTES).toString('base64url');
}

/** A row of `users`. */
export interface UserRow {
  id: number;
  first_name: string;
  last_name: string;
  email: string;
  mobile: string;
  country_code: string;
  admin: boolean;
  password_hash: string;
  created_at: Date;
  updated_at: Date;
}

/** SQL: the columns of a {@link UserRow}. */
const USER_COLUMNS = `id, first_name, last_name, email, mobile, country_code, admin, password_hash, created_at,
  updated_at`;

export interface NewUser {
  email: string;
  /** Generated if not given. */
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
  /** Whether the user was created; false if the address already had a user. */
  created: boolean;
  /** The generated password of a new user, to be shown once; null if it was given or the user already existed. */
  password: string | null;
}

/** Normalizes an address, as `users.email_key` stores it. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}

/** @returns the id; null if the address already has a user */
export async function insertUser(
  db: Queryable,
  input: Omit<NewUser, 'password'>,
  passwordHash: string,
): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `insert into users (email, email_key, first_name, last_name, password_hash) values ($1, $2, $3, $4, $5)
     on conflict (email_key) do nothing returning id`,
    [input.email.trim(), emailKey(input.email), input.firstName ?? '', input.lastName ?? '', passwordHash],
  );
  return rows[0]?.id ?? null;
}

/** @returns the id of the user with this address in any letter case; null if there is none */
export async function findUserId(db: Queryable, email: string): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>('select id from users where email_key = $1', [
    emailKey(email),
  ]);
  return rows[0]?.id ?? null;
}

/**
 * Adds a user to an account, or changes their role. Creates the user if the address is new.
 * @throws AppError `not_found` if there is no such account; `conflict` if the account would lose its last owner
 */
export async function addMember(trx: Queryable, input: NewMember): Promise<AddedMember> {
  const account = await trx.query(`select 1 from accounts where id = $1 and kind = 'customer'`, [
    input.accountId,
  ]);
  if (account.rowCount === 0) throw notFound('account');
  const password = input.password ?? generatePassword();
  const known = await findUserId(trx, input.email);
  const userId =
    known ??
    (await insertUser(trx, input, await hashPassword(password))) ??
    (await findUserId(trx, input.email));
  if (userId === null) throw notFound('user');
  await setRole(trx, input.accountId, userId, input.role);
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

/** @returns the user with this address in any letter case; null if there is none */
export async function findUserByEmail(db: Queryable, email: string): Promise<UserRow | null> {
  const { rows } = await db.query<UserRow>(`select ${USER_COLUMNS} from users where email_key = $1`, [
    emailKey(email),
  ]);
  return rows[0] ?? null;
}

/** @throws AppError not_found */
export async function getUser(db: Queryable, userId: number): Promise<UserRow> {
  const { rows } = await db.query<UserRow>(`select ${USER_COLUMNS} from users where id = $1`, [userId]);
  const [row] = rows;
  if (!row) throw notFound('user');
  return row;
}

/** The profile of a user. An omitted field stays unchanged; an empty text clears it. */
export interface UserChanges {
  firstName?: string | undefined;
  lastName?: string | undefined;
  /** A phone number, in E.164 form or in the national form of the country. */
  mobile?: string | undefined;
  /** Two letters in upper case. */
  countryCode?: string | undefined;
  /** Can only be changed by operators. */
  admin?: boolean | undefined;
}

/** @throws AppError validation_error that names `mobile`; not_found */
export async function changeUser(trx: Queryable, userId: number, changes: UserChanges): Promise<UserRow> {
  const { firstName, lastName, mobile, countryCode, admin } = changes;
  const { country_code: known } = await getUser(trx, userId);
  const values = [firstName, lastName, mobileOf(mobile, countryCode ?? known), countryCode, admin];
  const { rows } = await trx.query<UserRow>(
    `update users set first_name = coalesce($2, first_name), last_name = coalesce($3, last_name),
       mobile = coalesce($4, mobile), country_code = coalesce($5, country_code), admin = coalesce($6, admin),
       updated_at = now()
     where id = $1 returning ${USER_COLUMNS}`,
    [userId, ...values],
  );
  return rows[0] as UserRow;
}

function mobileOf(text: string | undefined, country: string): string | undefined {
  if (text === undefined || text.trim() === '') return text?.trim();
  const phone = readPhone(text, country === '' ? null : country);
  if ('error' in phone) throw invalid({ mobile: [phone.error] });
  return phone.e164;
}

/**
 * Sets a new password, ends the sessions of the user, and forgets the user's known networks.
 * @param keptSession the id of a session that stays
 * @throws AppError `not_found`
 */
export async function setPassword(
  trx: Queryable,
  userId: number,
  password: string,
  keptSession: number | null = null,
): Promise<void> {
  await replacePassword(trx, userId, await hashPassword(password), keptSession);
}
