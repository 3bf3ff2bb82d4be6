import { Readable } from 'node:stream';
import type { BlobStore } from './blob-store.ts';
import { measure } from './measure.ts';

/**
 * Files as mails have them: base64 in lines of 76 characters, each of which ends with CRLF, the last included (RFC 2045,
 * section 6.8). No line begins with a dot, so that SMTP sends the bytes as they are.
 */

const LINE_BYTES = 57;
const LINE_CHARACTERS = 76;
const FOLDED_LINE = LINE_CHARACTERS + 2;
/** Whole lines; about 64 KiB once they are folded. */
const PIECE_BYTES = 840 * LINE_BYTES;
const CRLF = Buffer.from('\r\n');

/** The size of the folded form of so many bytes. */
export function foldedSize(size: number): number {
  const characters = Math.ceil(size / 3) * 4;
  return characters + 2 * Math.ceil(characters / LINE_CHARACTERS);
}

/** Folds base64 without line breaks. */
export function foldBase64(text: string): Buffer<ArrayBuffer> {
  const characters = Buffer.from(text, 'latin1');
  const lines = Math.ceil(characters.length / LINE_CHARACTERS);
  const folded = Buffer.from(new ArrayBuffer(characters.length + 2 * lines));
  let at = 0;
  for (let start = 0; start < characters.length; start += LINE_CHARACTERS) {
    at += characters.copy(folded, at, start, start + LINE_CHARACTERS);
    at += CRLF.copy(folded, at);
  }
  return folded;
}

/** Folds bytes. All but the last piece must have whole lines. */
const foldPiece = (bytes: Buffer) => foldBase64(bytes.toString('base64'));

/** Unfolds whole lines. */
const unfoldPiece = (folded: Buffer) => Buffer.from(folded.toString('latin1'), 'base64');

/**
 * Cuts a stream into pieces whose length is a multiple of `unit`, except for the last.
 * @param least the least length of a piece before the last
 */
async function* inUnits(
  source: AsyncIterable<Uint8Array>,
  unit: number,
  least: number,
): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    waiting.push(piece);
    length += piece.byteLength;
    if (length < least) continue;
    const bytes = Buffer.concat(waiting, length);
    const whole = length - (length % unit);
    yield bytes.subarray(0, whole);
    waiting = [bytes.subarray(whole)];
    length -= whole;
  }
  if (length > 0) yield Buffer.concat(waiting, length);
}

/** Folds a stream, in pieces of about 64 KiB or of the size in which it arrives. */
export async function* fold(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of inUnits(source, LINE_BYTES, PIECE_BYTES)) yield foldPiece(piece);
}

/** Unfolds a stream of what {@link fold} has written. */
export async function* unfold(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of inUnits(source, FOLDED_LINE, FOLDED_LINE)) yield unfoldPiece(piece);
}

/** Stores files folded. Sizes, bounds and hashes are those of the bytes before that. */
export function foldedStore(store: BlobStore): Pick<BlobStore, 'putStream' | 'remove'> {
  return {
    async putStream(key, stream, { maxBytes }) {
      const measured = { size: 0, sha256: '' };
      await store.putStream(key, fold(measure(stream, maxBytes, measured)), {
        maxBytes: foldedSize(maxBytes),
      });
      return measured;
    },
    remove: (key) => store.remove(key),
  };
}

/** @returns the bytes of a folded file; null if there is no such file */
export async function openFolded(store: Pick<BlobStore, 'open'>, key: string): Promise<Readable | null> {
  const blob = await store.open(key);
  if (!blob) return null;
  const unfolded = Readable.from(unfold(blob.stream), { objectMode: false });
  // A reader that leaves before the first piece has not begun the generator, which would otherwise close the file.
  return unfolded.once('close', () => blob.stream.destroy());
}

/**
 * Reads a part of a folded file.
 * @param start the first byte
 * @param end the byte after the last one
 * @throws Error if there is no such file
 */
export async function readFolded(
  store: Pick<BlobStore, 'open'>,
  key: string,
  start: number,
  end: number,
): Promise<Buffer> {
  if (end <= start) return Buffer.alloc(0);
  const firstLine = Math.floor(start / LINE_BYTES);
  const lastByte = Math.ceil(end / LINE_BYTES) * FOLDED_LINE - 1;
  const blob = await store.open(key, firstLine * FOLDED_LINE, lastByte);
  if (!blob) throw new Error('a stored file is missing');
  const lines: Buffer[] = [];
  for await (const piece of blob.stream as AsyncIterable<Buffer>) lines.push(piece);
  const from = start - firstLine * LINE_BYTES;
  return unfoldPiece(Buffer.concat(lines)).subarray(from, from + end - start);
}
