import { isAscii, isUtf8 } from 'node:buffer';
import type { CsvEncoding } from './encodings.ts';

export interface EncodingMark {
  encoding: CsvEncoding;
  /** Length of the byte order mark at the beginning, in bytes; 0 without one. */
  bytes: number;
}

/**
 * If at least this share of the bytes at even or at odd positions is NUL, the text is UTF-16 without a byte order mark.
 */
const UTF_16_SHARE = 0.3;
const SAMPLE_BYTES = 64 * 1024;
/** A UTF-8 character has at most four bytes, so a cut can leave up to three. */
const MAX_CUT_BYTES = 3;

/**
 * Recognizes UTF-16, and UTF-8 with a byte order mark, by the first bytes of a file.
 * @param head the first bytes; 64 KB are enough
 * @returns null for a file in an encoding that extends ASCII; see {@link createTextSample}
 */
export function readEncodingMark(head: Buffer): EncodingMark | null {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: 'utf-8', bytes: 3 };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', bytes: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', bytes: 2 };
  const sample = head.subarray(0, SAMPLE_BYTES);
  const zeros: [number, number] = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2 === 0 ? 0 : 1] += 1;
  const [even, odd] = zeros;
  if (odd > sample.length * UTF_16_SHARE && even === 0) return { encoding: 'utf-16le', bytes: 0 };
  if (even > sample.length * UTF_16_SHARE && odd === 0) return { encoding: 'utf-16be', bytes: 0 };
  return null;
}

/** Length of the UTF-8 character that begins with this byte, in bytes; 0 if no character does. */
function charBytes(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/**
 * Whether text is UTF-8: it has fewer broken characters than valid ones beyond ASCII. In windows-1252 text, hardly any
 * bytes form valid UTF-8 characters beyond ASCII. The text may be cut in the middle of its last character.
 */
function isMostlyUtf8(bytes: Buffer): boolean {
  if (isUtf8(bytes)) return true;
  let [whole, broken] = [0, 0];
  for (let at = 0; at < bytes.length;) {
    const size = charBytes(bytes[at] as number);
    if (size === 1) {
      at += 1;
      continue;
    }
    if (size > 1 && at + size > bytes.length && bytes.length - at <= MAX_CUT_BYTES) break;
    const isWhole = size > 1 && isUtf8(bytes.subarray(at, at + size));
    if (isWhole) whole += 1;
    else broken += 1;
    at += isWhole ? size : 1;
  }
  return whole > broken || broken === 0;
}

const [LF, CR] = [10, 13];

/** Collects the first bytes of a file that are not plain ASCII, to recognize its encoding. */
export interface TextSample {
  /** Adds the next bytes of the file. @returns whether the sample is complete */
  add(block: Buffer): boolean;
  /** Whether the file is UTF-8. A file of plain ASCII counts as UTF-8. */
  isUtf8(): boolean;
  /** The first lines that are not plain ASCII, with a line break after each. */
  lines(): Buffer;
}

/** Collects whole lines that are not plain ASCII, up to {@link SAMPLE_BYTES}. */
function createLines() {
  const lines: Buffer[] = [];
  let length = 0;
  /** The beginning of a line that continues in the next block. */
  let rest: Buffer = Buffer.alloc(0);
  const take = (line: Buffer) => {
    if (line.length === 0 || length >= SAMPLE_BYTES || isAscii(line)) return;
    const part = Buffer.concat([line.subarray(0, SAMPLE_BYTES - length), Buffer.of(LF)]);
    lines.push(part);
    length += part.length;
  };
  return {
    isFull: () => length >= SAMPLE_BYTES,
    add(block: Buffer) {
      if (rest.length === 0 && isAscii(block)) return;
      let from = 0;
      for (let at = 0; at < block.length; at += 1) {
        if (block[at] !== LF && block[at] !== CR) continue;
        take(from === 0 ? Buffer.concat([rest, block.subarray(0, at)]) : block.subarray(from, at));
        if (from === 0) rest = Buffer.alloc(0);
        from = at + 1;
      }
      // A line without an end would otherwise be copied again with each block.
      const open = Buffer.concat([rest, block.subarray(from)]);
      rest = Buffer.from(open.subarray(0, SAMPLE_BYTES));
    },
    all: () => {
      take(rest);
      rest = Buffer.alloc(0);
      return Buffer.concat(lines);
    },
  };
}

/**
 * Decides whether a file is UTF-8 by the 64 KB that begin at the first byte beyond ASCII, wherever that is: the first
 * umlaut of an export may come after many thousand rows. If it is not, collects 64 KB of lines with such bytes, so that
 * a few names among many ASCII rows are enough to recognize the encoding.
 */
export function createTextSample(): TextSample {
  const parts: Buffer[] = [];
  let length = 0;
  let isMostly: boolean | null = null;
  const lines = createLines();
  const judge = () => (isMostly ??= isMostlyUtf8(Buffer.concat(parts)));
  return {
    add(block) {
      if (length === 0 && isAscii(block)) return false;
      const from = length > 0 ? 0 : block.findIndex((byte) => byte >= 0x80);
      if (length < SAMPLE_BYTES) {
        const part = Buffer.from(block.subarray(from, from + SAMPLE_BYTES - length));
        parts.push(part);
        length += part.length;
      }
      // The line on which the first such byte is may begin in this block.
      lines.add(block);
      return (length >= SAMPLE_BYTES && judge()) || lines.isFull();
    },
    isUtf8: judge,
    lines: lines.all,
  };
}

/** Magic numbers of ZIP (also of spreadsheets) and gzip files. */
export function isCompressed(head: Buffer): boolean {
  return (
    (head[0] === 0x50 && head[1] === 0x4b && (head[2] ?? 0) < 0x20) || (head[0] === 0x1f && head[1] === 0x8b)
  );
}
