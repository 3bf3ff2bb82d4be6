import { afterEach } from '@jest/globals';
import { connectSmtp } from '../../../src/delivery/wire/smtp/client.ts';
import type { SmtpConnection, SmtpSubmission, SmtpTarget } from '../../../src/delivery/wire/smtp/contract.ts';
import { startScriptedServer, type Cut, type Script, type ScriptedServer } from './scripted-server.ts';

export const PIPELINING = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'SIZE 1000000'];

/** Scripted servers and connections for a test file. Both end with each test. */
export interface Conversations {
  serve: (script: Script, cut?: Cut) => Promise<ScriptedServer>;
  connect: (server: { port: number }, target?: Partial<SmtpTarget>) => Promise<SmtpConnection>;
  /** Starts a server with PIPELINING and connects to it. The script begins after EHLO. */
  talk: (script: Script, target?: Partial<SmtpTarget>) => Promise<SmtpConnection>;
}

/** Call this at the top of a test file. */
export function conversations(): Conversations {
  const servers: ScriptedServer[] = [];
  const connections: SmtpConnection[] = [];

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.destroy();
    for (const server of servers.splice(0)) await server.close();
  });

  const serve = async (script: Script, cut?: Cut): Promise<ScriptedServer> => {
    const server = await startScriptedServer(script, cut);
    servers.push(server);
    return server;
  };
  const connect = async (
    { port }: { port: number },
    target: Partial<SmtpTarget> = {},
  ): Promise<SmtpConnection> => {
    const connection = await connectSmtp({ ...loopback(port), ...target });
    connections.push(connection);
    return connection;
  };
  return {
    serve,
    connect,
    async talk(script, target) {
      const server = await serve(async (peer) => {
        await peer.greet(...PIPELINING);
        await script(peer);
      });
      return connect(server, target);
    },
  };
}

export function loopback(port: number): SmtpTarget {
  return { host: '127.0.0.1', port, security: 'none', clientName: 'client.invalid' };
}

/** A submission to `recipient<n>@example.net` with `n` in its text. */
export function submission(n: number, changes: Partial<SmtpSubmission> = {}): SmtpSubmission {
  return {
    from: `bounce+${n}@example.com`,
    to: `recipient${n}@example.net`,
    smtpUtf8: false,
    eightBit: false,
    data: Buffer.from(`Subject: ${n}\r\n\r\nText ${n}\r\n`),
    ...changes,
  };
}

/** The data of `submission(n)` in the form that is sent. */
export function onWire(n: number): string {
  return `Subject: ${n}\r\n\r\nText ${n}\r\n.\r\n`;
}
