import net, { type AddressInfo, type Socket } from 'node:net';

/** A message that the relay has accepted. */
export interface Arrival {
  to: string;
  /** When its last byte arrived, in milliseconds of a monotonic clock. */
  at: number;
}

const FINAL_DOT = '\r\n.\r\n';

/**
 * One connection. It replies to commands at once, and to each message after a fixed time. Messages come one after
 * another.
 */
class Conversation {
  readonly #socket: Socket;
  readonly #messageMs: number;
  readonly #onMessage: (arrival: Arrival) => void;
  #received = '';
  #inData = false;
  #busy = false;
  #to = '';

  constructor(socket: Socket, messageMs: number, onMessage: (arrival: Arrival) => void) {
    this.#socket = socket;
    this.#messageMs = messageMs;
    this.#onMessage = onMessage;
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      this.#read();
    });
    this.#reply('220 slow.invalid ESMTP');
  }

  #read(): void {
    while (!this.#busy) {
      const ending = this.#inData ? FINAL_DOT : '\r\n';
      const end = this.#received.indexOf(ending);
      if (end === -1) return;
      const line = this.#received.slice(0, end);
      this.#received = this.#received.slice(end + ending.length);
      if (this.#inData) this.#accept();
      else this.#command(line);
    }
  }

  #accept(): void {
    this.#inData = false;
    this.#busy = true;
    this.#onMessage({ to: this.#to, at: performance.now() });
    setTimeout(() => {
      this.#busy = false;
      this.#reply('250 2.0.0 Ok');
      this.#read();
    }, this.#messageMs);
  }

  #command(line: string): void {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO')
      return this.#reply('250-slow.invalid\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8');
    if (verb === 'QUIT') return void this.#socket.end('221 2.0.0 Bye\r\n');
    this.#inData = verb === 'DATA';
    if (verb === 'RCPT') this.#to = line.slice('RCPT TO:<'.length, line.lastIndexOf('>'));
    this.#reply(this.#inData ? '354 Go ahead' : '250 2.0.0 Ok');
  }

  #reply(text: string): void {
    if (!this.#socket.destroyed) this.#socket.write(`${text}\r\n`);
  }
}

/**
 * Starts an SMTP server that takes a fixed time for each message, on as many connections as the client opens.
 * @param options.onMessage called when a message has arrived, before its time has passed
 */
export async function startSlowRelay(options: {
  messageMs: number;
  onMessage: (arrival: Arrival) => void;
}): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    new Conversation(socket, options.messageMs, options.onMessage);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
