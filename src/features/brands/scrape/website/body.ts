/** Decodes the body of a response, and never more of it than is needed. */
import { createBrotliDecompress, createGunzip, createInflate, constants } from 'node:zlib';
import type { Transform } from 'node:stream';

/** The encodings that requests accept. */
export const ACCEPT_ENCODING = 'gzip, br';

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/**
 * Reads from a decoder until it has returned enough, has ended, or finds its input damaged. Data from before the damage
 * counts.
 */
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
 * Decodes a body. If the body was cut off or is too long, returns its beginning.
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
  // Several nested encodings are a decompression bomb.
  const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  return decoder ? readUpTo(decoder(), body, maxBytes) : null;
}
