import type pg from 'pg';
import { createCapturedMessages } from '../captured-messages.ts';
import type { EmailProvider } from './port.ts';

const CONCURRENCY = 4;

/**
 * Sends nothing: every email is kept whole in the database and shown on the mailbox page, and counts as delivered.
 * Handing the same attempt over again changes nothing.
 */
export function createCaptureProvider(deps: { pool: pg.Pool }): EmailProvider {
  const kept = createCapturedMessages(deps.pool);
  return {
    name: 'capture',
    concurrency: CONCURRENCY,
    handOver: (window) =>
      kept.keep(
        window.map((email) => ({
          messageId: email.messageId,
          attempt: email.attempt,
          channel: 'email',
          returnPath: email.returnPath,
          from: email.from,
          to: email.to,
          subject: email.subject,
          content: email.built.data,
        })),
      ),
    close: () => Promise.resolve(),
  };
}
