import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';

/**
 * Decides which requests the mailbox accepts: they address this machine by its own name and prove that they know the
 * token.
 */
export interface Gate {
  /** Rejects foreign names that were made to resolve to this machine (DNS rebinding). */
  hostAllowed(headers: IncomingHttpHeaders): boolean;
  tokenMatches(token: string): boolean;
  /** @returns how the request proved that it knows the token; null if it did not */
  admitted(headers: IncomingHttpHeaders): 'bearer' | 'cookie' | null;
  /**
   * Whether a page of the mailbox sent the request. Required for changes with the cookie, since browsers send it from
   * pages on other ports, too.
   */
  fromOwnPage(headers: IncomingHttpHeaders): boolean;
  /** The `Set-Cookie` header that replaces the token from now on. */
  cookie(): string;
}

const MIN_TOKEN_LENGTH = 16;
const COOKIE_SECONDS = 30 * 86_400;
const localName = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;
const bearer = /^Bearer +([^\s]+)$/i;

/** Compares digests, so that the time taken reveals neither the length nor a common prefix. */
function same(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/**
 * @param token at least 16 characters
 * @throws Error if the token is too short to be safe
 */
export function createGate(token: string): Gate {
  if (token.length < MIN_TOKEN_LENGTH)
    throw new Error(`the mailbox token has fewer than ${MIN_TOKEN_LENGTH} characters`);
  const derived = (purpose: string) => createHmac('sha256', token).update(purpose).digest('base64url');
  // Browsers share cookies between all ports of a host. So each mailbox has its own cookie name, and the value is not
  // the token itself, because other local servers receive the cookie, too.
  const cookieName = `carillon_mailbox_${derived('cookie name').slice(0, 8)}`;
  const cookieValue = derived('cookie value');
  return {
    hostAllowed: ({ host }) => localName.test(host ?? ''),
    tokenMatches: (given) => same(given, token),
    admitted({ authorization, cookie = '' }) {
      const given = bearer.exec(authorization ?? '')?.[1];
      if (given !== undefined) return same(given, token) ? 'bearer' : null;
      return same(parseCookie(cookie)[cookieName] ?? '', cookieValue) ? 'cookie' : null;
    },
    fromOwnPage(headers) {
      if (headers.origin !== undefined) return headers.origin === `http://${headers.host}`;
      return headers['sec-fetch-site'] === 'same-origin';
    },
    cookie: () =>
      `${cookieName}=${cookieValue}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}`,
  };
}
