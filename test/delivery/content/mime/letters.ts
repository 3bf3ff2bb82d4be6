/** Letters, and their bytes as a provider gets them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DkimSigner } from '../../../../src/delivery/content/dkim/sign.ts';
import { buildWholeHead, hashWhole, wholePieces } from '../../../../src/delivery/content/mime/whole-body.ts';
import {
  type PreparedWhole,
  prepareWhole,
  type WholeContent,
  type WholeLetter,
} from '../../../../src/delivery/content/mime/whole.ts';
import type { BuiltMessage } from '../../../../src/delivery/content/mime/message.ts';
import type { LetterFile } from '../../../../src/delivery/terms/letter.ts';
import { address, date, email, recipient } from './wire.ts';

export interface TestFile extends LetterFile {
  bytes: Buffer;
}

/** A file of a letter. Its bytes look random, and are the same for the same name. */
export function file(
  filename: string,
  contentType: string,
  changes: Partial<LetterFile> & { bytes?: Buffer } = {},
): TestFile {
  const size = changes.size ?? 1_000;
  const bytes = changes.bytes ?? createHash('shake256', { outputLength: size }).update(filename).digest();
  return {
    n: 1,
    filename,
    contentType,
    contentId: null,
    disposition: 'attachment',
    storageKey: filename,
    ...changes,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes,
  };
}

export function letter(
  changes: Partial<Omit<WholeContent, 'letter'>> &
    Partial<Omit<WholeLetter, 'replyTo'>> & { replyTos?: string[] } = {},
): WholeContent {
  const { to = [recipient.to], cc = [], files = [], replyTos = [], ...content } = changes;
  return { ...email(content), letter: { to, cc, files, replyTo: replyTos.map(address) } };
}

/** Base64 in lines of 76 characters that all end with CRLF. */
const folded = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n'), 'latin1');

/** Reads files in pieces that end anywhere. */
export async function* readFile(given: LetterFile): AsyncGenerator<Buffer> {
  const bytes = folded(Buffer.from((given as TestFile).bytes));
  for (let at = 0; at < bytes.length; at += 1_001) yield bytes.subarray(at, at + 1_001);
}

/** Joins pieces, of which none may be empty or too long. */
export async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  const lengths = all.map(({ length }) => length);
  if (Math.min(...lengths) < 1 || Math.max(...lengths) > 64 * 1024)
    throw new Error('a piece has a wrong size');
  return Buffer.concat(all);
}

/** The bytes of one copy. */
export async function buildLetter(
  given: WholeContent | PreparedWhole,
  { signers = [], tokens = [] }: { signers?: readonly DkimSigner[]; tokens?: readonly string[] } = {},
): Promise<BuiltMessage> {
  const prepared = 'texts' in given ? given : prepareWhole(given);
  const bodyHash = await hashWhole(prepared, tokens, readFile);
  const own = { messageId: recipient.messageId, date };
  const head = await buildWholeHead(prepared, own, signers.length > 0 ? { signers, bodyHash } : null);
  const data = await collect(wholePieces(head, prepared, tokens, readFile));
  if (data.length !== head.length + prepared.size) throw new Error('the size is wrong');
  return { data, smtpUtf8: prepared.smtpUtf8, eightBit: prepared.smtpUtf8 };
}

/** A file as it was parsed. */
interface ReadFile {
  type: string;
  method: string | null;
  filename: string;
  disposition: string | null;
  contentId: string | null;
  size: number;
  sha256: string;
}

/** A mail as Python's email package reads it. */
export interface PythonMail {
  /** Such as `multipart/mixed(text/plain application/pdf)`. */
  structure: string;
  /** Display names and addresses. */
  to: [string, string][];
  cc: [string, string][];
  replyTo: [string, string][];
  /** The names of all fields. */
  names: string[];
  /** The texts that are not files, by their types. */
  texts: Record<string, string>;
  files: ReadFile[];
  defects: string[];
}

const script = fileURLToPath(new URL('read_mails.py', import.meta.url));

/** Reads mails with Python's email package. Needs `python3`. */
export function readByPython(mails: readonly Buffer[]): PythonMail[] {
  const input = JSON.stringify(mails.map((mail) => mail.toString('base64')));
  const output = execFileSync('python3', [script], { input, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(output.toString()) as PythonMail[];
}
