/** The parts of an email for services that do not take a complete message. */
import { LRUCache } from 'lru-cache';
import { isHeavy } from '../../content/templates/content-weight.ts';
import { systemTags } from '../../terms/message.ts';
import { formatTextField } from '../../content/mime/header-fields.ts';
import type { EmailContent } from '../../content/mime/message.ts';
import { textFromHtml } from '../../content/mime/text-from-html.ts';
import { isLetter, type OutgoingMail } from './port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';

/**
 * The HTML of a campaign is mostly either the same for everyone or different for everyone, so a small cache is enough.
 */
const generated = new LRUCache<string, string>({ max: 32, memoMethod: (html) => textFromHtml(html) });

/** The plain-text version, generated from the HTML unless the conversion would delay other mail. Empty: none. */
export function textOf({ html, text, headers }: EmailContent): string {
  if (text !== null || !html) return text ?? '';
  return isHeavy({ html, text, headers }) ? '' : generated.memo(html);
}

/** Carillon's own tags of an email. Clients cannot use these names. */
export function systemTagsOf({ tags }: Pick<OutgoingMail, 'tags'>): [name: string, value: string][] {
  return systemTags.flatMap((name) => {
    const value = tags[name];
    return value === undefined ? [] : [[name, value]];
  });
}

/**
 * The message's other headers, in ASCII and unfolded. The Message-ID is that of the complete message: feedback reports
 * and replies are matched by it.
 */
export function headersOf({ content, reference }: OutgoingMail, mailDomain: string): Record<string, string> {
  const given = [
    ...Object.entries(content.headers),
    ...(content.feedbackId === undefined ? [] : [['Feedback-ID', content.feedbackId] as const]),
    ['Message-ID', `<${reference}@${mailDomain}>`] as const,
  ];
  // As in the complete message, the last one wins if names differ only in case.
  const fields = new Map(
    given.map(([name, value]) => [name.toLowerCase(), [name, valueOf(name, value)] as const]),
  );
  return Object.fromEntries([...fields.values()].filter(([, value]) => value !== ''));
}

function valueOf(name: string, value: string): string {
  return formatTextField(name, value)
    .slice(name.length + 1)
    .replaceAll('\r\n', '')
    .trim();
}

/** For services without SMTPUTF8: the refusal of a message with an address that needs it; else null. */
export function smtpUtf8Refusal(mail: OutgoingMail, title: string): HandOverOutcome | null {
  if (!mail.built.smtpUtf8) return null;
  const response = `${title} accepts no address with non-ASCII characters before the @`;
  const { from, replyTo } = mail.content;
  const senders = [from, ...(replyTo ? [replyTo] : []), ...(isLetter(mail) ? mail.letter.replyTo : [])];
  const isSender = senders.some(({ smtpUtf8 }) => smtpUtf8);
  return { kind: 'refused', code: isSender ? 'sender_rejected' : 'invalid_recipient', response };
}
