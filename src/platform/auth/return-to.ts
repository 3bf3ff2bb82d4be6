/** Characters that URL parsers drop or reinterpret, so that `/\evil.test` or `/⇥/evil.test` would leave the service. */
const UNSAFE = /[\s\\\p{Cc}]/u;
const HERE = 'https://here.invalid';

/**
 * Reads where a browser wants to go after a sign-in.
 * @returns the path, with its query; null if it is not a path of this service
 */
export function readReturnTo(text: string): string | null {
  if (!text.startsWith('/') || text.startsWith('//') || UNSAFE.test(text)) return null;
  const url = URL.parse(text, HERE);
  if (url?.origin !== HERE || url.pathname.startsWith('//')) return null;
  return url.pathname + url.search + url.hash;
}
