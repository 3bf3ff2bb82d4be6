import pino from 'pino';
import {
  type MailListener,
  type MailListenerOptions,
  startMailListener,
} from '../../src/delivery/wire/inbound/listener.ts';
import type { Inboxes } from '../../src/delivery/wire/inbound/inboxes.ts';
import { factsOfCopies } from '../../src/delivery/wire/inbound/letter-complaints.ts';
import { keepOperatorMail } from '../../src/delivery/wire/inbound/operator-mails.ts';
import type { MailKeys } from '../../src/delivery/wire/inbound/recipients.ts';
import { createReportRecording } from '../../src/delivery/wire/inbound/record-reports.ts';
import { createRecipientFence } from '../../src/delivery/ledger/consent/recipient-fence.ts';
import { connectSmtp } from '../../src/delivery/wire/smtp/client.ts';
import type { SmtpTarget } from '../../src/delivery/wire/smtp/contract.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createWaker } from '../../src/platform/db/wake.ts';
import { testEvents } from './events.ts';
import { startDialogue } from './smtp-dialogue.ts';

/** The keys with which the test sender makes return paths and references. */
export const testMailKeys: MailKeys = {
  returnPaths: [Buffer.alloc(32, 1)],
  references: [Buffer.alloc(32, 2)],
};

/** No address is that of an inbox. */
const noInboxes: Inboxes = {
  resolve: async () => ({ kind: 'refused', status: 550, text: '5.1.1 no such mailbox here' }),
  ofMessage: async () => null,
  accept: () => Promise.reject(new Error('there is no inbox')),
};

/** Starts the listener of the mail role in this process, at mail.test. */
export async function startTestListener(
  url: string,
  options: Partial<MailListenerOptions> = {},
): Promise<MailListener> {
  const database = openDatabase({ url, poolMax: 4, keyedPlans: true });
  const waker = createWaker({ url });
  const listener = await startMailListener({
    host: '127.0.0.1',
    port: 0,
    mailDomain: 'mail.test',
    keys: testMailKeys,
    record: createReportRecording({
      pool: database.pool,
      waker,
      events: testEvents,
      fence: createRecipientFence(database.pool),
    }),
    factsOfCopies: (facts) => factsOfCopies(database.pool, facts),
    keep: (mail) => keepOperatorMail(database.pool, mail),
    inboxes: noInboxes,
    tls: null,
    graceMs: 1_000,
    log: pino({ level: 'silent' }),
    ...options,
  });
  return {
    ...listener,
    async stop() {
      await listener.stop();
      await waker.close();
      await database.close();
    },
  };
}

/**
 * Sends a report by mail like a server does.
 * @returns the deciding reply: `250 …`, or the first refusal
 */
export async function deliver(
  port: number,
  mail: { to: string; from?: string; data: string | Buffer },
  target: Partial<SmtpTarget> = {},
): Promise<string> {
  const connection = await connectSmtp({
    host: '127.0.0.1',
    port,
    security: 'none',
    clientName: 'mx.example.com',
    ...target,
  });
  const outcome = await connection.send({
    from: mail.from ?? '',
    to: mail.to,
    smtpUtf8: false,
    eightBit: false,
    data: Buffer.from(mail.data),
  });
  await connection.quit();
  if (outcome.kind !== 'accepted' && outcome.kind !== 'refused') return outcome.kind;
  const { code, enhanced } = outcome.reply;
  return `${code} ${enhanced ?? ''}`.trim();
}

/**
 * Sends one message to several recipients.
 * @param data ends with CRLF, and no line begins with a dot
 * @returns the code of the last reply
 */
export async function deliverToAll(
  port: number,
  to: readonly string[],
  data: string | Buffer,
): Promise<string> {
  const { say, socket } = await startDialogue(port);
  await say('EHLO mx.example.com');
  await say('MAIL FROM:<ann@example.net>');
  for (const address of to) await say(`RCPT TO:<${address}>`);
  await say('DATA');
  const last = await say(`${Buffer.from(data).toString('latin1')}.`);
  socket.destroy();
  return last.slice(0, 3);
}
