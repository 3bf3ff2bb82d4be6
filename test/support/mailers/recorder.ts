/** Notes what a client and a server say to each other, TLS included. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { serverCertificate } from '../smtp/certificates.ts';

/** What a client says before it waits for a reply, in lines that end with CRLF, and the code of that reply. */
export interface Turn {
  say: string[];
  code: string;
}

/** Text of a byte each. */
function linesOf(said: string): string[] {
  if (!said.endsWith('\r\n')) throw new Error(`does not end with CRLF: ${JSON.stringify(said)}`);
  const lines = said.slice(0, -2).split('\r\n');
  if (lines.some((line) => /[\r\n]/.test(line))) throw new Error('has a bare CR or LF');
  return lines;
}

/** Passes a dialogue on to a server, TLS included, and notes it. */
function passOn(client: Socket, port: number, turns: Turn[]): void {
  let said = '';
  let server: Socket = connect(port, '127.0.0.1');
  let from = client;
  function join(): void {
    from.on('error', () => undefined);
    server.on('error', () => undefined);
    from.on('data', (piece: Buffer) => {
      said += piece.toString('latin1');
      server.write(piece);
    });
    from.on('close', () => server.end());
    server.on('close', () => from.end());
    server.on('data', (piece: Buffer) => {
      const code = /^(\d{3}) /m.exec(piece.toString('latin1'))?.[1] ?? '';
      const isStartTls = said === 'STARTTLS\r\n' && code === '220';
      if (said !== '') turns.push({ say: linesOf(said), code });
      said = '';
      if (!isStartTls) return void from.write(piece);
      for (const each of [from, server]) each.removeAllListeners();
      const plain = server;
      server = connectTls({ socket: plain, rejectUnauthorized: false });
      from.write(piece);
      from = new TLSSocket(from, { isServer: true, ...serverCertificate });
      join();
    });
  }
  join();
}

export interface Recorder {
  /** Of localhost and 127.0.0.1. */
  port: number;
  /** What was said since the last call, by dialogue. */
  take(): Turn[][];
  close(): void;
}

/** @param port of the server that answers, which has STARTTLS */
export async function startRecorder(port: number): Promise<Recorder> {
  let dialogues: Turn[][] = [];
  const server = createServer((client) => {
    const turns: Turn[] = [];
    dialogues.push(turns);
    passOn(client, port, turns);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    take() {
      const taken = dialogues;
      dialogues = [];
      return taken;
    },
    close: () => void server.close(),
  };
}
