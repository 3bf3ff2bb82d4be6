import type { Queryable } from '../../platform/db/queryable.ts';

/** How long the network of a login is known as the user's. */
export const KNOWN_NETWORK_DAYS = 30;

/** SQL: whether the user `u` has logged in from a network lately. @param network a parameter */
export const isKnownNetworkSql = (network: string) => `exists (
  select 1 from login_networks n where n.user_id = u.id and n.network = ${network}
    and n.logged_in_at > now() - interval '${KNOWN_NETWORK_DAYS} days')`;

/** Remembers a login. @param network null: unknown */
export async function rememberNetwork(db: Queryable, userId: number, network: string | null): Promise<void> {
  if (network === null) return;
  await db.query(
    `insert into login_networks (user_id, network) values ($1, $2)
     on conflict (user_id, network) do update set logged_in_at = now()`,
    [userId, network],
  );
}
