import { pathToFileURL } from 'node:url';
import { connectSmtp } from '../../src/delivery/wire/smtp/client.ts';
import type { SmtpConnection, SmtpSubmission } from '../../src/delivery/wire/smtp/contract.ts';

export interface SmtpLoopResult {
  messagesPerSecond: number;
  /** Processor time of this process alone, user and system. */
  cpuMicrosPerMessage: number;
}

/** Number of messages that a connection hands over at once, the same as in a sender's batch. */
const BATCH_SIZE = 50;
/** Length of the body in bytes. */
const SMALL_BYTES = 840;
const LINE_BYTES = 70;

/**
 * Calibrates draining: hands over the same message again and again over pipelined connections.
 * @param options.messages total over all connections
 * @param options.bytes approximate size of the message; default: 1.2 kB
 */
export async function runSmtpLoop(options: {
  host: string;
  port: number;
  connections: number;
  messages: number;
  bytes?: number;
}): Promise<SmtpLoopResult> {
  const { host, port, messages } = options;
  const target = { host, port, security: 'none', clientName: 'bench.invalid' } as const;
  const connections = await Promise.all(
    Array.from({ length: options.connections }, () => connectSmtp(target)),
  );
  const data = messageOf(options.bytes ?? SMALL_BYTES);
  const cpu = process.cpuUsage();
  const started = performance.now();
  let left = messages;
  const take = (): number => {
    const count = Math.min(BATCH_SIZE, left);
    left -= count;
    return count;
  };
  await Promise.all(connections.map((connection) => sendBatches(connection, data, take)));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await Promise.all(connections.map((connection) => connection.quit()));
  return { messagesPerSecond: messages / seconds, cpuMicrosPerMessage: (user + system) / messages };
}

async function sendBatches(connection: SmtpConnection, data: Uint8Array, take: () => number): Promise<void> {
  for (let count = take(); count > 0; count = take()) {
    const batch = Array.from({ length: count }, (_, i) => connection.send(submission(i, data)));
    for (const outcome of await Promise.all(batch)) {
      if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
    }
  }
}

function submission(i: number, data: Uint8Array): SmtpSubmission {
  return {
    from: `bounce+${i}@mail.example.com`,
    to: `recipient${i}@example.net`,
    smtpUtf8: false,
    eightBit: false,
    data,
  };
}

function messageOf(bytes: number): Uint8Array {
  const head = [
    'From: Sender <sender@example.com>',
    'To: recipient@example.net',
    'Subject: A message',
    'Message-ID: <1@mail.example.com>',
    'Date: Thu, 01 Jan 2026 00:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ];
  const body = Array.from(
    { length: Math.ceil(bytes / LINE_BYTES) },
    (_, i) => `Line ${i} of a message that says nothing, in seventy-odd characters.`,
  );
  return Buffer.from([...head, '', ...body, ''].join('\r\n'));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [port, connections = '16', messages = '100000'] = process.argv.slice(2);
  const result = await runSmtpLoop({
    host: '127.0.0.1',
    port: Number(port),
    connections: Number(connections),
    messages: Number(messages),
  });
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
