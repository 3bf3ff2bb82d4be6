const TRAILING_SLASHES = /\/+$/;

const comparable = (url: URL): string =>
  (url.origin + url.pathname).toLowerCase().replace(TRAILING_SLASHES, '');

/** Whether both name the same resource. A query, a fragment or a user means something else than the endpoint. */
function isSame(given: string, resource: string): boolean {
  const url = URL.parse(given);
  if (!url || /[?#]/.test(given) || url.username !== '' || url.password !== '') return false;
  return comparable(url) === comparable(new URL(resource));
}

/**
 * Reads the resource that a client names (RFC 8707) in any spelling: scheme and host have no case (RFC 3986, section
 * 6.2.2.1), and many clients send the URL as a user typed it, with capitals or a slash at its end.
 * @param resource the only one there is
 * @returns `resource`; or what was given, if it is another one, which the library then refuses
 */
export function readResource(given: string, resource: string): string {
  return isSame(given, resource) ? resource : given;
}
