import { isUtf8 } from 'node:buffer';

/** The encodings that are recognized. Latin-1 is read as windows-1252, as in browsers. */
export type CsvEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

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

/** Collects the first bytes of a file that are not plain ASCII, to distinguish UTF-8 from windows-1252. */
export interface TextSample {
  /** Adds the next bytes of the file. @returns whether the sample is complete */
  add(block: Buffer): boolean;
  /** A file of plain ASCII counts as UTF-8. */
  encoding(): CsvEncoding;
}

/**
 * Decides between UTF-8 and windows-1252 by the 64 KB that begin at the first byte beyond ASCII, wherever that is: the
 * first umlaut of an export may come after many thousand rows.
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
