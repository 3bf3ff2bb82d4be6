/** Decides what an answer is: its recipient and its subject. */
import { parseEmailAddress } from '../../../delivery/addresses/email.ts';
import { invalid } from '../../../errors.ts';
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

/**
 * Chooses the recipient of an answer. Mail never decides about it alone: its Reply-To counts only if the client names it.
 * @param to as the client gave it
 * @throws AppError validation_error that names `to`
 */
export function recipientOf(
  to: string | undefined,
  participants: readonly string[],
  { contact, last }: ReplyContext,
): Recipient {
  if (to === undefined) {
    const chosen = recipient(contact?.email ?? null) ?? senderOf(last);
    if (chosen) return chosen;
    throw invalid({ to: ['is required: the last message has no sender that can be answered'] });
  }
  const parsed = parseEmailAddress(to);
  if ('error' in parsed) throw invalid({ to: [parsed.error] });
  const known = [...participants, contact?.email_key, recipient(last?.reply_to ?? null)?.key];
  if (known.includes(parsed.key)) return { address: to.trim(), key: parsed.key };
  throw invalid({
    to: ['is neither a participant of the conversation nor the Reply-To of its last message'],
  });
}

/** The subject of an answer, unless the client gives one. */
export function subjectOf(subject: string | null): string {
  const given = subject?.trim() ?? '';
  const answer = /^re\s*:/i.test(given) ? given : `Re: ${given === '' ? '(no subject)' : given}`;
  return answer.slice(0, MAX_SUBJECT).toWellFormed();
}
