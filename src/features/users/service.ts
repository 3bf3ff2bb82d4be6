import { randomBytes } from 'node:crypto';
import { readPhone } from '../../delivery/terms/addresses/phone.ts';
import { invalid, notFound } from '../../errors.ts';
import type { Role } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { setRole } from './memberships.ts';
import { findUser, findUserId, insertUser, updateUser, type UserRow } from './model.ts';
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
export { emailKey, findUserByEmail, findUserId, insertUser, lockUser, type UserRow } from './model.ts';
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

/** @throws AppError not_found */
export async function getUser(db: Queryable, userId: number): Promise<UserRow> {
  const row = await findUser(db, userId);
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
  const row = await updateUser(trx, userId, {
    first_name: firstName,
    last_name: lastName,
    mobile: mobileOf(mobile, countryCode ?? known),
    country_code: countryCode,
    admin,
  });
  return row as UserRow;
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
