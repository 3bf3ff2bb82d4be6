/** The relaxed canonical forms of RFC 6376 §3.4, for messages built here: CRLF only, lines of at most 998. */
import { createHash } from 'node:crypto';

/**
 * RFC 6376 §3.4.2.
 * @param field a header field, folded, without its last CRLF
 * @returns `name:value`, without CRLF
 */
export function relaxedField(field: string): string {
  const colon = field.indexOf(':');
  const value = field
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '');
  return `${field.slice(0, colon).trimEnd().toLowerCase()}:${value}`;
}

/**
 * RFC 6376 §3.4.4 and §3.7.
 * @returns base64 of the SHA-256 of the whole body, as it stands in `bh=`
 */
export function relaxedBodyHash(body: Buffer): string {
  const squeezed = body
    .toString('latin1')
    .replace(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n');
  let end = squeezed.endsWith(' ') ? squeezed.length - 1 : squeezed.length;
  while (squeezed.endsWith('\r\n', end)) end -= 2;
  const canonical = end === 0 ? '' : `${squeezed.slice(0, end)}\r\n`;
  return createHash('sha256').update(canonical, 'latin1').digest('base64');
}
