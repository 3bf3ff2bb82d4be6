import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type pg from 'pg';
import pino from 'pino';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { DEFAULT_PROVIDER } from '../../src/delivery/terms/backlog.ts';
import type { SendingDomain, SendingDomains } from '../../src/delivery/content/dkim/domain-signers.ts';
import type { DkimSigner } from '../../src/delivery/content/dkim/sign.ts';
import type { PreparePool } from '../../src/delivery/content/mime/prepare-pool.ts';
import { createSmtpProvider } from '../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createEmailChannel, type EmailChannelSettings } from '../../src/delivery/sender/email/hand-over.ts';
import type { ProviderChannel } from '../../src/delivery/sender/compose/provider-channel.ts';
import type { LinkTracker } from '../../src/delivery/content/mime/tracked-links.ts';
import type { FollowProviders } from '../../src/delivery/sender/loop/named-shares.ts';
import { createSender, type LetterSending } from '../../src/delivery/sender/loop/loop.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createWaker } from '../../src/platform/db/wake.ts';
import type { LiveProcess } from '../../src/platform/processes/process.ts';
import type { QueueLoop } from '../../src/platform/queue/loop.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { testEvents } from './events.ts';
import { eventually } from './eventually.ts';
import { testPulse } from './pulse.ts';
import { registerTestProcess } from './test-process.ts';

export interface ReceivedMail {
  from: string;
  to: string;
  raw: string;
}

export interface TestSmtpServer {
  port: number;
  received: ReceivedMail[];
  /** Decide the replies to MAIL, RCPT and the message; `null` accepts. A test may change them at any time. */
  answers: {
    mail?: (from: string) => string | null;
    rcpt?: (to: string) => string | null;
    body?: (mail: ReceivedMail) => string | null;
    /** Whether to end the connection instead of replying to RCPT, or in the middle of the body. */
    drop?: (stage: 'mail' | 'rcpt' | 'body', address: string) => boolean;
  };
  stop(): Promise<void>;
  /** Ends all connections at once, and stops the server. */
  crash(): Promise<void>;
}

function refusal(text: string): Error {
  const [code, ...rest] = text.split(' ');
  return Object.assign(new Error(rest.join(' ')), { responseCode: Number(code) });
}

/** The internals of a connection of `smtp-server`. */
interface OpenConnection {
  id: string;
  _socket: Socket;
}

function openConnections(server: SMTPServer): OpenConnection[] {
  return [...(server as unknown as { connections: Set<OpenConnection> }).connections];
}

/** Starts a real SMTP server that keeps the mails it accepts. */
export async function startSmtpServer(options: SMTPServerOptions = {}, port = 0): Promise<TestSmtpServer> {
  const received: ReceivedMail[] = [];
  const answers: TestSmtpServer['answers'] = {};
  const decide = (answer: string | null | undefined, done: (error?: Error | null) => void) =>
    answer ? done(refusal(answer)) : done();
  const drops = (stage: 'mail' | 'rcpt' | 'body', address: string, session: SMTPServerSession): boolean => {
    if (!answers.drop?.(stage, address)) return false;
    openConnections(server)
      .find(({ id }) => id === session.id)
      ?._socket.destroy();
    return true;
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onMailFrom: (address, session, done) =>
      drops('mail', address.address, session) || decide(answers.mail?.(address.address), done),
    onRcptTo: (address, session, done) =>
      drops('rcpt', address.address, session) || decide(answers.rcpt?.(address.address), done),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.once('data', () => drops('body', session.envelope.rcptTo[0]?.address ?? '', session));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo[0]?.address ?? '',
          raw: Buffer.concat(chunks).toString('utf8'),
        };
        const answer = answers.body?.(mail);
        if (!answer) received.push(mail);
        decide(answer, done);
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    answers,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
    crash: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const { _socket: socket } of openConnections(server)) socket.destroy();
      }),
  };
}

export interface TestSender {
  sender: QueueLoop;
  process: LiveProcess;
  stop(): Promise<void>;
}

export interface TestSenderOptions {
  url: string;
  port: number;
  connections?: number;
  signers?: readonly DkimSigner[];
  domains?: SendingDomains;
  channel?: ProviderChannel;
  /** Instead of `channel`. */
  channels?: ProviderChannel[];
  followProviders?: FollowProviders;
  letters?: LetterSending;
  /** Returns what it uses instead of its pool. */
  wrapPool?: (pool: pg.Pool) => pg.Pool;
  /** How long it pauses a provider after its first fault; by default a twentieth of a real sender's pause. */
  firstBackoffMs?: number;
}

/** Signs the return paths of a test sender. */
export const TEST_RETURN_PATH_KEY = Buffer.alloc(32, 1);

export const TEST_LIMITS = {
  allowance_free: 1_000,
  allowance_paid: 50_000,
  allowance_trusted: 1_000_000,
  sandbox_monthly_cap: 100,
  pacing_per_minute: 0,
  monthly_emails_free: 0,
  monthly_emails_paid: 0,
  monthly_emails_trusted: 0,
};

/** An email channel whose provider refuses each message temporarily, once `answered` resolves. */
export function slowChannel(answered: Promise<unknown>): ProviderChannel {
  return {
    channel: 'email',
    providerId: DEFAULT_PROVIDER,
    provider: 'slow',
    reportSeconds: 0,
    concurrency: 2,
    async handOver(batch) {
      await answered;
      return batch.map(() => ({ kind: 'deferred', response: '450 later' }));
    },
    close: () => Promise.resolve(),
  };
}

/** How test channels compose emails. */
export function emailSettings(
  options: {
    signers?: readonly DkimSigner[] | undefined;
    domains?: SendingDomains | undefined;
    links?: LinkTracker | undefined;
  } = {},
): EmailChannelSettings {
  return {
    mailDomain: 'mail.test',
    returnPathKey: TEST_RETURN_PATH_KEY,
    referenceKey: Buffer.alloc(32, 2),
    signersFor: (_domain: string, sending: SendingDomain | null) => sending?.signers ?? options.signers ?? [],
    ...(options.domains ? { domains: options.domains } : {}),
    ...(options.links ? { links: options.links } : {}),
  };
}

/** An email channel to an SMTP server on this machine. */
export function testEmailChannel(options: {
  port: number;
  connections?: number | undefined;
  signers?: readonly DkimSigner[] | undefined;
  links?: LinkTracker | undefined;
  domains?: SendingDomains | undefined;
  threads?: PreparePool;
}): ProviderChannel {
  const provider = createSmtpProvider({
    target: { host: '127.0.0.1', port: options.port, security: 'none', clientName: 'mail.test' },
    connections: options.connections ?? 2,
  });
  return createEmailChannel(
    provider,
    emailSettings(options),
    options.threads ? { threads: options.threads } : {},
  );
}

/** Starts the send loop like the sender role does, but in this process, with an SMTP server on this machine. */
export async function startTestSender(options: TestSenderOptions): Promise<TestSender> {
  const databaseOptions = { url: options.url, poolMax: 8, keyedPlans: true };
  const { port, connections } = options;
  const database = openDatabase(databaseOptions);
  const waker = createWaker(databaseOptions);
  const process = await registerTestProcess(databaseOptions);
  const channels = options.channels ?? [
    options.channel ??
      testEmailChannel({ port, connections, signers: options.signers, domains: options.domains }),
  ];
  const log = pino({ level: 'silent' });
  const sender = createSender({
    pool: options.wrapPool?.(database.pool) ?? database.pool,
    process,
    waker,
    pulse: testPulse(database.pool, { self: () => process.id() }),
    channels,
    ...(options.followProviders ? { followProviders: options.followProviders } : {}),
    ...(options.letters ? { letters: options.letters } : {}),
    limits: TEST_LIMITS,
    keyring: createKeyring('a secret of the tests that is long enough'),
    events: testEvents,
    firstBackoffMs: options.firstBackoffMs ?? 50,
    log,
  });
  sender.start();
  return {
    sender,
    process,
    async stop() {
      await sender.stop();
      await process.close();
      await waker.close();
      await database.close();
    },
  };
}

/** Waits until the server has at least this many mails. */
export function receivedAtLeast(server: TestSmtpServer, count: number): Promise<void> {
  return eventually(() => {
    if (server.received.length < count)
      throw new Error(`${server.received.length} of ${count} mails arrived`);
  });
}
