import type { Client, Dispatcher, Pool } from 'undici';
import { areTiny, GrowingBuffer } from '../input/growing-buffer.ts';
import type { Connection, TrackedRequest } from './connections.ts';
import { problem, problemOf, type EgressProblem } from './problem.ts';
import type { Target } from './target.ts';

export interface EgressResponse {
  ok: true;
  /** The URL that sent the response; differs from the requested one after redirects. */
  url: string;
  statusCode: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Has at most `maxResponseBytes`. */
  body: Buffer;
  /** Whether the body was longer, or continued in tiny chunks; the connection is then closed. */
  truncated: boolean;
  durationMs: number;
}

export interface EgressFailure extends EgressProblem {
  /** The status of a response that began but was not completed; null without a response. */
  statusCode: number | null;
  /** Whether the server may have received the request: it had a connection. */
  sent: boolean;
  /** Number of bytes of the response's body that arrived. */
  receivedBytes: number;
  durationMs: number;
}

export type EgressResult = EgressResponse | EgressFailure;

export interface Exchange {
  method: string;
  headers: Record<string, string>;
  body: string | Buffer | null;
  /** As given by `performance.now()`, as is the deadline. */
  startedAt: number;
  deadline: number;
  maxResponseBytes: number;
  signal: AbortSignal | undefined;
}

/**
 * Maximum number of interim responses (1xx) to one request. A server that sends them until the deadline would keep this
 * process busy.
 */
const MAX_INTERIM = 50;

/** Ends a request whose result is already known. */
class Ended extends Error {}

/** Handles the events of one request and its response. The first event that ends the exchange decides its result. */
class Reader implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #resolve: (result: EgressResult) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #body: GrowingBuffer;
  readonly #cancel = () => this.fail(problem('canceled'));
  #controller: Dispatcher.DispatchController | null = null;
  #connection: Connection | null = null;
  #connected = false;
  #reused = false;
  #broken = false;
  #ended = false;
  #bytes = 0;
  #chunks = 0;
  #interim = 0;
  #statusCode: number | null = null;
  #headers: EgressResponse['headers'] = {};

  readonly #url: string;

  constructor(url: string, exchange: Exchange, resolve: (result: EgressResult) => void) {
    this.#url = url;
    this.#exchange = exchange;
    this.#resolve = resolve;
    this.#body = new GrowingBuffer(exchange.maxResponseBytes);
    const left = Math.max(0, exchange.deadline - performance.now());
    this.#timer = setTimeout(() => this.fail(problem('timeout')), left);
    exchange.signal?.addEventListener('abort', this.#cancel);
  }

  /** See {@link Exchanged}. */
  get stale(): boolean {
    return this.#reused && this.#broken && this.#statusCode === null;
  }

  useConnection(connection: Connection): void {
    this.#connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#connected = true;
    if (this.#connection) this.#reused = this.#connection.uses++ > 0;
    // The deadline may have passed while the request waited for a connection.
    if (this.#ended) controller.abort(new Ended());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: EgressResponse['headers'],
  ): void {
    if (statusCode < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM) this.fail(problem('invalid_response', 'too many interim responses'));
      return;
    }
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const left = this.#exchange.maxResponseBytes - this.#bytes;
    this.#bytes += chunk.length;
    this.#chunks += 1;
    if (left > 0) this.#body.append(chunk.subarray(0, left));
    if (chunk.length <= left && !areTiny(this.#chunks, this.#bytes)) return;
    this.#succeed(true);
    controller.abort(new Ended());
  }

  onResponseEnd(): void {
    this.#succeed(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const why = problemOf(error, this.#connected);
    this.#broken = why.reason === 'reset';
    this.fail(why);
  }

  fail(why: EgressProblem): void {
    if (!this.#end()) return;
    this.#resolve({
      ...why,
      statusCode: this.#statusCode,
      sent: this.#connected,
      receivedBytes: this.#bytes,
      durationMs: this.#durationMs(),
    });
    this.#controller?.abort(new Ended());
  }

  #succeed(truncated: boolean): void {
    if (!this.#end()) return;
    this.#resolve({
      ok: true,
      url: this.#url,
      statusCode: this.#statusCode ?? 0,
      headers: this.#headers,
      body: this.#body.toBuffer(),
      truncated,
      durationMs: this.#durationMs(),
    });
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#exchange.signal?.removeEventListener('abort', this.#cancel);
    return true;
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#exchange.startedAt);
  }
}

/** The result of an exchange. */
export interface Exchanged {
  result: EgressResult;
  /** Whether the request was sent over a reused connection that broke before any response. */
  stale: boolean;
}

/** Sends one request over a connection and reads the response, all before the deadline. Never throws. */
export function exchangeOver(
  connections: Pool | Client,
  target: Target,
  exchange: Exchange,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const url = `${target.origin}${target.path}`;
    const reader = new Reader(url, exchange, (result) => resolve({ result, stale: reader.stale }));
    const { method, headers, body } = exchange;
    const request: TrackedRequest = {
      path: target.path,
      method,
      headers,
      body,
      onConnection: (connection) => reader.useConnection(connection),
    };
    try {
      connections.dispatch(request, reader);
    } catch (error) {
      reader.fail(problemOf(error, false));
    }
  });
}
