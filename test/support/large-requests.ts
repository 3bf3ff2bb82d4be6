/**
 * A program that sends messages of 9 MB at once, with the keys of several accounts in turn, and repeats those that get a 503
 * after the time that the response asks for, until all have succeeded. Its arguments: the port, the number of messages,
 * and the keys, separated by commas. It prints a JSON object with what it has seen.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const FILE_BYTES = 5 * 1024 * 1024;
const HTML_BYTES = 2_000_000;

const [port, count = '', keyList = ''] = process.argv.slice(2);
const keys = keyList.split(',');
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

const opening =
  '{"channel":"email","to":"ada@example.com","subject":"Large",' +
  `"html":"${'x'.repeat(HTML_BYTES)}","attachments":[{"filename":"large.bin","content":"`;
/** The end of each file. Its beginning is unique, so that no two requests have equal files. */
const rest = Buffer.from(`${randomBytes(FILE_BYTES - 3).toString('base64')}"}]}`);
const PIECE_BYTES = 64 * 1024;

function* piecesOf(n: number): Generator<Buffer> {
  const begin = Buffer.from([n, n >> 8, 1]).toString('base64');
  for (const part of [Buffer.from(opening + begin), rest])
    for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES);
}

interface Reply {
  status: number;
  retryAfter: number | null;
}

async function send(n: number): Promise<Reply> {
  const request = http.request({
    ...{ agent, host: '127.0.0.1', port, method: 'POST', path: '/v1/my/messages' },
    headers: {
      Authorization: `Bearer ${keys[n % keys.length]}`,
      'Content-Type': 'application/json',
      'Content-Length': opening.length + 4 + rest.length,
    },
  });
  const body = Readable.from(piecesOf(n));
  body.pipe(request);
  // After a 503, the server closes the connection although we are still sending.
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  await once(response, 'end');
  body.destroy();
  if (!request.writableFinished) request.destroy();
  const retryAfter = response.headers['retry-after'];
  return {
    status: response.statusCode ?? 0,
    retryAfter: retryAfter === undefined ? null : Number(retryAfter),
  };
}

/** @returns how many requests were sent until it succeeded */
async function sendUntilAccepted(n: number, first: (reply: Reply) => void): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    // A connection that the server closes after a 503 may be lost before the response is read.
    const reply = await send(n).catch((): Reply => ({ status: 0, retryAfter: 1 }));
    if (tries === 1) first(reply);
    if (reply.status === 201) return tries;
    if (reply.retryAfter === null) throw new Error(`unexpected response: ${reply.status}`);
    await delay(reply.retryAfter * 1_000 * (1 + Math.random()));
  }
}

const firstStatuses: Record<number, number> = {};
const began = performance.now();
const tries = await Promise.all(
  Array.from({ length: Number(count) }, (_, n) =>
    sendUntilAccepted(n, ({ status }) => {
      firstStatuses[status] = (firstStatuses[status] ?? 0) + 1;
    }),
  ),
);
const seconds = (performance.now() - began) / 1_000;
process.stdout.write(
  JSON.stringify({ firstStatuses, tries: Math.max(...tries), accepted: tries.length, seconds }),
);
agent.destroy();
