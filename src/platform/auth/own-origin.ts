import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;
const isLoopback = ({ hostname }: URL) => LOOPBACK.test(hostname);
/** No user information and no path, which URL.parse would accept. */
const HOST = /^[^@/?#\\\s]+$/;

/** The service's own origin, at which browsers may keep its cookies. */
export interface OwnOrigin {
  /** The origin of PUBLIC_URL; null if it is not set, or if it is http on another machine than this. */
  readonly configured: URL | null;
  /**
   * The origin that the Host header of a request names, if it is ours. Other names lead here, too, such as
   * `links.<domain>`, which belong to others. Without PUBLIC_URL, only names of this machine are ours.
   */
  of(headers: IncomingHttpHeaders): URL | null;
  /**
   * Where a browser must go instead: the origin of PUBLIC_URL, if both it and the Host header name this machine, such as
   * `127.0.0.1` and `localhost`. Cookies of one do not count at the other.
   */
  insteadOf(headers: IncomingHttpHeaders): URL | null;
}

/** Whether browsers could keep a cookie safe there: by https, or on this machine. */
const isSafe = (url: URL) => url.protocol === 'https:' || isLoopback(url);

/** @param publicUrl the setting PUBLIC_URL */
export function createOwnOrigin(publicUrl: string | undefined): OwnOrigin {
  const own = publicUrl === undefined ? null : new URL(publicUrl);
  const configured = own && isSafe(own) ? own : null;
  const parse = ({ host }: IncomingHttpHeaders): URL | null =>
    host === undefined || !HOST.test(host) ? null : URL.parse(`${own?.protocol ?? 'http:'}//${host}`);
  return {
    configured,
    insteadOf(headers) {
      const named = parse(headers);
      if (!configured || !named || named.host === configured.host) return null;
      return isLoopback(named) && isLoopback(configured) ? configured : null;
    },
    of(headers) {
      const named = parse(headers);
      if (!named) return null;
      if (own) return named.host === own.host ? configured : null;
      return isSafe(named) ? named : null;
    },
  };
}
