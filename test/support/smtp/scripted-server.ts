import net, { type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import tls from 'node:tls';
import { serverCertificate } from './certificates.ts';

/** What the server does with one connection. `close` throws the first expectation that fails. */
export type Script = (peer: Peer) => Promise<void>;

/**
 * Cuts the bytes that the server writes, so that pieces arrive separately. `offset` counts the connection's earlier
 * bytes.
 */
export type Cut = (bytes: Buffer, offset: number) => Buffer[];

export interface ScriptedServer {
  readonly port: number;
  /** Number of connections so far. */
  readonly peers: readonly Peer[];
  /** Waits for all scripts, closes, and throws the error of a script. */
  close(): Promise<void>;
}

export const whole: Cut = (bytes) => [bytes];
export const everyByte: Cut = (bytes) => Array.from(bytes, (byte) => Buffer.from([byte]));

/** Cuts once, before byte `at` of the connection. */
export function cutBefore(at: number): Cut {
  return (bytes, offset) => {
    const here = at - offset;
    return here > 0 && here < bytes.length ? [bytes.subarray(0, here), bytes.subarray(here)] : [bytes];
  };
}

/** The server's side of a connection, which a script controls. */
export class Peer {
  /** Every command so far, without line ends. */
  readonly commands: string[] = [];
  /** Bytes written so far. */
  written = 0;
  #socket: Socket;
  #cut: Cut;
  #received = '';
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket, cut: Cut) {
    this.#cut = cut;
    this.#socket = socket;
    this.#attach(socket);
  }

  /** Bytes received that no script has taken yet. */
  get unread(): string {
    return this.#received;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Writes lines with their line ends. */
  async say(...lines: string[]): Promise<void> {
    await this.raw(lines.map((line) => `${line}\r\n`).join(''));
  }

  async raw(text: string): Promise<void> {
    const bytes = Buffer.from(text, 'utf8');
    const pieces = this.#cut(bytes, this.written);
    this.written += bytes.length;
    for (const [i, piece] of pieces.entries()) {
      if (i > 0) await settle();
      if (!this.#socket.destroyed) this.#socket.write(piece);
    }
  }

  /** Takes the next command, which must begin with `start`. */
  async expect(start: string): Promise<string> {
    const line = await this.#take((received) => {
      const end = received.indexOf('\r\n');
      return end === -1 ? null : end + 2;
    });
    const command = line.slice(0, -2);
    this.commands.push(command);
    if (!command.startsWith(start))
      throw new Error(`the client sent ${JSON.stringify(command)}, not ${start}`);
    return command;
  }

  /** Takes a message exactly as it was sent, dot-stuffed and with its final dot. */
  async data(): Promise<string> {
    return this.#take((received) => {
      if (received.startsWith('.\r\n')) return 3;
      const end = received.indexOf('\r\n.\r\n');
      return end === -1 ? null : end + 5;
    });
  }

  /** Waits until this many bytes have arrived that no script has taken. */
  async received(bytes: number): Promise<void> {
    await this.#until(() => this.#received.length >= bytes);
  }

  /** Sends the greeting, and offers these keywords in reply to EHLO. */
  async greet(...keywords: string[]): Promise<void> {
    await this.say('220 scripted.invalid ESMTP');
    await this.ehlo(...keywords);
  }

  async ehlo(...keywords: string[]): Promise<void> {
    await this.expect('EHLO ');
    const lines = ['scripted.invalid', ...keywords];
    await this.say(...lines.map((line, i) => `250${i === lines.length - 1 ? ' ' : '-'}${line}`));
  }

  /** Takes MAIL, RCPT and DATA, and replies with success. */
  async envelope(): Promise<void> {
    for (const [command, reply] of [
      ['MAIL FROM:', '250 2.1.0 Ok'],
      ['RCPT TO:', '250 2.1.5 Ok'],
      ['DATA', '354 Go on'],
    ] as const) {
      await this.expect(command);
      await this.say(reply);
    }
  }

  /** Starts TLS on the connection. */
  async secure(certificate = serverCertificate): Promise<void> {
    this.#socket.removeAllListeners('data');
    const secured = new tls.TLSSocket(this.#socket, { isServer: true, ...certificate });
    this.#attach(secured);
    this.#socket = secured;
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads again. */
  resume(): void {
    this.#socket.resume();
  }

  /** Closes with FIN after everything was written. */
  async close(): Promise<void> {
    this.#socket.end();
    await this.gone();
  }

  /** Closes with RST. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Waits until the client has closed. */
  async gone(): Promise<void> {
    await this.#until(() => this.#ended).catch(() => undefined);
  }

  #attach(socket: Socket): void {
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    socket.setNoDelay(true);
    socket.on('error', end).on('end', end).on('close', end);
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('utf8');
      this.#wake();
    });
  }

  async #take(find: (received: string) => number | null): Promise<string> {
    await this.#until(() => find(this.#received) !== null);
    const end = find(this.#received) ?? 0;
    const taken = this.#received.slice(0, end);
    this.#received = this.#received.slice(end);
    return taken;
  }

  async #until(done: () => boolean): Promise<void> {
    while (!done()) {
      if (this.#ended) throw new Error(`the client closed; unread: ${JSON.stringify(this.#received)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Waits until written bytes have arrived. Both ends are in this process: the loop's next poll reads them. */
export async function settle(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

export async function startScriptedServer(script: Script, cut: Cut = whole): Promise<ScriptedServer> {
  const peers: Peer[] = [];
  const runs: Promise<Error | null>[] = [];
  const server = net.createServer({ allowHalfOpen: false }, (socket) => {
    const peer = new Peer(socket, cut);
    peers.push(peer);
    runs.push(
      script(peer).then(
        () => null,
        (error: unknown) => {
          peer.destroy();
          return error as Error;
        },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    peers,
    async close() {
      const failure = (await Promise.all(runs)).find((error) => error !== null);
      for (const peer of peers) peer.destroy();
      await new Promise((resolve) => server.close(resolve));
      if (failure) throw failure;
    },
  };
}
