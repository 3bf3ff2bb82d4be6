import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { createProxyCheck } from '../../../platform/auth/client-address.ts';
import type { FigureSource } from '../../../platform/http/operators.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { type ConnectionLimits, createConnectionLimits } from '../listening/connections.ts';
import { LimitedServer } from '../listening/limited-server.ts';
import type { TlsPair } from '../listening/tls-files.ts';
import { createSubmissionCounts, type SubmissionCounts } from './counts.ts';
import { createDialogue, type Dialogue, isLoopback } from './dialogue.ts';
import { createLogins, type LoginDeps } from './login.ts';
import type { Submit } from './port.ts';
import { createSubmissionRate, type RateLimits, type SubmissionRate } from './rate.ts';
import { replyTo, replyText } from './replies.ts';
import { createSpool } from './spool.ts';

export interface SubmissionListenerOptions {
  host: string;
  /** Ports with STARTTLS, and ports with TLS from the first byte. 0: a free port. */
  ports: readonly number[];
  tlsPorts: readonly number[];
  /** Null: no TLS, so logins only if `clearLogins` allows them. */
  tls: TlsPair | null;
  /** CIDRs or addresses of proxies, which announce their client with the PROXY protocol, version 1. */
  trustedProxies: readonly string[];
  /** Whether programs of this machine may log in without TLS. Only if the host is loopback, and no proxy is trusted. */
  clearLogins: boolean;
  /** The name in the greeting. */
  mailDomain: string;
  findKey: LoginDeps['findKey'];
  limits: RateLimits;
  /** Maximum number of requests per second of a key without a limit of its own; 0: no limit. */
  ratePerKey: number;
  submit: Submit;
  store: BlobStore;
  maxBytes: number;
  /** Maximum number of connections, of all and of one network. */
  connections: number;
  connectionsPerNetwork: number;
  /** How long {@link SubmissionListener.stop} waits for mails in progress, in ms. */
  graceMs: number;
  log: Logger;
}

export interface SubmissionListener {
  /** The ports, in the order of the options. */
  ports: number[];
  tlsPorts: number[];
  /** Uses another certificate from the next handshake on. */
  useTls(pair: TlsPair): void;
  figures: FigureSource[];
  /** Refuses new connections, finishes the mails in progress, and closes. */
  stop(): Promise<void>;
}

/** Without any bytes while a mail arrives. Between mails, `UNTIL_DATA_MS` ends a connection earlier. */
const IDLE_MS = 10 * 60_000;
/** Until the first or the next mail begins. */
const UNTIL_DATA_MS = 2 * 60_000;
const LIFETIME_MS = 60 * 60_000;
/** Maximum number of commands of a client that has not logged in. */
const MAX_UNAUTHENTICATED_COMMANDS = 20;

/** What the servers of all ports share. */
interface Shared {
  options: SubmissionListenerOptions;
  dialogue: Dialogue;
  connections: ConnectionLimits;
  counts: SubmissionCounts;
  /** The sessions that send a mail, or wait for the reply. */
  busy: Set<string>;
  stopped: boolean;
}

/** A step of a session, as the library wants it. */
const step = <Result>(
  work: Promise<Result>,
  done: (error: Error | null, result?: Result) => void,
  { log }: SubmissionListenerOptions,
) =>
  void work.then(
    (result) => done(null, result),
    (error: unknown) => done(replyTo(error, log)),
  );

const codeOf = (error: Error | null) => (error as { responseCode?: number } | null)?.responseCode ?? 0;

/** Options of the library that are the same for all sessions. */
function fixedOptions(options: SubmissionListenerOptions, isTls: boolean): SMTPServerOptions {
  return {
    name: options.mailDomain,
    banner: 'Carillon',
    secure: isTls,
    ...options.tls,
    // A session without TLS offers AUTH only if `clearLogins` allows it.
    allowInsecureAuth: true,
    authMethods: ['PLAIN', 'LOGIN'],
    authRequiredMessage: '5.7.0 Authentication required',
    hideENHANCEDSTATUSCODES: true,
    hideDSN: true,
    hideREQUIRETLS: true,
    size: options.maxBytes,
    socketTimeout: IDLE_MS,
    closeTimeout: options.graceMs,
    maxAllowedUnauthenticatedCommands: MAX_UNAUTHENTICATED_COMMANDS,
    disableReverseLookup: true,
    lenientAddressParsing: true,
    logger: false,
  };
}

type HangUp = (session: SMTPServerSession, text: string | null) => void;
type Handlers = Required<
  Pick<
    SMTPServerOptions,
    'onConnect' | 'onSecure' | 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData' | 'onClose'
  >
>;

function handlersOf(shared: Shared, hangUp: HangUp): Handlers {
  const { options, dialogue, connections, counts, busy } = shared;
  return {
    onConnect(session, done) {
      dialogue.connected(session);
      done();
    },
    onSecure(_socket, session, done) {
      dialogue.connected(session);
      done();
    },
    onAuth(auth, session, done) {
      const ended = (error: Error | null, user?: string) => {
        counts.replied('login', error ? codeOf(error) : 235);
        done(error, { user });
      };
      step(dialogue.authenticate(auth, session), ended, options);
    },
    onMailFrom(address, session, done) {
      const ended = (error: Error | null) => {
        done(error);
        // The key of the login has been revoked since.
        if (codeOf(error) === 535) hangUp(session, null);
      };
      step(dialogue.from(address, session), ended, options);
    },
    onRcptTo: (address, session, done) => step((async () => dialogue.to(address, session))(), done, options),
    onData(stream, session, done) {
      connections.dataBegan(session.id);
      busy.add(session.id);
      const ended = (error: Error | null, reply?: string) => {
        connections.dataEnded(session.id);
        busy.delete(session.id);
        counts.replied('mail', error ? codeOf(error) : 250);
        done(error, reply);
        if (shared.stopped) hangUp(session, '4.3.2 this server is stopping; connect again');
      };
      step(dialogue.data(stream, session).then(replyText), ended, options);
    },
    onClose: (session) => connections.closed(session.id),
  };
}

function createServer(shared: Shared, isTls: boolean): LimitedServer {
  const { options, connections } = shared;
  const handlers = handlersOf(shared, (session, text) => server.hangUp(session.id, text));
  const server: LimitedServer = new LimitedServer(
    { ...fixedOptions(options, isTls), ...handlers },
    {
      isProxy: createProxyCheck(options.trustedProxies),
      connections,
      pending: { total: options.connections, perNetwork: options.connectionsPerNetwork },
    },
  );
  // Also emitted for connections that clients abort, which is not an error on our side.
  server.on('error', (error: Error) => options.log.debug({ err: error }, 'smtp connection'));
  return server;
}

/** @returns the port. @throws the system's error if the port is taken */
async function listen(server: LimitedServer, port: number, host: string): Promise<number> {
  const listening = once(server.server, 'listening');
  server.listen(port, host);
  await listening;
  return (server.server.address() as AddressInfo).port;
}

const isLoopbackHost = (host: string) => host === 'localhost' || isLoopback(host);

function createShared(options: SubmissionListenerOptions, rate: SubmissionRate): Shared {
  const { host, tls, log } = options;
  const counts = createSubmissionCounts();
  return {
    options,
    counts,
    dialogue: createDialogue({
      ...options,
      logins: createLogins(options),
      spool: createSpool(options),
      rate,
      burstOf: options.limits.burstOf,
      clearLogins: options.clearLogins && isLoopbackHost(host) && options.trustedProxies.length === 0,
      offersTls: tls !== null,
      counts,
    }),
    connections: createConnectionLimits({
      total: options.connections,
      perNetwork: options.connectionsPerNetwork,
      untilDataMs: UNTIL_DATA_MS,
      lifetimeMs: LIFETIME_MS,
      report: (facts) => log.warn(facts, 'smtp connections refused: all others are sending messages'),
    }),
    busy: new Set(),
    stopped: false,
  };
}

/**
 * Listens for mail from programs that log in with an API key. A mail is accepted once it is committed; while the database
 * or the storage is unavailable, programs are asked to retry later (451).
 * @throws the system's error if a port is taken; then none is open
 */
export async function startSubmissionListener(
  options: SubmissionListenerOptions,
): Promise<SubmissionListener> {
  const { host } = options;
  const rate = createSubmissionRate(options.limits);
  const shared = createShared(options, rate);
  const plain = options.ports.map((port) => ({ port, server: createServer(shared, false) }));
  const overTls = options.tlsPorts.map((port) => ({ port, server: createServer(shared, true) }));
  const servers = [...plain, ...overTls].map(({ server }) => server);
  async function stop(): Promise<void> {
    shared.stopped = true;
    rate.stop();
    await Promise.all(servers.map((server) => server.stop((id) => shared.busy.has(id))));
  }
  try {
    return {
      ports: await Promise.all(plain.map(({ port, server }) => listen(server, port, host))),
      tlsPorts: await Promise.all(overTls.map(({ port, server }) => listen(server, port, host))),
      useTls: (pair) => servers.forEach((server) => server.updateSecureContext({ ...pair })),
      figures: shared.counts.sources,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
