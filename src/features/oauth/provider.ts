import { generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { errors, interactionPolicy, type Configuration, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { z } from 'zod';
import { MCP_PATH } from '../../platform/auth/grant-authenticate.ts';
import { mcpScopes } from '../../platform/auth/grant-caller.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { ClientDocuments } from './client-documents.ts';
import { GRANT_IDLE_DAYS } from './grants.ts';
import { createStorage } from './storage.ts';
import { currentOAuthRequest } from './oauth-request.ts';

export const ACCESS_TOKEN_SECONDS = 3_600;
const CODE_SECONDS = 60;
const REFRESH_TOKEN_SECONDS = GRANT_IDLE_DAYS * 86_400;
/** How long the user may take to sign in and decide. */
const INTERACTION_SECONDS = 30 * 60;

/** The cookie of the library's own session, which is never stored. The routes leave it out of responses. */
export const SESSION_COOKIE = 'carillon_authorization';

/** Where the pages of an authorization are. */
export const interactionPath = (uid: string): string => `/oauth/interaction/${uid}`;

export interface ProviderDeps {
  keyring: Keyring;
  documents: ClientDocuments;
  log: Logger;
}

/**
 * Asks the user in every authorization. A decision counts for the request that it was made for, and only for the user
 * that the browser's cookie still names.
 */
function createPolicy() {
  const { Check, Prompt } = interactionPolicy;
  const undecided = new Check('undecided', 'the user has to decide', ({ oidc: { result, account } }) => {
    const decided = result?.consent?.grantId !== undefined && account !== undefined;
    return decided ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
  });
  return [new Prompt({ name: 'consent', requestable: true }, undecided)];
}

/** The library needs a key for identity tokens, although it issues none: the scope `openid` does not exist here. */
function unusedKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] };
}

const OFF = { enabled: false };

function featuresOf(resource: string, documents: ClientDocuments): Configuration['features'] {
  return {
    devInteractions: OFF,
    userinfo: OFF,
    dPoP: OFF,
    pushedAuthorizationRequests: OFF,
    rpInitiatedLogout: OFF,
    revocation: {
      enabled: true,
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    registration: { enabled: true, initialAccessToken: false, issueRegistrationAccessToken: false },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      allowFetch: async (_ctx: unknown, clientId: string) => documents.mayFetch(clientId),
      cacheDuration: { min: 60, max: 86_400 },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx, indicator) {
        if (indicator !== resource) throw new errors.InvalidTarget(`the only resource is ${resource}`);
        return {
          scope: mcpScopes.join(' '),
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: ACCESS_TOKEN_SECONDS,
        };
      },
    },
  };
}

function configurationOf(issuer: string, { keyring, documents }: ProviderDeps): Configuration {
  const cookies = { httpOnly: true, sameSite: 'lax', signed: true } as const;
  return {
    adapter: createStorage,
    jwks: unusedKey(),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    scopes: [],
    pkce: { required: () => true },
    routes: {
      authorization: '/oauth/authorize',
      token: '/oauth/token',
      registration: '/oauth/register',
      revocation: '/oauth/revoke',
    },
    features: featuresOf(issuer + MCP_PATH, documents),
    interactions: { policy: createPolicy(), url: (_ctx, { uid }) => interactionPath(uid) },
    cookies: {
      keys: keyring.accepted('oauth-cookies').map(({ key }) => key.toString('base64url')),
      names: {
        session: SESSION_COOKIE,
        interaction: 'carillon_interaction',
        resume: 'carillon_authorize',
      },
      long: cookies,
      short: cookies,
    },
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: CODE_SECONDS,
      RefreshToken: REFRESH_TOKEN_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Session: INTERACTION_SECONDS,
      Grant: REFRESH_TOKEN_SECONDS,
    },
    findAccount(_ctx, id) {
      // A browser acts only for the user whom its cookie names. Tokens belong to the grant, which ends with its user.
      const { isBrowser, userId } = currentOAuthRequest();
      if (isBrowser && id !== String(userId)) return undefined;
      return { accountId: id, claims: () => ({ sub: id }) };
    },
    async loadExistingGrant({ oidc }) {
      const key = oidc.result?.consent?.grantId;
      return key === undefined ? undefined : oidc.provider.Grant.find(key);
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    expiresWithSession: async () => false,
    renderError(ctx, out) {
      ctx.body = out;
    },
    fetch: (url) => documents.fetch(z.string().parse(url)),
  };
}

/**
 * Creates the authorization server of one origin.
 * @param issuer the origin
 */
export function createProvider(issuer: string, deps: ProviderDeps): Provider {
  const provider = new Provider(issuer, configurationOf(issuer, deps));
  // The caller of the library sets X-Forwarded-Proto.
  provider.proxy = true;
  provider.on('server_error', (_ctx, error) => (currentOAuthRequest().failure = error));
  // An event of Koa that is missing in the library's types.
  (provider as EventEmitter).on('error', (error) =>
    deps.log.error({ err: error }, 'error in the OAuth library'),
  );
  return provider;
}
