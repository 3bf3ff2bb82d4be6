import { describeJsonFault } from '../json/fault.ts';
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';
import { GrowingBuffer } from '../input/growing-buffer.ts';
import type { BodyMeter } from './body-budgets.ts';
import { allowSlowBody, expectPace } from './body-deadline.ts';
import type { CountedRequest } from './counted-request.ts';
import { exceededBound, MAX_LEVELS, MAX_NAMES, MAX_VALUES } from '../json/shape.ts';

export const DEFAULT_BODY_LIMIT = 5 * 1024 * 1024;

/** After a 413 the rest of the body is discarded up to these limits, so that the client can read the response. */
export const LINGER_MS = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024;
/** How often bytes are discarded, and how many each time: in pieces of at most 64 KiB, of which a connection has one. */
const TURN_MS = 10;
const DISCARDED_PER_TURN = 1024 * 1024;
const PIECES_PER_TURN = 16;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The connection ended before the body did, so no response can be sent. */
export class ClientGone extends Error {}

const gone = () => new ClientGone('the connection ended inside the body');

export function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', `the body is larger than ${limit} bytes`);
}

/**
 * Passes each piece of a body to `take`, and resolves at its end. From then on, 1 KiB of the body must arrive per
 * second, unless it may be slow.
 * @param until ends the reading, which then rejects and passes on nothing more
 * @throws any error of `take`, which ends the reading
 * @throws AppError `malformed_json` if the body arrives in tiny chunks
 * @throws ClientGone if the connection broke
 */
export function readPieces(
  request: CountedRequest,
  take: (piece: Buffer) => void,
  until?: AbortSignal,
): Promise<void> {
  if (request.failure) return Promise.reject(request.failure);
  if (request.destroyed && !request.readableEnded) return Promise.reject(gone());
  return new Promise((resolve, reject) => {
    const stop = (error: Error) => {
      request.off('data', onData);
      request.pause();
      reject(error);
    };
    const onData = (piece: Buffer) => {
      try {
        take(piece);
      } catch (error) {
        stop(error as Error);
      }
    };
    expectPace(request);
    request.on('data', onData);
    request.once('end', resolve);
    request.once('failure', stop);
    until?.addEventListener('abort', () => stop(until.reason as Error), { once: true });
    request.once('error', () => reject(gone()));
  });
}

/**
 * Reads a whole body of at most `limit` bytes.
 * @throws AppError `payload_too_large`, before reading if Content-Length exceeds the limit; `unavailable` beyond a
 *   budget
 * @throws as {@link readPieces}
 */
export async function readBody(request: CountedRequest, limit: number, meter: BodyMeter): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const body = new GrowingBuffer(limit, meter.reserve(declared) ? declared : 0);
  await readPieces(request, (piece) => {
    if (body.length + piece.length > limit) throw tooLarge(limit);
    meter.take(piece.length);
    body.append(piece);
  });
  return body.toBuffer();
}

/**
 * Passes on a body of at most `limit` bytes while it arrives. It may take 30 minutes, if bytes keep arriving.
 * @throws AppError `payload_too_large`, before reading if Content-Length exceeds the limit
 * @throws AppError `malformed_json` if the body arrives in tiny chunks
 * @throws ClientGone if the connection broke
 */
export async function* streamBody(request: CountedRequest, limit: number): AsyncGenerator<Buffer, void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  if (request.failure) throw request.failure;
  allowSlowBody(request);
  const failure = new Promise<never>((_resolve, reject) => request.once('failure', reject));
  failure.catch(() => undefined);
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  const next = () => pieces.next().catch(() => Promise.reject(gone()));
  let bytes = 0;
  try {
    for (;;) {
      const { value, done } = await Promise.race([next(), failure]);
      if (done) return;
      bytes += value.length;
      if (bytes > limit) throw tooLarge(limit);
      yield value;
    }
  } finally {
    // Stops listening, so that the rest can be discarded.
    void pieces.return?.().catch(() => undefined);
  }
}

/**
 * Creates a function that reads and discards the rest of a body for a bounded time. Closing the connection at once would
 * reset it, and the client would lose the response. All requests together discard at most a hundred megabytes per second,
 * in turn, so that the process also serves others while many large bodies are refused.
 */
export function createDiscarder(): (request: IncomingMessage) => void {
  const active = new Set<IncomingMessage>();
  const paused = new Set<IncomingMessage>();
  let left = DISCARDED_PER_TURN;
  let turns: NodeJS.Timeout | undefined;

  function turn(): void {
    left = DISCARDED_PER_TURN;
    for (const request of [...paused].slice(0, PIECES_PER_TURN)) {
      paused.delete(request);
      request.resume();
    }
  }

  function forget(request: IncomingMessage): void {
    paused.delete(request);
    active.delete(request);
    if (active.size > 0) return;
    clearInterval(turns);
    turns = undefined;
  }

  return function discardRest(request) {
    if (request.complete || request.destroyed) return;
    let discarded = 0;
    const end = setTimeout(() => request.socket.destroy(), LINGER_MS).unref();
    active.add(request);
    turns ??= setInterval(turn, TURN_MS).unref();
    request.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      left -= chunk.length;
      if (discarded > LINGER_BYTES) request.socket.destroy();
      if (left > 0) return;
      request.pause();
      paused.add(request);
    });
    request.once('close', () => {
      clearTimeout(end);
      forget(request);
    });
    request.resume();
  };
}

export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

function requireJsonType(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? '';
  if (type !== 'application/json' && !JSON_TYPE.test(type)) {
    throw new AppError(
      'unsupported_media_type',
      type === ''
        ? 'send the header Content-Type: application/json'
        : `Content-Type must be application/json, not ${type}`,
    );
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new AppError('unsupported_media_type', `Content-Encoding ${encoding} is not accepted`);
  }
}

export interface JsonBody {
  value: unknown;
  /** Whether the JSON may contain text that cannot be stored: it has `\u` escapes or the name `__proto__`. */
  suspect: boolean;
}

/** Reads a JSON body as text. Its bytes are no longer in memory when the text is parsed. */
async function readText(
  request: CountedRequest,
  limit: number,
  optional: boolean,
  meter: BodyMeter,
): Promise<{ text: string; suspect: boolean }> {
  const bytes = await readBody(request, limit, meter);
  if (optional && bytes.length > 0) requireJsonType(request);
  if (!isUtf8(bytes)) throw new AppError('malformed_json', 'the body is not valid UTF-8');
  requireModestShape(bytes);
  const suspect = bytes.includes('\\u') || bytes.includes('__proto__');
  return { text: bytes.toString('utf8'), suspect };
}

/**
 * Reads and parses a JSON body.
 * @param optional an empty body counts as `{}`
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `malformed_json`, `unavailable`
 */
export async function readJson(
  request: CountedRequest,
  limit: number,
  optional: boolean,
  meter: BodyMeter,
): Promise<JsonBody> {
  if (!hasBody(request)) {
    if (optional) return { value: {}, suspect: false };
    throw new AppError('malformed_json', 'the body is empty; a JSON object is expected');
  }
  // A chunked body may turn out to be empty, and an empty body needs no type. So an optional one is read first.
  if (!optional) requireJsonType(request);
  const { text, suspect } = await readText(request, limit, optional, meter);
  if (text === '' && optional) return { value: {}, suspect: false };
  return { value: parseJson(text), suspect };
}

function requireModestShape(bytes: Buffer): void {
  const exceeded = exceededBound(bytes);
  if (exceeded === null) return;
  if (exceeded === 'levels') {
    throw new AppError('malformed_json', `the body is nested deeper than ${MAX_LEVELS} levels`);
  }
  const limit = exceeded === 'values' ? `${MAX_VALUES} values` : `${MAX_NAMES} fields in one of its objects`;
  throw new AppError('payload_too_large', `the body has more than ${limit}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('malformed_json', `the body is not valid JSON: ${describeJsonFault(text)}`, {
      cause: error,
    });
  }
}
