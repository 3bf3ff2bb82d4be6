// Every kind of endpoint response, from success to endless data, is recorded with its outcome and retry time.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver } from '../../support/https-receiver.ts';
import { startGreeter, startRawServer, type RawAnswer, type RawServer } from '../../support/raw-server.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  startWebhookLoop,
  type DeliveryRow,
  type RunningLoop,
} from '../../support/webhooks.ts';

/** The behavior of an endpoint, and the expected record of the attempt. */
interface Case {
  /** Starts an endpoint. @returns its URL */
  start: () => Promise<string>;
  outcome: Partial<Pick<DeliveryRow, 'status' | 'response_code'>> & { last_error?: string | RegExp };
  /** Minimum duration of the attempt, in seconds. */
  lasts?: number;
  /** Beginning of the response body. */
  excerpt?: RegExp;
  /** Minimum and maximum delay of the retry, in seconds. */
  retry?: [number, number];
}

/** The time-out of an attempt in seconds, less the imprecision of timers. */
const TIME_OUT = 9.9;
const MINUTE: [number, number] = [60, 60];
let test: TestDatabase;
let dns: TestDnsServer;
let running: RunningLoop;
const servers: { close(): Promise<void> }[] = [];
/** The result of each case's start, by its name. */
const seen = new Map<string, { webhookId: number; server: RawServer | null }>();
let lastServer: RawServer | null = null;

function raw(answer: RawAnswer, host = '127.0.0.1') {
  return async () => {
    const server = await startRawServer(answer);
    servers.push(server);
    lastServer = server;
    return `https://${host}:${server.port}/hook`;
  };
}

/** @param head status line and headers */
function says(head: string, body = '') {
  const headers = `${head}\r\ncontent-length: ${body.length}\r\n\r\n`;
  return raw((socket) => void socket.write(headers + body));
}

async function selfSigned(): Promise<string> {
  const server = await startReceiver({ selfSigned: true });
  servers.push(server);
  return server.url('/hook', '127.0.0.1');
}

async function closedPort(): Promise<string> {
  const server = await startReceiver();
  const url = server.url('/hook', '127.0.0.1');
  await server.close();
  return url;
}

async function speaksNoTls(): Promise<string> {
  const server = await startGreeter('220 mail.test ESMTP\r\n');
  servers.push(server);
  return `https://127.0.0.1:${server.port}/`;
}

const forever =
  (head: string, chunk: string, everyMs: number): RawAnswer =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(chunk), everyMs);
    socket.once('close', () => clearInterval(timer));
  };
const chunk = `ff\r\n${'x'.repeat(255)}\r\n`;
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

const delivered = (response_code: number) => ({ status: 'delivered', response_code });
const refused = (response_code: number) => ({
  status: 'retrying',
  response_code,
  last_error: `status ${response_code}`,
});
const lost = (reason: string, response_code: number | null = null) => ({
  status: 'retrying',
  response_code,
  last_error: new RegExp(`^${reason}: `),
});

const cases: Record<string, Case> = {
  'status 200': { start: says('HTTP/1.1 200 OK', 'thanks'), outcome: delivered(200), excerpt: /^thanks$/ },
  'status 204': { start: says('HTTP/1.1 204 No Content'), outcome: delivered(204) },
  'status 299': { start: says('HTTP/1.1 299 Whatever'), outcome: delivered(299) },
  'status 200 after 103': {
    start: says('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK'),
    outcome: delivered(200),
  },
  'status 199 and no other': {
    start: says('HTTP/1.1 199 Nearly'),
    outcome: lost('timeout'),
    lasts: TIME_OUT,
  },
  'status 100 and no other': {
    start: says('HTTP/1.1 100 Continue'),
    outcome: lost('timeout'),
    lasts: TIME_OUT,
  },
  'status 200 after 100': {
    start: says('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK', 'thanks'),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'status 200 after 100 without a reason': {
    start: raw((socket) => {
      socket.write('HTTP/1.1 100\r\n\r\n');
      setImmediate(() => socket.write('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n'));
    }),
    outcome: delivered(200),
  },
  'status 202 after 100 with a length, twice': {
    start: says(`${'HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n'.repeat(2)}HTTP/1.1 202 Accepted`),
    outcome: delivered(202),
  },
  'endless interim responses': {
    start: raw(forever('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20), 1)),
    outcome: lost('invalid_response'),
  },
  'status 204 with a body': {
    start: says('HTTP/1.1 204 No Content', '{"ok":true}'),
    outcome: delivered(204),
  },
  'status 204 with a length and no body': {
    start: raw((socket) => void socket.write('HTTP/1.1 204 No Content\r\ncontent-length: 11\r\n\r\n')),
    outcome: delivered(204),
  },
  'status 204 with a chunked body': {
    start: raw((socket) => {
      socket.write('HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n');
    }),
    outcome: delivered(204),
  },
  'status 204 with a body that is not announced': {
    start: raw((socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\nok')),
    outcome: delivered(204),
  },
  'status 205 with a body': {
    start: says('HTTP/1.1 205 Reset Content', 'ok'),
    outcome: delivered(205),
    excerpt: /^ok$/,
  },
  'the same length twice': {
    start: says('HTTP/1.1 200 OK\r\nContent-Length: 6', 'thanks'),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'the same length three times, with a zero': {
    start: says('HTTP/1.1 200 OK\r\nContent-Length: 6, 06', 'thanks'),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'two lengths': {
    start: says('HTTP/1.1 200 OK\r\ncontent-length: 5', 'thanks'),
    outcome: lost('invalid_response'),
  },
  'two lengths in a list': {
    start: raw((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6, 5\r\n\r\nthanks')),
    outcome: lost('invalid_response'),
  },
  'a length and chunks': {
    start: raw((socket) => {
      socket.write(`${chunked.slice(0, -2)}content-length: 2\r\n\r\n6\r\nthanks\r\n0\r\n\r\n`);
    }),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'chunks that are announced twice': {
    start: raw((socket) => {
      socket.write(`${chunked.slice(0, -2)}Transfer-Encoding: Chunked\r\n\r\n6\r\nthanks\r\n0\r\n\r\n`);
    }),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'a length and no coding': {
    start: says('HTTP/1.1 200 OK\r\ntransfer-encoding: identity', 'thanks'),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'lines that end with LF': {
    start: raw((socket) => void socket.end('HTTP/1.0 200 OK\ncontent-type: text/plain\n\nthanks')),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'a space before a colon, a folded line and a line without a name': {
    start: says(
      'HTTP/1.1 200 OK\r\nx-one : 1\r\nx-two: 2,\r\n  3\r\nWarning in line 7\r\nx-three: a\x01b',
      'thanks',
    ),
    outcome: delivered(200),
    excerpt: /^thanks$/,
  },
  'another protocol': {
    start: says('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket'),
    outcome: lost('reset'),
  },
  'status 300': { start: says('HTTP/1.1 300 Multiple Choices'), outcome: refused(300), retry: MINUTE },
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status): [string, Case] => [
      `redirect ${status}`,
      { start: says(`HTTP/1.1 ${status} There\r\nlocation: /elsewhere`), outcome: refused(status) },
    ]),
  ),
  'status 304': { start: says('HTTP/1.1 304 Not Modified'), outcome: refused(304) },
  'status 410': { start: says('HTTP/1.1 410 Gone'), outcome: refused(410), retry: MINUTE },
  'status 429 with Retry-After of 90 s': {
    start: says('HTTP/1.1 429 Slow Down\r\nretry-after: 90'),
    outcome: refused(429),
    retry: [90, 90],
  },
  'status 503 with Retry-After of a second': {
    start: says('HTTP/1.1 503 Busy\r\nretry-after: 1'),
    outcome: refused(503),
    retry: MINUTE,
  },
  'status 429 with Retry-After of a day': {
    start: says('HTTP/1.1 429 Slow Down\r\nretry-after: 86400'),
    outcome: refused(429),
    retry: [300, 300],
  },
  'status 429 with a date as Retry-After': {
    start: raw((socket) => {
      const at = new Date(Date.now() + 250_000).toUTCString();
      socket.write(`HTTP/1.1 429 Slow\r\nretry-after: ${at}\r\ncontent-length: 0\r\n\r\n`);
    }),
    outcome: refused(429),
    // Less than 250 s, because the response takes time to arrive. Without the date, it would be 60 s.
    retry: [61, 251],
  },
  'status 500': { start: says('HTTP/1.1 500 Oops', 'no\0way'), outcome: refused(500), excerpt: /^noway$/ },
  silence: { start: raw(() => undefined), outcome: lost('timeout'), lasts: TIME_OUT },
  'slow headers': {
    start: raw(forever('HTTP/1.1 200 OK\r\n', 'x-slow: 1\r\n', 500)),
    outcome: lost('timeout'),
    lasts: TIME_OUT,
  },
  'too many headers': {
    start: raw((socket) => void socket.write(`HTTP/1.1 200 OK\r\nx-big: ${'x'.repeat(100_000)}\r\n\r\n`)),
    outcome: lost('invalid_response'),
  },
  'slow body': {
    start: raw(forever(chunked, '1\r\nx\r\n', 500)),
    outcome: lost('timeout', 200),
    lasts: TIME_OUT,
  },
  'endless body': {
    start: raw(forever(chunked, chunk.repeat(20), 1)),
    outcome: delivered(200),
    excerpt: /^x{1024}$/,
  },
  'endless body of a refusal': {
    start: raw(forever(chunked.replace('200', '500'), chunk.repeat(20), 1)),
    outcome: refused(500),
  },
  'half a body': {
    start: raw((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')),
    outcome: lost('reset', 200),
  },
  'connection closed': { start: raw((socket) => void socket.end()), outcome: lost('reset') },
  'connection reset': { start: raw((_socket, { reset }) => reset()), outcome: lost('reset') },
  'no HTTP': { start: raw((socket) => void socket.end('220 ESMTP\r\n')), outcome: lost('invalid_response') },
  'no TLS': { start: speaksNoTls, outcome: lost('tls') },
  'a self-signed certificate': { start: selfSigned, outcome: lost('tls') },
  'a certificate for another name': { start: raw(() => undefined, 'elsewhere.test'), outcome: lost('tls') },
  'a certificate for another address': {
    start: raw(() => undefined, '127.0.0.3'),
    outcome: lost('(tls|connect)'),
  },
  'a closed port': { start: closedPort, outcome: lost('connect') },
};

beforeAll(async () => {
  test = await createTestDatabase();
  dns = await startDnsServer({ 'elsewhere.test': { A: ['127.0.0.1'] } });
  let tenant: TestTenant | null = null;
  for (const [name, { start }] of Object.entries(cases)) {
    if (seen.size % 10 === 0) tenant = await createTestTenant(test.database, name);
    if (!tenant) throw new Error('no tenant');
    lastServer = null;
    const { id } = await addWebhook(test.database, tenant, await start());
    seen.set(name, { webhookId: id, server: lastServer });
    if (seen.size % 10 === 0) await publishSent(test.database, tenant, [seen.size]);
  }
  if (tenant && seen.size % 10 > 0) await publishSent(test.database, tenant, [seen.size]);
  running = await startWebhookLoop(test.database, { dns: [dns.address], allow: ['127.0.0.0/8'] });
  await eventually(async () => {
    const { rowCount } = await test.database.pool.query('select 1 from webhook_queue');
    expect(rowCount).toBe(0);
  }, 60_000);
}, 120_000);

afterAll(async () => {
  await running.stop();
  await Promise.all(servers.map((server) => server.close()));
  dns.close();
  await test.drop();
});

async function attemptOf(name: string) {
  const { webhookId = 0, server = null } = seen.get(name) ?? {};
  const [delivery, ...more] = await deliveriesOf(test.database, webhookId);
  const { rows: attempts } = await test.database.pool.query<{
    attempt: number;
    started_at: Date;
    duration_ms: number;
    response_code: number | null;
    error: string | null;
    response_excerpt: string | null;
  }>('select * from webhook_attempts where delivery_id = $1', [delivery?.id]);
  expect(more).toEqual([]);
  expect(attempts).toHaveLength(1);
  if (!delivery || !attempts[0]) throw new Error('no attempt was recorded');
  return { delivery, attempt: attempts[0], requests: server?.requests.length ?? 0 };
}

describe('an attempt is recorded with its outcome', () => {
  it.each(Object.entries(cases))('%s', async (name, { outcome, lasts = 0, excerpt, retry }) => {
    const { delivery, attempt, requests } = await attemptOf(name);
    const { last_error, ...rest } = outcome;
    const error = last_error === undefined ? null : expect.stringMatching(last_error);
    expect(delivery).toMatchObject({ ...rest, attempt_count: 1, last_error: error });
    expect(attempt).toMatchObject({ attempt: 1, response_code: outcome.response_code, error });
    expect(requests).toBeLessThanOrEqual(1);
    if (excerpt) expect(attempt.response_excerpt).toMatch(excerpt);
    expect(attempt.duration_ms / 1_000).toBeGreaterThanOrEqual(lasts);
    if (!retry) return;
    const endedAt = attempt.started_at.getTime() + attempt.duration_ms;
    const waits = ((delivery.next_attempt_at?.getTime() ?? 0) - endedAt) / 1_000;
    expect(waits).toBeGreaterThanOrEqual(retry[0]);
    expect(waits).toBeLessThanOrEqual(retry[1]);
  });
});
