import type pg from 'pg';
import { createCapture } from '../captured-messages.ts';
import type { EmailProvider, OutgoingEmail } from './port.ts';

/** Sends nothing: every email is kept whole in the database and shown on the mailbox page, and counts as delivered. */
export function createCaptureProvider(deps: { pool: pg.Pool }): EmailProvider {
  return createCapture(deps.pool, (email: OutgoingEmail) => ({
    messageId: email.messageId,
    attempt: email.attempt,
    channel: 'email',
    returnPath: email.returnPath,
    from: email.from,
    to: email.to,
    subject: email.subject,
    content: email.built.data,
  }));
}
