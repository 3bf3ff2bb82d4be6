import { type EmailAddress, parseEmailAddress } from '../addresses/email.ts';
import type { DkimSigner } from '../mime/dkim.ts';
import { buildMessage, type EmailContent, type PreparedContent } from '../mime/message.ts';
import type { OutgoingEmail } from '../providers/email/port.ts';
import type { OutgoingSms } from '../providers/sms/port.ts';
import type { WindowMessage } from './intend.ts';
import { returnPathAddress } from './return-path.ts';

export interface ComposeDeps {
  /** Of Message-ID and return path. */
  mailDomain: string;
  returnPathKey: Buffer;
  prepare: (content: EmailContent) => PreparedContent;
  /** The keys that sign for a sender's domain; none where signing is off or left to the relay. */
  signersFor: (domain: string) => readonly DkimSigner[];
}

function address(text: string | null, what: string): EmailAddress {
  const parsed = parseEmailAddress(text ?? '');
  if ('error' in parsed) throw new Error(`${what} ${parsed.error}`);
  return parsed;
}

/**
 * The email of a message, a pure function of what is stored: handed over again after a crash it is the same,
 * byte for byte, Message-ID and Date included.
 * @throws where the stored message cannot become an email
 */
export async function composeEmail(message: WindowMessage, deps: ComposeDeps): Promise<OutgoingEmail> {
  const from = address(message.from, 'from');
  const to = address(message.to, 'to');
  const prepared = deps.prepare({
    subject: message.subject ?? '',
    html: message.html,
    text: message.text,
    from,
    replyTo: message.replyTo === null ? null : address(message.replyTo, 'reply_to'),
    headers: message.headers ?? {},
    feedbackId: `${message.brandId}:${message.accountId}:transactional:carillon`,
  });
  const built = await buildMessage(
    prepared,
    {
      to,
      messageId: `${message.messageId}.${message.accountId}@${deps.mailDomain}`,
      date: message.createdAt,
    },
    deps.signersFor(from.domain),
  );
  return {
    messageId: message.messageId,
    attempt: message.attempt,
    returnPath: returnPathAddress(deps.returnPathKey, message, deps.mailDomain),
    to: `${to.local}@${to.domain}`,
    from: `${from.local}@${from.domain}`,
    subject: message.subject ?? '',
    tags: {
      ...message.tags,
      account_id: String(message.accountId),
      brand_id: String(message.brandId),
      message_id: String(message.messageId),
    },
    built,
  };
}

export function composeSms(message: WindowMessage): OutgoingSms {
  return {
    messageId: message.messageId,
    attempt: message.attempt,
    to: message.to,
    text: message.text ?? '',
    segments: message.segments ?? 1,
  };
}
