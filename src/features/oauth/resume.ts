import type pg from 'pg';
import { inTransaction } from '../../platform/db/queryable.ts';
import { tokenDigest } from './grants.ts';
import type { ProviderAnswer, ProviderRequest, Providers } from './providers.ts';
import { type OAuthRequest, withOAuthRequest } from './oauth-request.ts';

/** Lets the library remember the document of the client, so that no transaction waits for a website. */
async function prepareClient(
  { pool, providers }: { pool: pg.Pool; providers: Providers },
  issuer: string,
  uid: string,
): Promise<void> {
  const { rows } = await pool.query<{ clientId: string }>(
    `select payload -> 'params' ->> 'client_id' as "clientId" from oauth_tokens
     where model = 'Interaction' and id_digest = $1`,
    [tokenDigest(uid)],
  );
  if (!rows[0]) return;
  // The library reports a client that cannot be found in its own words.
  await providers
    .of(issuer)
    .Client.find(rows[0].clientId)
    .catch(() => undefined);
}

/**
 * Goes on with an authorization that the user has decided. It ends if and only if the code is stored, so that a browser
 * can repeat the request after a crash.
 */
export async function resumeAuthorization(
  deps: { pool: pg.Pool; providers: Providers },
  issuer: string,
  uid: string,
  request: ProviderRequest,
  oauthRequest: OAuthRequest,
): Promise<ProviderAnswer> {
  await withOAuthRequest(oauthRequest, () => prepareClient(deps, issuer, uid));
  return inTransaction(deps.pool, (trx) =>
    withOAuthRequest({ ...oauthRequest, db: trx }, () => deps.providers.answer(issuer, request)),
  );
}
