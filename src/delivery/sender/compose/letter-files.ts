import type { LetterFile } from '../../terms/letter.ts';
import type { Blob, BlobStore } from '../../../platform/storage/blob-store.ts';
import { foldedSize } from '../../../platform/storage/folded.ts';

/** The storage of the files of letters, which has them folded (`platform/storage/folded.ts`). */
export type LetterFileStore = Pick<BlobStore, 'open'>;

/** A file cannot be read now. A later attempt may succeed, here or in another process. */
export class FileUnreadableError extends Error {}

const LINE_CHARACTERS = 76;
const LINE_LENGTH = LINE_CHARACTERS + 2;
/**
 * Files up to this total, folded, are kept in memory for their batch. A file is read at least twice, and letters of a
 * batch may have the same; opening and reading it each time takes several times as long as hashing it.
 */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;

/** Reads the files of the letters of a batch. */
export interface LetterFiles {
  /**
   * Opens a file, so that it is known whether it can be read.
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

async function openFile(store: LetterFileStore | null, file: LetterFile): Promise<Blob> {
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

async function* streamFile(store: LetterFileStore | null, file: LetterFile): AsyncGenerator<Buffer> {
  const blob = await openFile(store, file);
  let left = blob.size;
  try {
    for await (const piece of blob.stream as AsyncIterable<Buffer>) {
      left -= piece.length;
      yield piece;
    }
  } catch (error) {
    throw unreadable(file, 'the storage failed', error);
  }
  if (left !== 0) throw unreadable(file, 'it has been cut');
}

/** Joins the lines of a folded file. */
async function withoutBreaks(pieces: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(length);
  let filled = 0;
  let position = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const column = position % LINE_LENGTH;
      const left = column < LINE_CHARACTERS ? LINE_CHARACTERS - column : LINE_LENGTH - column;
      const count = Math.min(left, piece.length - at);
      // The CRLF of the last line, which may be shorter, is past the end of the target.
      if (column < LINE_CHARACTERS) filled += piece.copy(target, filled, at, at + count);
      at += count;
      position += count;
    }
  }
  return target;
}

/** @param store null: this process has none */
export function createLetterFiles(store: LetterFileStore | null): LetterFiles {
  const kept = new Map<string, Promise<Buffer>>();
  let left = MAX_KEPT_BYTES;

  async function readWhole(file: LetterFile): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of streamFile(store, file)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** @returns null if the file is not kept */
  function keep(file: LetterFile): Promise<Buffer> | null {
    if (file.storageKey === null) return null;
    // With its position, because errors name it.
    const key = `${file.n} ${file.storageKey}`;
    const known = kept.get(key);
    if (known) return known;
    const size = foldedSize(file.size);
    if (size > left) return null;
    left -= size;
    const reading = readWhole(file);
    kept.set(key, reading);
    return reading;
  }

  async function* read(file: LetterFile): AsyncGenerator<Buffer> {
    const whole = keep(file);
    if (whole) yield await whole;
    else yield* streamFile(store, file);
  }

  return {
    async check(file) {
      const whole = keep(file);
      if (whole) await whole;
      else (await openFile(store, file)).stream.destroy();
    },
    read,
    base64: (file) => withoutBreaks(read(file), Math.ceil(file.size / 3) * 4),
  };
}
