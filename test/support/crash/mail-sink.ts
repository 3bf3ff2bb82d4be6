import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';

/** A mail that arrived completely, including its final dot. */
export interface Arrival {
  to: string;
  messageId: string;
  subject: string;
  /** The hash of all its bytes. */
  sha256: string;
  at: number;
  /** The name in the client's EHLO. */
  client: string;
}

/** An SMTP server (an npm package) that accepts and records every mail that the test does not refuse. */
export interface MailSink {
  readonly port: number;
  readonly arrivals: readonly Arrival[];
  /** The delay of each reply to a mail, in ms. It also counts for mails that arrived before a change. */
  replyMs: number;
  /** Called with each arrival and its bytes before it is accepted, so the sender does not know of it yet. */
  onArrival: ((arrival: Arrival, bytes: Buffer) => void) | null;
  /** Decides the reply to RCPT; null accepts. */
  refuse: ((to: string) => string | null) | null;
  close(): Promise<void>;
}

async function bytesOf(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function arrivalOf(bytes: Buffer, session: SMTPServerSession): Arrival {
  const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n')).toString('latin1');
  return {
    to: session.envelope.rcptTo[0]?.address ?? '',
    subject: /^subject:\s*([^\r]*)/im.exec(head)?.[1] ?? '',
    messageId: /^message-id:\s*(<[^>]*>)/im.exec(head)?.[1] ?? '',
    sha256: createHash('sha256').update(bytes).digest('hex'),
    at: Date.now(),
    client: String(session.hostNameAppearsAs),
  };
}

const LOOK_MS = 25;

/** @param replyMs the delay of each reply to a mail, so that some mails are always in progress */
export async function startMailSink(replyMs: number): Promise<MailSink> {
  const arrivals: Arrival[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo({ address }, _session, done) {
      const [code, ...text] = (sink.refuse?.(address) ?? '').split(' ');
      if (!code) return done();
      done(Object.assign(new Error(text.join(' ')), { responseCode: Number(code) }));
    },
    onData(stream, session, done) {
      const take = async () => {
        const bytes = await bytesOf(stream);
        const arrival = arrivalOf(bytes, session);
        arrivals.push(arrival);
        sink.onArrival?.(arrival, bytes);
        await delay(Math.min(sink.replyMs, LOOK_MS));
        while (Date.now() - arrival.at < sink.replyMs) await delay(LOOK_MS);
      };
      take().then(() => done(), done);
    },
  });
  // The tests kill the clients, so connections may break at any point.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const sink: MailSink = {
    port: (server.server.address() as AddressInfo).port,
    arrivals,
    replyMs,
    onArrival: null,
    refuse: null,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return sink;
}
