import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/** A client that says anything, in any order. */
export interface SmtpDialogue {
  /** Sends a line, or the message with its final dot. @returns the reply, with its further lines */
  say(line: string): Promise<string>;
  /** Waits for the next reply. @throws if the server closes the connection first */
  reply(): Promise<string>;
  /** Begins TLS; from then on, `say` speaks over it. */
  secure(): Promise<TLSSocket>;
  socket: Socket;
}

/** Of the servers of tests, whose certificates are self-signed. */
const anyServer = { rejectUnauthorized: false, servername: 'localhost' };

const WHOLE_REPLY = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/;

/** Speaks over a connection. */
export function speakOver(given: Socket): SmtpDialogue {
  let received = '';
  let ended = false;
  let wake: () => void = () => undefined;
  function take(socket: Socket): Socket {
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      received += piece.toString();
      wake();
    });
    socket.on('close', () => {
      ended = true;
      wake();
    });
    return socket;
  }
  const dialogue: SmtpDialogue = {
    socket: take(given),
    async reply() {
      for (;;) {
        const whole = WHOLE_REPLY.exec(received)?.[0];
        if (whole !== undefined) {
          received = received.slice(whole.length);
          return whole.trimEnd();
        }
        if (ended) throw new Error('the server has closed the connection');
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    say(line) {
      dialogue.socket.write(`${line}\r\n`);
      return dialogue.reply();
    },
    async secure() {
      dialogue.socket.removeAllListeners('data').removeAllListeners('close');
      const socket = connectTls({ ...anyServer, socket: dialogue.socket });
      dialogue.socket = take(socket);
      await once(socket, 'secureConnect');
      return socket;
    },
  };
  return dialogue;
}

/** Connects, and reads the greeting. @param firstLine sent before the greeting, as proxies do */
export async function startDialogue(
  port: number,
  firstLine = '',
): Promise<SmtpDialogue & { greeting: string }> {
  const dialogue = speakOver(connect(port, '127.0.0.1'));
  if (firstLine) dialogue.socket.write(firstLine);
  return Object.assign(dialogue, { greeting: await dialogue.reply() });
}

/** Connects to a port with TLS from the first byte, and reads the greeting. */
export async function startTlsDialogue(port: number): Promise<SmtpDialogue & { greeting: string }> {
  const dialogue = speakOver(connectTls({ ...anyServer, host: '127.0.0.1', port }));
  return Object.assign(dialogue, { greeting: await dialogue.reply() });
}
