/** Parses a mail in a thread. */
import PostalMime from 'postal-mime';
import type { Attachment, Email, Header } from 'postal-mime';
import { cutUtf8 } from '../../../platform/input/cut-utf8.ts';
import { bytesOf } from './attachments.ts';
import { decodeBody, skeletonOf, type Skeleton } from './skeleton.ts';
import { headerOf, scanStructure } from './structure.ts';
import { storableText } from './visible-text.ts';

/** Bytes of UTF-8, for `text` and for `html`. */
const MAX_TEXT_BYTES = 512 * 1024;
const MAX_ATTACHMENTS = 200;
const MAX_LEVELS = 100;
const MAX_HEADERS_BYTES = 2 * 1024 * 1024;
/** Each level takes another copy of what it contains, and a mail may have 25 MB. */
const MAX_MAIL_LEVELS = 3;
/** The parser may add a line break to a mark. */
const MAX_MARK_LENGTH = 64;

/** Mails of at most this size are parsed as they are; larger ones without their large parts. */
const MAX_WHOLE_BYTES = 256 * 1024;
/** Each line takes time to authenticate if it ends with LF alone. Mail that arrived by SMTP has none. */
const MAX_BARE_LINES = 50_000;

/** A parsed mail, or as much of it as can be read. */
export interface ParsedMail {
  fields: Header[];
  /** Null if the mail cannot be parsed. */
  email: Email | null;
  /** A text is incomplete. */
  truncated: boolean;
  unreadable: string | null;
  /** The bytes that signatures are checked against: only the header if the body would take too long. */
  signed: Buffer;
  /** Returns the content of an attachment. */
  contentOf(attachment: Attachment): Buffer;
  /** Whether nothing else uses the memory of a content. */
  isOwn(content: Buffer): boolean;
}

/** Parses the header alone. */
export async function parseHeader(bytes: Buffer): Promise<Header[]> {
  const parsed = await PostalMime.parse(headerOf(bytes));
  return parsed.headers;
}

function wholeMail(bytes: Buffer<ArrayBuffer>): Skeleton {
  return { raw: bytes.buffer, removed: new Map(), truncated: false };
}

function contentIn(bytes: Buffer, { removed }: Skeleton, attachment: Attachment): Buffer {
  const content = bytesOf(attachment);
  const leaf =
    content.length > MAX_MARK_LENGTH ? undefined : removed.get(content.toString('latin1').trimEnd());
  return leaf ? decodeBody(bytes, leaf) : content;
}

/** The parser and the scan must agree on the parts, or the content of one would be lost. */
function lacksParts({ removed }: Skeleton, email: Email): boolean {
  const found = email.attachments
    .map(bytesOf)
    .filter(({ length }) => length <= MAX_MARK_LENGTH)
    .filter((content) => removed.has(content.toString('latin1').trimEnd()));
  return found.length < removed.size;
}

async function parse({ raw }: Skeleton): Promise<Email | string> {
  try {
    return await PostalMime.parse(raw, {
      maxNestingDepth: MAX_LEVELS,
      maxHeadersSize: MAX_HEADERS_BYTES,
      maxRfc822NestingDepth: MAX_MAIL_LEVELS,
    });
  } catch (error) {
    return `the mail cannot be parsed: ${(error as Error).message}`;
  }
}

function problemOf(skeleton: Skeleton, email: Email): string | null {
  if (email.attachments.length > MAX_ATTACHMENTS)
    return `the mail has more than ${MAX_ATTACHMENTS} attachments`;
  return lacksParts(skeleton, email) ? 'the parts of the mail cannot be told apart' : null;
}

/**
 * Parses a mail. A mail with a structure that must not be parsed, or that the parser refuses, is `unreadable`; its header
 * is read nevertheless.
 * @param bytes of a small mail, in memory that has nothing else, so that the parser need not copy it
 */
export async function parseMail(bytes: Buffer<ArrayBuffer>): Promise<ParsedMail> {
  const { problem, leaves, bareLines } = scanStructure(bytes);
  const whole = bytes.length <= MAX_WHOLE_BYTES;
  const skeleton = whole || problem !== null ? wholeMail(bytes) : skeletonOf(bytes, leaves);
  const email = problem ?? (await parse(skeleton));
  const unreadable = typeof email === 'string' ? email : problemOf(skeleton, email);
  return {
    fields: typeof email === 'string' ? await parseHeader(bytes) : email.headers,
    email: typeof email === 'string' || unreadable !== null ? null : email,
    truncated: skeleton.truncated,
    unreadable,
    signed: signedIn(bytes, bareLines),
    contentOf: (attachment) => contentIn(bytes, skeleton, attachment),
    isOwn: (content) => content.buffer !== bytes.buffer && content.buffer !== skeleton.raw,
  };
}

function signedIn(bytes: Buffer, bareLines: number): Buffer {
  return bareLines > MAX_BARE_LINES ? headerOf(bytes) : bytes;
}

/** Returns the `signed` bytes of a mail. */
export function signedBytes(bytes: Buffer): Buffer {
  return bytes.length <= MAX_BARE_LINES ? bytes : signedIn(bytes, scanStructure(bytes).bareLines);
}

/** Parses the header of a mail whose contents cannot be read. */
export async function parseHeaderOnly(bytes: Buffer): Promise<ParsedMail> {
  const fields = await parseHeader(bytes);
  const contentOf = bytesOf;
  return {
    fields,
    email: null,
    truncated: false,
    unreadable: null,
    signed: bytes,
    contentOf,
    isOwn: () => false,
  };
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
