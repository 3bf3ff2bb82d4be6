/** Parses a mail in a thread. */
import { isUtf8 } from 'node:buffer';
import PostalMime from 'postal-mime';
import type { Header } from 'postal-mime';
import { readTexts, type BodyTexts, type Parts } from './body-texts.ts';
import { joinWords } from './encoded-words.ts';
import { headerOf } from './lines.ts';
import { scanStructure, type Leaf } from './structure.ts';
import { decodeBody } from './transfer-encoding.ts';

const MAX_ATTACHMENTS = 200;

/** Each line takes time to authenticate if it ends with LF alone. Mail that arrived by SMTP has none. */
const MAX_BARE_LINES = 50_000;

/** A parsed mail, or as much of it as can be read. */
export interface ParsedMail {
  fields: Header[];
  /** Null if the mail cannot be read. */
  body: BodyTexts | null;
  unreadable: string | null;
  /** The bytes that signatures are checked against: only the header if the body would take too long. */
  signed: Buffer;
  /** Returns the content of a file. */
  contentOf(file: Leaf): Buffer;
  /** Whether nothing else uses the memory of a content. */
  isOwn(content: Buffer): boolean;
}

/**
 * The lines of a header in UTF-8 (RFC 6532). Older programs write the character set of their users. A mark at the beginning
 * of a line stays, or the line would become a field that it is not for other programs.
 */
function inUtf8(header: Buffer): Buffer {
  if (isUtf8(header)) return header;
  const decoder = new TextDecoder('windows-1252');
  const lines = header.toString('latin1').split('\n');
  const decoded = lines.map((text) => {
    const line = Buffer.from(text, 'latin1');
    return isUtf8(line) ? line.toString() : decoder.decode(line);
  });
  return Buffer.from(decoded.join('\n'));
}

/** Ids are compared, not read. */
const ID_FIELDS: ReadonlySet<string> = new Set(['message-id', 'in-reply-to', 'references']);

/** Parses the header alone. Encoded words are in UTF-8, and none of them contains a part of a character. */
export async function parseHeader(bytes: Buffer): Promise<Header[]> {
  const parsed = await PostalMime.parse(inUtf8(headerOf(bytes)));
  return parsed.headers.map((field) =>
    field.value.includes('=?') && !ID_FIELDS.has(field.key)
      ? { ...field, value: joinWords(field.value) }
      : field,
  );
}

/** @returns why not, or the texts and files */
function readBody(bytes: Buffer, parts: Parts): BodyTexts | string {
  const body = readTexts(bytes, parts);
  return body.files.length > MAX_ATTACHMENTS ? `the mail has more than ${MAX_ATTACHMENTS} attachments` : body;
}

/** Parses a mail. A mail with a structure that must not be read further is `unreadable`; its header is read nevertheless. */
export async function parseMail(bytes: Buffer<ArrayBuffer>): Promise<ParsedMail> {
  const { problem, bareLines, ...parts } = scanStructure(bytes);
  const body = problem ?? readBody(bytes, parts);
  return {
    fields: await parseHeader(bytes),
    body: typeof body === 'string' ? null : body,
    unreadable: typeof body === 'string' ? body : null,
    signed: signedIn(bytes, bareLines),
    contentOf: ({ start, end, header }) => decodeBody(bytes.subarray(start, end), header),
    isOwn: (content) => content.buffer !== bytes.buffer,
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
  return {
    fields: await parseHeader(bytes),
    body: null,
    unreadable: null,
    signed: bytes,
    contentOf: () => Buffer.alloc(0),
    isOwn: () => false,
  };
}
