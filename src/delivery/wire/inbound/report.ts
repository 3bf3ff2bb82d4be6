import PostalMime, { type Attachment, type Email } from 'postal-mime';
import type { Refusal } from '../../terms/bounces.ts';
import { autoReplyFields } from './auto-reply-fields.ts';
import { readDeliveryStatus } from './delivery-status.ts';
import { type Fields, readFieldBlocks } from './fields.ts';
import { readNonStandardBounce } from './non-standard.ts';

/** What a mail says about a message. The MAC of the address or of a reference later proves whether it may say so. */
export type MailReport =
  | { kind: 'failed'; refusal: Refusal; references: string[] }
  | { kind: 'delivered'; response: string; references: string[] }
  | {
      kind: 'complaint';
      references: string[];
      /**
       * The recipient that a feedback report (RFC 5965) names; null if it names none, or the complaint has another
       * form.
       */
      recipient: string | null;
    }
  /** The mail changes nothing; `reason` goes to the log. */
  | { kind: 'none'; reason: 'no_outcome' | 'no_complaint' | 'no_report' | 'auto_reply' | 'unreadable' };

/** A mail as it arrived. */
export interface InboundMail {
  /** The beginning of the message, at most {@link MAX_READ_BYTES}. */
  head: Buffer;
  /** The envelope sender; empty for the null return path. */
  envelopeFrom: string;
  /** Whether the mail was sent to the address for feedback loops. */
  feedbackLoop: boolean;
}

/** Maximum number of bytes read. Reports begin with what they report, and end with the returned message. */
export const MAX_READ_BYTES = 128 * 1024;
const MAX_TEXT = 64 * 1024;
const MAX_DEPTH = 8;
const MAX_HEADER_BYTES = 64 * 1024;
/** Maximum number of lines read that may begin a part. */
const MAX_DELIMITERS = 200;
/**
 * Maximum number of lines read: a parser takes about 20 µs for each, however short it is. A base64 body of the maximum
 * size has fewer.
 */
const MAX_LINES = 2_500;
/** Names of the fields that may contain a reference, in the header of the returned message and in feedback reports. */
const referenceFields = [
  'original-envelope-id',
  'original-message-id',
  'message-id',
  'x-original-message-id',
  'return-path',
  'original-mail-from',
];
/** RFC 5965 §7.3, and what large providers use. */
const complaintTypes = new Set(['abuse', 'fraud', 'opt-out', 'opt-out-list']);
/** Likewise, RFC 6430 (`not-spam`) and RFC 6591 (`auth-failure`): reports that are not complaints. */
const otherFeedbackTypes = new Set(['not-spam', 'auth-failure', 'virus', 'other', 'dmarc', 'miscategorized']);

/** Truncates a mail before it is parsed, so that it has neither too many parts nor too many lines. */
function bounded(raw: Buffer): Buffer {
  const head = raw.subarray(0, MAX_READ_BYTES);
  const ends = [endAfter(head, '\n--', MAX_DELIMITERS), endAfter(head, '\n', MAX_LINES)];
  return head.subarray(0, Math.min(...ends));
}

/** The end of a text that is cut off after `count` line breaks. */
function endAfter(text: Buffer, lineBreak: string, count: number): number {
  let at = -1;
  for (let found = 0; found < count; found += 1) {
    at = text.indexOf(lineBreak, at + 1, 'latin1');
    if (at === -1) return text.length;
  }
  return at + 1;
}

function textOf({ content }: Attachment): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer);
  return bytes.subarray(0, MAX_TEXT).toString('utf8');
}

/**
 * The text between `<` and `@`, or the whole text: the reference in a Message-ID, or the local part of a return path.
 */
function referenceIn(value: string): string {
  return (
    /^[^<>]{0,200}<([^<>@\s]{1,200})[@>]/.exec(value)?.[1] ?? /^[^<>@\s]{1,200}/.exec(value.trim())?.[0] ?? ''
  );
}

/** The address in `Original-Rcpt-To` (RFC 5965 §3.2), with or without angle brackets. */
function addressIn(value: string): string | null {
  return /^(?:rfc822; ?)?<?([^<>\s]{3,320})>?$/i.exec(value.trim())?.[1] ?? null;
}

function referencesIn(blocks: readonly (Fields | undefined)[]): string[] {
  const values = blocks.flatMap((block) => referenceFields.flatMap((name) => block?.get(name) ?? []));
  return values.map(referenceIn).filter((reference) => reference !== '');
}

function partOf(mail: Email, ...types: string[]): Attachment | undefined {
  return mail.attachments.find(({ mimeType }) => types.includes(mimeType));
}

const headerOf = (mail: Email): Fields =>
  new Map(mail.headers.toReversed().map(({ key, value }) => [key, value]));

/** The header of the message that a report returns. */
function returnedHeader(mail: Email): Fields | undefined {
  const part = partOf(
    mail,
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/global-headers',
  );
  return part && readFieldBlocks(textOf(part), 1)[0];
}

/**
 * Older signs of an automatic reply. `Auto-Submitted: auto-replied` (RFC 3834) is not one of them, because bounces have
 * it, too. An automatic reply without any of these signs has none of the forms of a bounce.
 */
function isAutoReply(header: Fields): boolean {
  const isValue = (name: string, value: string) => header.get(name)?.trim().toLowerCase() === value;
  return (
    autoReplyFields.some((name) => header.has(name)) ||
    // Rules of Exchange, such as that of an absence. It is also in mail that they pass on.
    header.has('x-ms-exchange-inbox-rules-loop') ||
    ['precedence', 'x-precedence', 'preference'].some((name) => isValue(name, 'auto_reply')) ||
    isValue('x-apple-action', 'vacation') ||
    isValue('delivered-to', 'autoresponder') ||
    isValue('x-autogenerated', 'reply')
  );
}

/** RFC 5321 §4.5.5: a bounce has the null return path. Some old servers give their own address instead. */
function isBounceSender(envelopeFrom: string): boolean {
  return envelopeFrom === '' || /^(?:mailer-daemon|postmaster|#)@/i.test(envelopeFrom);
}

const isReport = (header: Fields): boolean =>
  /^\s*multipart\/report\b/i.test(header.get('content-type') ?? '');

type Sent = Pick<InboundMail, 'head' | 'envelopeFrom'>;

const ownHeader = ({ head }: Sent): Fields =>
  readFieldBlocks(head.subarray(0, MAX_HEADER_BYTES).toString('utf8'), 1)[0] ?? new Map();

/** Names under which mail servers write: the addresses, and what is before or beside them. */
const SERVER =
  /(?:^|[<\s"])(?:mailer-daemon|postmaster|mail-daemon|mdaemon)\b|mail (?:delivery|system)|delivery (?:sub)?system/i;

/**
 * Whether a mail server wrote a mail. If it is no report that {@link readReport} understands, it is a report in an
 * unknown form, not a reply.
 */
export function isFromMailServer(mail: Sent): boolean {
  if (mail.envelopeFrom !== '' && isBounceSender(mail.envelopeFrom)) return true;
  const header = ownHeader(mail);
  return SERVER.test(header.get('from') ?? '') || isReport(header) || header.has('x-failed-recipients');
}

/** Whether a mail that changes nothing is the automatic reply of a person's mailbox (RFC 3834, [MS-OXCMAIL]). */
export function isAutomaticReply(report: MailReport, mail: Sent): boolean {
  if (report.kind === 'none' && report.reason === 'auto_reply') return true;
  if (isFromMailServer(mail)) return false;
  const header = ownHeader(mail);
  return (
    /^\s*auto-(?:replied|notified)/i.test(header.get('auto-submitted') ?? '') ||
    /(?:^|[\s,;])(?:all|oof|autoreply)(?:$|[\s,;])/i.test(header.get('x-auto-response-suppress') ?? '')
  );
}

/** Some servers, such as OpenSMTPD, write the reply only into the text for people. */
function withReply(refusal: Refusal, mail: Email): Refusal {
  if (refusal.text !== '' || refusal.code !== null) return refusal;
  const written = readNonStandardBounce((mail.text ?? '').slice(0, MAX_TEXT), headerOf(mail));
  return written === null || written === 'warning'
    ? refusal
    : { ...written, status: refusal.status ?? written.status ?? null };
}

function deliveryReport(mail: Email, part: Attachment): MailReport {
  const status = readDeliveryStatus(textOf(part));
  if (status === null) return { kind: 'none', reason: 'unreadable' };
  const { outcome, refusal, envelopeId } = status;
  const references = [
    ...(envelopeId === null ? [] : [referenceIn(envelopeId)]),
    ...referencesIn([returnedHeader(mail)]),
  ];
  switch (outcome) {
    case 'failed':
      return { kind: 'failed', refusal: withReply(refusal, mail), references };
    case 'delivered':
      return {
        kind: 'delivered',
        response: refusal.text || (refusal.enhanced ?? refusal.status ?? ''),
        references,
      };
    case 'unchanged':
      return { kind: 'none', reason: 'no_outcome' };
    case 'unknown':
      return { kind: 'none', reason: 'unreadable' };
  }
}

function feedbackReport(mail: Email, part: Attachment): MailReport {
  const fields = readFieldBlocks(textOf(part), 1)[0];
  const type = fields?.get('feedback-type')?.trim().toLowerCase() ?? '';
  if (otherFeedbackTypes.has(type)) return { kind: 'none', reason: 'no_complaint' };
  if (!complaintTypes.has(type)) return { kind: 'none', reason: 'unreadable' };
  const references = referencesIn([returnedHeader(mail), fields]);
  return { kind: 'complaint', references, recipient: addressIn(fields?.get('original-rcpt-to') ?? '') };
}

function readParsed(mail: Email, { head, envelopeFrom, feedbackLoop }: InboundMail): MailReport {
  const status = partOf(mail, 'message/delivery-status', 'message/global-delivery-status');
  if (status) return deliveryReport(mail, status);
  const feedback = partOf(mail, 'message/feedback-report');
  if (feedback) return feedbackReport(mail, feedback);
  const returned = returnedHeader(mail);
  // Outlook.com's junk mail reports attach the message and nothing else.
  if (feedbackLoop && returned)
    return { kind: 'complaint', references: referencesIn([returned]), recipient: null };
  const header = headerOf(mail);
  if (isAutoReply(header)) return { kind: 'none', reason: 'auto_reply' };
  if (!isBounceSender(envelopeFrom)) return { kind: 'none', reason: 'no_report' };
  // Without parts, because their boundary is another one, there is no text.
  const text = mail.text ?? (isReport(header) ? bounded(head).toString('utf8') : '');
  const refusal = readNonStandardBounce(text.slice(0, MAX_TEXT), header);
  if (refusal === 'warning') return { kind: 'none', reason: 'no_outcome' };
  return refusal
    ? { kind: 'failed', refusal, references: referencesIn([returned]) }
    : { kind: 'none', reason: 'no_report' };
}

/**
 * Reads a mail as a delivery status notification (RFC 3464), a feedback report (RFC 5965), or a bounce in one of the
 * common older forms. Never throws: a mail that cannot be read changes nothing.
 */
export async function readReport(inbound: InboundMail): Promise<MailReport> {
  try {
    const mail = await PostalMime.parse(bounded(inbound.head), {
      forceRfc822Attachments: true,
      maxNestingDepth: MAX_DEPTH,
      maxHeadersSize: MAX_HEADER_BYTES,
    });
    return readParsed(mail, inbound);
  } catch {
    return { kind: 'none', reason: 'unreadable' };
  }
}
