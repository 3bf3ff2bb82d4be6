import type { OpenFile } from '../../platform/csv/inspect.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';

/** The file of an import is gone. */
export class MissingFile extends Error {}

/**
 * Returns how the stored file of an import is opened.
 * @param key null if the file was removed
 */
export function openStored(store: BlobStore, key: string | null): OpenFile {
  return async (offset) => {
    const blob = key === null ? null : await store.open(key, offset);
    if (!blob) throw new MissingFile();
    return blob.stream as AsyncIterable<Buffer>;
  };
}
