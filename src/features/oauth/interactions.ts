import { type IncomingMessage, ServerResponse } from 'node:http';
import { errors, type InteractionResults } from 'oidc-provider';
import { z } from 'zod';
import { AppError, notFound } from '../../errors.ts';
import type { McpScope } from '../../platform/auth/grant-caller.ts';
import { MCP_PATH } from '../../platform/auth/grant-authenticate.ts';
import type { OwnOrigin } from '../../platform/auth/own-origin.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { tokenDigest } from './grants.ts';
import type { Providers } from './providers.ts';
import { readRedirectUri } from './redirect-uris.ts';
import { readScopes } from './scopes.ts';
import { type OAuthRequest, withOAuthRequest } from './oauth-request.ts';

/** The program that asks for access. All of it is what the program says about itself. */
export interface AskingClient {
  id: string;
  name: string;
  /** The host of the document that describes the client; null: the client registered itself. */
  host: string | null;
  /** Where the code will be sent: a host, or the scheme of a program on the user's machine, such as `cursor:`. */
  redirectHost: string;
  /** Whether the code goes to this machine, where any program may ask for it. */
  isLoopback: boolean;
}

/** An authorization that waits for the user. */
export interface OpenInteraction {
  uid: string;
  client: AskingClient;
  /** What the client asks for: a subset of the scopes that exist. The user may grant less. */
  scopes: McpScope[];
  /** The URL that will accept the tokens, for `createGrant`. */
  resource: string;
}

/** What the user decided. `grantKey` is from `createGrant`, in the same transaction. */
export type Decision = { userId: number; grantKey: string } | { denied: true };

/** The authorizations that wait for pages. */
export interface Interactions {
  /**
   * @returns null if it has ended, or if another browser started it; or if the request is not for our own origin
   */
  find(request: IncomingMessage, uid: string): Promise<OpenInteraction | null>;
  /**
   * Ends an authorization.
   * @returns where to redirect the browser, with status 303: an URL of this service, which leads on to the client
   * @throws AppError `not_found` as `find`; `conflict` if it was decided already
   */
  finish(trx: Queryable, request: IncomingMessage, uid: string, decision: Decision): Promise<string>;
}

export interface InteractionDeps {
  db: Queryable;
  providers: Providers;
  ownOrigin: OwnOrigin;
  /** @returns what the library needs to know about the request, apart from the database */
  requestOf(request: IncomingMessage): Omit<OAuthRequest, 'db'>;
}

/** The parameters of the authorization that the library has checked. */
const storedParams = z.object({ client_id: z.string(), redirect_uri: z.string(), scope: z.string() });

const clientHost = (id: string): string | null => {
  const url = URL.parse(id);
  return url?.protocol === 'https:' ? url.host : null;
};

function presentClient(id: string, name: string | undefined, redirectUri: string): AskingClient | null {
  const target = readRedirectUri(redirectUri);
  if (!target) return null;
  const host = clientHost(id);
  return {
    id,
    name: name ?? host ?? target.host,
    host,
    redirectHost: target.host,
    isLoopback: target.isLoopback,
  };
}

/**
 * Takes the row, so that of two decisions at once only the first counts.
 * @throws AppError not_found, conflict
 */
async function lockUndecided(trx: Queryable, uid: string): Promise<void> {
  const { rows } = await trx.query<{ decided: boolean }>(
    `select payload ? 'result' as decided from oauth_tokens
     where model = 'Interaction' and id_digest = $1 and expires_at > now() for update`,
    [tokenDigest(uid)],
  );
  if (!rows[0]) throw notFound('authorization');
  if (rows[0].decided) throw new AppError('conflict', 'this was decided already');
}

const resultOf = (decision: Decision): InteractionResults =>
  'denied' in decision
    ? { error: 'access_denied', error_description: 'the user refused' }
    : {
        login: { accountId: String(decision.userId), remember: false },
        consent: { grantId: decision.grantKey },
      };

/** Runs a function of the library that throws `SessionNotFound` if the browser has no such authorization. */
async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return null;
    throw error;
  }
}

export function createInteractions({ db, providers, ownOrigin, requestOf }: InteractionDeps): Interactions {
  /** The library proves by a signed cookie that the same browser began the authorization. */
  const detailsOf = (request: IncomingMessage, issuer: string) =>
    orNull(() => providers.of(issuer).interactionDetails(request, new ServerResponse(request)));

  /** @returns null if the browser has no such authorization, or if the request is not for our own origin */
  async function open(request: IncomingMessage, uid: string) {
    const issuer = ownOrigin.of(request.headers)?.origin;
    if (issuer === undefined) return null;
    const details = await detailsOf(request, issuer);
    return details?.uid === uid ? { issuer, details } : null;
  }

  async function find(request: IncomingMessage, uid: string): Promise<OpenInteraction | null> {
    const opened = await open(request, uid);
    if (!opened) return null;
    const { issuer, details } = opened;
    const { client_id, redirect_uri, scope } = storedParams.parse(details.params);
    const found = await providers.of(issuer).Client.find(client_id);
    const client = found && presentClient(found.clientId, found.clientName, redirect_uri);
    return client ? { uid, client, scopes: readScopes(scope), resource: issuer + MCP_PATH } : null;
  }

  async function finish(request: IncomingMessage, uid: string, decision: Decision): Promise<string | null> {
    const opened = await open(request, uid);
    if (!opened) return null;
    const options = { mergeWithLastSubmission: false };
    return orNull(() =>
      providers
        .of(opened.issuer)
        .interactionResult(request, new ServerResponse(request), resultOf(decision), options),
    );
  }

  return {
    find: (request, uid) => withOAuthRequest({ ...requestOf(request), db }, () => find(request, uid)),
    async finish(trx, request, uid, decision) {
      await lockUndecided(trx, uid);
      const target = await withOAuthRequest({ ...requestOf(request), db: trx }, () =>
        finish(request, uid, decision),
      );
      if (target === null) throw notFound('authorization');
      return target;
    },
  };
}
