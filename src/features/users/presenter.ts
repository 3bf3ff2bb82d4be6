import type { User } from './schema.ts';

type Row = Omit<User, 'created_at' | 'updated_at'> & { created_at: Date; updated_at: Date };

/** Presents a user to clients. */
export function presentUser(row: Row): User {
  return {
    id: row.id,
    first_name: row.first_name,
    last_name: row.last_name,
    email: row.email,
    mobile: row.mobile,
    country_code: row.country_code,
    admin: row.admin,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
