/** Finds the encoding of a page or stylesheet, and decodes it. */
import { TextDecoder } from 'node:util';

/** Where a page may declare its encoding (WHATWG HTML, "prescan a byte stream"). */
const PRESCAN_BYTES = 1_024;
const META = /<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const CSS_CHARSET = /^@charset "([\w.:-]{1,40})";/;
const HEADER = /charset\s*=\s*["']?([\w.:-]{1,40})/i;

/** Bytes as received, and their Content-Type. */
export interface Encoded {
  bytes: Uint8Array;
  contentType: string | null;
}

function byteOrderMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return null;
}

/** @returns null for a label that no browser knows */
function decoderOf(label: string | null | undefined): TextDecoder | null {
  if (!label) return null;
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

/** A declaration that can be read byte by byte is not in UTF-16, even if it says so. */
function declared(text: string, pattern: RegExp): TextDecoder | null {
  const decoder = decoderOf(pattern.exec(text)?.[1]);
  return decoder?.encoding.startsWith('utf-16') ? new TextDecoder('utf-8') : decoder;
}

/** If the text was cut off, its last character may be incomplete. */
const MAX_CUT = 3;

function looksLikeUtf8(bytes: Uint8Array): boolean {
  for (let cut = 0; cut <= MAX_CUT; cut += 1) {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytes.length - cut));
      return true;
    } catch {
      // One byte less.
    }
  }
  return false;
}

function guessed(bytes: Uint8Array): TextDecoder {
  return new TextDecoder(looksLikeUtf8(bytes) ? 'utf-8' : 'windows-1252');
}

function decode({ bytes, contentType }: Encoded, pattern: RegExp, fallback: () => TextDecoder): string {
  const start = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1');
  const decoder =
    decoderOf(byteOrderMark(bytes)) ??
    decoderOf(HEADER.exec((contentType ?? '').slice(0, 500))?.[1]) ??
    declared(start, pattern) ??
    fallback();
  return decoder.decode(bytes);
}

/** Decodes HTML by its byte order mark, Content-Type or `<meta>`; else as UTF-8 or, if it is not, Windows-1252. */
export function decodeHtml(page: Encoded): string {
  return decode(page, META, () => guessed(page.bytes));
}

/** Decodes CSS by its byte order mark, Content-Type or `@charset`, else as UTF-8. */
export function decodeCss(sheet: Encoded): string {
  return decode(sheet, CSS_CHARSET, () => new TextDecoder('utf-8'));
}
