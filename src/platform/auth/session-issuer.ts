import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import { loginNetwork, type ClientAddress } from './client-address.ts';
import type { SessionCookies } from './session-cookie.ts';
import { deleteCookieSession, insertSession, replaceSession, type StoredSession } from './session-rows.ts';
import type { SessionTokens } from './session-token.ts';
import type { SessionKind, UserSession } from './session.ts';

const noHeaders: Record<string, string> = {};

type Request = Pick<IncomingMessage, 'headers' | 'socket'>;

export interface IssuedSession {
  session: UserSession;
  /** Headers of the response: the token, or the cookie and its CSRF token. */
  headers: Record<string, string>;
}

/** Starts sessions of users whose password, and second factor, were checked. */
export interface SessionIssuer {
  /** @throws AppError forbidden if the request cannot have a session of this kind */
  requireKind(request: Request, kind: SessionKind): void;
  /**
   * @param trx holds `lockPassword`, unless it created the user
   * @param user.secondFactor whether the user gave a code
   */
  start(
    trx: Queryable,
    request: Request,
    user: { id: number; secondFactor: boolean },
    kind: SessionKind,
  ): Promise<IssuedSession>;
  /**
   * Replaces a session whose user gave the password, or a code, again. The old token or cookie is refused from then on.
   * @param trx as for `start`
   * @throws AppError unauthorized if the session has ended in the meantime
   */
  renew(
    trx: Queryable,
    request: Request,
    session: UserSession,
    given: { secondFactor: boolean },
  ): Promise<IssuedSession>;
  /** Headers of responses to the client of a running session. */
  headersOf(session: UserSession): Record<string, string>;
  /** Headers of the response that ends a session. */
  endHeaders(request: Request, session: UserSession): Record<string, string>;
}

export function createSessionIssuer(
  tokens: SessionTokens,
  cookies: SessionCookies,
  clientAddress: ClientAddress,
): SessionIssuer {
  const csrfHeader = (id: number) => ({ 'X-CSRF-Token': cookies.csrfToken(id) });

  async function issue({ headers }: Request, { session, secret }: StoredSession): Promise<IssuedSession> {
    const { id: sessionId, userId, expiresAt } = session;
    if (secret === null) {
      const token = await tokens.issue({ userId, sessionId, expiresAt }, 'api');
      return { session, headers: { Authorization: `Bearer ${token}` } };
    }
    const cookie = cookies.set(headers, secret, expiresAt);
    return { session, headers: { 'Set-Cookie': cookie, ...csrfHeader(sessionId) } };
  }

  return {
    requireKind({ headers }, kind) {
      if (kind === 'token' || cookies.fromOwnPage(headers)) return;
      throw new AppError('forbidden', 'only a page of this service can sign in with a cookie');
    },
    async start(trx, request, user, kind) {
      // This browser loses the cookie, and could not end its session later.
      const replaced = kind === 'cookie' ? cookies.digestOf(request.headers) : null;
      if (replaced) await deleteCookieSession(trx, replaced);
      const address = clientAddress(request);
      const stored = await insertSession(trx, {
        userId: user.id,
        kind,
        secondFactor: user.secondFactor,
        network: address && loginNetwork(address),
        userAgent: request.headers['user-agent'] ?? null,
      });
      return issue(request, stored);
    },
    async renew(trx, request, session, given) {
      const stored = await replaceSession(trx, session, given);
      if (!stored) throw new AppError('unauthorized', 'the session has ended; sign in again');
      return issue(request, stored);
    },
    headersOf: ({ kind, id }) => (kind === 'cookie' ? csrfHeader(id) : noHeaders),
    endHeaders: ({ headers }, { kind }) =>
      kind === 'cookie' ? { 'Set-Cookie': cookies.clear(headers) } : noHeaders,
  };
}
