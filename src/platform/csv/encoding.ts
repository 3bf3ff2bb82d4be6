import { isUtf8 } from 'node:buffer';

/** Encodings that are recognized. Latin-1 is read as windows-1252, as browsers do. */
export type CsvEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

export interface EncodingMark {
  encoding: CsvEncoding;
  /** Bytes of the byte order mark at the beginning; 0 without one. */
  bytes: number;
}

/** Text of which this share of the bytes is NUL at even or odd places is UTF-16 without a byte order mark. */
const UTF_16_SHARE = 0.3;
const SAMPLE_BYTES = 64 * 1024;
/** A character of UTF-8 has at most four bytes, so a cut can leave three. */
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

/** Bytes of a character of UTF-8 that begins with this byte; 0 if none does. */
function charBytes(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/**
 * Whether text is UTF-8, apart from fewer broken characters than whole ones beyond ASCII. Text in windows-1252 has hardly
 * any bytes that are such characters. The text may be cut in the middle of its last character.
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

/** Collects the first bytes of a file that are not plain ASCII: they tell UTF-8 from windows-1252. */
export interface TextSample {
  /** Adds the next bytes of the file. @returns whether the sample is complete */
  add(block: Buffer): boolean;
  /** A file of plain ASCII counts as UTF-8. */
  encoding(): CsvEncoding;
}

/**
 * Decides between UTF-8 and windows-1252 by the 64 KB that begin at the first byte beyond ASCII, wherever that is: an
 * export may have its first umlaut after many thousand rows.
 */
export function createTextSample(): TextSample {
  const parts: Buffer[] = [];
  let length = 0;
  return {
    add(block) {
      const from = length > 0 ? 0 : block.findIndex((byte) => byte >= 0x80);
      if (from >= 0 && length < SAMPLE_BYTES) {
        const part = Buffer.from(block.subarray(from, from + SAMPLE_BYTES - length));
        parts.push(part);
        length += part.length;
      }
      return length >= SAMPLE_BYTES;
    },
    encoding: () => (isMostlyUtf8(Buffer.concat(parts)) ? 'utf-8' : 'windows-1252'),
  };
}

/** Magic numbers of ZIP (also of spreadsheets) and gzip files. */
export function isCompressed(head: Buffer): boolean {
  return (
    (head[0] === 0x50 && head[1] === 0x4b && (head[2] ?? 0) < 0x20) || (head[0] === 0x1f && head[1] === 0x8b)
  );
}
