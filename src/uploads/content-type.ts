import { isUtf8 } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';

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
