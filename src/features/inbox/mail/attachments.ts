import type { Attachment } from 'postal-mime';
import { newBlobKey, type BlobStore } from '../../../platform/storage/blob-store.ts';
import { safeFilename, sniffContentType } from '../../../platform/storage/file.ts';
import { encryptedKind } from './encrypted.ts';
import type { MailAttachment } from './mail.ts';
import { visibleLine } from './visible-text.ts';

const MAX_FILENAME_LENGTH = 1_000;
const MAX_CONTENT_ID_LENGTH = 500;
/** Names for parts that have none. */
const EXTENSIONS = new Map([
  ['text/plain', 'txt'],
  ['message/rfc822', 'eml'],
  ['text/calendar', 'ics'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['application/pdf', 'pdf'],
]);

/** The content of an attachment, which the parser returns as binary data. */
export function bytesOf({ content }: Attachment): Buffer {
  if (typeof content === 'string') return Buffer.from(content);
  if (ArrayBuffer.isView(content)) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return Buffer.from(content);
}

function filenameOf({ filename, mimeType }: Attachment): string {
  if (filename) return safeFilename(visibleLine(filename, MAX_FILENAME_LENGTH));
  const extension = EXTENSIONS.get(mimeType);
  return extension === undefined ? 'attachment' : `attachment.${extension}`;
}

function contentIdOf({ contentId }: Attachment): string | null {
  const id = contentId?.trim().replace(/^<|>$/g, '') ?? '';
  return id === '' || id.length > MAX_CONTENT_ID_LENGTH ? null : visibleLine(id, MAX_CONTENT_ID_LENGTH);
}

/** Stores an attachment. Once this resolves, its blob survives a crash. @param bytes its content */
export async function storeAttachment(
  store: BlobStore,
  accountId: number,
  attachment: Attachment,
  bytes: Buffer,
): Promise<MailAttachment> {
  const storageKey = newBlobKey('inbox', accountId);
  await store.put(storageKey, bytes);
  return {
    filename: filenameOf(attachment),
    contentType: await sniffContentType(bytes),
    size: bytes.length,
    contentId: contentIdOf(attachment),
    inline: attachment.disposition === 'inline' || attachment.related === true,
    storageKey,
    unscannable: attachment.rfc822DepthExceeded ? 'too_deep' : encryptedKind(attachment.mimeType, bytes),
  };
}
