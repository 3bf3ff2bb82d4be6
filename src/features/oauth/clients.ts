import type { AdapterPayload } from 'oidc-provider';
import type { Queryable } from '../../platform/db/queryable.ts';
import { EVERY_CLIENT } from './client-metadata.ts';

/** How long a client stays registered without any grant. */
export const UNUSED_CLIENT_HOURS = 24;
/**
 * Clients without a grant: of one network, and of all. A network registers ten a minute, so each stays for the half hour
 * that its user has to decide.
 */
const MAX_UNUSED = { ofNetwork: 300, ofAll: 10_000 };

/** Of clients that are not asked where their codes go. */
const NO_REDIRECT = 'https://client.invalid/';

/** @returns undefined if no client has registered itself with this id */
export async function findClient(db: Queryable, id: string): Promise<AdapterPayload | undefined> {
  const { rows } = await db.query<{ metadata: AdapterPayload }>(
    `select metadata from oauth_clients where id = $1
       and (last_used_at is not null or created_at > now() - interval '${UNUSED_CLIENT_HOURS} hours')`,
    [id],
  );
  return rows[0]?.metadata;
}

/**
 * Stands for the document of a client, in requests with codes and tokens, which belong to the client of their grant
 * anyway. So a client whose website is down can renew its tokens, and no transaction waits for a website.
 * @returns undefined if no user has granted the client anything
 */
export async function findGrantedClient(db: Queryable, id: string): Promise<AdapterPayload | undefined> {
  const { rowCount } = await db.query('select 1 from oauth_grants where client_id = $1 limit 1', [id]);
  return rowCount === 0 ? undefined : { ...EVERY_CLIENT, client_id: id, redirect_uris: [NO_REDIRECT] };
}

/** SQL: deletes the oldest clients of the network `$1` that no user has granted anything, except for `$2`. */
const DELETE_OLDEST = `
  delete from oauth_clients where last_used_at is null and id in (
    select id from oauth_clients where network = $1 and last_used_at is null order by created_at desc, id offset $2)`;

/**
 * Makes room for a client that registers: the oldest unused one of its network goes, and if there are too many of all
 * networks, the oldest one of the network that has most. So a network that fills the limits is the one that loses.
 */
export async function makeRoom(db: Queryable, network: string): Promise<void> {
  await db.query(DELETE_OLDEST, [network, MAX_UNUSED.ofNetwork - 1]);
  const { rows } = await db.query<{ network: string; unused: number }>(
    `select network, unused from (
       select network, count(*)::int as unused, sum(count(*)) over () as of_all
       from oauth_clients where last_used_at is null group by network) n
     where of_all >= $1 order by unused desc limit 1`,
    [MAX_UNUSED.ofAll],
  );
  const [largest] = rows;
  if (largest) await db.query(DELETE_OLDEST, [largest.network, largest.unused - 1]);
}

export async function insertClient(
  db: Queryable,
  id: string,
  metadata: AdapterPayload,
  network: string,
): Promise<void> {
  await db.query('insert into oauth_clients (id, metadata, network) values ($1, $2, $3)', [
    id,
    JSON.stringify(metadata),
    network,
  ]);
}

/** A client that registered itself, as lists show it. */
export interface ListedClient {
  id: string;
  name: string | null;
  redirect_uris: string[];
  network: string | null;
  created_at: Date;
  last_used_at: Date | null;
}

/** Newest first. */
export async function listClients(db: Queryable, limit: number): Promise<ListedClient[]> {
  const { rows } = await db.query<ListedClient>(
    `select id, metadata ->> 'client_name' as name,
       array(select jsonb_array_elements_text(metadata -> 'redirect_uris')) as redirect_uris, network, created_at,
       last_used_at
     from oauth_clients order by created_at desc, id limit $1`,
    [limit],
  );
  return rows;
}
