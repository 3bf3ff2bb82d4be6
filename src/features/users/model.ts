/** Rows of `users`. */
import { fn, type ModelObject, type PartialModelObject } from 'objection';
import { RowModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

class UserModel extends RowModel {
  static override readonly tableName = 'users';
  static override readonly columns = [
    'id',
    'first_name',
    'last_name',
    'email',
    'mobile',
    'country_code',
    'admin',
    'password_hash',
    'created_at',
    'updated_at',
  ];
  declare first_name: string;
  declare last_name: string;
  declare email: string;
  declare mobile: string;
  declare country_code: string;
  declare admin: boolean;
  declare password_hash: string;
  declare created_at: Date;
  declare updated_at: Date;
}

/** A row of `users`. */
export type UserRow = ModelObject<UserModel>;

/** Normalizes an address, as `users.email_key` stores it. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}

export interface NewUserRow {
  email: string;
  firstName?: string;
  lastName?: string;
}

/** @returns the id; null if the address already has a user */
export async function insertUser(
  db: Queryable,
  input: NewUserRow,
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
  const [row] = await UserModel.on(db).where('email_key', emailKey(email)).select('id');
  return row?.id ?? null;
}

/** @returns the user with this address in any letter case; null if there is none */
export async function findUserByEmail(db: Queryable, email: string): Promise<UserRow | null> {
  const [row] = await UserModel.on(db).where('email_key', emailKey(email)).select(UserModel.columns);
  return row ?? null;
}

/** @returns null if there is no such user */
export function findUser(db: Queryable, id: number): Promise<UserRow | null> {
  return UserModel.findRow(db, id);
}

/** Changes of a user's password and use of its links wait for each other. Lock the user before any other row. */
export async function lockUser(trx: Queryable, id: number): Promise<void> {
  await UserModel.on(trx).where('id', id).forNoKeyUpdate().select('id');
}

/** @param values `undefined` leaves a column unchanged @returns null if there is no such user */
export async function updateUser(
  trx: Queryable,
  id: number,
  values: PartialModelObject<UserModel>,
): Promise<UserRow | null> {
  const [row] = await UserModel.on(trx)
    .where('id', id)
    .patch({ ...values, updated_at: fn.now() })
    .returning(UserModel.columns);
  return row ?? null;
}
