import type pg from 'pg';
import { createCapture } from '../captured-messages.ts';
import type { OutgoingSms, SmsProvider } from './port.ts';

/** Sends nothing: every SMS is kept in the database and shown on the mailbox page, and counts as delivered. */
export function createCaptureSmsProvider(deps: { pool: pg.Pool }): SmsProvider {
  return createCapture(deps.pool, (sms: OutgoingSms) => ({
    messageId: sms.messageId,
    attempt: sms.attempt,
    channel: 'sms',
    returnPath: null,
    from: null,
    to: sms.to,
    subject: null,
    content: Buffer.from(sms.text),
  }));
}
