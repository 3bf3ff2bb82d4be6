import type { Queryable } from '../../../platform/db/queryable.ts';
import { cutUtf8 } from '../../../platform/input/cut-utf8.ts';
import { trackGenerated, type TrackedEventConsumer } from '../../contact-events/service.ts';

/** The most that the event has of a mail, in bytes of UTF-8. JSON may need six times as many, and has at most 32 KB. */
const MAX_TEXT_BYTES = 4 * 1024;
const MAX_SUBJECT_BYTES = 1_000;

/** A mail that has arrived in a conversation, from a contact. */
export interface ReceivedMail {
  accountId: number;
  brandId: number;
  contactId: number;
  conversationId: number;
  conversationMessageId: number;
  inboxId: number;
  subject: string | null;
  /** The whole text; the event has its beginning. */
  text: string | null;
  autoSubmitted: boolean;
}

/**
 * Tracks the contact event `email_received` for each of these mails, in the transaction in which they arrive. Flows act
 * on it. A mail that was tracked before, and one whose contact does not exist, is left out. An automatic mail is no
 * interaction of its contact.
 *
 * Call it once in a transaction, with all its mails. It takes the locks of their brands and then those of their
 * contacts, so a transaction that locks rows of contacts must lock the brands first (`lockBrands` of contact events).
 * @param consumers see `createTrackedEventConsumers`
 * @returns what to do after the commit
 */
export function trackReceived(
  trx: Queryable,
  consumers: readonly TrackedEventConsumer[],
  mails: readonly ReceivedMail[],
): Promise<(() => void)[]> {
  return trackGenerated(
    trx,
    consumers,
    'email_received',
    mails.map((mail) => ({
      accountId: mail.accountId,
      brandId: mail.brandId,
      contactId: mail.contactId,
      key: `email_received:${mail.conversationMessageId}`,
      passive: mail.autoSubmitted,
      mail: {
        conversation_message_id: mail.conversationMessageId,
        inbox_id: mail.inboxId,
        auto_submitted: mail.autoSubmitted,
      },
      data: {
        conversation_id: mail.conversationId,
        conversation_message_id: mail.conversationMessageId,
        inbox_id: mail.inboxId,
        subject: mail.subject === null ? null : cutUtf8(mail.subject, MAX_SUBJECT_BYTES),
        text: mail.text === null ? null : cutUtf8(mail.text, MAX_TEXT_BYTES),
        auto_submitted: mail.autoSubmitted,
      },
    })),
  );
}
