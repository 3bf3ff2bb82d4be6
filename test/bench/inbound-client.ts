/** Mail servers that deliver mail to the mail role, from many addresses of the loopback network. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** A mail with its envelope. */
export interface DeliveredMail {
  from: string;
  to: string;
  /** Ends with CRLF, and no line begins with a dot. */
  data: Buffer;
}

/** Number of mails on each connection: mail servers seldom have more for the same host. */
const MAILS_PER_CONNECTION = 10;
/** Number of addresses that the mail servers have, each of which is a network of its own. */
const SERVERS = 200;

/** Sends commands at once, as servers do (RFC 2920). @throws Error unless the replies have the expected codes */
export type Ask = (commands: string | Buffer, ...codes: string[]) => Promise<void>;

export interface MailConnection {
  ask: Ask;
  end: () => void;
}

function openConnection(port: number, server: number): Promise<MailConnection> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.1.${1 + (server % SERVERS)}` });
  return speakOver(socket, 'connect');
}

/** @param connected the event after which the server greets */
export async function speakOver(
  socket: Socket,
  connected: 'connect' | 'secureConnect',
): Promise<MailConnection> {
  socket.setNoDelay(true);
  const lines = createInterface({ input: socket, crlfDelay: Infinity })[Symbol.asyncIterator]();
  const expectReply = async (code: string) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the connection ended before ${code}`);
      const line = value;
      if (!line.startsWith(code)) throw new Error(`expected ${code}: ${line}`);
      if (line[3] !== '-') return;
    }
  };
  await once(socket, connected);
  await expectReply('220');
  return {
    async ask(commands, ...codes) {
      socket.write(commands);
      for (const code of codes) await expectReply(code);
    },
    end: () => socket.end('QUIT\r\n'),
  };
}

export async function deliver({ from, to, data }: DeliveredMail, ask: Ask): Promise<void> {
  const commands = [`MAIL FROM:<${from}> SIZE=${data.length}`, `RCPT TO:<${to}>`, 'DATA', ''];
  await ask(commands.join('\r\n'), '250', '250', '354');
  await ask(Buffer.concat([data, Buffer.from('.\r\n')]), '250');
}

/**
 * Delivers mails over several connections at once.
 * @throws Error if a mail is not accepted
 */
export async function deliverAll(
  port: number,
  mails: readonly DeliveredMail[],
  connections: number,
): Promise<void> {
  let next = 0;
  let servers = 0;
  const run = async () => {
    while (next < mails.length) {
      const { ask, end } = await openConnection(port, servers++);
      await ask('EHLO mx.sender.test\r\n', '250');
      for (let sent = 0; sent < MAILS_PER_CONNECTION && next < mails.length; sent += 1) {
        await deliver(mails[next++] as DeliveredMail, ask);
      }
      end();
    }
  };
  await Promise.all(Array.from({ length: connections }, run));
}
