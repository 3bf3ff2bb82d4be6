import net from 'node:net';
import { percentile, rounded } from './machine.ts';

export interface LoadOptions {
  port: number;
  path: string;
  /** Of all requests, or of request `n`. */
  headers: Record<string, string> | ((n: number) => Record<string, string>);
  /** Returns the JSON body of request `n`, which is a POST. */
  body?: (n: number) => string;
  /** Returns the path of request `n`, which is a GET. */
  get?: (n: number) => string;
  /** Returns the `Idempotency-Key` of request `n`. */
  key?: (n: number) => string;
  connections: number;
  seconds: number;
  /** Number of requests per second; by default each connection sends its next request when it has a response. */
  rate?: number;
  /** Called with the time of `performance.now()` at which request `n` was sent, or should have been at the rate. */
  onStart?: (n: number, at: number) => void;
  /** Called with the same time when a request has a response, and with the milliseconds until then. */
  onResponse?: (at: number, ms: number) => void;
}

export interface LoadResult {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
  requests: number;
  /** Number of responses other than 2xx and 302. */
  errors: number;
}

interface Tally {
  latencies: number[];
  errors: number;
  sent: number;
}

/** Returns a function that writes request `n`. */
function createWriter({ path, headers, body, get, key }: LoadOptions): (n: number) => string {
  const linesOf = (own: Record<string, string>) =>
    Object.entries({ Host: 'localhost', ...(body ? { 'Content-Type': 'application/json' } : {}), ...own })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  const shared = typeof headers === 'function' ? '' : linesOf(headers);
  return (n) => {
    const lines = typeof headers === 'function' ? linesOf(headers(n)) : shared;
    if (get) return `GET ${get(n)} HTTP/1.1\r\n${lines}\r\n`;
    const content = body?.(n) ?? '';
    const idempotency = key ? `Idempotency-Key: ${key(n)}\r\n` : '';
    const length = `Content-Length: ${Buffer.byteLength(content)}`;
    return `POST ${path} HTTP/1.1\r\n${lines}${idempotency}${length}\r\n\r\n${content}`;
  };
}

/**
 * Returns the length of the response at the start of `text`, which must have a Content-Length; 0 if it is incomplete.
 */
function responseLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return 0;
  const match = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd));
  const length = headEnd + 4 + Number(match?.[1] ?? 0);
  return text.length >= length ? length : 0;
}

/** Sends one request after another over a keep-alive connection until `end`. */
function runConnection(options: LoadOptions, beganAt: number, end: number, tally: Tally): Promise<void> {
  const requestOf = createWriter(options);
  const { rate, onStart, onResponse } = options;
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port: options.port, host: '127.0.0.1', noDelay: true });
    let buffered = '';
    let startedAt = 0;
    const send = (n: number, at: number) => {
      startedAt = at;
      onStart?.(n, at);
      socket.write(requestOf(n));
    };
    const next = () => {
      const now = performance.now();
      const dueAt = rate === undefined ? now : beganAt + (tally.sent * 1_000) / rate;
      if (dueAt > end) return void socket.end();
      const n = tally.sent++;
      // A timer that is late delays the request, which is not the server's fault.
      if (dueAt > now) setTimeout(() => send(n, performance.now()), dueAt - now);
      else send(n, dueAt);
    };
    socket
      .on('connect', next)
      .on('error', reject)
      .on('close', () => resolve());
    socket.on('data', (chunk: Buffer) => {
      buffered += chunk.toString('latin1');
      const length = responseLength(buffered);
      if (length === 0) return;
      if (!/^(?:2|302)/.test(buffered.slice(9, 12))) tally.errors += 1;
      const ms = performance.now() - startedAt;
      tally.latencies.push(ms);
      onResponse?.(startedAt, ms);
      buffered = buffered.slice(length);
      next();
    });
  });
}

/** Sends requests to an endpoint over keep-alive connections, one at a time on each. */
export async function loadHttp(options: LoadOptions): Promise<LoadResult> {
  const tally: Tally = { latencies: [], errors: 0, sent: 0 };
  const startedAt = performance.now();
  const end = startedAt + options.seconds * 1000;
  await Promise.all(
    Array.from({ length: options.connections }, () => runConnection(options, startedAt, end, tally)),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    requests_per_second: rounded(tally.latencies.length / seconds),
    p50_ms: rounded(percentile(tally.latencies, 0.5), 2),
    p99_ms: rounded(percentile(tally.latencies, 0.99), 2),
    requests: tally.latencies.length,
    errors: tally.errors,
  };
}
