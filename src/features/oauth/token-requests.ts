import type pg from 'pg';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { type AnswerSecrets, openAnswer, sealAnswer } from './answers.ts';
import { revokeGrant } from './grant-list.ts';
import { tokenDigest } from './grants.ts';
import { MCP_PATH } from '../../platform/auth/grant-authenticate.ts';
import type { ProviderAnswer, ProviderRequest, Providers } from './providers.ts';
import { readResource } from './resources.ts';
import { readRenewedScopes } from './scopes.ts';
import { type OAuthRequest, withOAuthRequest } from './oauth-request.ts';

/** How long after its first use a code or refresh token gets the same answer. */
const REPEATABLE_SECONDS = 60;

const SOURCES = {
  authorization_code: { model: 'AuthorizationCode', parameter: 'code' },
  refresh_token: { model: 'RefreshToken', parameter: 'refresh_token' },
} as const;

type Model = (typeof SOURCES)[keyof typeof SOURCES]['model'] | 'AccessToken';

interface LockedToken {
  grantId: number;
  clientId: string;
  answer: Buffer | null;
  consumed: boolean;
  /** Whether it was used so recently that the client may not have got the answer. */
  repeatable: boolean;
}

/** Thrown to roll back what the library has done before it refused a request. */
class RefusedError extends Error {
  readonly answer: ProviderAnswer;

  constructor(answer: ProviderAnswer) {
    super('the request was refused');
    this.answer = answer;
  }
}

/**
 * Locks the grant of a token, then the token: revocation locks them in this order, too.
 * @returns null if there is no such token
 */
async function lockToken(trx: pg.PoolClient, model: Model, value: string): Promise<LockedToken | null> {
  const key = [model, tokenDigest(value)];
  await trx.query(
    `select 1 from oauth_grants where id = (
       select grant_id from oauth_tokens where model = $1 and id_digest = $2) for update`,
    key,
  );
  const { rows } = await trx.query<LockedToken>(
    `select g.id as "grantId", g.client_id as "clientId", t.answer, t.consumed_at is not null as consumed,
       coalesce(t.consumed_at > clock_timestamp() - interval '${REPEATABLE_SECONDS} seconds', false) as repeatable
     from oauth_tokens t join oauth_grants g on g.id = t.grant_id
     where t.model = $1 and t.id_digest = $2 for update of t`,
    key,
  );
  return rows[0] ?? null;
}

/** Runs the library in a transaction, which is rolled back if it refuses the request. */
async function inLibrary(
  trx: pg.PoolClient,
  oauthRequest: OAuthRequest,
  answer: () => Promise<ProviderAnswer>,
): Promise<ProviderAnswer> {
  const given = await withOAuthRequest({ ...oauthRequest, db: trx }, answer);
  if (given.status >= 400) throw new RefusedError(given);
  return given;
}

/** Runs `work` in a transaction. @returns the library's refusal, too */
async function atomically(
  pool: pg.Pool,
  work: (trx: pg.PoolClient) => Promise<ProviderAnswer>,
): Promise<ProviderAnswer> {
  try {
    return await inTransaction(pool, work);
  } catch (error) {
    if (error instanceof RefusedError) return error.answer;
    throw error;
  }
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

const refusal = (description: string): ProviderAnswer => ({
  status: 400,
  headers: JSON_HEADERS,
  body: Buffer.from(JSON.stringify({ error: 'invalid_grant', error_description: description })),
});

/**
 * Answers a request with a used token. A client whose first answer was lost gets it again. Anything else means that the
 * token was copied, so that the grant ends (RFC 9700, section 4.14.2).
 */
async function answerUsed(
  trx: pg.PoolClient,
  token: LockedToken,
  secrets: AnswerSecrets,
): Promise<ProviderAnswer> {
  // Not the client that got the token: it has proved nothing, and must not end the grant of another.
  if (secrets.clientId !== token.clientId) return refusal('client mismatch');
  const opened = token.repeatable && token.answer ? openAnswer(token.answer, secrets) : null;
  if (opened === 'other request') return refusal('already used by a request with other parameters');
  if (opened) return { status: 200, headers: JSON_HEADERS, body: opened };
  await revokeGrant(trx, token.grantId);
  return refusal('already used; the grant was revoked');
}

/**
 * Reads the parameters as authorizations do: scopes that do not exist mean nothing, and the resource may be spelled in
 * several ways. A parameter that is given twice stays so, and is refused by the library.
 * @param resource the only one there is
 */
function readParams(body: string | undefined, resource: string): URLSearchParams {
  const read = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(body)) {
    const known = name === 'scope' ? readRenewedScopes(value)?.join(' ') : value;
    if (known !== undefined) read.append(name, name === 'resource' ? readResource(value, resource) : known);
  }
  return read;
}

/** @returns null unless the request names one code or refresh token */
function readSource(params: URLSearchParams): { model: Model; secrets: AnswerSecrets } | null {
  const type = params.get('grant_type');
  if (type !== 'authorization_code' && type !== 'refresh_token') return null;
  const { model, parameter } = SOURCES[type];
  const token = params.get(parameter);
  if (!token) return null;
  return {
    model,
    secrets: {
      token,
      clientId: params.get('client_id') ?? '',
      codeVerifier: type === 'authorization_code' ? params.get('code_verifier') : null,
      others: ['redirect_uri', 'scope', 'resource'].map((name) => JSON.stringify(params.getAll(name))),
    },
  };
}

export interface TokenRequestDeps {
  pool: pg.Pool;
  providers: Providers;
  rateLimiter: Pick<RateLimiter, 'unknownSecret'>;
}

/**
 * Answers a request for tokens. Requests with the same code or refresh token are handled one after the other, in a
 * transaction each: the token is used, and the new ones exist, if and only if the answer is stored.
 * @throws AppError rate_limited, for a client that tries many unknown ones
 */
export async function requestTokens(
  deps: TokenRequestDeps,
  issuer: string,
  request: ProviderRequest,
  oauthRequest: OAuthRequest,
): Promise<ProviderAnswer> {
  const params = readParams(request.body?.toString(), issuer + MCP_PATH);
  const source = readSource(params);
  if (!source) return withOAuthRequest(oauthRequest, () => deps.providers.answer(issuer, request));
  const answer = () => deps.providers.answer(issuer, { ...request, body: params.toString() });
  const { model, secrets } = source;
  return atomically(deps.pool, async (trx) => {
    const token = await lockToken(trx, model, secrets.token);
    if (!token) deps.rateLimiter.unknownSecret(oauthRequest.network);
    if (token?.consumed) return answerUsed(trx, token, secrets);
    const given = await inLibrary(trx, oauthRequest, answer);
    await trx.query('update oauth_tokens set answer = $3 where model = $1 and id_digest = $2', [
      model,
      tokenDigest(secrets.token),
      sealAnswer(given.body, secrets),
    ]);
    return given;
  });
}

/**
 * Answers a request to revoke a token, which ends its grant.
 * @throws AppError rate_limited
 */
export async function revokeToken(
  deps: TokenRequestDeps,
  issuer: string,
  request: ProviderRequest,
  oauthRequest: OAuthRequest,
): Promise<ProviderAnswer> {
  const params = new URLSearchParams(request.body?.toString());
  const token = params.get('token') ?? '';
  return atomically(deps.pool, async (trx) => {
    const locked = [await lockToken(trx, 'RefreshToken', token), await lockToken(trx, 'AccessToken', token)];
    if (locked.every((each) => each === null)) deps.rateLimiter.unknownSecret(oauthRequest.network);
    return inLibrary(trx, oauthRequest, () => deps.providers.answer(issuer, request));
  });
}
