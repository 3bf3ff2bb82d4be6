import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findClient, findGrantedClient, insertClient } from './clients.ts';
import { revokeGrant } from './grant-list.ts';
import { tokenDigest } from './grants.ts';
import { currentOAuthRequest } from './oauth-request.ts';

/** The library's models that are rows of `oauth_tokens`. */
const STORED_MODELS = ['Interaction', 'AuthorizationCode', 'AccessToken', 'RefreshToken'] as const;
type StoredModel = (typeof STORED_MODELS)[number];

const isStored = (model: string): model is StoredModel =>
  (STORED_MODELS as readonly string[]).includes(model);

interface TokenRow {
  payload: AdapterPayload;
  consumed: boolean;
  secondsLeft: number;
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

/**
 * Expiry is decided by the database's clock. The library compares with the clock of its process, so it gets the time of
 * expiry by that clock.
 */
function present(id: string, { payload, consumed, secondsLeft }: TokenRow): AdapterPayload {
  const exp = nowSeconds() + Math.floor(secondsLeft);
  return { ...payload, jti: id, exp, ...(consumed ? { consumed: true } : {}) };
}

async function insertToken(
  db: Queryable,
  model: StoredModel,
  id: string,
  { jti: _secret, ...payload }: AdapterPayload,
  seconds = 0,
): Promise<void> {
  const { grantId } = payload;
  const { rowCount } = await db.query(
    `insert into oauth_tokens as t (model, id_digest, grant_id, payload, expires_at)
     select $1, $2, g.id, $4, now() + $5 * interval '1 second'
     from (select 1) one left join oauth_grants g on g.key = $3 and g.revoked_at is null
     where $3::text is null or g.id is not null
     on conflict (model, id_digest) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
    [model, tokenDigest(id), grantId ?? null, JSON.stringify(payload), seconds],
  );
  if (rowCount !== 1) throw new Error(`${model}: the grant has ended`);
  if (model !== 'RefreshToken') return;
  await db.query(
    `update oauth_grants set last_used_at = now(), expires_at = greatest(expires_at, now() + $2 * interval '1 second')
     where key = $1`,
    [grantId, seconds],
  );
}

async function findToken(db: Queryable, model: StoredModel, id: string): Promise<AdapterPayload | undefined> {
  const { rows } = await db.query<TokenRow>(
    `select payload, consumed_at is not null as consumed,
       extract(epoch from expires_at - now())::float8 as "secondsLeft"
     from oauth_tokens where model = $1 and id_digest = $2`,
    [model, tokenDigest(id)],
  );
  return rows[0] && present(id, rows[0]);
}

/** Tokens, codes and authorizations in progress. The database has digests of their values. */
function tokenStorage(model: StoredModel): Adapter {
  const byId = (statement: string, id: string) =>
    currentOAuthRequest().db.query(`${statement} where model = $1 and id_digest = $2`, [
      model,
      tokenDigest(id),
    ]);
  return {
    ...nothing(),
    upsert: (id, payload, seconds) => insertToken(currentOAuthRequest().db, model, id, payload, seconds),
    find: (id) => findToken(currentOAuthRequest().db, model, id),
    async consume(id) {
      await byId('update oauth_tokens set consumed_at = now()', id);
    },
    async destroy(id) {
      await byId('delete from oauth_tokens', id);
    },
  };
}

interface GrantRow {
  userId: number;
  clientId: string;
  resource: string;
  scopes: string[];
  secondsLeft: number;
}

/** Grants, which the consent page makes, and not the library. */
function grantStorage(): Adapter {
  return {
    ...nothing(),
    async find(key) {
      const { rows } = await currentOAuthRequest().db.query<GrantRow>(
        `select user_id as "userId", client_id as "clientId", resource, scopes,
           extract(epoch from expires_at - now())::float8 as "secondsLeft"
         from oauth_grants where key = $1 and revoked_at is null`,
        [key],
      );
      const [row] = rows;
      if (!row) return undefined;
      return {
        jti: key,
        kind: 'Grant',
        accountId: String(row.userId),
        clientId: row.clientId,
        resources: { [row.resource]: row.scopes.join(' ') },
        exp: nowSeconds() + Math.floor(row.secondsLeft),
      };
    },
    async destroy(key) {
      const { db } = currentOAuthRequest();
      const { rows } = await db.query<{ id: number }>('select id from oauth_grants where key = $1', [key]);
      if (rows[0]) await revokeGrant(db, rows[0].id);
    },
  };
}

const isDocument = (clientId: string) => clientId.startsWith('https://');

/** Clients that registered themselves. Those that a document describes are not stored. */
function clientStorage(): Adapter {
  return {
    ...nothing(),
    async find(id) {
      const { db, isBrowser } = currentOAuthRequest();
      if (!isDocument(id)) return findClient(db, id);
      return isBrowser ? undefined : findGrantedClient(db, id);
    },
    upsert: (id, metadata) =>
      insertClient(currentOAuthRequest().db, id, metadata, currentOAuthRequest().network),
  };
}

/** Stores nothing. A grant ends its tokens itself, so that `revokeByGrantId` has nothing to do anywhere. */
function nothing(): Adapter {
  return {
    upsert: async () => undefined,
    find: async () => undefined,
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    consume: async () => undefined,
    destroy: async () => undefined,
    revokeByGrantId: async () => undefined,
  };
}

/**
 * Where the library keeps its models. It keeps no sessions: every authorization asks the user, whom our own cookie
 * identifies.
 * @throws Error for a model of a feature that is off
 */
export function createStorage(model: string): Adapter {
  if (isStored(model)) return tokenStorage(model);
  if (model === 'Grant') return grantStorage();
  if (model === 'Client') return clientStorage();
  if (model === 'Session') return nothing();
  throw new Error(`no storage for ${model}`);
}
