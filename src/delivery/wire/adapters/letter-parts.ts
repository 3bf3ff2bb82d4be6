/** The parts of a letter for services that do not take a complete message. */
import { invitationMethod, parseMediaType } from '../../content/mime/parameters.ts';
import type { EmailAddress } from '../../terms/addresses/email.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import { smtpUtf8Refusal } from './email-parts.ts';
import { isLetter, type OutgoingFile, type OutgoingMail } from './port.ts';

export const filesOf = (mail: OutgoingMail): readonly OutgoingFile[] =>
  isLetter(mail) ? mail.letter.files : [];

/** Where replies go. */
export function repliesTo(mail: OutgoingMail): readonly EmailAddress[] {
  if (isLetter(mail)) return mail.letter.replyTo;
  const { replyTo } = mail.content;
  return replyTo ? [replyTo] : [];
}

/** The address as it is sent, without its name. */
export const bareAddress = ({ local, domain }: EmailAddress): string => `${local}@${domain}`;

/** `"Ada" <ada@example.com>` */
export function mailbox(name: string | null, address: string): string {
  return name === null ? address : `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`;
}

/** The type of a file with its parameters; that of an invitation as mail programs expect it. */
export function typeOf(file: OutgoingFile): string {
  const method = invitationMethod(file.contentType);
  return method === null ? file.contentType : `text/calendar; charset=utf-8; method=${method}`;
}

/** A type without its parameters. */
export const bareType = ({ contentType }: OutgoingFile): string =>
  parseMediaType(contentType)?.type ?? contentType;

/** How the HTML names a file that it shows; null: it is an attachment. */
export const inlineId = ({ disposition, contentId }: OutgoingFile): string | null =>
  disposition === 'inline' ? contentId : null;

/**
 * The refusal of what a service cannot send whose recipients are those in its header: an address that needs SMTPUTF8,
 * or a copy that names other recipients, who would get it, too. null: it can send the message.
 */
export function partsRefusal(mail: OutgoingMail, title: string): HandOverOutcome | null {
  const refusal = smtpUtf8Refusal(mail, title);
  if (refusal || !isLetter(mail)) return refusal;
  const named = [...mail.letter.to, ...mail.letter.cc];
  if (named.every((address) => bareAddress(address) === mail.to)) return null;
  const response = `${title} cannot send one letter to several recipients`;
  return { kind: 'refused', code: 'rejected', response };
}
