import type { SMTPServerDataStream } from 'smtp-server';
import { areTiny } from '../../../platform/input/growing-buffer.ts';

/** Thrown if a message arrives in so many tiny pieces that they cost more than their bytes. */
export class TinyPieces extends Error {}

/** Passes on the pieces of a stream. If its consumer stops early, the stream stays open. @throws TinyPieces */
export async function* piecesOf(stream: SMTPServerDataStream): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  let count = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    count += 1;
    if (areTiny(count, bytes)) {
      // Otherwise the client could send the rest as slowly as it likes.
      stream.destroy();
      throw new TinyPieces('the message arrives in too many tiny pieces');
    }
    yield piece;
  }
}
