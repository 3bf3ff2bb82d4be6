import type { Client, Dispatcher, Pool } from 'undici';
import type { Connection, TrackedRequest } from './connections.ts';
import { problem, problemOf, type EgressProblem } from './problem.ts';
import type { Target } from './target.ts';

export interface EgressResponse {
  ok: true;
  /** Where it came from: another than was asked where redirects were followed. */
  url: string;
  statusCode: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most `maxResponseBytes`. */
  body: Buffer;
  /** Whether more was to come; the connection is then closed. */
  truncated: boolean;
  durationMs: number;
}

export interface EgressFailure extends EgressProblem {
  /** Of an answer that began and was not complete in time. */
  statusCode: number | null;
  durationMs: number;
}

export type EgressResult = EgressResponse | EgressFailure;

export interface Exchange {
  method: string;
  headers: Record<string, string>;
  body: string | Buffer | null;
  /** Of `performance.now()`. */
  startedAt: number;
  deadline: number;
  maxResponseBytes: number;
  signal: AbortSignal | undefined;
}

class Cut extends Error {}

/** One request and its answer, as undici tells of them. Ends once, whatever else still comes. */
class Reader implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #resolve: (result: EgressResult) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  readonly #cancel = () => this.fail(problem('canceled'));
  #controller: Dispatcher.DispatchController | null = null;
  #connection: Connection | null = null;
  #connected = false;
  #kept = false;
  #broken = false;
  #ended = false;
  #bytes = 0;
  #statusCode: number | null = null;
  #headers: EgressResponse['headers'] = {};

  readonly #url: string;

  constructor(url: string, exchange: Exchange, resolve: (result: EgressResult) => void) {
    this.#url = url;
    this.#exchange = exchange;
    this.#resolve = resolve;
    const left = Math.max(0, exchange.deadline - performance.now());
    this.#timer = setTimeout(() => this.fail(problem('timeout')), left);
    exchange.signal?.addEventListener('abort', this.#cancel);
  }

  get stale(): boolean {
    return this.#kept && this.#broken && this.#statusCode === null;
  }

  useConnection(connection: Connection): void {
    this.#connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#connected = true;
    if (this.#connection) this.#kept = this.#connection.uses++ > 0;
    // It may have waited for a connection until after its deadline.
    if (this.#ended) controller.abort(new Cut());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: EgressResponse['headers'],
  ): void {
    if (statusCode < 200) return;
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = this.#exchange.maxResponseBytes - this.#bytes;
    this.#bytes += chunk.length;
    if (room > 0) this.#chunks.push(chunk.subarray(0, room));
    if (chunk.length <= room) return;
    this.#succeed(true);
    controller.abort(new Cut());
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
    this.#resolve({ ...why, statusCode: this.#statusCode, durationMs: this.#durationMs() });
    this.#controller?.abort(new Cut());
  }

  #succeed(truncated: boolean): void {
    if (!this.#end()) return;
    this.#resolve({
      ok: true,
      url: this.#url,
      statusCode: this.#statusCode ?? 0,
      headers: this.#headers,
      body: this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks),
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

/** How an exchange ended. */
export interface Exchanged {
  result: EgressResult;
  /** Whether it was given a connection that had been kept, and that broke without a word of an answer. */
  stale: boolean;
}

/** Send one request over a connection and read the answer, all before the deadline. Never throws. */
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
