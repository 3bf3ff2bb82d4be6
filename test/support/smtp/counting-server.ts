import net, { type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** The kept parts of a message. */
export interface CountedMessage {
  to: string;
  messageId: string | null;
}

export interface CountingServer {
  readonly port: number;
  readonly count: number;
  /** Empty unless the server was started with `keep`. In order of their final dots. */
  readonly messages: readonly CountedMessage[];
  close(): Promise<void>;
}

const LF = 10;
const END_OF_DATA = '\r\n.\r\n';
const EHLO_REPLY =
  '250-counting.invalid\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 52428800\r\n';

/**
 * Starts an SMTP server that accepts and counts all mail. It uses little processor time, so that a benchmark does not
 * measure the server: it replies at once to all commands that arrived together, and only looks for the end of a body.
 * @param options.port 0 for a free port
 * @param options.keep remember each message's recipient and Message-ID
 * @param options.onMessage called at once for each message; only with `keep`
 */
export async function startCountingServer(options: {
  port: number;
  keep: boolean;
  onMessage?: (message: CountedMessage) => void;
}): Promise<CountingServer> {
  const messages: CountedMessage[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  const onMessage = (message: CountedMessage | null): void => {
    count++;
    if (!message) return;
    messages.push(message);
    options.onMessage?.(message);
  };
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    const conversation = new CountingConversation(options.keep, onMessage);
    socket.on('data', (chunk) => {
      const replies = conversation.read(chunk);
      if (replies) socket.write(replies, 'latin1');
      if (conversation.over) socket.end();
    });
    socket.write('220 counting.invalid ESMTP\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    get count() {
      return count;
    },
    messages,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class CountingConversation {
  over = false;
  readonly #keep: boolean;
  readonly #onMessage: (message: CountedMessage | null) => void;
  #rest: Buffer | null = null;
  #inData = false;
  #to = '';

  constructor(keep: boolean, onMessage: (message: CountedMessage | null) => void) {
    this.#keep = keep;
    this.#onMessage = onMessage;
  }

  /** @returns the replies to all complete commands and messages received so far */
  read(chunk: Buffer): string {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    let replies = '';
    let at = 0;
    while (at < bytes.length && !this.over) {
      const next = this.#inData ? this.#dataEnd(bytes, at) : bytes.indexOf(LF, at) + 1;
      if (next === 0) break;
      replies += this.#inData ? this.#take(bytes, at, next) : this.#command(bytes, at, next);
      at = next;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : null;
    return replies;
  }

  /** The offset after the final dot; 0 if it has not arrived. An empty message is only the dot. */
  #dataEnd(bytes: Buffer, at: number): number {
    if (bytes[at] === 46 && bytes[at + 1] === 13 && bytes[at + 2] === LF) return at + 3;
    const end = bytes.indexOf(END_OF_DATA, at, 'latin1');
    return end === -1 ? 0 : end + END_OF_DATA.length;
  }

  #take(bytes: Buffer, start: number, end: number): string {
    this.#inData = false;
    this.#onMessage(this.#keep ? { to: this.#to, messageId: messageId(bytes, start, end) } : null);
    return '250 2.0.0 Ok: counted\r\n';
  }

  #command(bytes: Buffer, start: number, end: number): string {
    // The second letter distinguishes all commands: eHlo, mAil, rCpt, dAta, rSet, nOop, qUit.
    switch (String.fromCharCode(bytes[start] ?? 0, bytes[start + 1] ?? 0).toUpperCase()) {
      case 'EH':
        return EHLO_REPLY;
      case 'RC':
        if (this.#keep) this.#to = bytes.toString('utf8', start + 9, bytes.indexOf('>', start));
        return '250 2.1.5 Ok\r\n';
      case 'MA':
      case 'RS':
      case 'NO':
        return '250 2.0.0 Ok\r\n';
      case 'DA':
        this.#inData = true;
        return '354 End data with <CR><LF>.<CR><LF>\r\n';
      case 'QU':
        this.over = true;
        return '221 2.0.0 Bye\r\n';
      default:
        return `500 5.5.1 Unknown: ${bytes.toString('latin1', start, Math.min(end - 2, start + 20))}\r\n`;
    }
  }
}

function messageId(bytes: Buffer, start: number, end: number): string | null {
  const headEnd = bytes.indexOf('\r\n\r\n', start, 'latin1');
  const head = bytes.toString('latin1', start, headEnd === -1 ? end : headEnd);
  return /^message-id:\s*(<[^>]*>)/im.exec(head)?.[1] ?? null;
}

/**
 * Runs the server as a process: `node counting-server.ts <port> [--keep]`. It prints `{"port":…}` when it listens,
 * answers each input line `count` with `{"count":…,"cpuMicros":…}` and each line `messages` with the kept messages,
 * and ends with its input.
 */
async function runAsProcess(port: number, keep: boolean): Promise<void> {
  const server = await startCountingServer({ port, keep });
  const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
  say({ port: server.port });
  for await (const line of createInterface({ input: process.stdin })) {
    const { user, system } = process.cpuUsage();
    if (line.trim() === 'messages') say(server.messages);
    else say({ count: server.count, cpuMicros: user + system });
  }
  await server.close();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runAsProcess(Number(process.argv[2] ?? 0), process.argv.includes('--keep'));
}
