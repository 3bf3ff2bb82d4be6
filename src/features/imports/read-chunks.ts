import { type CsvDialect, type OpenFile, readCsv } from '../../platform/csv/inspect.ts';
import type { CsvPosition } from '../../platform/csv/scanner.ts';
import type { Chunk } from './chunk.ts';
import type { Column } from './columns.ts';
import { readRow, type RowReading } from './rows.ts';

const CHUNK_ROWS = 1_000;
/**
 * Maximum work of one chunk, so that it keeps its locks only briefly: members added to lists, and bytes of column names
 * written to `data`.
 */
const CHUNK_MEMBERS = 50_000;
const CHUNK_NAME_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 4 * 1024 * 1024;

/** Maximum number of rows of a chunk. Each contact gets the names of its columns in `data`. */
export function chunkRows(columns: readonly Column[], lists: number): number {
  const names = columns.reduce(
    (sum, { use }) => sum + (use && 'data' in use ? Buffer.byteLength(use.data ?? '') : 0),
    0,
  );
  const limits = [CHUNK_ROWS, CHUNK_MEMBERS / Math.max(1, lists), CHUNK_NAME_BYTES / Math.max(1, names)];
  return Math.max(1, Math.floor(Math.min(...limits)));
}

/** Reads the file from a position on, in chunks. A long stretch of blank rows becomes a chunk without rows. */
export async function* readChunks(
  open: OpenFile,
  dialect: CsvDialect,
  from: CsvPosition,
  maxRows: number,
  reading: RowReading,
): AsyncGenerator<Chunk, undefined> {
  let chunk: Chunk = { rows: [], from, next: from };
  for await (const { records, next } of readCsv(open, dialect, from)) {
    for (const record of records) {
      chunk.rows.push(readRow(record, reading));
      chunk.next = record.next;
      const isFull = chunk.rows.length >= maxRows || chunk.next.offset - chunk.from.offset >= CHUNK_BYTES;
      if (!isFull) continue;
      yield chunk;
      chunk = { rows: [], from: chunk.next, next: chunk.next };
    }
    if (chunk.rows.length > 0 || next.offset - chunk.from.offset < CHUNK_BYTES) continue;
    yield { ...chunk, next };
    chunk = { rows: [], from: next, next };
  }
  if (chunk.rows.length > 0) yield chunk;
  return undefined;
}
