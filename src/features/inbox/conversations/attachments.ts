import type { Readable } from 'node:stream';
import { AppError, notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { contentDisposition, downloadType } from '../../../platform/storage/file.ts';
import { type ByteRange, parseByteRange } from './byte-range.ts';
import { type AttachmentRow, findAttachment, findMessageOf } from './message-model.ts';
import { hasRaw } from './presenter.ts';

interface AttachmentIds {
  conversationId: number;
  messageId: number;
  id: number;
}

/** The headers of a request that choose a part of the file. */
interface Wanted {
  range: string | undefined;
  /** The header `If-Range`. */
  ifRange: string | undefined;
}

/** An attachment as it is sent. */
export interface AttachmentFile {
  content: Readable;
  contentType: string;
  disposition: string;
  etag: string;
  /** Bytes of the whole file. */
  size: number;
  /** Null: the whole file. */
  range: ByteRange | null;
}

/** An attachment never changes. */
const etagOf = ({ id, size }: AttachmentRow) => `"${id}-${size}"`;

function rangeOf(row: AttachmentRow, { range: header, ifRange }: Wanted): ByteRange | null {
  if (ifRange !== undefined && ifRange !== etagOf(row)) return null;
  const range = parseByteRange(header, row.size);
  if (range !== 'unsatisfiable') return range;
  throw new AppError('range_not_satisfiable', 'the range is beyond the end of the file', {
    headers: { 'Content-Range': `bytes */${row.size}` },
  });
}

function requireScanned(isScanned: boolean, acknowledged: boolean, what: string): void {
  if (isScanned || acknowledged) return;
  const message = `${what} was not scanned for viruses: pass acknowledge_unscanned=true to fetch it`;
  throw new AppError('unscanned_attachment', message);
}

/**
 * Opens an attachment for download.
 * @param acknowledged whether the client knows that the attachment may not have been scanned
 * @throws AppError not_found if the ids do not belong together or the attachment is infected; unscanned_attachment;
 *   range_not_satisfiable
 */
export async function openAttachment(
  { db, store }: { db: Queryable; store: Pick<BlobStore, 'open'> },
  scope: BrandScope,
  ids: AttachmentIds,
  acknowledged: boolean,
  wanted: Wanted,
): Promise<AttachmentFile> {
  const row = await findAttachment(db, scope, ids);
  if (!row || row.storage_key === null || row.scan_status === 'infected') throw notFound('attachment');
  requireScanned(row.scan_status === 'clean', acknowledged, 'the attachment');
  const range = rangeOf(row, wanted);
  const blob = await store.open(row.storage_key, range?.start, range?.end);
  if (!blob) throw notFound('attachment');
  return {
    content: blob.stream,
    contentType: downloadType(row.content_type),
    disposition: contentDisposition('attachment', row.filename),
    etag: etagOf(row),
    size: row.size,
    range,
  };
}

/** A mail as it arrived. */
export interface RawMail {
  content: Readable;
  disposition: string;
  /** Bytes. */
  size: number;
}

/**
 * Opens a mail as it arrived, while it is kept. One in quarantine is not in a conversation, and so is not found.
 * @param acknowledged whether the client knows that a file in the mail may not have been scanned
 * @throws AppError not_found, also if the mail is not kept, or has an infected file; unscanned_attachment
 */
export async function openRawMail(
  { db, store }: { db: Queryable; store: Pick<BlobStore, 'open'> },
  scope: BrandScope,
  { conversationId, id }: Pick<AttachmentIds, 'conversationId' | 'id'>,
  acknowledged: boolean,
): Promise<RawMail> {
  const row = await findMessageOf(db, scope, conversationId, id);
  if (!row) throw notFound('message');
  if (!hasRaw(row) || row.raw_key === null) throw notFound('original of the message');
  // A mail that cannot be read has files that nothing has found.
  const isScanned =
    row.quarantine?.reason !== 'unreadable' &&
    row.attachments.every(({ scan_status: status }) => status === 'clean');
  requireScanned(isScanned, acknowledged, 'a file in the mail');
  const blob = await store.open(row.raw_key);
  if (!blob) throw notFound('original of the message');
  return {
    content: blob.stream,
    disposition: contentDisposition('attachment', `message-${id}.eml`),
    size: blob.size,
  };
}
