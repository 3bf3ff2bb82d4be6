import { diagnosticOf, type Refusal } from '../../terms/bounces.ts';
import { readDeliveryStatus, refusalIn } from './delivery-status.ts';
import type { Fields } from './fields.ts';
import { isWarning, textForms } from './text-forms.ts';

/**
 * Reads bounces that are not multipart/report: text for people, in a form that the sending program never varies. Each
 * format is recognized by words that the program writes only for a final failure, never for a delay.
 */
interface NonStandardFormat {
  isFrom(text: string, header: Fields): boolean;
  /** @returns the server's reply, or null if the text does not report a failure */
  reason(text: string): string | null;
}

const MAX_LINES = 1_000;
const MAX_REASON = 2_000;

function linesOf(text: string): string[] {
  return text.split('\n', MAX_LINES).map((line) => line.trimEnd());
}

/** The lines from `from` to the next empty line, joined. */
function paragraph(lines: readonly string[], from: number): string {
  const end = lines.indexOf('', from);
  return lines
    .slice(from, end === -1 ? undefined : end)
    .map((line) => line.trim())
    .join(' ')
    .slice(0, MAX_REASON);
}

/** Removes the recipient before the reason. */
const withoutRecipient = (text: string): string =>
  text.replace(/^[<"]{0,2}[^\s@]{1,200}@[^\s":>]{1,255}[>":]{0,3} ?/, '');

/** @returns a reader of the paragraph after the first line that matches */
function paragraphAfter(pattern: RegExp): (text: string) => string | null {
  return (text) => {
    const lines = linesOf(text);
    const at = lines.findIndex((line) => pattern.test(line.trim()));
    if (at === -1) return null;
    const first = lines.findIndex((line, index) => index > at && line !== '');
    return first === -1 ? null : paragraph(lines, first);
  };
}

/** @returns a reader of the same paragraph without the recipient at its beginning */
function reasonAfter(pattern: RegExp): (text: string) => string | null {
  const read = paragraphAfter(pattern);
  return (text) => {
    const found = read(text);
    return found === null ? null : withoutRecipient(found);
  };
}

const beginsWith =
  (...phrases: readonly string[]) =>
  (text: string): boolean =>
    phrases.some((phrase) => text.trimStart().startsWith(phrase));

/** The paragraph after the line of the first recipient, `<address>:`. */
function reasonOfFirst(text: string): string | null {
  const lines = linesOf(text);
  const at = lines.findIndex((line) => line.startsWith('<') && line.endsWith(':'));
  return at === -1 ? null : paragraph(lines, at + 1);
}

/** qmail: https://cr.yp.to/proto/qsbmf.txt. Each recipient has a paragraph that begins with `<address>:`. */
const qmail: NonStandardFormat = { isFrom: beginsWith('Hi. This is the '), reason: reasonOfFirst };

/** Servers that run qmail with a text of their own. It never sends warnings. */
const qmailVariant: NonStandardFormat = {
  isFrom: (_text, header) => /^failure notice\b/i.test(header.get('subject') ?? ''),
  reason: reasonOfFirst,
};

/** Yahoo Mail, and the servers of Yahoo Japan, which have taken over qmail's form. */
const yahoo: NonStandardFormat = {
  isFrom: (text) =>
    /^(?:Message from [^\n]{1,255}\.\nUnable to|Sorry, we were unable to) deliver (?:your )?message to the following address/.test(
      text.trimStart(),
    ),
  reason: reasonOfFirst,
};

/** Exim before 4.90: `bounce_message_file` in its specification. A warning about a delay does not have this header. */
const exim: NonStandardFormat = {
  isFrom: (_text, header) => header.has('x-failed-recipients'),
  reason: reasonAfter(/following address(?:\(?es\)?)? failed:$/),
};

/**
 * Exim without the header, and what writes in its words: GMX, 1&1 and MXLogic. A delay is reported in other words: "has
 * not yet been delivered", "Delay reason".
 */
const eximLike: NonStandardFormat = {
  isFrom: beginsWith('This message was created automatically by mail delivery software'),
  reason(text) {
    const failed =
      /\bcould not be delivered to\b[^]{0,500}?\bfollowing\s{1,9}address(?:\(?es\)?)?\s{1,9}failed:\s{1,20}/.exec(
        text,
      );
    if (failed === null || text.includes('Delay reason:')) return null;
    const rest = text.slice(failed.index + failed[0].length);
    const stated = paragraphAfter(/^(?:for the following )?reason:$/i)(rest);
    return stated ?? withoutRecipient(paragraph(linesOf(rest), 0));
  },
};

/** Zoho Mail: `ann@example.com Invalid Address, ERROR_CODE :550, ERROR_CODE :5.1.1 <ann@example.com>... User Unknown`. */
const zoho: NonStandardFormat = {
  isFrom: (text) => text.includes(', ERROR_CODE :') && text.includes('This is a permanent error'),
  reason: (text) =>
    /, ERROR_CODE :(\d{3}), ERROR_CODE ?:([^\n]{0,1000})/.exec(text)?.slice(1).join(' ') ?? null,
};

/** Gmail before 2016. Its warning says "has been delayed". */
const gmail: NonStandardFormat = {
  isFrom: beginsWith('Delivery to the following recipient failed permanently:'),
  reason: (text) =>
    /^Technical details of permanent failure: {0,9}\n([^]{1,2000}?)(?:\n----- |$(?![^]))/m
      .exec(text)?.[1]
      ?.replace(/\s+/g, ' ') ?? null,
};

/** OpenSMTPD: `bounce.c`. Its warning says "A message is delayed". */
const openSmtpd: NonStandardFormat = {
  isFrom: (text) =>
    text.includes('This is the MAILER-DAEMON, please DO NOT REPLY to this') &&
    text.includes('An error has occurred while attempting to deliver a message'),
  reason: reasonAfter(/^(?:the )?following (?:list of )?recipients:$/),
};

/** DragonFly Mail Agent: `bounce` in its `mail.c`. It reports failures only. */
const dragonFly: NonStandardFormat = {
  isFrom: beginsWith('This is the DragonFly Mail Agent'),
  reason: paragraphAfter(/^There was an error delivering your mail to /),
};

/** Amazon WorkMail: the fields of a delivery status notification, written into the text. */
const workMail: NonStandardFormat = {
  isFrom: beginsWith('An error occurred while trying to deliver the mail to the following recipients'),
  reason(text) {
    const status = readDeliveryStatus(text.slice(Math.max(0, text.indexOf('Reporting-MTA:'))));
    return status?.outcome === 'failed' ? diagnosticOf(status.refusal) : null;
  },
};

/** Exchange Online without a delivery status part: the reply is quoted for administrators. */
const exchangeOnline: NonStandardFormat = {
  isFrom: beginsWith('Delivery has failed to these recipients'),
  reason: (text) =>
    /^Remote Server returned '([^'\n]{1,1000})'/m.exec(text)?.[1] ??
    /^#(?:5\.\d{1,3}\.\d{1,3} )?([^\n]{1,1000})/m.exec(text)?.[1] ??
    null,
};

/**
 * Exchange before 2007. `<server #5.1.1>` or `<server #5.1.1 smtp;550 5.1.1 …>` ends each recipient's paragraph; Exchange
 * 5.5 and its Internet Mail Service write words.
 */
const exchange: NonStandardFormat = {
  isFrom: beginsWith('Your message did not reach some or all of the intended recipients.', 'Your message\n'),
  reason: paragraphAfter(
    /^(?:The following recipient\(s\) could not be reached|did not reach the following recipient\(s\)):$/,
  ),
};

/** Sendmail before 8.8, and programs that imitate it. Its warnings return no message. */
const sendmail: NonStandardFormat = {
  isFrom: (text) =>
    /^ *-{3,10} (?:The following addresses had permanent (?:fatal|delivery) errors|Unsent message follows) -{3,10}$/m.test(
      text,
    ),
  reason: (text) =>
    paragraphAfter(/^-{3,10} Transcript of session follows -{3,10}$/)(text) ??
    paragraphAfter(/had permanent (?:fatal|delivery) errors -{3,10}$/)(text),
};

/** IMail Server: the first paragraph is the reason. */
const imail: NonStandardFormat = {
  isFrom: (text) =>
    beginsWith(
      'Unknown user: ',
      'Unknown host: ',
      'User mailbox exceeds allowed size: ',
      'Invalid final delivery userid: ',
    )(text) && text.includes('Original message follows.'),
  reason: (text) => paragraph(linesOf(text.trimStart()), 0),
};

/** m-FILTER of Digital Arts: the reply has a heading. */
const mFilter: NonStandardFormat = {
  isFrom: (text) => /^-{7}server message$/m.test(text),
  reason: paragraphAfter(/^-{7}server message$/),
};

/** The fields of a delivery status notification in a mail whose parts are damaged, or that was forwarded. */
const damagedStatus: NonStandardFormat = {
  isFrom: (text) => /^Reporting-MTA:/im.test(text),
  reason(text) {
    const status = readDeliveryStatus(text.slice(text.search(/^Reporting-MTA:/im)));
    return status?.outcome === 'failed' ? diagnosticOf(status.refusal) : null;
  },
};

/** What the first of the patterns that matches names: its group, or the paragraph after it. */
function replyIn(text: string, replies: readonly RegExp[]): string | null {
  const found = replies.map((reply) => reply.exec(text)).find((match) => match !== null);
  if (!found) return null;
  const start = found.index + found[0].length;
  // A line of signs ends a paragraph, too.
  const [after = ''] = text.slice(start, start + MAX_REASON).split(/\n(?:\n|=)/, 1);
  return (found[1] ?? after).replace(/\s+/g, ' ').trim();
}

const appliances = textForms.map(({ failed, replies, warns }): NonStandardFormat => ({
  isFrom: (text) => failed.test(text) && !(warns && isWarning(text)),
  reason: (text) => replyIn(text, replies),
}));

const formats = [
  qmail,
  yahoo,
  exim,
  zoho,
  eximLike,
  gmail,
  openSmtpd,
  dragonFly,
  workMail,
  exchangeOnline,
  exchange,
  sendmail,
  imail,
  mFilter,
  qmailVariant,
  ...appliances,
  damagedStatus,
];

/** Enhanced codes that old servers write into their texts. */
const WRITTEN_CODE = /#([45]\.\d{1,3}\.\d{1,3})/;
/** GMX and Mimecast write only the enhanced code. */
const BARE_CODE = /(?:^|\s)([45]\.[12]\.\d{1,3}) |^(5\.\d\.\d{1,3}) /;

/**
 * Reads a bounce in one of the common forms that predate RFC 3464, or that ignore it.
 * @param text the beginning of the message's text
 * @returns `warning` if it only says that the message is late; null if it is not such a bounce
 */
export function readNonStandardBounce(text: string, header: Fields): Refusal | 'warning' | null {
  const normal = text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
  const reason = formats
    .filter((each) => each.isFrom(normal, header))
    .map((each) => each.reason(normal))
    .find((found) => found !== null && found !== '');
  // The copy of the message may have any words, so those of a warning count only if none of a failure are there.
  if (reason === undefined || reason === null) return isWarning(normal) ? 'warning' : null;
  const [, code, first] = WRITTEN_CODE.exec(reason) ?? BARE_CODE.exec(reason) ?? [];
  const refusal = refusalIn(reason, code ?? first ?? null);
  return { ...refusal, text: refusal.code === null ? reason : refusal.text };
}
