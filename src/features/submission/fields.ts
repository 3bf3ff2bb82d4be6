/** Reads the header of a submitted mail. */
import { decodeWords, type Header, type Mailbox } from 'postal-mime';
import { isReservedHeader } from '../../delivery/content/mime/reserved-headers.ts';
import { mailboxesIn, valuesOf } from '../../delivery/content/read/mailboxes.ts';

/** The prefix of header fields that correspond to fields of a request to the API. */
const OWN_PREFIX = 'x-carillon-';

/** A field that Carillon writes for its SMTP provider, which may be another installation of Carillon. */
const isOfProvider = (name: string, value: string) =>
  name === 'x-carillon-tags' && /\bmessage_id=\d+/.test(value);

/** The fields of a mail. Texts are decoded, and have no line breaks. */
export interface SubmittedFields {
  from: Mailbox[];
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  /** Empty: there is none. */
  subject: string;
  /** As in the mail, with its angle brackets; null: there is none. */
  messageId: string | null;
  inReplyTo: string | null;
  references: string | null;
  /** Those that are kept, by the name that the mail gives them; the first of each name. */
  headers: Record<string, string>;
  /** Of X-Carillon-…, in order, with the rest of the name in lower case. */
  own: { name: string; value: string }[];
  /** Names in lower case of fields that are left out: reserved ones, and further ones of a name. */
  leftOut: string[];
}

/** Fields that have a place of their own in a message, or that describe its parts. */
const PLACED: ReadonlySet<string> = new Set([
  ...['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['mime-version', 'content-type', 'content-transfer-encoding', 'content-disposition', 'content-id'],
]);

/** Line breaks and tabs are from folding. */
const oneLine = (value: string) => value.replace(/[\t\r\n]+/g, ' ').trim();

const textOf = (value: string) => oneLine(value.includes('=?') ? decodeWords(value) : value);

/** The mailboxes in the fields of a name. A name may be folded, too, between its words or inside of an encoded one. */
const addressesIn = (fields: readonly Header[], name: string): Mailbox[] =>
  mailboxesIn(fields, name).map((mailbox) => ({ ...mailbox, name: oneLine(mailbox.name) }));

function firstOf(fields: readonly Header[], name: string): string | null {
  const value = oneLine(valuesOf(fields, name)[0] ?? '');
  return value === '' ? null : value;
}

/** @param fields of the mail's header, in order */
export function readFields(fields: readonly Header[]): SubmittedFields {
  const headers: SubmittedFields['headers'] = {};
  const own: SubmittedFields['own'] = [];
  const leftOut: string[] = [];
  const seen = new Set<string>();
  for (const { key, originalKey, value } of fields) {
    const name = key.toLowerCase();
    if (PLACED.has(name)) continue;
    if (isOfProvider(name, value)) leftOut.push(name);
    else if (name.startsWith(OWN_PREFIX))
      own.push({ name: name.slice(OWN_PREFIX.length), value: textOf(value) });
    else if (isReservedHeader(name) || seen.has(name)) leftOut.push(name);
    else headers[originalKey.trim()] = textOf(value);
    seen.add(name);
  }
  return {
    from: addressesIn(fields, 'from'),
    to: addressesIn(fields, 'to'),
    cc: addressesIn(fields, 'cc'),
    replyTo: addressesIn(fields, 'reply-to'),
    subject: textOf(valuesOf(fields, 'subject')[0] ?? ''),
    messageId: firstOf(fields, 'message-id'),
    inReplyTo: firstOf(fields, 'in-reply-to'),
    references: firstOf(fields, 'references'),
    headers,
    own,
    leftOut,
  };
}
