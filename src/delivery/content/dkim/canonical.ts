/** The relaxed canonical forms of RFC 6376 §3.4, for messages with CRLF line ends and lines of at most 998 bytes. */
import { createHash } from 'node:crypto';

/**
 * Makes runs of white space single spaces. Two expressions that match only what changes: nearly all white space is
 * single spaces, and replacing each separately would take several times as long as everything else about a body.
 */
const singleSpaces = (text: string): string => text.replaceAll('\t', ' ').replace(/ {2,}/g, ' ');

/**
 * Canonicalizes a header field (RFC 6376 §3.4.2).
 * @param field a header field, folded, without its last CRLF
 * @returns `name:value`, without CRLF
 */
export function relaxedField(field: string): string {
  const colon = field.indexOf(':');
  const value = singleSpaces(field.slice(colon + 1).replaceAll('\r\n', ''));
  const start = value.startsWith(' ') ? 1 : 0;
  const end = value.endsWith(' ') ? value.length - 1 : value.length;
  return `${field.slice(0, colon).trimEnd().toLowerCase()}:${value.slice(start, end)}`;
}

/** Reduces white space within lines, and removes it before CRLF (RFC 6376 §3.4.4). @param text one byte a character */
export function squeezeSpace(text: string): string {
  return singleSpaces(text).replaceAll(' \r\n', '\r\n');
}

/** Canonicalizes a body (RFC 6376 §3.4.4). Returns one byte a character. */
export function relaxedBody(body: Buffer): string {
  const squeezed = squeezeSpace(body.toString('latin1'));
  let end = squeezed.endsWith(' ') ? squeezed.length - 1 : squeezed.length;
  while (squeezed.endsWith('\r\n', end)) end -= 2;
  return end === 0 ? '' : `${squeezed.slice(0, end)}\r\n`;
}

/**
 * Hashes a body (RFC 6376 §3.7).
 * @returns the value of `bh=`: the SHA-256 of the whole body in base64
 */
export function relaxedBodyHash(body: Buffer): string {
  return createHash('sha256').update(relaxedBody(body), 'latin1').digest('base64');
}
