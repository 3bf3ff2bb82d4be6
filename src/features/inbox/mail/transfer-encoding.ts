/** Decodes bodies (RFC 2045, section 6). */
import { isUtf8 } from 'node:buffer';
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

/** Decodes one line of uuencode, which begins with its length. */
function decodeUuLine(line: string): Buffer {
  const codes = Buffer.from(line, 'latin1');
  const length = ((codes[0] ?? 0) - 32) & 63;
  const decoded = Buffer.alloc(Math.ceil(length / 3) * 3);
  const six = (at: number) => ((codes[at] ?? 32) - 32) & 63;
  for (let at = 0, from = 1; at < length; at += 3, from += 4) {
    const group = (six(from) << 18) | (six(from + 1) << 12) | (six(from + 2) << 6) | six(from + 3);
    decoded.writeUIntBE(group, at, 3);
  }
  return decoded.subarray(0, length);
}

/** Decodes uuencode (POSIX, `uuencode`). A body without its first line stays as it is. */
function decodeUu(bytes: Buffer): Buffer {
  const lines = bytes.toString('latin1').split(/\r?\n/);
  const first = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line));
  if (first === -1) return bytes;
  const end = lines.findIndex((line, index) => index > first && /^(?:`|end)?\s*$/.test(line));
  return Buffer.concat(lines.slice(first + 1, end === -1 ? lines.length : end).map(decodeUuLine));
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
