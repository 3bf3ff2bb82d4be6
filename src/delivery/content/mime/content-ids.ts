const NAMED = /\bcid:([A-Za-z0-9._@+%-]{1,400})/gi;

/** @returns the text as it is if its percent signs are no encoding */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The Content-IDs that HTML names as `cid:…` (RFC 2392), such as in `<img src="cid:logo">`. */
export function namedContentIds(html: string | null): Set<string> {
  return new Set(Array.from(html?.matchAll(NAMED) ?? [], ([, id = '']) => decoded(id)));
}
