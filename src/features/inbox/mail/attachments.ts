import { newBlobKey, type BlobStore } from '../../../platform/storage/blob-store.ts';
import { safeFilename, sniffContentType } from '../../../platform/storage/file.ts';
import { encryptedKind } from './encrypted.ts';
import type { MailAttachment } from './mail.ts';
import { filenameOf, type PartHeader } from '../../../delivery/content/read/part-header.ts';
import type { Leaf } from '../../../delivery/content/read/structure.ts';
import { visibleLine } from '../../../delivery/content/read/visible-text.ts';

const MAX_FILENAME_LENGTH = 1_000;
const MAX_CONTENT_ID_LENGTH = 500;

function contentIdOf({ contentId }: PartHeader): string | null {
  const id = contentId?.replace(/^<|>$/g, '') ?? '';
  return id === '' || id.length > MAX_CONTENT_ID_LENGTH ? null : visibleLine(id, MAX_CONTENT_ID_LENGTH);
}

/** Stores a file. Once this resolves, its blob survives a crash. @param bytes its content */
export async function storeAttachment(
  store: BlobStore,
  accountId: number,
  { header, related }: Leaf,
  bytes: Buffer,
): Promise<MailAttachment> {
  const storageKey = newBlobKey('inbox', accountId);
  await store.put(storageKey, bytes);
  return {
    filename: safeFilename(visibleLine(filenameOf(header), MAX_FILENAME_LENGTH)),
    contentType: await sniffContentType(bytes),
    size: bytes.length,
    contentId: contentIdOf(header),
    inline: header.disposition === 'inline' || (related && header.contentId !== null),
    storageKey,
    unscannable: encryptedKind(header.type, bytes),
  };
}
