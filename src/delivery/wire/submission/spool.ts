import type { Logger } from 'pino';
import type { SMTPServerDataStream } from 'smtp-server';
import { GrowingBuffer } from '../../../platform/input/growing-buffer.ts';
import { type BlobStore, newBlobKey } from '../../../platform/storage/blob-store.ts';
import { piecesOf } from '../listening/data-pieces.ts';
import { createMailBytes, type LineFault } from './mail-bytes.ts';
import { type SpooledMail, SubmissionRefusal } from './port.ts';

/** A mail of at most this size stays in memory. */
const MAX_BYTES_IN_MEMORY = 64 * 1024;
/** Of all mails that this process is reading, in the blob store. */
const MAX_SPOOLED_BYTES = 2 * 1024 ** 3;

export interface SpoolOptions {
  store: BlobStore;
  /** Maximum size of a mail. */
  maxBytes: number;
  log: Logger;
  /** 2 GiB by default. */
  maxSpooledBytes?: number;
}

/** Keeps mails from their arrival until they are accepted or refused. */
export interface Spool {
  /**
   * Takes a mail, hands it on with what is wrong with its lines, and removes it.
   * @throws SubmissionRefusal; the errors of the stream, the storage and `use`. The stream has ended then
   */
  take<T>(
    stream: SMTPServerDataStream,
    accountId: number,
    use: (mail: SpooledMail, fault: LineFault | null) => Promise<T>,
  ): Promise<T>;
}

/** A mail that has arrived. */
interface Spooled {
  mail: SpooledMail;
  fault: LineFault | null;
  remove(): void;
}

/** A mail that is arriving. */
class Arrival {
  readonly #pieces: AsyncGenerator<Buffer, void>;
  readonly #isTooLarge: () => boolean;
  readonly #facts = createMailBytes();
  #size = 0;

  constructor(stream: SMTPServerDataStream) {
    this.#pieces = piecesOf(stream);
    this.#isTooLarge = () => stream.sizeExceeded;
  }

  /** @returns null at the end. @throws SubmissionRefusal if the mail is too large */
  async next(): Promise<Buffer | null> {
    const { value: piece, done } = await this.#pieces.next();
    if (this.#isTooLarge()) throw new SubmissionRefusal(552, '5.3.4', 'the mail is too large');
    if (done === true) return null;
    this.#size += piece.length;
    this.#facts.add(piece);
    return piece;
  }

  /** Call once, at the end. */
  facts() {
    return { size: this.#size, ...this.#facts.end() };
  }

  /** Reads what is left, because a client reads the reply only after it has sent everything. */
  async drain(): Promise<void> {
    while (!(await this.#pieces.next()).done);
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void> {
  yield bytes;
}

class HomeSpool implements Spool {
  readonly #options: SpoolOptions;
  #spooledBytes = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  async take<T>(
    stream: SMTPServerDataStream,
    accountId: number,
    use: (mail: SpooledMail, fault: LineFault | null) => Promise<T>,
  ): Promise<T> {
    const arrival = new Arrival(stream);
    let spooled: Spooled;
    try {
      spooled = await this.#receive(arrival, accountId);
    } catch (error) {
      await arrival.drain().catch(() => undefined);
      throw error;
    }
    try {
      return await use(spooled.mail, spooled.fault);
    } finally {
      spooled.remove();
    }
  }

  async #receive(arrival: Arrival, accountId: number): Promise<Spooled> {
    const beginning = new GrowingBuffer(MAX_BYTES_IN_MEMORY);
    for (let piece = await arrival.next(); piece; piece = await arrival.next()) {
      if (beginning.length + piece.length > MAX_BYTES_IN_MEMORY)
        return this.#store(arrival, Buffer.concat([beginning.toBuffer(), piece]), accountId);
      beginning.append(piece);
    }
    const bytes = beginning.toBuffer();
    const { fault, ...facts } = arrival.facts();
    return {
      mail: { ...facts, bytes, blobKey: null, read: () => once(bytes) },
      fault,
      remove: () => undefined,
    };
  }

  /** Stores a mail whose beginning is in memory. */
  async #store(arrival: Arrival, beginning: Buffer, accountId: number): Promise<Spooled> {
    const { store, maxBytes, log } = this.#options;
    const blobKey = newBlobKey('submissions', accountId);
    const counted = { bytes: 0 };
    try {
      await store.putStream(blobKey, this.#counted(arrival, beginning, counted), { maxBytes });
    } catch (error) {
      this.#spooledBytes -= counted.bytes;
      throw error;
    }
    const { fault, ...facts } = arrival.facts();
    return {
      mail: { ...facts, bytes: null, blobKey, read: () => this.#read(blobKey) },
      fault,
      remove: () => {
        this.#spooledBytes -= counted.bytes;
        // What a crash leaves is set aside by the hourly task for files that no row names.
        void store.remove(blobKey).catch((err: unknown) => log.warn({ err }, 'submitted mail not removed'));
      },
    };
  }

  async *#counted(arrival: Arrival, beginning: Buffer, counted: { bytes: number }) {
    const { maxSpooledBytes = MAX_SPOOLED_BYTES } = this.#options;
    for (let piece: Buffer | null = beginning; piece; piece = await arrival.next()) {
      counted.bytes += piece.length;
      this.#spooledBytes += piece.length;
      if (this.#spooledBytes > maxSpooledBytes)
        throw new SubmissionRefusal(452, '4.3.1', 'too many large mails are being read; try again later');
      yield piece;
    }
  }

  async *#read(blobKey: string): AsyncGenerator<Buffer, void> {
    const blob = await this.#options.store.open(blobKey);
    if (!blob) throw new Error('a mail that is being read has been removed from the storage');
    yield* blob.stream as AsyncIterable<Buffer>;
  }
}

export function createSpool(options: SpoolOptions): Spool {
  return new HomeSpool(options);
}
