import type { AdapterPayload } from 'oidc-provider';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { EVERY_CLIENT } from './client-metadata.ts';

/** How long a client that nobody has granted anything stays registered. */
export const UNUSED_CLIENT_HOURS = 24;
/** Clients without a grant: of one network, and of all. */
const MAX_UNUSED = { ofNetwork: 100, ofAll: 10_000 };

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
 * @returns undefined if nobody has granted the client anything
 */
export async function findGrantedClient(db: Queryable, id: string): Promise<AdapterPayload | undefined> {
  const { rowCount } = await db.query('select 1 from oauth_grants where client_id = $1 limit 1', [id]);
  return rowCount === 0 ? undefined : { ...EVERY_CLIENT, client_id: id, redirect_uris: [NO_REDIRECT] };
}

/** @throws AppError rate_limited if too many clients are registered that nobody uses */
export async function requireRoom(db: Queryable, network: string): Promise<void> {
  const { rows } = await db.query<{ ofNetwork: number; ofAll: number }>(
    `select (select count(*) from (
         select 1 from oauth_clients where network = $1 and last_used_at is null limit $2) a)::int as "ofNetwork",
       (select count(*) from (select 1 from oauth_clients where last_used_at is null limit $3) b)::int as "ofAll"`,
    [network, MAX_UNUSED.ofNetwork, MAX_UNUSED.ofAll],
  );
  const { ofNetwork = 0, ofAll = 0 } = rows[0] ?? {};
  if (ofNetwork < MAX_UNUSED.ofNetwork && ofAll < MAX_UNUSED.ofAll) return;
  throw new AppError('rate_limited', 'too many unused clients are registered; try again later', {
    headers: { 'Retry-After': '3600' },
  });
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
