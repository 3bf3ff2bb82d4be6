/** Decodes the body of a response, and never more of it than is wanted. */
import { createBrotliDecompress, createGunzip, createInflate, constants } from 'node:zlib';
import type { Transform } from 'node:stream';

/** What requests accept. */
export const ACCEPT_ENCODING = 'gzip, br';

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/** Reads a decoder until it has given enough, or ends, or finds its input broken. What came until then counts. */
function readUpTo(decoder: Transform, body: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const finish = () => {
      decoder.destroy();
      resolve(Buffer.concat(pieces));
    };
    decoder.on('data', (piece: Buffer) => {
      pieces.push(piece.subarray(0, maxBytes - bytes));
      bytes += piece.length;
      if (bytes >= maxBytes) finish();
    });
    decoder.once('end', finish);
    decoder.on('error', finish);
    decoder.end(body);
  });
}

/**
 * Decodes a body. A body that was cut off, or that is longer, gives its beginning.
 * @param encoding the response's Content-Encoding
 * @returns at most `maxBytes`; null for an encoding that was not accepted
 */
export async function decodeBody(
  body: Buffer,
  encoding: string | null,
  maxBytes: number,
): Promise<Buffer | null> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return body.subarray(0, maxBytes);
  // Several encodings in a row are a bomb in a bomb.
  const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  return decoder ? readUpTo(decoder(), body, maxBytes) : null;
}
