/** Reads the files of a message from a request, without storing them. */
import { hash } from 'node:crypto';
import { AppError, type ValidationErrors } from '../../errors.ts';
import { invitationMethod } from '../../delivery/content/mime/parameters.ts';
import type { AttachmentFields } from '../../delivery/terms/letter.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import { readFolded } from '../../platform/storage/folded.ts';
import type { ByteSource } from './byte-source.ts';
import { checkNamed, type CheckedFile, type FileProblem } from './checks.ts';
import type { FileDecoder } from './decode-gate.ts';
import { type FileRow, findFiles, findUploads, type UploadRow } from './model.ts';
import type { AttachmentBody } from './schema.ts';

const MEGABYTE = 1024 * 1024;
export const MAX_INLINE_BYTES = 5 * MEGABYTE;
/** Base64 of that size has fewer characters than this, even with a line break after every 76. */
const MAX_INLINE_CHARACTERS = Math.ceil(MAX_INLINE_BYTES * 1.4);
const NOT_FOUND = 'is not an attachment of this brand, or has expired';

/** A file of a message that is about to be accepted. */
export interface ReadFile extends AttachmentFields {
  sha256: Buffer;
  /** The bytes, folded; null if they are stored already, or `blobKey` names them. */
  folded: Uint8Array | null;
  /** Where a thread has stored the bytes, folded. `storeFiles` takes the blob over, or removes it. */
  blobKey?: string | null;
  /** The field of the request that a refusal names. */
  field: string;
}

export interface ReadAttachments {
  /** What the files add to the fingerprint of the request: their hashes instead of their content. */
  fingerprint: object[];
  /** In the order of the request. If there are problems, some may be missing. */
  files: ReadFile[];
  /** What is wrong, by the fields of the request. */
  problems: ValidationErrors;
}

export interface ReadDeps {
  db: Queryable;
  store: Pick<BlobStore, 'open'>;
  decoder: FileDecoder;
  blocked: ReadonlySet<string>;
  /** Maximum size of the files of a message together. */
  maxBytes: number;
}

/** Collects the problems of files, and the files. */
class Reading implements ReadAttachments {
  readonly fingerprint: object[] = [];
  readonly files: ReadFile[] = [];
  readonly problems: ValidationErrors = {};

  refuse(field: string, message: string): void {
    (this.problems[field] ??= []).push(message);
  }

  /** Reports what is wrong with a file. @param whole the field of problems with its content */
  refuseFile(n: number, problems: readonly FileProblem[], whole: string): void {
    for (const { part, message } of problems)
      this.refuse(`attachments.${n}.${part === 'content' ? whole : part}`, message);
  }
}

const placed = (given: AttachmentBody) => ({
  contentId: given.content_id ?? null,
  disposition: given.disposition ?? (given.content_id === undefined ? 'attachment' : 'inline'),
});

/** Files whose content the request has. Lets go of each content, which may be megabytes. */
async function readInline(
  { decoder, blocked }: ReadDeps,
  accountId: number,
  given: readonly AttachmentBody[],
): Promise<Map<AttachmentBody, Awaited<ReturnType<FileDecoder['decode']>>[number]>> {
  const inline = given.filter(({ content }) => content !== undefined);
  const encoded = inline.map(({ filename = '', content_type: contentType = null, content = '' }) => ({
    ...{ filename, contentType, content },
  }));
  for (const file of inline) file.content = '';
  const decoded = await decoder.decode(accountId, encoded, blocked);
  return new Map(inline.map((file, n) => [file, decoded[n] as (typeof decoded)[number]]));
}

/** The uploads that the request names, by id, and their files by hash. */
async function readUploads({ db }: ReadDeps, tenant: Tenant, given: readonly AttachmentBody[]) {
  const ids = given.flatMap(({ attachment_id: id }) => id ?? []);
  if (ids.length === 0) return { uploads: new Map<number, UploadRow>(), stored: new Map<string, FileRow>() };
  const uploads = await findUploads(db, tenant, ids);
  const stored = await findFiles(
    db,
    tenant,
    uploads.map(({ sha256 }) => sha256),
  );
  return {
    uploads: new Map(uploads.map((upload) => [upload.id, upload])),
    stored: new Map(stored.map((file) => [file.sha256.toString('hex'), file])),
  };
}

/** A stored file, folded, of which parts are read. */
export const storedSource = (
  store: Pick<BlobStore, 'open'>,
  { storage_key: key, size }: Pick<FileRow, 'storage_key' | 'size'>,
): ByteSource => ({ size, read: (start, end) => readFolded(store, key, start, end) });

/**
 * Checks an upload again, because a message may give it another name and type. Its content is not read again: a small
 * request may name twenty large archives.
 */
function checkUpload(
  { store, blocked }: ReadDeps,
  upload: UploadRow,
  file: FileRow,
  { filename = upload.filename, content_type: contentType = upload.content_type }: AttachmentBody,
): Promise<CheckedFile> {
  return checkNamed(storedSource(store, file), { filename, contentType }, blocked);
}

const fingerprintOf = (given: AttachmentBody, sha256: Buffer | null) => ({
  ...(given.attachment_id === undefined
    ? { sha256: sha256?.toString('hex') ?? null }
    : { attachment_id: given.attachment_id }),
  filename: given.filename,
  content_type: given.content_type,
  content_id: given.content_id,
  disposition: given.disposition,
});

/**
 * What files add to the fingerprint of a request that is not read yet: their hashes instead of their content. A content
 * that is not base64 has some hash, too, and is refused later.
 */
export const fingerprintOfFiles = (given: readonly AttachmentBody[]): object[] =>
  given.map((file) => {
    const { content } = file;
    return fingerprintOf(
      file,
      content === undefined ? null : hash('sha256', Buffer.from(content, 'base64'), 'buffer'),
    );
  });

function inlineProblem(bytes: number): string | null {
  if (bytes <= MAX_INLINE_BYTES) return null;
  return `may have at most ${MAX_INLINE_BYTES / MEGABYTE} MB of \`content\` together: upload larger files by POST /attachments and give their \`attachment_id\``;
}

/** Rules for all files together. @param inlineBytes size of those whose content the request has */
function checkTogether(reading: Reading, inlineBytes: number, maxBytes: number): void {
  const tooMuchInline = inlineProblem(inlineBytes);
  if (tooMuchInline !== null) reading.refuse('attachments', tooMuchInline);
  const bytes = reading.files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes)
    reading.refuse('attachments', `may have at most ${Math.floor(maxBytes / MEGABYTE)} MB together`);
  const [, ...others] = reading.files.filter(({ contentType }) => invitationMethod(contentType) !== null);
  for (const { field } of others)
    reading.refuse(field, 'is a second invitation, and a message can have only one');
}

/** See {@link Attachments.readAttachments}. */
export async function readAttachments(
  deps: ReadDeps,
  tenant: Tenant,
  given: readonly AttachmentBody[],
): Promise<ReadAttachments> {
  const reading = new Reading();
  if (isTestCaller(tenant.actor) && given.some(({ attachment_id: id }) => id !== undefined))
    throw new AppError(
      'test_key',
      'a test key cannot name uploads: give the files inline, or use a live key',
    );
  const characters = given.reduce((sum, { content = '' }) => sum + content.length, 0);
  const tooLong = characters > MAX_INLINE_CHARACTERS ? inlineProblem(characters) : null;
  if (tooLong !== null) {
    reading.refuse('attachments', tooLong);
    // Without its hashes it must be like no request that was accepted.
    reading.fingerprint.push({ characters });
    return reading;
  }
  const inline = await readInline(deps, tenant.accountId, given);
  const { uploads, stored } = await readUploads(deps, tenant, given);
  for (const [n, body] of given.entries()) {
    const decoded = inline.get(body);
    const sha256 = decoded && Buffer.from(decoded.sha256);
    reading.fingerprint.push(fingerprintOf(body, sha256 ?? null));
    if (decoded && sha256) {
      const { filename, contentType, size, folded, problems } = decoded;
      reading.refuseFile(n, problems, 'content');
      const field = `attachments.${n}.content`;
      reading.files.push({ filename, contentType, size, ...placed(body), sha256, folded, field });
      continue;
    }
    const field = `attachments.${n}.attachment_id`;
    const upload = uploads.get(body.attachment_id ?? 0);
    const file = upload && stored.get(upload.sha256.toString('hex'));
    if (!upload || !file) {
      reading.refuse(field, NOT_FOUND);
      continue;
    }
    const { filename, contentType, problems } = await checkUpload(deps, upload, file, body);
    reading.refuseFile(n, problems, 'attachment_id');
    const { size } = file;
    reading.files.push({
      ...{ filename, contentType, size, ...placed(body) },
      ...{ sha256: upload.sha256, folded: null, field },
    });
  }
  const inlineBytes = reading.files.reduce((sum, { folded, size }) => (folded ? sum + size : sum), 0);
  checkTogether(reading, inlineBytes, deps.maxBytes);
  return reading;
}
