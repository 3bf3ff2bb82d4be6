import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { testIdentity } from '../support/https-receiver.ts';

export interface Subscriber {
  port: number;
  /** Number of requests acknowledged so far. */
  readonly acknowledged: number;
  close(): Promise<void>;
}

/**
 * Starts a benchmark's subscriber on loopback. It acknowledges `/ok`, responds to `/fail` with 500, and never responds
 * to `/silent`.
 * @param onBody called with the body of each acknowledged request
 */
export async function startSubscriber(onBody?: (body: string) => void): Promise<Subscriber> {
  let acknowledged = 0;
  const server = https.createServer({ ...testIdentity, keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/silent') return;
      if (request.url === '/fail') return void response.writeHead(500).end();
      acknowledged += 1;
      onBody?.(Buffer.concat(chunks).toString('utf8'));
      response.writeHead(200, ['Content-Length', '0']).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get acknowledged() {
      return acknowledged;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

// When run as a program, it prints `{"port":…}`, answers each line of input with `{"count":…}`, and ends with its
// input.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const subscriber = await startSubscriber();
  const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
  print({ port: subscriber.port });
  createInterface({ input: process.stdin })
    .on('line', () => print({ count: subscriber.acknowledged }))
    .on('close', () => void subscriber.close());
}
