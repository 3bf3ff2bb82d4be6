import type { SmtpSubmission, StreamedData } from './contract.ts';

const LF = 10;
const CR = 13;
const DOT = 46;

/** The result of one pass over a message. */
interface DataScan {
  /** Number of lines that begin with a dot. */
  dots: number;
  /** Offset of the first CR without LF or LF without CR, which RFC 5321 §2.3.8 forbids; -1 if there is none. */
  bareAt: number;
}

export function scanData(data: Uint8Array): DataScan {
  let dots = data[0] === DOT ? 1 : 0;
  let previous = 0;
  for (let i = 0; i < data.length; i++) {
    const byte = data[i] ?? 0;
    if (byte === LF) {
      if (previous !== CR) return { dots, bareAt: i };
      if (data[i + 1] === DOT) dots++;
    } else if (previous === CR) {
      return { dots, bareAt: i - 1 };
    }
    previous = byte;
  }
  return { dots, bareAt: previous === CR ? data.length - 1 : -1 };
}

/**
 * Prepares a message to follow DATA (RFC 5321 §4.5.2): adds a dot before each of the `dots` lines that begin with one,
 * and a line end at the end, but not the final dot. Copies the message only if something has to change.
 */
export function stuffDots(data: Uint8Array, dots: number): Uint8Array {
  const ended = data.length === 0 || data[data.length - 1] === LF;
  if (dots === 0 && ended) return data;
  const stuffed = new Uint8Array(data.length + dots + (ended ? 0 : 2));
  let to = 0;
  let lineStart = true;
  for (const byte of data) {
    if (lineStart && byte === DOT) stuffed[to++] = DOT;
    stuffed[to++] = byte;
    lineStart = byte === LF;
  }
  if (!ended) stuffed.set([CR, LF], to);
  return stuffed;
}

export const isStreamed = (data: SmtpSubmission['data']): data is StreamedData =>
  typeof data !== 'string' && !(data instanceof Uint8Array);

/** @param body bytes, or Latin-1 characters */
export function inPieces(body: Uint8Array | string, pieceBytes: number): StreamedData {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
  return {
    size: bytes.length,
    *pieces() {
      for (let from = 0; from < bytes.length; from += pieceBytes)
        yield bytes.subarray(from, from + pieceBytes);
    },
  };
}

/** Adds a dot before each dot that begins a line, also of a line that begins in the next piece. */
function createDotStuffer(): (piece: Uint8Array) => Uint8Array {
  let previous = LF;
  return (piece) => {
    let dots = 0;
    let before = previous;
    for (const byte of piece) {
      if (byte === DOT && before === LF) dots += 1;
      before = byte;
    }
    const stuffed = dots === 0 ? piece : new Uint8Array(piece.length + dots);
    if (dots > 0) {
      let to = 0;
      before = previous;
      for (const byte of piece) {
        if (byte === DOT && before === LF) stuffed[to++] = DOT;
        stuffed[to++] = byte;
        before = byte;
      }
    }
    previous = before;
    return stuffed;
  };
}

/** Where the pieces of a message go. */
interface PieceWriter {
  /** Resolves once the next piece may be written; with false if there is nothing left to write it to. */
  piece(bytes: Uint8Array): Promise<boolean>;
  last(bytes: Uint8Array): void;
}

/**
 * Writes a message piece by piece. No more than one piece is in memory at a time.
 * @throws Error if it cannot be read, or has another size than the server knows from MAIL; then the last piece has not
 *   been written
 */
export async function writeInPieces(data: StreamedData, writer: PieceWriter): Promise<void> {
  let left = data.size;
  let last: Uint8Array | null = null;
  const stuffed = data.mayHaveDots ? createDotStuffer() : (bytes: Uint8Array) => bytes;
  for await (const bytes of data.pieces()) {
    if (bytes.length === 0) continue;
    left -= bytes.length;
    if (left < 0) break;
    if (left === 0) last = stuffed(bytes);
    else if (!(await writer.piece(stuffed(bytes)))) return;
  }
  if (!last || left !== 0) throw new Error(`the message does not have ${data.size} bytes`);
  writer.last(last);
}
