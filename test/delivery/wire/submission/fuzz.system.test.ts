// Whatever 10,000 clients say, in whatever pieces: the port survives, takes nothing without a login, and keeps its memory.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import v8 from 'node:v8';
import vm from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { startTlsDialogue } from '../../../support/smtp-dialogue.ts';
import {
  logIn,
  mailOver,
  plainLogin,
  startTestSubmission,
  type TestSubmission,
} from '../../../support/submission.ts';

/** The long form has all of them; the short one takes seconds. */
const DIALOGUES = process.env.CRASH_FULL ? 10_000 : 1_000;
const AT_A_TIME = 40;
const MAX_GROWTH_BYTES = 16 * 1024 * 1024;

/** After a collection: what is not garbage. The clients are in this process, too. */
function usedBytes(): number {
  v8.setFlagsFromString('--expose-gc');
  (vm.runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let test: TestDatabase;
let tenant: TestTenant;
let submission: TestSubmission;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  tenant = await createTestTenant(test.database, 'Acme');
  submission = await startTestSubmission(test.database.pool, {
    connections: 100,
    connectionsPerNetwork: 100,
    maxBytes: 10_000,
  });
});
afterAll(async () => {
  await submission.stop();
  await test.drop();
});

/** Logs in, and sends a mail. */
const genuine = () =>
  [
    'EHLO a.example',
    `AUTH PLAIN ${plainLogin(tenant.apiKey)}`,
    'MAIL FROM:<ann@example.com>',
    'RCPT TO:<bob@example.net>',
    'DATA',
    'Subject: x\r\n\r\ny\r\n.\r\n',
  ].join('\r\n');

/** What strangers say. */
const strange = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('EHLO a.example\r\n', 'HELO a\r\n', 'EHLO\r\n', 'EHLO a b\r\n') },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'MAIL FROM:<ann@example.com>\r\n',
      'MAIL FROM:<>\r\n',
      'MAIL FROM:<ann@example.com> SIZE=99999999999 BODY=8BITMIME SMTPUTF8\r\n',
      'RCPT TO:<bob@example.net>\r\n',
      'RCPT TO:<@a,@b:bob@example.net>\r\n',
      'RCPT TO:<bob>\r\n',
      'DATA\r\n',
      'Subject: x\r\n\r\ny\r\n.\r\n',
      '.\r\n',
      '\n.\n',
      '\r.\r\n',
      '..\r\n.\r\n',
      'RSET\r\n',
      'NOOP\r\n',
      'VRFY x\r\n',
      'HELP\r\n',
      'STARTTLS\r\n',
      'STARTTLS\r\nNOOP\r\n',
      'QUIT\r\n',
      'WIZ\r\n',
      'XCLIENT LOGIN=root\r\n',
      'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
      'GET / HTTP/1.1\r\n',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'AUTH PLAIN\r\n',
      'AUTH PLAIN =\r\n',
      `AUTH PLAIN ${plainLogin('guess')}\r\n`,
      'AUTH LOGIN\r\n',
      'AUTH LOGIN dXNlcg==\r\n',
      'AUTH CRAM-MD5\r\n',
      'AUTH XOAUTH2 x\r\n',
      'dXNlcg==\r\n',
      '*\r\n',
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(20_000), `${'y'.repeat(15_000)}\r\n`, 'z\r\n'.repeat(5_000)),
  },
);

/** `GENUINE` stands for a login with a live key and a mail. */
const familiar = fc.oneof(
  { weight: 5, arbitrary: strange },
  { weight: 1, arbitrary: fc.constant('GENUINE') },
);

const dialogueOf = (phrase: fc.Arbitrary<string>) =>
  fc.record({
    tls: fc.boolean(),
    phrases: fc.array(phrase, { maxLength: 12 }),
    /** Where the bytes are cut into packets. */
    cuts: fc.array(fc.nat(400), { maxLength: 4 }),
    /** How the client leaves. */
    abrupt: fc.boolean(),
  });

type Dialogue = ReturnType<typeof dialogueOf> extends fc.Arbitrary<infer T> ? T : never;

function piecesOf({ phrases, cuts }: Dialogue): Buffer[] {
  const bytes = Buffer.from(
    phrases.map((each) => (each === 'GENUINE' ? genuine() : each)).join(''),
    'latin1',
  );
  const ends = [...new Set(cuts)].filter((cut) => cut < bytes.length).toSorted((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

async function speak(given: Dialogue): Promise<void> {
  const options = { host: '127.0.0.1', port: given.tls ? submission.tlsPort : submission.port };
  const socket: Socket = given.tls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  socket.on('error', () => undefined);
  // Not `once` of node:events, which takes a reset connection for a failure.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // The greeting: a client that talks before it is refused for that alone.
  await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed]);
  socket.resume();
  for (const piece of piecesOf(given)) {
    if (socket.destroyed) break;
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (given.abrupt) socket.destroy();
  else socket.end();
  await closed;
}

/** @returns when each of the dialogues has ended */
async function speakAll(phrase: fc.Arbitrary<string>, count: number, seed: number): Promise<void> {
  const left = fc.sample(dialogueOf(phrase), { numRuns: count, seed });
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (let next = left.pop(); next; next = left.pop()) await speak(next);
    }),
  );
}

it('takes nothing without a login, and serves a genuine client afterwards', async () => {
  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  try {
    await speakAll(strange, DIALOGUES / 2, 47);
    expect(submission.taken).toEqual([]);
    // What the first half needs for good, such as caches, the second half does not need again.
    await speakAll(familiar, DIALOGUES / 4, 48);
    expect(submission.taken.length).toBeGreaterThan(0);
    submission.taken.length = 0;
    const before = usedBytes();
    await speakAll(familiar, DIALOGUES / 4, 49);
    submission.taken.length = 0;
    expect(usedBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
  } finally {
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onError);
  }
  expect(failures).toEqual([]);
  const client = await startTlsDialogue(submission.tlsPort);
  expect(await logIn(client, tenant.apiKey)).toMatch(/^235 /);
  expect(await mailOver(client)).toMatch(/^250 /);
}, 600_000);
