import type { SMTPServerDataStream } from 'smtp-server';
import { GrowingBuffer } from '../../../platform/input/growing-buffer.ts';
import { piecesOf } from '../listening/data-pieces.ts';
import { MAX_READ_BYTES } from './report.ts';

/** Thrown inside the content of a message that has become larger than the listener accepts. */
export class TooLarge extends Error {}

/** The beginning of a message that is still arriving; the whole message if it is short. */
export interface ArrivingMail {
  /** At most {@link MAX_READ_BYTES}. */
  head: Buffer;
  /** The whole message: the head, or a stream, which can be read once. */
  content(): Buffer | AsyncIterable<Buffer>;
  /** Reads what is left, so that the client can read the reply. @throws TooLarge */
  drain(): Promise<void>;
}

function requireSize({ sizeExceeded }: SMTPServerDataStream): void {
  if (sizeExceeded) throw new TooLarge('the message is too large');
}

/**
 * Reads the beginning of a message that arrives by SMTP.
 * @throws TinyPieces, also later; TooLarge if all of it has arrived; the error of the stream
 */
export function beginMail(stream: SMTPServerDataStream): Promise<ArrivingMail> {
  return beginPieces(piecesOf(stream), () => requireSize(stream));
}

/**
 * Reads the beginning of a message.
 * @param check throws if the message is too large; called after each piece that is stored, and at the end
 * @throws the errors of the pieces and of `check`
 */
export async function beginPieces(
  pieces: AsyncGenerator<Buffer, void>,
  check: () => void = () => undefined,
): Promise<ArrivingMail> {
  const beginning = new GrowingBuffer(MAX_READ_BYTES);
  let surplus: Buffer | null = null;
  while (surplus === null) {
    const { value: piece, done } = await pieces.next();
    if (done) break;
    const room = MAX_READ_BYTES - beginning.length;
    beginning.append(piece.subarray(0, room));
    if (piece.length > room) surplus = piece.subarray(room);
  }
  if (surplus === null) check();
  const head = beginning.toBuffer();

  /** Uses `next`, because a `for await` that ends early would end the pieces, which `drain` still needs. */
  async function* whole(first: Buffer): AsyncGenerator<Buffer, void> {
    yield head;
    yield first;
    for (;;) {
      const { value: piece, done } = await pieces.next();
      check();
      if (done) return;
      yield piece;
    }
  }

  return {
    head,
    content: () => (surplus === null ? head : whole(surplus)),
    async drain() {
      while (!(await pieces.next()).done);
      check();
    },
  };
}
