import { isUtf8 } from 'node:buffer';
import { create as createContentDisposition } from 'content-disposition';
import { fileTypeFromBuffer } from 'file-type';
import { cutUtf8 } from '../input/cut-utf8.ts';

const MAX_NAME_BYTES = 200;
/** In UTF-16 code units, including the dot. */
const MAX_EXTENSION_LENGTH = 16;

/** Control characters, and characters that reverse the direction of text and can make `gpj.exe` look like `exe.jpg`. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;
const SPACE_OR_DOT = /[\s.]/;

/**
 * Cleans the name that a client gave a file, so that it can be shown and offered as the name to save under: no folders,
 * no invisible characters, at most 200 bytes of UTF-8, with its extension kept.
 */
export function safeFilename(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const name = trimmed(last.replace(INVISIBLE, '').replace(/[<>:"|?*]/g, '_'));
  if (name === '') return 'file';
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= MAX_EXTENSION_LENGTH ? name.slice(dot) : '';
  // The cut may be after a space or dot, which Windows ignores at the end: it would see another extension.
  if (extension === '') return trimmed(cutUtf8(name, MAX_NAME_BYTES));
  return cutUtf8(name.slice(0, dot), MAX_NAME_BYTES - Buffer.byteLength(extension)) + extension;
}

/**
 * Removes spaces and dots at both ends. A regular expression for the end would take quadratic time for a run of dots.
 */
function trimmed(name: string): string {
  let start = 0;
  let end = name.length;
  while (start < end && SPACE_OR_DOT.test(name.charAt(start))) start += 1;
  while (end > start && SPACE_OR_DOT.test(name.charAt(end - 1))) end -= 1;
  return name.slice(start, end);
}

/**
 * The value of a Content-Disposition header (RFC 6266). A name that is not plain ASCII is also given in UTF-8.
 * @param filename from {@link safeFilename}
 */
export function contentDisposition(type: 'inline' | 'attachment', filename: string): string {
  const fallback = filename.replace(/[^\x20-\x7e]|[\\"]/g, '_');
  return createContentDisposition(filename, { type, fallback });
}

/** Raster images cannot contain scripts, so browsers may display them. */
export const DISPLAYED_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Whether a browser may display the file. Other files are offered for download. */
export function isDisplayed(contentType: string): boolean {
  return DISPLAYED_TYPES.includes(contentType);
}

const BINARY = 'application/octet-stream';
/** Types that a browser could run if it displayed the file in spite of everything. */
const CAN_RUN = /html|xml|svg|script|xsl/i;

/** The type under which a file of others is downloaded. */
export const downloadType = (contentType: string): string =>
  CAN_RUN.test(contentType) ? BINARY : contentType;

const CONTROL = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Detects the type of a file from its content. The type that the client claims is never used.
 * @returns a media type; `text/plain` for any text without a signature of its own, including HTML and scripts
 */
export async function sniffContentType(bytes: Uint8Array): Promise<string> {
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (found) return found.mime;
  if (!isUtf8(bytes)) return BINARY;
  return CONTROL.test(Buffer.from(bytes).toString('utf8')) ? BINARY : 'text/plain';
}
