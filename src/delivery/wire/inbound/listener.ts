import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SMTPServer, SMTPServerOptions } from 'smtp-server';
import { createProxyCheck } from '../../../platform/auth/client-address.ts';
import { createArrivalRates, type MaxMails } from './arrival-rates.ts';
import { createConnectionLimits } from '../listening/connections.ts';
import { LimitedServer } from '../listening/limited-server.ts';
import type { TlsPair } from '../listening/tls-files.ts';
import { MAX_MAIL_BYTES } from './inboxes.ts';
import { createReceiver, type ReceiverOptions } from './receiver.ts';

export interface MailListenerOptions extends Omit<ReceiverOptions, 'rates'> {
  host: string;
  /** 0: a free port. */
  port: number;
  /** Null: no STARTTLS. */
  tls: TlsPair | null;
  /** CIDRs or addresses of proxies, which announce their client with the PROXY protocol. None by default. */
  trustedProxies?: readonly string[];
  /** How long {@link MailListener.stop} waits for mails in progress, in ms. */
  graceMs: number;
  limits?: Partial<ListenerLimits>;
}

export interface ListenerLimits extends MaxMails {
  /** Maximum size of a message. Only its beginning is kept in memory. */
  bytes: number;
  /** Maximum number of connections. A new one takes the place of the one whose last message is the longest ago. */
  connections: number;
  /** Of one IPv4 address or one IPv6 /48. */
  connectionsPerNetwork: number;
  recipients: number;
  /** How long a client may send nothing. */
  idleMs: number;
  /** How long a client may take from connecting, or from its last message, to DATA. */
  untilDataMs: number;
  lifetimeMs: number;
}

const DEFAULT_LIMITS: ListenerLimits = {
  bytes: MAX_MAIL_BYTES,
  connections: 200,
  connectionsPerNetwork: 20,
  recipients: 20,
  idleMs: 60_000,
  untilDataMs: 2 * 60_000,
  lifetimeMs: 15 * 60_000,
  senderPerMinute: 60,
  networkPerMinute: 600,
};

export interface MailListener {
  port: number;
  /** Uses another certificate from the next handshake on, if there was one. */
  useTls(pair: TlsPair): void;
  /** Refuses new connections, finishes the mails in progress, and closes. */
  stop(): Promise<void>;
}

function createServer(options: MailListenerOptions, limits: ListenerLimits): SMTPServer {
  const { mailDomain, tls, log } = options;
  const receiver = createReceiver({ ...options, rates: createArrivalRates(limits) });
  const connections = createConnectionLimits({
    total: limits.connections,
    perNetwork: limits.connectionsPerNetwork,
    untilDataMs: limits.untilDataMs,
    lifetimeMs: limits.lifetimeMs,
    report: (facts) => log.warn(facts, 'smtp connections refused: all others are sending messages'),
  });
  const serverOptions: SMTPServerOptions = {
    name: mailDomain,
    banner: 'Carillon',
    // There is no login: mail is accepted only for our own addresses, so nothing is relayed.
    disabledCommands: tls === null ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...(tls ?? {}),
    size: limits.bytes,
    maxRecipients: limits.recipients,
    socketTimeout: limits.idleMs,
    closeTimeout: options.graceMs,
    disableReverseLookup: true,
    lenientAddressParsing: true,
    hideENHANCEDSTATUSCODES: true,
    logger: false,
    onRcptTo: (address, session, done) =>
      void receiver.admit(address, session).then(
        () => done(),
        (error: Error) => done(error),
      ),
    onData(stream, session, done) {
      connections.dataBegan(session.id);
      void receiver
        .receive(stream, session)
        .finally(() => connections.dataEnded(session.id))
        .then(
          () => done(null, '2.0.0 recorded'),
          (error: Error) => done(error),
        );
    },
    onClose: (session) => connections.closed(session.id),
  };
  return new LimitedServer(serverOptions, {
    isProxy: createProxyCheck(options.trustedProxies ?? []),
    connections,
    pending: { total: limits.connections, perNetwork: limits.connectionsPerNetwork },
  });
}

/**
 * Listens for mail to the addresses of this installation only. A message is accepted once everything that it reports is
 * committed, and it is stored for each inbox; while the database or the storage is unavailable, senders are asked to
 * retry later (451).
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
    useTls: (pair) => server.updateSecureContext({ ...pair }),
    stop: () => new Promise((done) => server.close(() => done())),
  };
}
