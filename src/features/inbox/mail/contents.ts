/** Parses a mail in a thread. */
import PostalMime from 'postal-mime';
import type { Email, Header } from 'postal-mime';
import { cutUtf8 } from '../../../platform/input/cut-utf8.ts';
import { headerOf, structureProblem } from './structure.ts';
import { storableText } from './visible-text.ts';

/** Bytes of UTF-8, for `text` and for `html`. */
const MAX_TEXT_BYTES = 512 * 1024;
const MAX_ATTACHMENTS = 200;
const MAX_LEVELS = 100;
const MAX_HEADERS_BYTES = 2 * 1024 * 1024;
/** Each level takes another copy of what it contains, and a mail may have 25 MB. */
const MAX_MAIL_LEVELS = 3;

/** A parsed mail, or as much of it as can be read. */
export interface ParsedMail {
  fields: Header[];
  /** Null if the mail cannot be parsed. */
  email: Email | null;
  unreadable: string | null;
  /** The bytes after the header and the empty line. */
  body: Buffer;
}

/** Parses the header alone. */
export async function parseHeader(bytes: Buffer): Promise<Header[]> {
  const parsed = await PostalMime.parse(headerOf(bytes));
  return parsed.headers;
}

/**
 * Parses a mail. A mail with a structure that must not be parsed, or that the parser refuses, is `unreadable`; its header
 * is read nevertheless.
 * @param raw the whole memory of the buffer is the mail, so that the parser need not copy it
 */
export async function parseMail(raw: ArrayBuffer): Promise<ParsedMail> {
  const bytes = Buffer.from(raw);
  const body = bytes.subarray(headerOf(bytes).length);
  const problem = structureProblem(bytes);
  if (problem !== null) return { fields: await parseHeader(bytes), email: null, unreadable: problem, body };
  try {
    const email = await PostalMime.parse(raw, {
      maxNestingDepth: MAX_LEVELS,
      maxHeadersSize: MAX_HEADERS_BYTES,
      maxRfc822NestingDepth: MAX_MAIL_LEVELS,
    });
    const tooMany = email.attachments.length > MAX_ATTACHMENTS;
    const unreadable = tooMany ? `the mail has more than ${MAX_ATTACHMENTS} attachments` : null;
    return { fields: email.headers, email: tooMany ? null : email, unreadable, body };
  } catch (error) {
    const unreadable = `the mail cannot be parsed: ${(error as Error).message}`;
    return { fields: await parseHeader(bytes), email: null, unreadable, body };
  }
}

/** A body text, cleaned and cut. */
export interface BodyText {
  text: string | null;
  truncated: boolean;
}

/** @param text as the parser returns it; undefined if the mail has no such part */
export function bodyText(text: string | undefined): BodyText {
  if (text === undefined) return { text: null, truncated: false };
  const clean = storableText(text.length > 2 * MAX_TEXT_BYTES ? text.slice(0, 2 * MAX_TEXT_BYTES) : text);
  const cut = cutUtf8(clean, MAX_TEXT_BYTES);
  return { text: cut, truncated: cut.length < clean.length || text.length > 2 * MAX_TEXT_BYTES };
}
