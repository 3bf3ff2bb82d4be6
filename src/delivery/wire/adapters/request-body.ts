/**
 * Bodies of requests with files. A body is one buffer of known size, which the files are read into one after the other:
 * beside it, no more than one piece of a file is in memory.
 */
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { OutgoingFile, StreamedMessage } from './port.ts';

/** Bytes that are read piece by piece. */
export interface ReadPart {
  /** Bytes of all pieces. */
  readonly size: number;
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** A file or message could not be read, so that nothing was sent. The reason is the cause. */
export class UnreadableError extends Error {}

/** The outcome of a message that could not be read: it is tried again alone, then later. @throws other errors */
export function lostIfUnreadable(error: unknown): HandOverOutcome {
  if (error instanceof UnreadableError) return { kind: 'lost', reason: error.message };
  throw error;
}

/**
 * Joins text in UTF-8 and parts that are read.
 * @throws UnreadableError if a part cannot be read, or does not have its size
 */
export async function joinBody(parts: readonly (string | Uint8Array | ReadPart)[]): Promise<Buffer> {
  const sized = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const body = Buffer.allocUnsafe(sized.reduce((sum, part) => sum + sizeOf(part), 0));
  let at = 0;
  for (const part of sized) at += await writePart(part, body.subarray(at, at + sizeOf(part)));
  return body;
}

const sizeOf = (part: Uint8Array | ReadPart): number =>
  part instanceof Uint8Array ? part.length : part.size;

async function writePart(part: Uint8Array | ReadPart, into: Buffer): Promise<number> {
  let at = 0;
  try {
    for await (const piece of part instanceof Uint8Array ? [part] : part.pieces()) {
      if (piece.length > into.length - at) throw new Error(`it has more than ${into.length} bytes`);
      into.set(piece, at);
      at += piece.length;
    }
    if (at < into.length) throw new Error(`it has ${at} bytes, and not ${into.length}`);
    return at;
  } catch (error) {
    throw new UnreadableError('the message could not be read', { cause: error });
  }
}

/** The bytes of a file. @throws UnreadableError */
export async function readFile(file: OutgoingFile): Promise<Buffer> {
  const base64 = await joinBody([contentOf(file)]);
  return Buffer.from(base64.toString('latin1'), 'base64');
}

const base64Size = (bytes: number): number => 4 * Math.ceil(bytes / 3);

/** A string in JSON whose characters need no escapes, and are written only with the body. */
class JsonText {
  readonly part: ReadPart;

  constructor(part: ReadPart) {
    this.part = part;
  }
}

/** A file as a string of base64, for {@link writeJson}. */
export function base64OfFile(file: OutgoingFile): unknown {
  return new JsonText(contentOf(file));
}

const contentOf = (file: OutgoingFile): ReadPart => ({
  size: base64Size(file.size),
  async *pieces() {
    yield await file.base64();
  },
});

/** A message as a string of base64, for {@link writeJson}. */
export function base64OfMessage(message: StreamedMessage): unknown {
  return new JsonText({ size: base64Size(message.size), pieces: () => base64Pieces(message.pieces()) });
}

/** Three bytes become four characters, so up to two bytes of a piece wait for the next. */
async function* base64Pieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 3);
    yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    // Copied, because the next piece may be in the same memory.
    rest = Buffer.from(bytes.subarray(whole));
  }
  yield Buffer.from(rest.toString('base64'), 'latin1');
}

/**
 * Writes JSON with the texts of {@link base64OfFile} and {@link base64OfMessage}.
 * @throws UnreadableError
 */
export function writeJson(value: unknown): Promise<Buffer> {
  const texts: ReadPart[] = [];
  // Random, so that no text of a message can contain it on purpose.
  const mark = crypto.randomUUID();
  const json = JSON.stringify(value, (_name, each: unknown) => {
    if (!(each instanceof JsonText)) return each;
    texts.push(each.part);
    return mark;
  });
  const parts = json.split(mark).flatMap((text, n) => (n === 0 ? [text] : [texts[n - 1] ?? '', text]));
  return joinBody(parts);
}

/** The body of a request with JSON. @param value a Buffer of {@link writeJson}, or what is to be written */
export const jsonBody = (value: unknown): string | Buffer =>
  Buffer.isBuffer(value) ? value : JSON.stringify(value);
