import pino from 'pino';
import {
  type MailListener,
  type MailListenerOptions,
  startMailListener,
} from '../../src/delivery/inbound/listener.ts';
import { keepOperatorMail } from '../../src/delivery/inbound/operator-mails.ts';
import type { MailKeys } from '../../src/delivery/inbound/recipients.ts';
import { createReportRecording } from '../../src/delivery/inbound/record-reports.ts';
import { createRecipientFence } from '../../src/delivery/consent/recipient-fence.ts';
import { connectSmtp } from '../../src/delivery/smtp/client.ts';
import type { SmtpTarget } from '../../src/delivery/smtp/contract.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createWaker } from '../../src/platform/db/wake.ts';
import { testEvents } from './events.ts';

/** The keys with which the test sender makes return paths and references. */
export const testMailKeys: MailKeys = {
  returnPaths: [Buffer.alloc(32, 1)],
  references: [Buffer.alloc(32, 2)],
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
    keep: (mail) => keepOperatorMail(database.pool, mail),
    tls: null,
    graceMs: 1_000,
    log: pino({ level: 'silent' }),
    ...options,
  });
  return {
    port: listener.port,
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
