import type { McpScope } from '../../platform/auth/grant-caller.ts';
import { notFound } from '../../errors.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A grant as lists show it. */
export interface ListedGrant {
  id: number;
  user_id: number;
  user_email: string;
  client_id: string;
  client_name: string;
  client_host: string | null;
  redirect_host: string;
  scopes: McpScope[];
  /** The chosen accounts and brands. `brand_id` null: the account itself, without a brand. */
  choices: { account_id: number; brand_id: number | null }[];
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date;
  revoked_at: Date | null;
}

/** Which grants are meant; all that are given must match. */
export interface GrantFilter {
  userId?: number | undefined;
  /** Grants in which this account was chosen. Their other accounts are not shown. */
  accountId?: number | undefined;
  id?: number | undefined;
  clientId?: string | undefined;
  /** Whether ended grants are left out. */
  live?: boolean | undefined;
}

/** SQL: the grants `g` of a filter, `$1` to `$5`. */
const MATCHES = `($1::bigint is null or g.user_id = $1)
  and ($2::bigint is null or exists (select 1 from oauth_grant_brands c where c.grant_id = g.id and c.account_id = $2))
  and ($3::bigint is null or g.id = $3) and ($4::text is null or g.client_id = $4)
  and (not $5 or g.revoked_at is null and g.expires_at > now())`;

const valuesOf = ({ userId, accountId, id, clientId, live }: GrantFilter) => [
  userId ?? null,
  accountId ?? null,
  id ?? null,
  clientId ?? null,
  live ?? false,
];

/** Newest first. */
export async function listGrants(db: Queryable, filter: GrantFilter, page: Page): Promise<ListedGrant[]> {
  const { rows } = await db.query<ListedGrant>(
    `select g.id, g.user_id, u.email as user_email, g.client_id, g.client_name, g.client_host, g.redirect_host,
       g.scopes, g.created_at, g.last_used_at, g.expires_at, g.revoked_at,
       coalesce((select json_agg(json_build_object('account_id', c.account_id, 'brand_id', c.brand_id)
           order by c.account_id, c.brand_id)
         from oauth_grant_brands c where c.grant_id = g.id and ($2::bigint is null or c.account_id = $2)), '[]') as choices
     from oauth_grants g join users u on u.id = g.user_id
     where ${MATCHES} and ($6::bigint is null or g.id < $6)
     order by g.id desc limit $7 offset $8`,
    [...valuesOf(filter), page.after, page.limit, page.offset],
  );
  return rows;
}

/**
 * @param filter names an `id`
 * @throws AppError not_found
 */
export async function getGrant(db: Queryable, filter: GrantFilter & { id: number }): Promise<ListedGrant> {
  const [row] = await listGrants(db, filter, { number: 1, limit: 1, offset: 0, after: null });
  if (!row) throw notFound('grant');
  return row;
}

/** The scopes of the live grants of a user to a client. */
export async function findHeldScopes(db: Queryable, userId: number, clientId: string): Promise<McpScope[]> {
  const { rows } = await db.query<{ scope: McpScope }>(
    `select distinct unnest(scopes) as scope from oauth_grants
     where user_id = $1 and client_id = $2 and revoked_at is null and expires_at > now()`,
    [userId, clientId],
  );
  return rows.map(({ scope }) => scope);
}

/** Whether a user has granted a client anything, and has not taken it back. It may have ended by itself. */
export async function hasGranted(db: Queryable, userId: number, clientId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'select 1 from oauth_grants where user_id = $1 and client_id = $2 and revoked_at is null limit 1',
    [userId, clientId],
  );
  return rowCount === 1;
}

export function countGrants(db: Queryable, filter: GrantFilter): Promise<RowCount> {
  return countRows(db, `oauth_grants g where ${MATCHES}`, valuesOf(filter));
}

/** Ends a grant and its tokens. @returns whether it had not ended */
export async function revokeGrant(db: Queryable, grantId: number): Promise<boolean> {
  return (await revoke(db, 'id = $1', grantId)) === 1;
}

/** Ends what a user has granted, as when the password is reset. @returns the number of grants */
export function revokeGrantsOfUser(db: Queryable, userId: number): Promise<number> {
  return revoke(db, 'user_id = $1', userId);
}

/**
 * Takes an account and its brands out of grants, and ends grants that have no account left.
 * @param of one grant, or those of a user
 */
export async function removeAccountFromGrants(
  trx: Queryable,
  accountId: number,
  of: { grantId: number } | { userId: number },
): Promise<void> {
  const values = 'grantId' in of ? [accountId, of.grantId, null] : [accountId, null, of.userId];
  const { rows } = await trx.query<{ id: number }>(
    `with removed as (
       delete from oauth_grant_brands c using oauth_grants g
       where g.id = c.grant_id and c.account_id = $1 and ($2::bigint is null or g.id = $2)
         and ($3::bigint is null or g.user_id = $3)
       returning c.grant_id
     )
     select distinct grant_id as id from removed where not exists (
       select 1 from oauth_grant_brands c where c.grant_id = removed.grant_id and c.account_id <> $1)`,
    values,
  );
  for (const { id } of rows) await revokeGrant(trx, id);
}

/** @param where a trusted condition */
async function revoke(db: Queryable, where: string, value: number): Promise<number> {
  const { rowCount } = await db.query(
    `with revoked as (
       update oauth_grants set revoked_at = now() where ${where} and revoked_at is null returning id
     ), ended as (
       delete from oauth_tokens t using revoked where t.grant_id = revoked.id and t.model <> 'Interaction'
     )
     select id from revoked`,
    [value],
  );
  return rowCount ?? 0;
}
