import { hash, randomBytes } from 'node:crypto';
import type { GrantCaller, GrantSelection, McpScope } from '../../platform/auth/grant-caller.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A grant whose tokens are not renewed for so long ends. */
export const GRANT_IDLE_DAYS = 30;

const KEY_BYTES = 24;

export interface NewGrant {
  userId: number;
  client: { id: string; name: string; host: string | null; redirectHost: string };
  /** The URL that accepts the tokens: `{base}/mcp`. */
  resource: string;
  scopes: readonly McpScope[];
  /** What the user chose; `brandId` null: the account itself, without a brand. */
  choices: readonly GrantSelection[];
}

/** What the database stores of a token or code. */
export const tokenDigest = (value: string): Buffer => hash('sha256', value, 'buffer');

/**
 * SQL: the accounts and brands of the grant `g` that its user may use now, as `GrantedAccount[]` in JSON. An account that
 * was chosen without a brand does not count once it has one, which the user could not tick.
 */
const CHOICES = `
  coalesce((select json_agg(a order by a."accountId") from (
    select m.account_id as "accountId", coalesce(accounts.name, '') as "accountName", m.role,
      coalesce(json_agg(json_build_object('id', b.id, 'name', coalesce(b.company_name, '')) order by b.id)
        filter (where b.id is not null), '[]') as brands,
      count(b.id) = (select count(*) from brands where brands.account_id = m.account_id) as "hasAllBrands"
    from oauth_grant_brands c
    join memberships m on m.account_id = c.account_id and m.user_id = g.user_id
    join accounts on accounts.id = m.account_id and accounts.kind = 'customer'
    left join brands b on b.id = c.brand_id and b.account_id = c.account_id
    where c.grant_id = g.id and (b.id is not null or c.brand_id is null
      and not exists (select 1 from brands where brands.account_id = m.account_id))
    group by m.account_id, accounts.name, m.role
  ) a), '[]')`;

const FIND_CALLER = `
select g.id as "grantId", g.user_id as "userId", g.client_id as "clientId", g.client_name as "clientName",
  array(select unnest(g.scopes) intersect select unnest(string_to_array(t.payload ->> 'scope', ' '))) as scopes,
  ${CHOICES} as choices, g.account_id as "accountId", g.brand_id as "brandId"
from oauth_tokens t join oauth_grants g on g.id = t.grant_id
where t.model = 'AccessToken' and t.id_digest = $1 and t.expires_at > now() and g.resource = $2
  and g.revoked_at is null`;

interface CallerRow extends Omit<GrantCaller, 'scopes' | 'selected'> {
  scopes: McpScope[];
  accountId: number | null;
  brandId: number | null;
}

function selectionIn(
  choices: GrantCaller['choices'],
  accountId: number | null,
  brandId: number | null,
): GrantSelection | null {
  const account = choices.find((each) => each.accountId === accountId);
  if (!account) return null;
  if (brandId !== null && !account.brands.some(({ id }) => id === brandId)) return null;
  return { accountId: account.accountId, brandId };
}

/** Implements `FindGrantCaller`, in one statement. */
export async function findGrantCaller(
  db: Queryable,
  accessToken: string,
  resource: string,
): Promise<GrantCaller | null> {
  const { rows } = await db.query<CallerRow>({
    // To plan it takes longer than to run it.
    name: 'find_grant_caller',
    text: FIND_CALLER,
    values: [tokenDigest(accessToken), resource],
  });
  const [row] = rows;
  if (!row) return null;
  const { scopes, accountId, brandId, ...caller } = row;
  return {
    ...caller,
    scopes: new Set(scopes),
    selected: selectionIn(caller.choices, accountId, brandId),
  };
}

/**
 * Stores what later calls use if they name nothing.
 * @param selection must be among the choices of the caller
 */
export async function selectForGrant(
  db: Queryable,
  grantId: number,
  { accountId, brandId }: GrantSelection,
): Promise<void> {
  await db.query('update oauth_grants set account_id = $2, brand_id = $3 where id = $1', [
    grantId,
    accountId,
    brandId,
  ]);
}

/**
 * Stores what a user lets a client do. If there is only one choice, it is selected.
 * @returns the id, and the key by which the authorization server knows the grant
 */
export async function createGrant(trx: Queryable, input: NewGrant): Promise<{ id: number; key: string }> {
  const { client, choices } = input;
  const key = randomBytes(KEY_BYTES).toString('base64url');
  const only = choices.length === 1 ? choices[0] : undefined;
  const { rows } = await trx.query<{ id: number }>(
    `with new_grant as (
       insert into oauth_grants (key, user_id, client_id, client_name, client_host, redirect_host, resource, scopes,
         account_id, brand_id, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + interval '${GRANT_IDLE_DAYS} days') returning id
     ), chosen as (
       insert into oauth_grant_brands (grant_id, account_id, brand_id)
       select new_grant.id, c.account_id, c.brand_id from new_grant, unnest($11::bigint[], $12::bigint[]) c (account_id, brand_id)
     ), used as (
       update oauth_clients set last_used_at = now() where id = $3
     )
     select id from new_grant`,
    [
      key,
      input.userId,
      client.id,
      client.name,
      client.host,
      client.redirectHost,
      input.resource,
      input.scopes,
      only?.accountId ?? null,
      only?.brandId ?? null,
      choices.map(({ accountId }) => accountId),
      choices.map(({ brandId }) => brandId),
    ],
  );
  return { id: (rows[0] as { id: number }).id, key };
}
