import type pg from 'pg';
import { createCapturedMessages } from '../captured-messages.ts';
import type { SmsProvider } from './port.ts';

const CONCURRENCY = 4;

/** Sends nothing: every SMS is kept in the database and shown on the mailbox page, and counts as delivered. */
export function createCaptureSmsProvider(deps: { pool: pg.Pool }): SmsProvider {
  const kept = createCapturedMessages(deps.pool);
  return {
    name: 'capture',
    concurrency: CONCURRENCY,
    handOver: (window) =>
      kept.keep(
        window.map((sms) => ({
          messageId: sms.messageId,
          attempt: sms.attempt,
          channel: 'sms',
          returnPath: null,
          from: null,
          to: sms.to,
          subject: null,
          content: Buffer.from(sms.text),
        })),
      ),
    close: () => Promise.resolve(),
  };
}
