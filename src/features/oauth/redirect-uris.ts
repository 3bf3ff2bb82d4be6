const LOOPBACK_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);
/** A private scheme should be a reversed domain name (RFC 8252, section 7.1), which nothing else on the machine uses. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;
/** Schemes of well-known programs that chose otherwise. */
const KNOWN_SCHEMES = new Set([
  'cursor:',
  'vscode:',
  'vscode-insiders:',
  'windsurf:',
  'zed:',
  'raycast:',
  'claude:',
]);
const MAX_LENGTH = 2_000;
/** Characters that parsers of URLs drop or reinterpret. */
const UNSAFE = /[\s\\\p{Cc}]/u;

export interface RedirectTarget {
  /** A host with its port, or the scheme of a program, such as `cursor:`. */
  host: string;
  isLoopback: boolean;
}

/** Reads where a client wants its codes to be sent. @returns null if no client may have this URI */
export function readRedirectUri(text: string): RedirectTarget | null {
  if (text.length > MAX_LENGTH || UNSAFE.test(text) || text.includes('#')) return null;
  const url = URL.parse(text);
  if (!url || url.username !== '' || url.password !== '') return null;
  const { protocol, hostname, host } = url;
  const isLoopback = LOOPBACK_HOSTS.has(hostname);
  if (protocol === 'https:') return isLoopback || hostname === '' ? null : { host, isLoopback };
  if (protocol === 'http:') return isLoopback ? { host, isLoopback } : null;
  if (PRIVATE_SCHEME.test(protocol) || KNOWN_SCHEMES.has(protocol)) {
    return { host: protocol, isLoopback: false };
  }
  return null;
}
