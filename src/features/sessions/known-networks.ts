import type { Queryable } from '../../platform/db/queryable.ts';

/** How long the network of a login is remembered as the user's. */
export const KNOWN_NETWORK_DAYS = 30;

/** Maximum number of networks of one user. */
const MAX_NETWORKS = 50;

/** Whether the user with an address has recently logged in from a network. @param network null: unknown */
export async function isKnownNetwork(
  db: Queryable,
  emailKey: string,
  network: string | null,
): Promise<boolean> {
  if (network === null) return false;
  const { rowCount } = await db.query(
    `select 1 from login_networks n join users u on u.id = n.user_id
     where u.email_key = $1 and n.network = $2 and n.logged_in_at > now() - interval '${KNOWN_NETWORK_DAYS} days'`,
    [emailKey, network],
  );
  return rowCount === 1;
}

/**
 * Remembers the network of a login, unless the password was changed in the meantime. Only the user's newest
 * networks are kept.
 * @param network null: unknown
 */
export async function rememberNetwork(
  db: Queryable,
  user: { id: number; password_hash: string },
  network: string | null,
): Promise<void> {
  if (network === null) return;
  await db.query(
    `with older as (
       delete from login_networks where user_id = $1 and network in (
         select network from login_networks where user_id = $1 and network <> $2
         order by logged_in_at desc offset ${MAX_NETWORKS - 1})
     )
     insert into login_networks (user_id, network) select id, $2 from users where id = $1 and password_hash = $3
     on conflict (user_id, network) do update set logged_in_at = now()`,
    [user.id, network, user.password_hash],
  );
}

/** Forgets the networks from which a user has logged in. */
export async function forgetNetworks(db: Queryable, userId: number): Promise<void> {
  await db.query('delete from login_networks where user_id = $1', [userId]);
}
