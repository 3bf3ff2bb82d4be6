import type { Dispatcher, Pool } from 'undici';
import { problem, problemOf, type EgressProblem } from './problem.ts';
import type { Target } from './target.ts';

export interface EgressResponse {
  ok: true;
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
  #connected = false;
  #ended = false;
  #bytes = 0;
  #statusCode: number | null = null;
  #headers: EgressResponse['headers'] = {};

  constructor(exchange: Exchange, resolve: (result: EgressResult) => void) {
    this.#exchange = exchange;
    this.#resolve = resolve;
    const left = Math.max(0, exchange.deadline - performance.now());
    this.#timer = setTimeout(() => this.fail(problem('timeout')), left);
    exchange.signal?.addEventListener('abort', this.#cancel);
  }

  get ended(): boolean {
    return this.#ended;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#connected = true;
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
    this.fail(problemOf(error, this.#connected));
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

/** Send one request over a pool's connection and read the answer, all before the deadline. Never throws. */
export function exchangeOver(pool: Pool, target: Target, exchange: Exchange): Promise<EgressResult> {
  return new Promise((resolve) => {
    const reader = new Reader(exchange, resolve);
    const { method, headers, body } = exchange;
    try {
      pool.dispatch({ path: target.path, method, headers, body }, reader);
    } catch (error) {
      reader.fail(problemOf(error, false));
    }
  });
}
