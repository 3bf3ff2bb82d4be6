import net from 'node:net';
import { percentile, rounded } from './machine.ts';

export interface LoadOptions {
  port: number;
  path: string;
  headers: Record<string, string>;
  /** Returns the JSON body of request `n`. */
  body: (n: number) => string;
  /** Returns the `Idempotency-Key` of request `n`. */
  key?: (n: number) => string;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
  requests: number;
  /** The number of responses other than 2xx. */
  errors: number;
}

interface Tally {
  latencies: number[];
  errors: number;
  sent: number;
}

/** Returns the start of every request: the request line and the shared headers. */
function headOf(options: LoadOptions): string {
  const headers = { Host: 'localhost', 'Content-Type': 'application/json', ...options.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${options.path} HTTP/1.1\r\n${lines.join('')}`;
}

/** Returns the length of the response at the start of `text`, which has a Content-Length; 0 if it is incomplete. */
function responseLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return 0;
  const match = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd));
  const length = headEnd + 4 + Number(match?.[1] ?? 0);
  return text.length >= length ? length : 0;
}

/** Sends one request after another over a keep-alive connection until `end`. */
function runConnection(options: LoadOptions, end: number, tally: Tally): Promise<void> {
  const head = headOf(options);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port: options.port, host: '127.0.0.1', noDelay: true });
    let buffered = '';
    let startedAt = 0;
    const next = () => {
      startedAt = performance.now();
      if (startedAt > end) return void socket.end();
      const n = tally.sent++;
      const body = options.body(n);
      const key = options.key ? `Idempotency-Key: ${options.key(n)}\r\n` : '';
      socket.write(`${head}${key}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    };
    socket
      .on('connect', next)
      .on('error', reject)
      .on('close', () => resolve());
    socket.on('data', (chunk: Buffer) => {
      buffered += chunk.toString('latin1');
      const length = responseLength(buffered);
      if (length === 0) return;
      if (buffered.charAt(9) !== '2') tally.errors += 1;
      tally.latencies.push(performance.now() - startedAt);
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
  await Promise.all(Array.from({ length: options.connections }, () => runConnection(options, end, tally)));
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    requests_per_second: rounded(tally.latencies.length / seconds),
    p50_ms: rounded(percentile(tally.latencies, 0.5), 2),
    p99_ms: rounded(percentile(tally.latencies, 0.99), 2),
    requests: tally.latencies.length,
    errors: tally.errors,
  };
}
