/**
 * A large mail without its large parts. The parser keeps each line of a body as an object, and several copies of each
 * body; a mail of 25 MB would take a gigabyte and a minute. So the parser gets the skeleton: headers, texts as long as
 * they are kept, and a mark in the place of every other body.
 */
import { randomBytes } from 'node:crypto';
import { isPlain, type Leaf } from './structure.ts';

/** Smaller bodies stay. */
const MIN_BYTES = 1_024;
/** Of one text; encoded, it is still longer than what is kept of it. */
const MAX_TEXT_BYTES = 1536 * 1024;
/** Of all texts. */
const MAX_TEXTS_BYTES = 4 * 1024 * 1024;
const MAX_TEXT_LINES = 50_000;
const MARK_BYTES = 16;

export interface Skeleton {
  /** The whole memory of the buffer is the skeleton. */
  raw: ArrayBuffer;
  /** By mark, the bodies that were taken out. */
  removed: Map<string, Leaf>;
  /** A text was cut. */
  truncated: boolean;
}

/** The parser adds such a body to the text of the mail. */
function isText({ type, disposition }: Leaf): boolean {
  return (type === 'text/plain' || type === 'text/html') && disposition !== 'attachment';
}

/** Where to cut a text: after a whole number of lines. */
function cutOf(bytes: Buffer, { start, end }: Leaf, maxBytes: number): number {
  const limit = Math.min(end, start + maxBytes);
  let at = start;
  for (let lines = 0; lines < MAX_TEXT_LINES && at < limit; lines += 1) {
    const feed = bytes.indexOf(0x0a, at);
    if (feed === -1 || feed >= limit) return limit === end ? end : Math.max(at, start);
    at = feed + 1;
  }
  return Math.min(at, end);
}

function encodedMark(mark: string, { encoding }: Leaf): string {
  return encoding.includes('base64') ? Buffer.from(mark).toString('base64') : mark;
}

/** Takes the large bodies out of a mail. */
export function skeletonOf(bytes: Buffer, leaves: readonly Leaf[]): Skeleton {
  const prefix = `part-${randomBytes(MARK_BYTES).toString('hex')}-`;
  const removed = new Map<string, Leaf>();
  const pieces: Buffer[] = [];
  let truncated = false;
  let textBytes = 0;
  let at = 0;
  for (const leaf of leaves) {
    if (leaf.end - leaf.start <= MIN_BYTES) continue;
    let kept = leaf.start;
    let mark = '';
    if (leaf.type !== null && isText(leaf)) {
      kept = cutOf(bytes, leaf, Math.min(MAX_TEXT_BYTES, MAX_TEXTS_BYTES - textBytes));
      textBytes += kept - leaf.start;
      truncated ||= kept < leaf.end;
    } else if (leaf.type !== null) {
      mark = `${prefix}${removed.size}`;
      removed.set(mark, leaf);
    }
    pieces.push(bytes.subarray(at, kept), Buffer.from(encodedMark(mark, leaf)));
    at = leaf.end;
  }
  pieces.push(bytes.subarray(at));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const raw = new ArrayBuffer(length);
  const target = Buffer.from(raw);
  let position = 0;
  for (const piece of pieces) position += piece.copy(target, position);
  return { raw, removed, truncated };
}

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
      if (bytes[feed] === LF) {
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

/** Decodes a body that was taken out. Text keeps its line ends. */
export function decodeBody(bytes: Buffer, { start, end, encoding }: Leaf): Buffer {
  const body = bytes.subarray(start, end);
  if (isPlain(encoding)) return body;
  if (encoding.includes('base64')) return decodeBase64(body);
  return decodeQuotedPrintable(body);
}
