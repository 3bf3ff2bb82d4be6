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

/**
 * Schemes that browsers handle themselves, or hand to another program, which is no client: none of them is a mistake
 * of a native program.
 */
const FOREIGN_SCHEMES = new Set(
  'about blob chrome data file filesystem ftp intent jar javascript mailto sms tel vbscript view-source ws wss'
    .split(' ')
    .map((name) => `${name}:`),
);

function parse(text: string): URL | null {
  if (text.length > MAX_LENGTH || UNSAFE.test(text) || text.includes('#')) return null;
  const url = URL.parse(text);
  return url && url.username === '' && url.password === '' ? url : null;
}

/** Reads where a client wants its codes to be sent. @returns null if no client may have this URI */
export function readRedirectUri(text: string): RedirectTarget | null {
  const url = parse(text);
  if (!url) return null;
  const { protocol, hostname, host } = url;
  const isLoopback = LOOPBACK_HOSTS.has(hostname);
  if (protocol === 'https:') return isLoopback || hostname === '' ? null : { host, isLoopback };
  if (protocol === 'http:') return isLoopback ? { host, isLoopback } : null;
  if (PRIVATE_SCHEME.test(protocol) || KNOWN_SCHEMES.has(protocol)) {
    return { host: protocol, isLoopback: false };
  }
  return null;
}

/**
 * Whether a URI has the scheme of a native program that is not known here. Codes are never sent there, since any
 * program on the machine could have taken it. Many clients register such a URI beside others that they may have.
 */
export function hasUnknownScheme(text: string): boolean {
  const url = parse(text);
  if (!url || readRedirectUri(text)) return false;
  return !['https:', 'http:'].includes(url.protocol) && !FOREIGN_SCHEMES.has(url.protocol);
}
