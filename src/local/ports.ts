import { createServer, type Server } from 'node:net';
import { LocalError, systemCode } from './local-error.ts';

function listen(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function probe(port: number, host: string): Promise<number> {
  const server = await listen(port, host);
  const found = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return found;
}

/** A port nobody listens on at this moment. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return probe(0, host);
}

/**
 * Make sure that a port can be listened on.
 * @param port 0 takes any free one
 * @param setting the setting that names the port, for the error
 * @returns the port
 * @throws LocalError where it is taken or not allowed
 */
export async function claimPort(port: number, setting: string, host = '127.0.0.1'): Promise<number> {
  try {
    return await probe(port, host);
  } catch (error) {
    const code = systemCode(error);
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${code})`;
    throw new LocalError(
      `port ${port} on ${host} ${reason}: stop that program, or set ${setting} to another port`,
      {
        cause: error,
      },
    );
  }
}
