import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';
import type { Keyring } from '../secrets/keyring.ts';
import { isMacOf, mac } from '../secrets/mac.ts';
import { createOwnOrigin } from './own-origin.ts';
import { cookieDigest } from './session-rows.ts';

/** Cookies of sessions, and what proves that a request with one was sent by our own pages. */
export interface SessionCookies {
  /**
   * The cookie of a request to the service's own origin. The owners of other names could otherwise use the sessions of
   * their visitors.
   * @returns the digest by which its row is found; null if there is none that counts
   */
  digestOf(headers: IncomingHttpHeaders): Buffer | null;
  /** Whether this host can have cookies, and one of our pages sent the request. */
  fromOwnPage(headers: IncomingHttpHeaders): boolean;
  /** Whether the request has the CSRF token of a session, and {@link fromOwnPage}. */
  allowsChanges(headers: IncomingHttpHeaders, sessionId: number): boolean;
  csrfToken(sessionId: number): string;
  /** The `Set-Cookie` header. */
  set(headers: IncomingHttpHeaders, secret: string, expiresAt: Date): string;
  /** The `Set-Cookie` header that removes the cookie. */
  clear(headers: IncomingHttpHeaders): string;
}

const SECRET = /^[\w-]{43}$/;
const MAC_BYTES = 32;
const DEFAULT_PORT = '80';

interface Site {
  origin: string;
  cookieName: string;
  attributes: string;
}

function siteOf({ protocol, port, origin }: URL): Site {
  const attributes = 'Path=/; HttpOnly; SameSite=Lax';
  if (protocol === 'https:') {
    return { origin, cookieName: '__Host-carillon', attributes: `${attributes}; Secure` };
  }
  // Browsers share cookies between all ports of a host.
  return { origin, cookieName: `carillon_${port === '' ? DEFAULT_PORT : port}`, attributes };
}

/** @param publicUrl the setting PUBLIC_URL; without it, cookies work on this machine only */
export function createSessionCookies(publicUrl: string | undefined, keyring: Keyring): SessionCookies {
  const ownOrigin = createOwnOrigin(publicUrl);

  function siteAt(headers: IncomingHttpHeaders): Site | null {
    const origin = ownOrigin.of(headers);
    return origin && siteOf(origin);
  }

  function requireSite(headers: IncomingHttpHeaders): Site {
    const site = siteAt(headers);
    if (!site) throw new Error('check fromOwnPage before a session with a cookie is started');
    return site;
  }

  const fromOwnPage = (headers: IncomingHttpHeaders) => {
    const site = siteAt(headers);
    return site !== null && headers.origin === site.origin;
  };

  return {
    digestOf(headers) {
      const site = headers.cookie === undefined ? null : siteAt(headers);
      const secret = site && parseCookie(headers.cookie ?? '')[site.cookieName];
      return secret && SECRET.test(secret) ? cookieDigest(secret) : null;
    },
    fromOwnPage,
    allowsChanges(headers, sessionId) {
      const given = Buffer.from(String(headers['x-csrf-token'] ?? ''), 'base64url');
      return fromOwnPage(headers) && isMacOf(keyring.accepted('csrf'), String(sessionId), given);
    },
    csrfToken: (sessionId) =>
      mac(keyring.subkey('csrf').key, String(sessionId), MAC_BYTES).toString('base64url'),
    set(headers, secret, expiresAt) {
      const { cookieName, attributes } = requireSite(headers);
      const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
      return `${cookieName}=${secret}; Max-Age=${seconds}; ${attributes}`;
    },
    clear(headers) {
      const { cookieName, attributes } = requireSite(headers);
      return `${cookieName}=; Max-Age=0; ${attributes}`;
    },
  };
}
