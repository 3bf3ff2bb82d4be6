/**
 * Inserts tokens into a body that was encoded once. Tokens have a known length and need no encoding, so they overwrite
 * placeholders. Encoding each message from scratch would take longer than everything else that a sender does with it.
 */
import { hash } from 'node:crypto';
import { relaxedBody, squeezeSpace } from '../dkim/canonical.ts';
import { isShorterInBase64, toBase64Lines } from './body-encoding.ts';
import { QuotedPrintableEncoder } from './quoted-printable.ts';
import type { TrackedHtml } from './tracked-html.ts';

/** Number of bytes that a base64 line encodes. */
const LINE_BYTES = 57;
/** Length of that line, including CRLF. */
const LINE_LENGTH = 78;
/**
 * The placeholder character. In quoted-printable, a token may be at the start of a line, where this character needs no
 * encoding.
 */
const PLACEHOLDER = 'x';

/** Where tokens go in an encoded text. Plain data, so that a thread can return it. */
export type TokenPlaces =
  /** Four numbers for each run of characters in a line: slot, offset in the token, offset in the encoded text, length. */
  | { encoding: 'quoted-printable'; runs: Int32Array; at: number }
  /** The text before its encoding, and the offset of each slot in it. */
  | { encoding: 'base64'; raw: Uint8Array; slotsAt: Int32Array; at: number };

interface EncodedHtml {
  transferEncoding: 'quoted-printable' | 'base64';
  content: string;
  /** As if the encoded text began at offset 0. */
  places: TokenPlaces;
}

/** The text with placeholders, and the offset of each slot in it. */
function withPlaceholders({ pieces, slots }: TrackedHtml): { raw: Buffer; slotsAt: Int32Array } {
  const slotsAt = new Int32Array(slots.length);
  let text = '';
  for (const [n, piece] of pieces.entries()) {
    text += piece;
    const slot = slots[n];
    if (!slot) continue;
    slotsAt[n] = text.length;
    text += PLACEHOLDER.repeat(slot.length);
  }
  const raw = Buffer.from(text);
  // In ASCII, character offsets equal byte offsets.
  if (raw.length > text.length) {
    let shift = 0;
    for (const [n, at] of slotsAt.entries()) {
      const piece = pieces[n] ?? '';
      shift += Buffer.byteLength(piece) - piece.length;
      slotsAt[n] = at + shift;
    }
  }
  return { raw, slotsAt };
}

/** Encodes an HTML part with placeholders as quoted-printable or base64, whichever is shorter. */
export function encodeTracked(html: TrackedHtml): EncodedHtml {
  const { raw, slotsAt } = withPlaceholders(html);
  const encoder = new QuotedPrintableEncoder(raw);
  const runs: number[] = [];
  let done = 0;
  for (const [slot, { length }] of html.slots.entries()) {
    const start = slotsAt[slot] ?? 0;
    encoder.encode(done, start);
    done = start + length;
    encoder.copy(start, done, (first, at, count) => runs.push(slot, first - start, at, count));
  }
  encoder.encode(done, raw.length);
  if (isShorterInBase64(encoder.length, raw)) {
    const places = { encoding: 'base64', raw: new Uint8Array(raw), slotsAt, at: 0 } as const;
    return { transferEncoding: 'base64', content: toBase64Lines(raw), places };
  }
  return {
    transferEncoding: 'quoted-printable',
    content: encoder.toString(),
    places: { encoding: 'quoted-printable', runs: new Int32Array(runs), at: 0 },
  };
}

/** The same places, relative to a text that begins `shift` characters earlier. */
export function shiftPlaces(places: TokenPlaces, shift: number): TokenPlaces {
  return { ...places, at: places.at + shift };
}

/**
 * Overwrites the placeholders.
 * @param target contains the encoded text
 * @param start offset of the text in it
 * @param tokens by slot, each of the slot's length
 */
export function writeTokens(
  target: Buffer,
  start: number,
  places: TokenPlaces,
  tokens: readonly string[],
): void {
  const begin = start + places.at;
  if (places.encoding === 'quoted-printable') writeRuns(target, begin, places.runs, tokens);
  else writeLines(target, begin, places, tokens);
}

function writeRuns(target: Buffer, begin: number, runs: Int32Array, tokens: readonly string[]): void {
  for (let n = 0; n < runs.length; n += 4) {
    const token = tokens[runs[n] ?? 0] ?? '';
    const offset = runs[n + 1] ?? 0;
    const length = runs[n + 3] ?? 0;
    target.write(token.slice(offset, offset + length), begin + (runs[n + 2] ?? 0), 'latin1');
  }
}

function writeLines(
  target: Buffer,
  begin: number,
  places: { raw: Uint8Array; slotsAt: Int32Array },
  tokens: readonly string[],
): void {
  const raw = Buffer.from(places.raw);
  let nextLine = 0;
  for (const [slot, token] of tokens.entries()) raw.write(token, places.slotsAt[slot] ?? 0, 'latin1');
  for (const [slot, token] of tokens.entries()) {
    const at = places.slotsAt[slot] ?? 0;
    const first = Math.max(nextLine, Math.floor(at / LINE_BYTES));
    nextLine = Math.floor((at + token.length - 1) / LINE_BYTES) + 1;
    for (let line = first; line < nextLine; line += 1) {
      const text = raw.toString('base64', line * LINE_BYTES, (line + 1) * LINE_BYTES);
      target.write(text, begin + line * LINE_LENGTH, 'latin1');
    }
  }
}

/** A body in canonical form, in which placeholders can be overwritten as well. */
export interface CanonicalBody {
  body: Uint8Array;
  places: TokenPlaces;
}

/**
 * Canonicalizes a body with placeholders. The text before each token is canonicalized separately, because no white
 * space ends at a token.
 * @param canonicalEnd canonicalizes what follows the last token; by default as the end of the body
 */
export function canonicalizeTracked(
  body: Buffer,
  places: TokenPlaces,
  canonicalEnd: (rest: Buffer) => string = relaxedBody,
): CanonicalBody {
  let canonical = '';
  let done = 0;
  const moved = (at: number): number => {
    canonical += squeezeSpace(body.toString('latin1', done, at));
    done = at;
    return canonical.length;
  };
  const { at } = places;
  const canonicalPlaces: TokenPlaces =
    places.encoding === 'base64'
      ? { ...places, at: moved(at) }
      : { ...places, runs: places.runs.map((value, n) => (n % 4 === 2 ? moved(at + value) : value)), at: 0 };
  canonical += canonicalEnd(body.subarray(done));
  return { body: Buffer.from(canonical, 'latin1'), places: canonicalPlaces };
}

/** Computes the value of `bh=` for a body with these tokens. */
export function trackedBodyHash({ body, places }: CanonicalBody, tokens: readonly string[]): string {
  const filled = Buffer.from(body);
  writeTokens(filled, 0, places, tokens);
  return hash('sha256', filled, 'base64');
}
