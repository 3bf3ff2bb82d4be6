import net, { type LookupFunction, type Socket } from 'node:net';
import tls from 'node:tls';
import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import type { SmtpTarget } from './contract.ts';

const CONNECT_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 60_000;

/** Connects, with TLS from the first byte if the target says so. */
export async function openSocket(target: SmtpTarget, lookup?: LookupFunction): Promise<Socket> {
  const socket = net.connect({
    host: target.host,
    port: target.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    ...(lookup ? { lookup } : {}),
  });
  await ready(socket, 'connect', 'connect', target);
  return target.security === 'implicit' ? secureSocket(socket, target, 'connect') : socket;
}

/** Starts TLS on a connection. The certificate must be for the target's host and from a trusted authority. */
export async function secureSocket(socket: Socket, target: SmtpTarget, stage: SmtpStage): Promise<Socket> {
  const servername = target.tls?.servername ?? target.host;
  const secured = tls.connect({
    socket,
    host: servername,
    rejectUnauthorized: true,
    // The certificate must match an IP address, too, but SNI must not contain one (RFC 6066 §3).
    ...(net.isIP(servername) === 0 ? { servername } : {}),
    ...(target.tls?.ca === undefined ? {} : { ca: target.tls.ca }),
  });
  // From now on, the TLS socket reports the connection's errors, and destroying it closes both.
  socket.on('error', () => undefined);
  await ready(secured, 'secureConnect', stage, target);
  return secured;
}

function ready(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  stage: SmtpStage,
  target: SmtpTarget,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (message: string, cause?: unknown): void => {
    socket.destroy();
    reject(new SmtpConnectionError(stage, message, { cause }));
  };
  const onError = (error: Error): void => fail(messageOf(error), error);
  const onClose = (): void => fail('the server closed the connection');
  const timer = setTimeout(() => fail('connection timed out'), target.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
  socket.once('error', onError).once('close', onClose).once(event, resolve);
  // The socket is being destroyed; without a listener, a second error would end the process.
  void promise.then(
    () => socket.off('error', onError),
    () => socket.on('error', () => undefined),
  );
  return promise.finally(() => {
    clearTimeout(timer);
    socket.off('close', onClose).off(event, resolve);
  });
}

/** If several addresses were tried, their errors are wrapped in one error without a message. */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError)) return error.message;
  return error.errors.map((each) => (each as Error).message).join('; ');
}
