/** Decodes files that stand in a request. */
import { createHash } from 'node:crypto';
import { foldBase64 } from '../../platform/storage/folded.ts';
import { bufferSource } from './byte-source.ts';
import { checkFile, type CheckedFile, type GivenFile } from './checks.ts';

export interface EncodedFile extends GivenFile {
  /** Base64 (RFC 4648), possibly with line breaks. */
  content: string;
}

export interface DecodedFile extends CheckedFile {
  /** Bytes. */
  size: number;
  /** Of the bytes. */
  sha256: Uint8Array;
  /** The bytes as they are stored. */
  folded: Uint8Array<ArrayBuffer>;
}

const NOT_BASE64 = 'must be base64 with padding (RFC 4648), without a prefix such as data:';

/** A file that has a problem has no bytes. */
function undecoded({ filename }: EncodedFile, message: string): DecodedFile {
  const problems = [{ part: 'content', message } as const];
  const none = new Uint8Array(new ArrayBuffer(0));
  return { filename, contentType: '', problems, size: 0, sha256: none, folded: none };
}

/** Decodes and checks a file. A malformed one has a problem with its content. */
export async function decodeFile(file: EncodedFile, blocked: ReadonlySet<string>): Promise<DecodedFile> {
  const text = file.content.includes('\n') ? file.content.replace(/\r?\n/g, '') : file.content;
  if (text === '') return undecoded(file, 'is an empty file');
  const bytes = Buffer.from(text, 'base64');
  // The decoder ignores what it does not understand.
  if (bytes.toString('base64') !== text) return undecoded(file, NOT_BASE64);
  const checked = await checkFile(bufferSource(bytes), file, blocked);
  const sha256 = createHash('sha256').update(bytes).digest();
  return { ...checked, size: bytes.length, sha256, folded: foldBase64(text) };
}
