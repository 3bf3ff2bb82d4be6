/** Parses a mail in a thread. */
import type { Header } from 'postal-mime';
import { parseHeader } from '../../../delivery/content/read/header-fields.ts';
import { headerOf } from '../../../delivery/content/read/lines.ts';
import { scanStructure, type Leaf } from '../../../delivery/content/read/structure.ts';
import { decodeBody } from '../../../delivery/content/read/transfer-encoding.ts';
import { readTexts, type BodyTexts, type Parts } from './body-texts.ts';

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
