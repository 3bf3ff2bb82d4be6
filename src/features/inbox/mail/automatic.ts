import type { Header } from 'postal-mime';

const BULK = new Set(['bulk', 'junk', 'list', 'auto_reply']);
const SUPPRESSES_ANSWERS = /(?:^|[\s,])(?:all|oof|autoreply)(?:$|[\s,])/i;
/** Their presence alone says that a program wrote the mail. */
const MARKS = new Set([
  'x-autoreply',
  'x-autorespond',
  'x-autoresponse',
  'x-auto-reply',
  'list-id',
  'list-unsubscribe',
]);
/** Names of mailboxes from which only programs write. */
const PROGRAM = /^(?:mailer-daemon|no-?reply|do-?not-?reply)(?:[+@-]|$)/i;

function isMark({ key, value }: Header): boolean {
  const text = value.trim().toLowerCase();
  switch (key) {
    case 'auto-submitted':
      // RFC 3834, section 5: a keyword, then parameters.
      return text.split(/[;\s(]/, 1)[0] !== 'no';
    case 'precedence':
      return BULK.has(text);
    case 'x-auto-response-suppress':
      return SUPPRESSES_ANSWERS.test(text);
    case 'content-type':
      return text.startsWith('multipart/report');
    default:
      return MARKS.has(key);
  }
}

/**
 * Whether a program sent the mail, such as an automatic reply, a report or a mailing list (RFC 3834 and what programs
 * add to it). Such mail must not be answered automatically.
 * @param fields of the mail's header
 * @param senders addresses of the envelope and the header. An empty one is the null return path, which is for mail that
 *   must not be answered.
 */
export function isAutomatic(fields: readonly Header[], senders: readonly string[]): boolean {
  return senders.some((address) => address === '' || PROGRAM.test(address)) || fields.some(isMark);
}
