/** Decides what an answer is: its recipient and its subject. */
import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { invalid } from '../../../errors.ts';
import { mailboxesOf } from '../../../delivery/content/read/mailboxes.ts';
import type { AnsweredMail, ReplyContext } from './reply-model.ts';

const MAX_SUBJECT = 998;

interface Recipient {
  /** With or without a name. */
  address: string;
  key: string;
}

function recipient(address: string | null): Recipient | null {
  const parsed = parseEmailAddress(address ?? '');
  return 'error' in parsed ? null : { address: address?.trim() ?? '', key: parsed.key };
}

/** The sender of a mail. If its From field is unusual, only the address. */
function senderOf(last: AnsweredMail | null): Recipient | null {
  const sender = recipient(last?.from_address ?? null);
  return sender?.key === last?.sender_key ? sender : recipient(last?.sender_key ?? null);
}

/** Whether an address is in one of the fields. */
const isIn = (key: string, fields: readonly string[]): boolean =>
  fields.some((field) => mailboxesOf(field).some(({ address }) => recipient(address)?.key === key));

/**
 * Chooses the recipient of an answer. Mail never decides about it alone: Reply-To, To and Cc count only if the client names
 * an address in them.
 * @param to as the client gave it
 * @param own the address of the inbox, to which no answer goes
 * @throws AppError validation_error that names `to`
 */
export function recipientOf(
  to: string | undefined,
  participants: readonly string[],
  { contact, last, fields }: ReplyContext,
  own: string,
): Recipient {
  if (to === undefined) {
    const chosen = recipient(contact?.email ?? null) ?? senderOf(last);
    if (chosen) return chosen;
    throw invalid({ to: ['is required: the last message has no sender that can be answered'] });
  }
  const parsed = parseEmailAddress(to);
  if ('error' in parsed) throw invalid({ to: [parsed.error] });
  const known = [...participants, contact?.email_key].includes(parsed.key) || isIn(parsed.key, fields);
  if (known && parsed.key !== recipient(own)?.key) return { address: to.trim(), key: parsed.key };
  throw invalid({ to: ['is not an address of the conversation, in From, Reply-To, To or Cc of a message'] });
}

/** The subject of an answer, unless the client gives one. */
export function subjectOf(subject: string | null): string {
  const given = subject?.trim() ?? '';
  const answer = /^re\s*:/i.test(given) ? given : `Re: ${given === '' ? '(no subject)' : given}`;
  return answer.slice(0, MAX_SUBJECT).toWellFormed();
}
