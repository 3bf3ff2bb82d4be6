/** The first 1,000 chunks of a body may have any size. If there are more, their average size must be at least this. */
const FREE_CHUNKS = 1_000;
export const MIN_AVERAGE_BYTES = 128;

/** Whether a body has arrived in so many tiny chunks that its events cost more than its bytes. */
export function areTiny(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS && bytes < chunks * MIN_AVERAGE_BYTES;
}

const EMPTY = Buffer.alloc(0);
const MIN_CAPACITY = 4_096;

/**
 * Collects bytes that arrive in pieces by copying them into one buffer. A list of the pieces would cost 500 bytes of
 * memory for each, and the sender decides how small they are.
 */
export class GrowingBuffer {
  readonly #limit: number;
  readonly #expected: number;
  #bytes: Buffer = EMPTY;
  #length = 0;

  /**
   * @param limit maximum number of bytes that will be appended
   * @param expected how many bytes to make room for at once, so that they are not copied again and again
   */
  constructor(limit: number, expected = 0) {
    this.#limit = limit;
    this.#expected = expected;
  }

  get length(): number {
    return this.#length;
  }

  append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) this.#grow(length);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  /** Returns everything so far, without a copy. Append nothing afterwards. */
  toBuffer(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(length: number): void {
    const wanted = Math.min(this.#limit, Math.max(MIN_CAPACITY, this.#expected, 2 * this.#bytes.length));
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
