/** Reads the fields of a mail's header that Carillon uses. */
import { decodeWords } from 'postal-mime';
import type { Header, Mailbox } from 'postal-mime';
import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { isAutomatic } from './automatic.ts';
import { readDate } from './header-date.ts';
import type { ReadHeader } from './jobs.ts';
import { mailboxesIn, shownMailboxes, valuesOf } from '../../../delivery/content/read/mailboxes.ts';
import { visibleLine } from '../../../delivery/content/read/visible-text.ts';

/** Each event has them. */
const MAX_AUTHORS = 10;
const MAX_SUBJECT_LENGTH = 1_000;
/** Ids are indexed, so they must be short. Those of real programs have at most about 200 characters. */
const MAX_ID_LENGTH = 500;
const MAX_REFERENCES = 100;

const ID = /<([^<>\s]+)>/g;

/** Returns the ids of a field in order, without angle brackets. Ids that are too long are left out. */
function idsIn(value: string): string[] {
  const ids: string[] = [];
  for (const [, id = ''] of value.matchAll(ID)) {
    if (id.length <= MAX_ID_LENGTH) ids.push(id.toWellFormed().replaceAll('\0', ''));
  }
  return ids;
}

/** The Message-ID, without angle brackets. Some programs write an id without them. */
function messageId(fields: readonly Header[]): string | null {
  const value = valuesOf(fields, 'message-id')[0] ?? '';
  const [id] = idsIn(value);
  if (id !== undefined) return id;
  const bare = value.trim();
  return bare !== '' && bare.length <= MAX_ID_LENGTH && /^[^\s<>\0]+$/.test(bare)
    ? bare.toWellFormed()
    : null;
}

/** The ids that the mail refers to, the nearest first: In-Reply-To, then References from its end. */
function referenceIds(fields: readonly Header[]): string[] {
  const answered = valuesOf(fields, 'in-reply-to').flatMap(idsIn);
  const thread = valuesOf(fields, 'references').flatMap(idsIn).reverse();
  return [...new Set([...answered, ...thread])].slice(0, MAX_REFERENCES);
}

/** The key of the only address in From. A mail with several authors has no single sender. */
function senderKey(authors: readonly Mailbox[], fields: readonly Header[]): string | null {
  const [author] = authors;
  if (!author || authors.length > 1 || valuesOf(fields, 'from').length > 1) return null;
  const parsed = parseEmailAddress(author.address);
  return 'error' in parsed ? null : parsed.key;
}

function subjectOf(fields: readonly Header[]): string | null {
  const [value] = valuesOf(fields, 'subject');
  return value === undefined ? null : visibleLine(decodeWords(value), MAX_SUBJECT_LENGTH);
}

/**
 * @param fields the fields of the mail's header, in order
 * @param envelopeFrom empty for the null return path
 */
export function readHeader(fields: readonly Header[], envelopeFrom: string): ReadHeader {
  const authors = mailboxesIn(fields, 'from');
  return {
    internetId: messageId(fields),
    referenceIds: referenceIds(fields),
    from: shownMailboxes(fields, 'from').slice(0, MAX_AUTHORS).join(', '),
    senderKey: senderKey(authors, fields),
    to: shownMailboxes(fields, 'to'),
    cc: shownMailboxes(fields, 'cc'),
    replyTo: shownMailboxes(fields, 'reply-to').slice(0, MAX_AUTHORS).join(', ') || null,
    date: readDate(valuesOf(fields, 'date')[0] ?? ''),
    subject: subjectOf(fields),
    autoSubmitted: isAutomatic(fields, [envelopeFrom, ...authors.map(({ address }) => address || '-')]),
  };
}
