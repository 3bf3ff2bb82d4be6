/** Decodes bodies (RFC 2045, section 6). */
import { isUtf8 } from 'node:buffer';
import { linesOf } from './lines.ts';
import type { PartHeader } from './part-header.ts';

const EQUALS = 0x3d;
const LF = 0x0a;
const CR = 0x0d;

function hexDigit(byte: number | undefined): number {
  return byte === undefined ? -1 : Number.parseInt(String.fromCharCode(byte), 16);
}

/** Decodes quoted-printable (RFC 2045, section 6.7). What is not encoded properly stays as it is. */
function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === EQUALS) {
      const value = hexDigit(bytes[at + 1]) * 16 + hexDigit(bytes[at + 2]);
      if (value >= 0) {
        decoded[length++] = value;
        at += 2;
        continue;
      }
      const feed = bytes[at + 1] === CR ? at + 2 : at + 1;
      if (bytes[feed] === LF || at + 1 === bytes.length) {
        at = feed;
        continue;
      }
    }
    decoded[length++] = byte;
  }
  return decoded.subarray(0, length);
}

const BASE64_STEP = 48 * 1024;

/**
 * Decodes base64 in steps, so that no string is as long as the body. Padding ends a run of four characters; another run
 * may follow.
 */
function decodeBase64(bytes: Buffer): Buffer {
  const decoded = Buffer.from(new ArrayBuffer(Math.ceil((bytes.length * 3) / 4)));
  let length = 0;
  let rest = '';
  for (let at = 0; at < bytes.length; at += BASE64_STEP) {
    const step = bytes.toString('latin1', at, Math.min(bytes.length, at + BASE64_STEP));
    const runs = (rest + step.replace(/[^a-zA-Z0-9+/=]+/g, '')).split(/=+/);
    const open = runs.pop() ?? '';
    for (const run of runs) length += decoded.write(run, length, 'base64');
    const whole = open.length - (open.length % 4);
    length += decoded.write(open.slice(0, whole), length, 'base64');
    rest = open.slice(whole);
  }
  length += decoded.write(rest, length, 'base64');
  return decoded.subarray(0, length);
}

/** Six bits of a line of uuencode. Servers remove spaces, which encode zeros, at its end. */
const sixBits = (line: Buffer, at: number) => ((line[at] ?? 32) - 32) & 63;

/** Decodes one line of uuencode, which begins with its length. @returns how many bytes it has written */
function decodeUuLine(line: Buffer, target: Buffer, start: number): number {
  const length = sixBits(line, 0);
  for (let at = 0, from = 1; at < length; at += 3, from += 4) {
    const high = (sixBits(line, from) << 18) | (sixBits(line, from + 1) << 12);
    const group = high | (sixBits(line, from + 2) << 6) | sixBits(line, from + 3);
    for (let byte = 0; byte < 3 && at + byte < length; byte += 1)
      target[start + at + byte] = group >> (16 - 8 * byte);
  }
  return length;
}

const UU_BEGIN = /^begin [0-7]{3,4} .*\r?\n/m;
const UU_BEGIN_BYTES = 4_096;
const UU_END = Buffer.from('end');
const BACKTICK = 0x60;

function* uuLines(body: Buffer): Generator<Buffer> {
  for (const { start, end } of linesOf(body)) {
    const line = body.subarray(start, end);
    if (line.length === 0 || line[0] === BACKTICK || line.equals(UU_END)) return;
    yield line;
  }
}

/** Decodes uuencode (POSIX, `uuencode`). A body without its first line stays as it is. */
function decodeUu(bytes: Buffer): Buffer {
  const begin = UU_BEGIN.exec(bytes.toString('latin1', 0, UU_BEGIN_BYTES));
  if (!begin) return bytes;
  const body = bytes.subarray(begin.index + begin[0].length);
  let size = 0;
  for (const line of uuLines(body)) size += sixBits(line, 0);
  const decoded = Buffer.from(new ArrayBuffer(size));
  let length = 0;
  for (const line of uuLines(body)) length += decodeUuLine(line, decoded, length);
  return decoded;
}

/** Decodes a body. Text keeps its line ends. */
export function decodeBody(body: Buffer, { encoding }: Pick<PartHeader, 'encoding'>): Buffer {
  switch (encoding) {
    case 'base64':
      return decodeBase64(body);
    case 'quoted-printable':
      return decodeQuotedPrintable(body);
    case 'uuencode':
      return decodeUu(body);
    case 'plain':
      return body;
  }
}

const NOT_BASE64 = /[^A-Za-z0-9+/=\s]/;
const WORDS = /[A-Za-z0-9][ \t]{1,4}[A-Za-z0-9]/;
/** Control characters that no text contains. */
export const BINARY = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Decodes the body of a text. Servers add their remarks to base64 as they are, and some programs forget to encode: what
 * cannot be base64 stays as it is.
 */
export function decodeTextBody(body: Buffer, header: Pick<PartHeader, 'encoding'>): Buffer {
  if (header.encoding !== 'base64') return decodeBody(body, header);
  const text = body.toString('latin1');
  const at = NOT_BASE64.exec(text)?.index ?? text.length;
  const plain = at === text.length ? at : text.lastIndexOf('\n', at) + 1;
  const decoded = decodeBase64(body.subarray(0, plain));
  // Words in letters alone could be base64, but what they would encode is no text.
  if (WORDS.test(text) && (!isUtf8(decoded) || BINARY.test(decoded.toString('latin1')))) return body;
  return plain === body.length ? decoded : Buffer.concat([decoded, body.subarray(plain)]);
}
