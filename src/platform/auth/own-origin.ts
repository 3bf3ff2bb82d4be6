import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;
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
}

/** Whether browsers could keep a cookie safe there: by https, or on this machine. */
const isSafe = ({ protocol, hostname }: URL) => protocol === 'https:' || LOOPBACK.test(hostname);

/** @param publicUrl the setting PUBLIC_URL */
export function createOwnOrigin(publicUrl: string | undefined): OwnOrigin {
  const own = publicUrl === undefined ? null : new URL(new URL(publicUrl).origin);
  const configured = own && isSafe(own) ? own : null;
  return {
    configured,
    of({ host }) {
      if (host === undefined || !HOST.test(host)) return null;
      const named = URL.parse(`${own?.protocol ?? 'http:'}//${host}`);
      if (!named) return null;
      if (own) return named.host === own.host ? configured : null;
      return isSafe(named) ? named : null;
    },
  };
}
