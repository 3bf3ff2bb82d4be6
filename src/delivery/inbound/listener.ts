import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { areTiny, GrowingBuffer } from '../../platform/input/growing-buffer.ts';
import { createConnectionLimits, networkOf } from './connections.ts';
import type { NewOperatorMail } from './operator-mails.ts';
import { type InboundRecipient, findRecipient, type MailKeys } from './recipients.ts';
import type { RecordReport } from './record-reports.ts';
import { reportFacts } from './report-facts.ts';
import { type InboundMail, MAX_READ_BYTES, readReport } from './report.ts';

export interface MailListenerOptions {
  host: string;
  /** 0: a free port. */
  port: number;
  /** `MAIL_DOMAIN`: the name in the greeting, and the domain of the operator's mailboxes. */
  mailDomain: string;
  keys: MailKeys;
  record: RecordReport;
  /** Stores a mail for the operator. */
  keep: (mail: NewOperatorMail) => Promise<void>;
  /** PEM; null: no STARTTLS. */
  tls: { key: string; cert: string } | null;
  /** How long {@link MailListener.stop} waits for mails in progress, in ms. */
  graceMs: number;
  log: Logger;
  limits?: Partial<ListenerLimits>;
}

export interface ListenerLimits {
  /** Maximum size of a message. A bounce may return the complete message; only its beginning is kept in memory. */
  bytes: number;
  connections: number;
  /** Maximum number of connections from one IPv4 address or one IPv6 /48. */
  connectionsPerNetwork: number;
  recipients: number;
  /** How long a client may send nothing. */
  idleMs: number;
  /** How long a client may take from connecting, or from its last message, to DATA. */
  untilDataMs: number;
  lifetimeMs: number;
}

const DEFAULT_LIMITS: ListenerLimits = {
  bytes: 32 * 1024 * 1024,
  connections: 200,
  connectionsPerNetwork: 20,
  recipients: 20,
  idleMs: 60_000,
  untilDataMs: 2 * 60_000,
  lifetimeMs: 15 * 60_000,
};

export interface MailListener {
  port: number;
  /** Refuses new connections, finishes the mails in progress, and closes. */
  stop(): Promise<void>;
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/**
 * Reads a message to its end and returns its beginning.
 * @throws 421, after which the connection closes, if it arrives in tiny pieces
 */
async function readHead(stream: SMTPServerDataStream): Promise<Buffer> {
  const head = new GrowingBuffer(MAX_READ_BYTES);
  let bytes = 0;
  let pieces = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    bytes += piece.length;
    pieces += 1;
    if (areTiny(pieces, bytes)) throw refusal(421, '4.7.0 the message arrives in too many tiny pieces');
    if (head.length < MAX_READ_BYTES) head.append(piece.subarray(0, MAX_READ_BYTES - head.length));
  }
  return head.toBuffer();
}

interface Received {
  mail: InboundMail;
  /** The network of the client. */
  network: string;
  recipients: InboundRecipient[];
}

/** Reasons why a mail is not a report that do not rule out that a person wrote it. */
const forPeople = new Set(['no_report', 'unreadable', 'auto_reply']);

async function process({ mail, network, recipients }: Received, options: MailListenerOptions): Promise<void> {
  const { keys, record, keep, log } = options;
  const report = await readReport(mail);
  const facts = reportFacts(report, recipients, keys, new Date());
  const recorded = await record(facts);
  const mailbox = recipients.find((one) => one.kind === 'mailbox')?.name;
  if (mailbox && report.kind === 'none' && forPeople.has(report.reason))
    await keep({ mailbox, network, head: mail.head });
  log.info(
    {
      report: report.kind,
      ...(report.kind === 'none' ? { reason: report.reason } : {}),
      mailboxes: recipients.map((one) => (one.kind === 'mailbox' ? one.name : one.kind)),
      message_ids: facts.map(({ messageId }) => messageId),
      recorded,
    },
    'mail received',
  );
}

function envelopeOf(session: SMTPServerSession, { mailDomain, keys }: MailListenerOptions) {
  const { mailFrom, rcptTo } = session.envelope;
  const recipients = rcptTo.flatMap(({ address }) => findRecipient(address, mailDomain, keys) ?? []);
  const feedbackLoop = recipients.some((one) => one.kind === 'mailbox' && one.name === 'fbl');
  return { envelopeFrom: mailFrom === false ? '' : mailFrom.address, recipients, feedbackLoop };
}

/** Receives a message. Accepts it once everything that it reports is committed. */
async function receive(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  options: MailListenerOptions,
): Promise<void> {
  const head = await readHead(stream);
  if (stream.sizeExceeded) throw refusal(552, '5.3.4 the message is too large');
  const { recipients, ...envelope } = envelopeOf(session, options);
  try {
    const network = networkOf(session.remoteAddress);
    await process({ mail: { head, ...envelope }, network, recipients }, options);
  } catch (error) {
    options.log.warn({ err: error }, 'mail not recorded; its sender will retry');
    throw refusal(451, '4.3.0 the report cannot be recorded now; try again later');
  }
}

function createServer(options: MailListenerOptions, limits: ListenerLimits): SMTPServer {
  const { mailDomain, keys, tls } = options;
  const connections = createConnectionLimits({
    perNetwork: limits.connectionsPerNetwork,
    untilDataMs: limits.untilDataMs,
    lifetimeMs: limits.lifetimeMs,
  });
  const server = new SMTPServer({
    name: mailDomain,
    banner: 'Carillon',
    // There is no login: mail is accepted only for our own addresses, so nothing is relayed.
    disabledCommands: tls === null ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...(tls ?? {}),
    size: limits.bytes,
    maxClients: limits.connections,
    maxRecipients: limits.recipients,
    socketTimeout: limits.idleMs,
    closeTimeout: options.graceMs,
    disableReverseLookup: true,
    lenientAddressParsing: true,
    hideENHANCEDSTATUSCODES: true,
    logger: false,
    onConnect: (session, done) =>
      connections.exceeded(session.remoteAddress)
        ? done(refusal(421, '4.7.0 too many connections from your network'))
        : done(),
    onRcptTo: ({ address }, _session, done) =>
      findRecipient(address, mailDomain, keys) ? done() : done(refusal(550, '5.1.1 no such mailbox here')),
    onData(stream, session, done) {
      connections.dataBegan(session);
      void receive(stream, session, options)
        .finally(() => connections.dataEnded(session))
        .then(
          () => done(null, '2.0.0 recorded'),
          (error: Error) => done(error),
        );
    },
  });
  server.server.on('connection', (socket: Socket) => connections.admit(socket));
  return server;
}

/**
 * Listens for mail to the addresses of this installation only. A message is accepted once everything that it reports is
 * committed; while the database is unavailable, senders are asked to retry later (451).
 * @throws the system's error if the port is taken
 */
export async function startMailListener(options: MailListenerOptions): Promise<MailListener> {
  const server = createServer(options, { ...DEFAULT_LIMITS, ...options.limits });
  // Also emitted for connections that clients abort, which is not an error on our side.
  server.on('error', (error: Error) => options.log.debug({ err: error }, 'smtp connection'));
  const listening = once(server.server, 'listening');
  server.listen(options.port, options.host);
  await listening;
  return {
    port: (server.server.address() as AddressInfo).port,
    stop: () => new Promise((done) => server.close(() => done())),
  };
}
