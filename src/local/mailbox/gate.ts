import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Who may come in: whoever has the token, from a page of our own, to a name of this machine. */
export interface Gate {
  /** Against a foreign name made to resolve to this machine (DNS rebinding). */
  hostAllowed(headers: IncomingHttpHeaders): boolean;
  tokenMatches(token: string): boolean;
  /** How a request showed that it may come in; null where it did not. */
  admitted(headers: IncomingHttpHeaders): 'bearer' | 'cookie' | null;
  /** A request with the cookie changes something only when a page of ours sent it: other ports here share cookies. */
  fromOwnPage(headers: IncomingHttpHeaders): boolean;
  /** The `Set-Cookie` that stands for the token from now on. */
  cookie(): string;
}

const SHORTEST_TOKEN = 16;
const COOKIE_SECONDS = 30 * 86_400;
const localName = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;
const bearer = /^Bearer +([^\s]+)$/i;

function same(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function cookieNamed(name: string, header: string | undefined): string | null {
  const pair = header?.split(';').find((part) => part.trim().startsWith(`${name}=`));
  return pair === undefined ? null : pair.slice(pair.indexOf('=') + 1).trim();
}

/**
 * @param token at least 16 characters
 * @throws Error where the token is too short to keep anybody out
 */
export function createGate(token: string): Gate {
  if (token.length < SHORTEST_TOKEN)
    throw new Error(`the mailbox token has less than ${SHORTEST_TOKEN} characters`);
  const derived = (purpose: string) => createHmac('sha256', token).update(purpose).digest('base64url');
  // Cookies belong to the machine, not to a port: several mailboxes need names of their own, and as other servers
  // get to see the cookie, it is not the token itself.
  const cookieName = `carillon_mailbox_${derived('cookie name').slice(0, 8)}`;
  const cookieValue = derived('cookie value');
  return {
    hostAllowed: ({ host }) => localName.test(host ?? ''),
    tokenMatches: (given) => same(given, token),
    admitted({ authorization, cookie }) {
      const given = bearer.exec(authorization ?? '')?.[1];
      if (given !== undefined) return same(given, token) ? 'bearer' : null;
      return same(cookieNamed(cookieName, cookie) ?? '', cookieValue) ? 'cookie' : null;
    },
    fromOwnPage(headers) {
      if (headers.origin !== undefined) return headers.origin === `http://${headers.host}`;
      return headers['sec-fetch-site'] === 'same-origin';
    },
    cookie: () =>
      `${cookieName}=${cookieValue}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}`,
  };
}
