/** Encodes a text part for a 7-bit path (RFC 2045 §6), so that no relay has a reason to change it. */

export interface EncodedText {
  transferEncoding: '7bit' | 'quoted-printable' | 'base64';
  /** ASCII in lines of at most 78 characters. Each line but perhaps the last ends with CRLF. */
  content: string;
}

/** RFC 5322 §2.1.1 recommends no longer lines. */
const maxPlainLine = 78;

/**
 * Encodes a text as 7bit if no relay would change it, else in the shorter of quoted-printable and base64.
 * @param text any text; NUL is removed, lone surrogates are replaced, line ends become CRLF
 */
export function encodeText(text: string): EncodedText {
  const normal = normalizeText(text);
  if (isPlain(normal)) return { transferEncoding: '7bit', content: normal };
  const bytes = Buffer.from(normal);
  const quotedPrintable = encodeQuotedPrintable(bytes);
  if (!isShorterInBase64(quotedPrintable, bytes)) {
    return { transferEncoding: 'quoted-printable', content: quotedPrintable.toString('latin1') };
  }
  return { transferEncoding: 'base64', content: toBase64Lines(bytes) };
}

export function isShorterInBase64(quotedPrintable: Buffer, bytes: Buffer): boolean {
  return quotedPrintable.length > Math.ceil(bytes.length / 3) * 4 * (78 / 76);
}

/** Base64 in lines of 76 characters, which stand for 57 bytes each. The last line has no CRLF. */
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
 * with something that mbox software or careless SMTP servers change. It takes one pass, as it reads every character
 * of every mail.
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
const EQUALS = 0x3d;
const DOT = 0x2e;
const F = 0x46;
const hexDigits = Buffer.from('0123456789ABCDEF');
/** One less than the limit of 76, because a soft break ends with `=`. */
const maxContentPerLine = 75;

/**
 * Encodes as in RFC 2045 §6.7, and also a dot or `From ` at the start of a line.
 * @param bytes text whose only CR and LF are in CRLF pairs
 */
export function encodeQuotedPrintable(bytes: Buffer): Buffer {
  const output = Buffer.allocUnsafe(bytes.length * 4 + 8);
  let length = 0;
  let column = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte === CR) {
      length = output.writeUInt16BE((CR << 8) | LF, length);
      column = 0;
      index += 1;
      continue;
    }
    let literal = isLiteral(bytes, index, byte);
    if (column + (literal ? 1 : 3) > maxContentPerLine) {
      output[length] = EQUALS;
      length = output.writeUInt16BE((CR << 8) | LF, length + 1);
      column = 0;
    }
    if (column === 0 && literal) literal = !isFragileAtLineStart(bytes, index, byte);
    if (!literal) {
      output[length++] = EQUALS;
      output[length++] = hexDigits[byte >> 4] ?? 0;
    }
    output[length++] = literal ? byte : (hexDigits[byte & 15] ?? 0);
    column += literal ? 1 : 3;
  }
  return output.subarray(0, length);
}

function isLiteral(bytes: Buffer, index: number, byte: number): boolean {
  if (byte === SPACE || byte === TAB) return index + 1 < bytes.length && bytes[index + 1] !== CR;
  return byte > SPACE && byte < 0x7f && byte !== EQUALS;
}

function isFragileAtLineStart(bytes: Buffer, index: number, byte: number): boolean {
  if (byte === DOT) return true;
  return byte === F && bytes.toString('latin1', index, index + 5) === 'From ';
}
