/**
 * Puts tokens into a body that was encoded once. Tokens have a known length and need no encoding, so they overwrite
 * placeholders: encoding each message by itself would take longer than everything else that a sender does with it.
 */
import { hash } from 'node:crypto';
import { relaxedBody, squeezeSpace } from '../dkim/canonical.ts';
import { encodeQuotedPrintable, isShorterInBase64, toBase64Lines } from './body-encoding.ts';
import type { TrackedHtml } from './tracked-html.ts';

/** Bytes of a line in base64. */
const LINE_BYTES = 57;
/** The same line as text, with CRLF. */
const LINE_LENGTH = 78;
/** In quoted-printable, a token may stand at the start of a line: this character needs no encoding there. */
const PLACEHOLDER = 'x';

const CR = 0x0d;
const EQUALS = 0x3d;

/** Where tokens go in encoded text. Plain data, so that a thread can return it. */
export type TokenPlaces =
  /** Four numbers for each run of characters in a line: slot, offset in the token, offset in the text, length. */
  | { encoding: 'quoted-printable'; runs: Int32Array }
  /** The text before its encoding, the offset of each slot in it, and the offset of its base64 in the text. */
  | { encoding: 'base64'; raw: Uint8Array; slotsAt: Int32Array; at: number };

interface EncodedHtml {
  transferEncoding: 'quoted-printable' | 'base64';
  content: string;
  places: TokenPlaces;
}

/**
 * Finds the runs of the slots in quoted-printable text.
 * @param slotsAt offset of each slot in the text before its encoding
 */
function findRuns(encoded: Buffer, { slots }: TrackedHtml, slotsAt: Int32Array): Int32Array {
  const runs: number[] = [];
  let rawAt = 0;
  let slot = 0;
  for (let at = 0; at < encoded.length && slot < slots.length;) {
    const start = slotsAt[slot] ?? 0;
    const offset = rawAt - start;
    const byte = encoded[at];
    if (byte === EQUALS && encoded[at + 1] === CR) {
      at += 3;
    } else if (offset >= 0) {
      const length = slots[slot]?.length ?? 0;
      const lineEnd = encoded.indexOf(EQUALS, at);
      const run = Math.min(length - offset, (lineEnd === -1 ? encoded.length : lineEnd) - at);
      runs.push(slot, offset, at, run);
      rawAt += run;
      at += run;
      if (offset + run === length) slot += 1;
    } else if (byte === EQUALS) {
      at += 3;
      rawAt += 1;
    } else {
      at += 1;
      rawAt += 1;
    }
  }
  return Int32Array.from(runs);
}

/** Encodes an HTML part with placeholders, in the shorter of quoted-printable and base64. */
export function encodeTracked(html: TrackedHtml): EncodedHtml {
  const slotsAt = new Int32Array(html.slots.length);
  const parts: Buffer[] = [];
  let length = 0;
  for (const [n, piece] of html.pieces.entries()) {
    const bytes = Buffer.from(piece);
    parts.push(bytes);
    length += bytes.length;
    const slot = html.slots[n];
    if (!slot) continue;
    slotsAt[n] = length;
    parts.push(Buffer.alloc(slot.length, PLACEHOLDER));
    length += slot.length;
  }
  const raw = Buffer.concat(parts);
  const quotedPrintable = encodeQuotedPrintable(raw);
  if (isShorterInBase64(quotedPrintable, raw)) {
    const places = { encoding: 'base64', raw: new Uint8Array(raw), slotsAt, at: 0 } as const;
    return { transferEncoding: 'base64', content: toBase64Lines(raw), places };
  }
  const runs = findRuns(quotedPrintable, html, slotsAt);
  return {
    transferEncoding: 'quoted-printable',
    content: quotedPrintable.toString('latin1'),
    places: { encoding: 'quoted-printable', runs },
  };
}

/** The same places in a text that begins `shift` characters earlier. */
export function shiftPlaces(places: TokenPlaces, shift: number): TokenPlaces {
  if (places.encoding === 'base64') return { ...places, at: places.at + shift };
  return { ...places, runs: places.runs.map((value, n) => (n % 4 === 2 ? value + shift : value)) };
}

/**
 * Overwrites the placeholders.
 * @param target contains the encoded text
 * @param start where the text begins in it
 * @param tokens by slot, each of the slot's length
 */
export function writeTokens(
  target: Buffer,
  start: number,
  places: TokenPlaces,
  tokens: readonly string[],
): void {
  if (places.encoding === 'quoted-printable') {
    const { runs } = places;
    for (let n = 0; n < runs.length; n += 4) {
      const [slot = 0, offset = 0, at = 0, length = 0] = runs.subarray(n, n + 4);
      target.write((tokens[slot] ?? '').slice(offset, offset + length), start + at, 'latin1');
    }
    return;
  }
  const raw = Buffer.from(places.raw);
  let nextLine = 0;
  for (const [slot, token] of tokens.entries()) raw.write(token, places.slotsAt[slot] ?? 0, 'latin1');
  for (const [slot, token] of tokens.entries()) {
    const at = places.slotsAt[slot] ?? 0;
    const first = Math.max(nextLine, Math.floor(at / LINE_BYTES));
    nextLine = Math.floor((at + token.length - 1) / LINE_BYTES) + 1;
    for (let line = first; line < nextLine; line += 1) {
      const text = raw.toString('base64', line * LINE_BYTES, (line + 1) * LINE_BYTES);
      target.write(text, start + places.at + line * LINE_LENGTH, 'latin1');
    }
  }
}

/** A body in canonical form, in which placeholders can be overwritten, too. */
export interface CanonicalBody {
  body: Uint8Array;
  places: TokenPlaces;
}

/** Canonicalizes a body with placeholders. White space never adjoins a token's line, so only offsets change. */
export function canonicalizeTracked(body: Buffer, places: TokenPlaces): CanonicalBody {
  const canonical = Buffer.from(relaxedBody(body), 'latin1');
  let done = 0;
  let length = 0;
  const moved = (at: number): number => {
    length += squeezeSpace(body.toString('latin1', done, at)).length;
    done = at;
    return length;
  };
  if (places.encoding === 'base64') {
    return { body: canonical, places: { ...places, at: moved(places.at) } };
  }
  const runs = places.runs.map((value, n) => (n % 4 === 2 ? moved(value) : value));
  return { body: canonical, places: { ...places, runs } };
}

/** The value of `bh=` for a body with these tokens. */
export function trackedBodyHash({ body, places }: CanonicalBody, tokens: readonly string[]): string {
  const filled = Buffer.from(body);
  writeTokens(filled, 0, places, tokens);
  return hash('sha256', filled, 'base64');
}
