import { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';
import { areTiny, MIN_AVERAGE_BYTES } from '../input/growing-buffer.ts';

/**
 * A request that counts the bytes of its body that arrive, whether they are read or not. Every chunk costs an event and
 * 500 bytes of memory, so a body that arrives in tiny chunks is not read any further.
 *
 * Emits `failure` with the error when a body fails; see {@link CountedRequest.fail}.
 */
export class CountedRequest extends IncomingMessage {
  /** Bytes of the body that have arrived. */
  receivedBytes = 0;
  /** Why the body is not read any further; null if it is. */
  failure: Error | null = null;
  #chunks = 0;

  /** Stops reading the body. Its readers get the error; the caller must close the connection. */
  fail(error: Error): void {
    if (this.failure || this.complete) return;
    this.failure = error;
    this.emit('failure', error);
  }

  /** Called by the parser for each chunk. After `false` it stops reading from the connection. */
  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(null);
    if (this.failure) return false;
    this.receivedBytes += chunk.length;
    this.#chunks += 1;
    if (!areTiny(this.#chunks, this.receivedBytes)) return super.push(chunk, encoding);
    const message = `the body arrives in chunks of less than ${MIN_AVERAGE_BYTES} bytes on average`;
    this.fail(new AppError('malformed_json', message));
    return false;
  }

  /** Called by the stream to continue reading from the connection. */
  override _read(size: number): void {
    if (!this.failure) super._read(size);
  }
}

/** @throws Error if the request was not received by `listen` */
export function countedRequest(request: IncomingMessage): CountedRequest {
  if (request instanceof CountedRequest) return request;
  throw new Error('only requests that listen() received can be read');
}
