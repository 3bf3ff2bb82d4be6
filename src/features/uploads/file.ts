import { isUtf8 } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';

const MAX_BYTES = 200;
const MAX_EXTENSION = 16;

/** Control characters, and those that turn the direction of text so that `gpj.exe` reads `exe.jpg`. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;

function shortened(name: string, maxBytes: number): string {
  let kept = '';
  let bytes = 0;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}

/**
 * The name a client gave a file, fit to be shown and to be offered for saving: no folders, nothing unseen,
 * at most 200 bytes of UTF-8 with its extension kept.
 */
export function safeFilename(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const seen = last
    .replace(UNSEEN, '')
    .replace(/[<>:"|?*]/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  if (seen === '') return 'file';
  if (Buffer.byteLength(seen) <= MAX_BYTES) return seen;
  const dot = seen.lastIndexOf('.');
  const extension = dot > 0 && seen.length - dot <= MAX_EXTENSION ? seen.slice(dot) : '';
  const stem = extension === '' ? seen : seen.slice(0, dot);
  return shortened(stem, MAX_BYTES - Buffer.byteLength(extension)) + extension;
}

function percentEncoded(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The value of a Content-Disposition header (RFC 6266), with the name in ASCII and, where that is not all of it,
 * in UTF-8 as well.
 * @param filename from {@link safeFilename}
 */
export function contentDisposition(disposition: 'inline' | 'attachment', filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]/g, '_').replace(/[\\"]/g, '_');
  const encoded = ascii === filename ? '' : `; filename*=UTF-8''${percentEncoded(filename)}`;
  return `${disposition}; filename="${ascii}"${encoded}`;
}

/** Raster images hold nothing that runs, so a browser may show them in place. */
const SHOWN_IN_PLACE = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

const BINARY = 'application/octet-stream';
const CONTROL = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * What a file is by its content; what the client says of it is never looked at.
 * @returns a media type: `text/plain` for any text without a signature of its own, HTML and scripts included
 */
export async function sniffContentType(bytes: Uint8Array): Promise<string> {
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (found) return found.mime;
  if (!isUtf8(bytes)) return BINARY;
  return CONTROL.test(Buffer.from(bytes).toString('utf8')) ? BINARY : 'text/plain';
}

/** Whether a browser may show it in place; everything else is offered for saving. */
export function isShownInPlace(contentType: string): boolean {
  return SHOWN_IN_PLACE.has(contentType);
}
