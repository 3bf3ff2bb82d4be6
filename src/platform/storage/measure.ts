import { createHash } from 'node:crypto';
import { BlobTooLarge, type StoredStream } from './blob-store.ts';

/**
 * Passes a stream on and measures it.
 * @param measured gets the measurements when the stream has ended
 * @throws BlobTooLarge
 */
export async function* measure(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  measured: StoredStream,
): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256');
  for await (const piece of stream) {
    measured.size += piece.byteLength;
    if (measured.size > maxBytes) throw new BlobTooLarge(maxBytes);
    hash.update(piece);
    yield piece;
  }
  measured.sha256 = hash.digest('hex');
}
