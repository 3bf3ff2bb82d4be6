import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { LocalError, systemCode } from './local-error.ts';

function listen(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

/**
 * Free ports are picked from this range, which is below the system's ephemeral ports: the system could give one of
 * those to another program before the child process listens on it.
 */
const FREE_FROM = 20_000;
const FREE_BELOW = 32_000;
const MAX_TRIES = 20;

async function listenOnFree(host: string): Promise<Server> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const server = await listen(randomInt(FREE_FROM, FREE_BELOW), host).catch(() => null);
    if (server) return server;
  }
  return listen(0, host);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}

/** A port that a child process will listen on. */
export interface PortClaim {
  /** 0 for any free port. */
  port: number;
  /** The setting of this port, named in errors. */
  setting: string;
  /** 127.0.0.1 by default. */
  host?: string;
}

async function tryPort({ port, setting, host = '127.0.0.1' }: PortClaim): Promise<Server> {
  try {
    return await (port === 0 ? listenOnFree(host) : listen(port, host));
  } catch (error) {
    const code = systemCode(error);
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${code})`;
    throw new LocalError(
      `port ${port} on ${host} ${reason}: stop that program, or set ${setting} to another port`,
      { cause: error },
    );
  }
}

/**
 * Checks that ports are free. Listens on all of them at once, so that no two are the same.
 * @returns the ports, in order
 * @throws LocalError with one line for each port that is taken or not allowed
 */
export async function claimPorts(claims: PortClaim[]): Promise<number[]> {
  const attempts = await Promise.allSettled(claims.map(tryPort));
  const servers = attempts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const ports = servers.map(portOf);
  await Promise.all(servers.map(close));
  const refused = attempts.flatMap((one) => (one.status === 'rejected' ? [one.reason as LocalError] : []));
  if (refused.length > 0) {
    throw new LocalError(refused.map((error) => error.message).join('\n'), { cause: refused[0] });
  }
  return ports;
}

/** {@link claimPorts} for one port. */
export async function claimPort(port: number, setting: string, host?: string): Promise<number> {
  const [claimed] = await claimPorts([{ port, setting, host }]);
  return claimed as number;
}
