/**
 * The thread that reads submitted mail, one after another. Large contents never leave it: it opens the mail itself, and
 * stores files and bodies. If a mail makes it hang or crash, the pool in `read-jobs.ts` replaces it.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { parentPort } from 'node:worker_threads';
import { parseHeader } from '../../delivery/content/read/header-fields.ts';
import { scanStructure } from '../../delivery/content/read/structure.ts';
import { decodeBody } from '../../delivery/content/read/transfer-encoding.ts';
import { type BlobStore, newBlobKey } from '../../platform/storage/blob-store.ts';
import { foldBase64, foldedStore } from '../../platform/storage/folded.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { bufferSource, checkFile } from '../attachments/service.ts';
import { readFields } from './fields.ts';
import type { ReadJob, ReadReply, SubmittedContent, SubmittedFile } from './jobs.ts';
import { bodyFields } from './opaque-body.ts';
import { type Shape, type ShapedFile, shapeOf } from './shape.ts';

/** A file up to this size is returned: if the account has it already, it need not be stored. */
const MAX_RETURNED_BYTES = 256 * 1024;
const LARGE_BYTES = 256 * 1024;
const PIECE_BYTES = 64 * 1024;

/** The mail is not sent. */
class RefusedError extends Error {}

const stores = new Map<string, BlobStore>();

function storeOf(home: string): BlobStore {
  const store = stores.get(home) ?? createHomeStore(home);
  stores.set(home, store);
  return store;
}

/** Memory for a large mail, used again for the next: freed memory is returned to the system late, or never. */
let largeMail: ArrayBuffer | null = null;

function memoryFor(size: number): Buffer<ArrayBuffer> {
  if (size < LARGE_BYTES) return Buffer.from(new ArrayBuffer(size));
  if (largeMail === null || largeMail.byteLength < size) largeMail = new ArrayBuffer(size);
  return Buffer.from(largeMail, 0, size);
}

async function load({ home, bytes, blobKey, size }: ReadJob): Promise<Buffer> {
  if (bytes) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blob = await storeOf(home).open(blobKey ?? '');
  if (!blob) throw new Error('the spooled mail is missing');
  const target = memoryFor(size);
  let at = 0;
  for await (const piece of blob.stream as AsyncIterable<Buffer>) at += piece.copy(target, at);
  if (at !== size || blob.size !== size)
    throw new Error(`the spooled mail has ${at} bytes instead of ${size}`);
  return target;
}

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Frees memory at once. The garbage collector would let many large buffers pile up first. */
function free({ buffer }: Buffer, mail: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer !== mail.buffer && buffer.byteLength >= LARGE_BYTES) {
    buffer.transfer(0);
  }
}

type Bytes = Pick<SubmittedFile, 'size' | 'sha256' | 'folded' | 'blobKey'>;

/** The bytes of a file: folded, or stored if they are many. */
async function keepBytes({ home, accountId }: ReadJob, bytes: Buffer, stored: string[]): Promise<Bytes> {
  const size = bytes.length;
  if (size <= MAX_RETURNED_BYTES) {
    const sha256 = createHash('sha256').update(bytes).digest();
    return { size, sha256, folded: foldBase64(bytes.toString('base64')), blobKey: null };
  }
  const blobKey = newBlobKey('attachments', accountId);
  stored.push(blobKey);
  const source = Readable.from(pieces(bytes));
  const { sha256 } = await foldedStore(storeOf(home)).putStream(blobKey, source, { maxBytes: size });
  return { size, sha256: Buffer.from(sha256, 'hex'), folded: null, blobKey };
}

/** Decodes and checks a file. @throws RefusedError */
async function readFile(
  job: ReadJob,
  mail: Buffer,
  { leaf, ...shaped }: ShapedFile,
  n: number,
): Promise<{ bytes: Buffer; file: Omit<SubmittedFile, keyof Bytes> }> {
  const bytes = decodeBody(mail.subarray(leaf.start, leaf.end), leaf.header);
  const contentType = shaped.contentType === '' ? null : shaped.contentType;
  const checked = await checkFile(
    bufferSource(bytes),
    { filename: shaped.filename, contentType },
    job.blocked,
  );
  const [problem] = checked.problems.filter(({ part }) => part !== 'content_type');
  if (problem) throw new RefusedError(`attachments.${n}.${problem.part}: ${problem.message}`);
  const { contentId, disposition } = shaped;
  const { filename } = checked;
  return {
    bytes,
    file: { filename, contentType: checked.contentType, contentId, disposition, field: `attachments.${n}` },
  };
}

/**
 * Checks all files of a mail, and keeps them.
 * @param stored where to list the blobs of kept files; null: the files are only checked
 * @returns why the mail cannot be rebuilt after all, or its files
 * @throws RefusedError
 */
async function readFiles(
  job: ReadJob,
  mail: Buffer,
  files: readonly ShapedFile[],
  stored: string[] | null,
): Promise<SubmittedFile[] | string> {
  const read: SubmittedFile[] = [];
  let total = 0;
  let reason: string | null = null;
  for (const [n, shaped] of files.entries()) {
    const { bytes, file } = await readFile(job, mail, shaped, n);
    total += bytes.length;
    // No early return: the files after this one must be checked, too.
    if (bytes.length === 0) reason ??= 'an empty file';
    else if (total > job.maxFileBytes) reason ??= 'files that are too large';
    if (stored && reason === null) read.push({ ...file, ...(await keepBytes(job, bytes, stored)) });
    free(bytes, mail);
  }
  return reason ?? read;
}

const BODY = { filename: 'body', contentType: 'application/octet-stream', contentId: null } as const;

async function readOpaque(
  job: ReadJob,
  mail: Buffer,
  bodyStart: number,
  { reason, stored }: { reason: string; stored: string[] },
): Promise<SubmittedContent> {
  const fields = bodyFields(mail);
  if (typeof fields === 'string') throw new RefusedError(fields);
  if (bodyStart >= mail.length) throw new RefusedError('the mail has no body');
  const body = await keepBytes(job, mail.subarray(bodyStart), stored);
  return {
    kind: 'opaque',
    reason,
    fields,
    body: { ...BODY, disposition: 'attachment', field: 'body', ...body },
  };
}

async function readContent(
  job: ReadJob,
  mail: Buffer,
  { shape, bodyStart }: { shape: Shape; bodyStart: number },
  stored: string[],
): Promise<SubmittedContent> {
  if (shape.kind === 'refused') throw new RefusedError(shape.reason);
  if (shape.kind === 'opaque') {
    // They are not kept, but a file that is refused elsewhere is refused here, too.
    await readFiles(job, mail, shape.files, null);
    return readOpaque(job, mail, bodyStart, { reason: shape.reason, stored });
  }
  const files = await readFiles(job, mail, shape.files, stored);
  if (typeof files === 'string') return readOpaque(job, mail, bodyStart, { reason: files, stored });
  return { ...shape, files };
}

const kept = (content: SubmittedContent): SubmittedFile[] =>
  content.kind === 'opaque' ? [content.body] : content.files;

async function work(job: ReadJob): Promise<ReadReply> {
  /** Blobs that are removed unless the reply names them. */
  const stored: string[] = [];
  let named = new Set<string | null | undefined>();
  try {
    const mail = await load(job);
    const structure = scanStructure(mail);
    const fields = readFields(await parseHeader(mail));
    const shape = shapeOf(mail, structure);
    const content = await readContent(job, mail, { shape, bodyStart: structure.bodyStart }, stored);
    named = new Set(kept(content).map(({ blobKey }) => blobKey));
    return { parts: { fields, content } };
  } catch (error) {
    return error instanceof RefusedError ? { refused: error.message } : { failed: (error as Error).message };
  } finally {
    for (const key of stored)
      if (!named.has(key))
        await storeOf(job.home)
          .remove(key)
          .catch(() => undefined);
  }
}

parentPort?.on('message', (job: ReadJob) => void work(job).then((reply) => parentPort?.postMessage(reply)));
parentPort?.postMessage('ready');
