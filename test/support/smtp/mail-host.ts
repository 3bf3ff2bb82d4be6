import net, { type AddressInfo, type Socket } from 'node:net';

/**
 * A mail host's reply, without the line end. `hang`: never replies; `drop`: closes the connection; a function writes
 * the reply itself.
 */
export type MailHostReply = string | ((socket: Socket) => void);

export interface MailHostBehaviour {
  banner?: MailHostReply;
  mail?: MailHostReply;
  rset?: MailHostReply;
  /** @param nth the number of times that this recipient has been asked about, starting at 1 */
  rcpt?: (address: string, nth: number) => MailHostReply;
}

/** A mail server on loopback that supports as much SMTP as a probe needs. */
export interface MailHost {
  port: number;
  /** Every command, in order of arrival. */
  commands: string[];
  /** Recipients that were asked about. */
  recipients: string[];
  connections: number;
  /** Maximum number of simultaneous connections. */
  mostAtOnce: number;
  close(): Promise<void>;
}

const ACCEPT = '250 2.0.0 Ok';

function reply(socket: Socket, what: MailHostReply): void {
  if (what === 'hang') return;
  if (typeof what === 'function') what(socket);
  else if (what === 'drop') socket.destroy();
  else socket.write(`${what}\r\n`);
}

export async function startMailHost(behaviour: MailHostBehaviour = {}): Promise<MailHost> {
  const sockets = new Set<Socket>();
  const asked = new Map<string, number>();
  const host = {
    port: 0,
    commands: [] as string[],
    recipients: [] as string[],
    connections: 0,
    mostAtOnce: 0,
  };
  const obey = (socket: Socket, command: string): void => {
    host.commands.push(command);
    if (/^QUIT/i.test(command)) {
      sockets.delete(socket);
      return void socket.end('221 2.0.0 Bye\r\n');
    }
    if (/^EHLO/i.test(command)) return reply(socket, '250-host.test\r\n250 PIPELINING');
    if (/^MAIL/i.test(command)) return reply(socket, behaviour.mail ?? ACCEPT);
    if (/^RSET/i.test(command)) return reply(socket, behaviour.rset ?? ACCEPT);
    const recipient = /^RCPT TO:<(.*)>$/i.exec(command)?.[1];
    if (recipient === undefined) return reply(socket, ACCEPT);
    host.recipients.push(recipient);
    asked.set(recipient, (asked.get(recipient) ?? 0) + 1);
    reply(socket, behaviour.rcpt?.(recipient, asked.get(recipient) ?? 1) ?? ACCEPT);
  };
  const server = net.createServer((socket) => {
    sockets.add(socket);
    host.connections += 1;
    host.mostAtOnce = Math.max(host.mostAtOnce, sockets.size);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('utf8');
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const command = text.slice(0, end);
        text = text.slice(end + 2);
        obey(socket, command);
      }
    });
    reply(socket, behaviour.banner ?? '220 host.test ESMTP');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host.port = (server.address() as AddressInfo).port;
  return Object.assign(host, {
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
