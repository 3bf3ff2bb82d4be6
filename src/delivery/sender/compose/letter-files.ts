import type { LetterFile } from '../../terms/letter.ts';
import type { Blob, BlobStore } from '../../../platform/storage/blob-store.ts';
import { foldedSize } from '../../../platform/storage/folded.ts';

/** The storage of the files of letters, which has them folded (`platform/storage/folded.ts`). */
export type LetterFileStore = Pick<BlobStore, 'open'>;

/** A file cannot be read now. A later attempt may succeed, here or in another process. */
export class FileUnreadableError extends Error {}

const LINE_CHARACTERS = 76;
const LINE_LENGTH = LINE_CHARACTERS + 2;

/** Reads the files of letters. */
export interface LetterFiles {
  /**
   * Opens a file, and closes it again.
   * @throws FileUnreadableError; Error if the file was removed
   */
  check(file: LetterFile): Promise<void>;
  /**
   * Reads a file as the storage has it: in base64, in lines that end with CRLF.
   * @throws as `check`, also after some of the file
   */
  read(file: LetterFile): AsyncIterable<Uint8Array>;
  /**
   * Reads a file in base64 without line breaks.
   * @throws as `check`
   */
  base64(file: LetterFile): Promise<Buffer>;
}

function unreadable({ n }: LetterFile, reason: string, cause?: unknown): FileUnreadableError {
  return new FileUnreadableError(`file ${n} of the message cannot be read: ${reason}`, { cause });
}

/** @param store null: this process has none */
export function createLetterFiles(store: LetterFileStore | null): LetterFiles {
  async function open(file: LetterFile): Promise<Blob> {
    if (file.storageKey === null) throw new Error(`file ${file.n} of the message has been removed`);
    if (!store) throw unreadable(file, 'this sender has no storage of files');
    const blob = await store.open(file.storageKey).catch((error: unknown) => {
      throw unreadable(file, 'the storage failed', error);
    });
    if (!blob) throw unreadable(file, 'it is missing in the storage');
    if (blob.size === foldedSize(file.size)) return blob;
    blob.stream.destroy();
    throw unreadable(file, `it has ${blob.size} bytes in the storage instead of ${foldedSize(file.size)}`);
  }

  async function* read(file: LetterFile): AsyncGenerator<Buffer> {
    const blob = await open(file);
    try {
      yield* blob.stream as AsyncIterable<Buffer>;
    } catch (error) {
      throw unreadable(file, 'the storage failed', error);
    }
  }

  return {
    async check(file) {
      (await open(file)).stream.destroy();
    },
    read,
    async base64(file) {
      const target = Buffer.allocUnsafe(Math.ceil(file.size / 3) * 4);
      let length = 0;
      let position = 0;
      for await (const piece of read(file)) {
        for (let at = 0; at < piece.length;) {
          const column = position % LINE_LENGTH;
          const left = column < LINE_CHARACTERS ? LINE_CHARACTERS - column : LINE_LENGTH - column;
          const count = Math.min(left, piece.length - at);
          // The CRLF of the last line, which may be shorter, is past the end of the target.
          if (column < LINE_CHARACTERS) length += piece.copy(target, length, at, at + count);
          at += count;
          position += count;
        }
      }
      return target;
    },
  };
}
