/** Encodes a text part for a 7-bit path (RFC 2045 §6), so that no relay has a reason to change it. */
import { QuotedPrintableEncoder } from './quoted-printable.ts';

export interface EncodedText {
  transferEncoding: '7bit' | 'quoted-printable' | 'base64';
  /** ASCII, in lines of at most 78 characters. Each line ends with CRLF, except perhaps the last. */
  content: string;
}

/** Maximum line length that RFC 5322 §2.1.1 recommends. */
const maxPlainLine = 78;

/**
 * Encodes a text as 7bit if no relay would change it, else as quoted-printable or base64, whichever is shorter.
 * @param text any text; NUL is removed, lone surrogates are replaced, line ends become CRLF
 */
export function encodeText(text: string): EncodedText {
  const normal = normalizeText(text);
  if (isPlain(normal)) return { transferEncoding: '7bit', content: normal };
  const bytes = Buffer.from(normal);
  const encoder = new QuotedPrintableEncoder(bytes);
  encoder.encode(0, bytes.length);
  if (!isShorterInBase64(encoder.length, bytes)) {
    return { transferEncoding: 'quoted-printable', content: encoder.toString() };
  }
  return { transferEncoding: 'base64', content: toBase64Lines(bytes) };
}

/** @param quotedPrintable the length in quoted-printable */
export function isShorterInBase64(quotedPrintable: number, bytes: Buffer): boolean {
  return quotedPrintable > Math.ceil(bytes.length / 3) * 4 * (78 / 76);
}

/** Base64 in lines of 76 characters, which encode 57 bytes each. The last line has no CRLF. */
export function toBase64Lines(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n');
}

/** Removes NUL and makes line ends CRLF. Lone surrogates stay, because the encoding in UTF-8 replaces them. */
export function normalizeText(text: string): string {
  const clean = text.includes('\0') ? text.replaceAll('\0', '') : text;
  if (clean.includes('\r')) return clean.replace(/\r\n?|\n/g, '\r\n');
  return clean.includes('\n') ? clean.replaceAll('\n', '\r\n') : clean;
}

/**
 * Whether the text is printable ASCII in lines of at most 78 characters, none of which ends with white space or starts
 * with something that mbox software or careless SMTP servers change. It takes a single pass, because it reads every
 * character of every email.
 */
function isPlain(text: string): boolean {
  let lineStart = 0;
  let previous = LF;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === CR || code === LF) {
      if (previous === SPACE || previous === TAB) return false;
      lineStart = index + 1;
    } else if ((code < SPACE && code !== TAB) || code > LAST_PRINTABLE || index - lineStart >= maxPlainLine) {
      return false;
    } else if (index === lineStart && (code === DOT || (code === F && text.startsWith('From ', index)))) {
      return false;
    }
    previous = code;
  }
  return previous !== SPACE && previous !== TAB;
}

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const LAST_PRINTABLE = 0x7e;
const TAB = 0x09;
const DOT = 0x2e;
const F = 0x46;
