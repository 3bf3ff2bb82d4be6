// The SMTP pool adapts its connections to the relay, and a lost connection affects only the message in transfer.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { EmailProvider, OutgoingEmail } from '../../../../../src/delivery/wire/adapters/port.ts';
import { createSmtpProvider } from '../../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { startSmtpServer, type TestSmtpServer } from '../../../../support/sending.ts';
import { eventually } from '../../../../support/eventually.ts';
import { outgoingEmail } from '../../../../support/outgoing.ts';

const CONNECTIONS = 8;
/** How long a body takes, so that batches that may be sent concurrently are. */
const BODY_MS = 100;

let server: TestSmtpServer;
let provider: EmailProvider;
let connections: number;
let atOnce: number;
let most: number;
/** Bodies end when this many are in progress; 0: after a time. */
let together = 0;
const waiting: (() => void)[] = [];

function onData(stream: SMTPServerDataStream, _session: SMTPServerSession, done: () => void): void {
  most = Math.max(most, (atOnce += 1));
  stream.resume();
  stream.on('end', () => {
    const end = () => {
      atOnce -= 1;
      done();
    };
    if (together === 0) return void delay(BODY_MS).then(end);
    waiting.push(end);
    if (waiting.length === together) for (const each of waiting.splice(0)) each();
  });
}

beforeEach(async () => {
  connections = 0;
  atOnce = 0;
  together = 0;
  waiting.length = 0;
  server = await startSmtpServer({
    onData,
    onConnect: (_session, done) => {
      connections += 1;
      done();
    },
  });
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  provider = createSmtpProvider({ target, connections: CONNECTIONS });
  // Connects first, so that the number of concurrent batches depends only on the pool, not on the time of greetings.
  await handOver(CONNECTIONS);
});
afterEach(async () => {
  await provider.close();
  await server.stop();
});

function email(to: string): OutgoingEmail {
  return outgoingEmail({ returnPath: 'bounces@mail.test', to, from: 'hello@mail.test' });
}

const kindsOf = async (batch: OutgoingEmail[]) =>
  (await provider.handOver(batch)).map((outcome) => outcome.kind);

async function handOver(batches: number): Promise<string[]> {
  most = 0;
  const outcomes = await Promise.all(
    Array.from({ length: batches }, () => provider.handOver([email('ada@example.com')])),
  );
  return outcomes.map(([outcome]) => outcome?.kind ?? 'none');
}

/** Hands over this many batches, and lets none end before every connection has one. */
async function handOverTogether(batches: number): Promise<void> {
  together = CONNECTIONS;
  await handOver(batches);
  together = 0;
}

describe('the connections to a relay', () => {
  it('grow to the allowed number, and are reused', async () => {
    await handOverTogether(CONNECTIONS * 3);
    expect(most).toBe(CONNECTIONS);
    expect(connections).toBe(CONNECTIONS);
  });

  it.each([450, 451, 452])('drop while it replies %i, and grow again afterwards', async (code) => {
    server.answers.rcpt = () => `${code} 4.3.2 busy`;
    expect(await handOver(3)).toEqual(['deferred', 'deferred', 'deferred']);
    delete server.answers.rcpt;
    expect(await handOver(2)).toEqual(['accepted', 'accepted']);
    expect(most).toBe(1);
    await handOver(CONNECTIONS * 2);
    await handOverTogether(CONNECTIONS);
    expect(most).toBe(CONNECTIONS);
  });

  it('keep their number after any other refusal', async () => {
    server.answers.rcpt = () => '550 5.1.1 no such user';
    await handOver(3);
    delete server.answers.rcpt;
    await handOverTogether(CONNECTIONS);
    expect(most).toBe(CONNECTIONS);
  });
});

describe('a provider that stops', () => {
  it('tries nothing that waits for a connection, and leaves open what has its final dot', async () => {
    together = CONNECTIONS + 1;
    const batch = [email('ada@example.com'), email('eve@example.com')];
    const handingOver = Array.from({ length: CONNECTIONS + 1 }, () => provider.handOver(batch));
    await eventually(() => expect(waiting).toHaveLength(CONNECTIONS));
    provider.stop?.();
    const results = await Promise.all(handingOver);
    expect(results.map((each) => each.map(({ kind }) => kind))).toEqual([
      ...Array.from({ length: CONNECTIONS }, () => ['open', 'not_tried']),
      ['not_tried', 'not_tried'],
    ]);
    for (const end of waiting.splice(0)) end();
    const later = results.flat().flatMap((result) => (result.kind === 'open' ? [result.later] : []));
    expect((await Promise.all(later)).every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(await kindsOf(batch)).toEqual(['not_tried', 'not_tried']);
    expect(connections).toBe(CONNECTIONS);
  });
});

describe('a connection that the server ends without a reply', () => {
  it('is lost for the message in transfer; those after it use a new connection', async () => {
    server.answers.drop = (stage, to) => stage === 'rcpt' && to === 'bad@example.com';
    const batch = ['ada', 'bad', 'eve', 'joe'].map((name) => email(`${name}@example.com`));
    expect(await kindsOf(batch)).toEqual(['accepted', 'lost', 'accepted', 'accepted']);
  });

  it('is replaced once for a batch', async () => {
    server.answers.drop = (stage, to) => stage === 'rcpt' && to === 'bad@example.com';
    const batch = ['bad', 'ada', 'bad', 'eve'].map((name) => email(`${name}@example.com`));
    expect(await kindsOf(batch)).toEqual(['lost', 'accepted', 'lost', 'not_tried']);
  });

  it('counts against no message if it was reused and was lost before any reply', async () => {
    let drops = 1;
    server.answers.drop = (stage) => stage === 'mail' && drops-- > 0;
    expect(await kindsOf([email('ada@example.com'), email('eve@example.com')])).toEqual([
      'accepted',
      'accepted',
    ]);
    expect(drops).toBeLessThan(1);
  });

  it('is lost for the first message of a new connection', async () => {
    server.answers.drop = (stage) => stage === 'mail';
    expect(await kindsOf([email('ada@example.com'), email('eve@example.com')])).toEqual([
      'lost',
      'not_tried',
    ]);
  });

  it('is a fault for the messages after it if no new connection can be made', async () => {
    const { port } = server;
    const stopped = Promise.withResolvers<undefined>();
    server.answers.drop = (stage) => {
      if (stage !== 'rcpt') return false;
      void server.crash().then(() => stopped.resolve(undefined));
      return false;
    };
    const outcomes = await provider.handOver([email('ada@example.com'), email('eve@example.com')]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['lost', 'fault']);
    await stopped.promise;
    server = await startSmtpServer({}, port);
  });
});
