import type pg from 'pg';
import type { ExportProgress } from '../../../workflows/exports/contract.ts';
import { AppError } from '../../errors.ts';
import { csvRecord } from '../../platform/csv/writer.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { newBlobKey, type BlobStore } from '../../platform/storage/blob-store.ts';
import { MAX_DATA_COLUMNS } from './contacts.ts';
import {
  addPart,
  begin,
  complete,
  type ExportRow,
  fail,
  findUnderWay,
  type NewPart,
  savePlan,
  storedBytes,
} from './model.ts';
import { filterTexts } from './schema.ts';
import { type ExportSource, exportSources } from './sources.ts';

/** Rows that one statement looks at. */
const SCAN_ROWS = 10_000;
/** Rows that are in memory at the same time; a contact may have 64 KB. */
const LOADED_ROWS = 250;
const PART_BYTES = 4 * 1024 * 1024;
/** Different keys that are counted. Data may have any number of them. */
const MAX_COUNTED_KEYS = 10_000;
const MAX_DURATION_MS = 24 * 3_600_000;
/** After this time an activity lets the workflow go on. */
const TURN_MS = 5 * 60_000;

export interface ExportWriterDeps {
  pool: pg.Pool;
  store: BlobStore;
  /** Bytes of all exports of one account. */
  quotaBytes: number;
  /** A part ends with the first rows that make it this large; 4 MB by default. */
  partBytes?: number;
}

/** How a long step shows that it is alive, and learns that it should end. */
export interface Turn {
  progress(): void;
  stopping: AbortSignal;
}

export interface ExportWriter {
  begin(id: number, asOf: Date): Promise<ExportProgress>;
  plan(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
  write(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
}

const FINAL: ExportProgress = { state: 'final', processedRows: 0, totalRows: null };

function progressOf(row: ExportRow | null): ExportProgress {
  if (!row) return FINAL;
  const numbers = { processedRows: row.processed_rows, totalRows: row.total_rows };
  if (row.status === 'queued') return { state: 'waiting', ...numbers };
  if (row.status !== 'processing') return { state: 'final', ...numbers };
  return { state: row.last_id === null ? 'counting' : 'writing', ...numbers };
}

/** A step that is retried keeps the time of its first try, which may be long ago. */
const notBefore = (asOf: Date): Date => new Date(Math.max(asOf.getTime(), Date.now()));

const isOverdue = (row: ExportRow, asOf: Date): boolean =>
  asOf.getTime() - (row.started_at ?? row.created_at).getTime() > MAX_DURATION_MS;

const scopeOf = (row: ExportRow) => ({
  accountId: row.account_id,
  brandId: row.brand_id,
  // Segments have periods such as the last 30 days, which must not move while the export is written.
  asOf: row.started_at ?? row.created_at,
});

function addCounts(counts: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [key, count] of more) {
    const known = counts.get(key);
    if (known === undefined && counts.size >= MAX_COUNTED_KEYS) continue;
    counts.set(key, (known ?? 0) + count);
  }
}

/** The most frequent keys, in the order of the alphabet. */
function topKeys(counts: ReadonlyMap<string, number>): string[] {
  const ranked = [...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
  return ranked
    .slice(0, MAX_DATA_COLUMNS)
    .map(([key]) => key)
    .sort();
}

/** Reads all ids that match, page by page. */
async function* scanAll(pool: pg.Pool, row: ExportRow, after: number, upTo: number) {
  const source = exportSources[row.resource];
  const filters = filterTexts(row.filters);
  for (let position = after; position < upTo;) {
    const found = await source.scan(pool, scopeOf(row), filters, {
      after: position,
      upTo,
      maxRows: SCAN_ROWS,
    });
    position = found.scannedTo;
    yield found;
  }
}

async function countAll(pool: pg.Pool, row: ExportRow, turn: Turn): Promise<void> {
  const source: ExportSource = exportSources[row.resource];
  const lastId = await source.highestId(pool, scopeOf(row));
  const keys = new Map<string, number>();
  let totalRows = 0;
  for await (const { ids } of scanAll(pool, row, 0, lastId)) {
    totalRows += ids.length;
    if (source.countKeys && ids.length > 0) addCounts(keys, await source.countKeys(pool, scopeOf(row), ids));
    turn.progress();
  }
  await savePlan(pool, row.id, { lastId, totalRows, dataColumns: topKeys(keys) });
}

interface BuiltPart {
  bytes: Buffer;
  rows: number;
  toId: number;
}

/** Builds the next part of the file. The first begins with the header, so every export has one part at least. */
async function buildPart(pool: pg.Pool, row: ExportRow, turn: Turn, partBytes: number): Promise<BuiltPart> {
  const source = exportSources[row.resource];
  const dataColumns = row.data_columns ?? [];
  const pieces: Buffer[] = [];
  let size = 0;
  let rows = 0;
  const add = (text: string): void => {
    const piece = Buffer.from(text);
    pieces.push(piece);
    size += piece.length;
  };
  if (row.parts === 0) add(csvRecord(source.header(dataColumns)));
  for await (const { ids } of scanAll(pool, row, row.cursor_id, row.last_id ?? 0)) {
    for (let from = 0; from < ids.length; from += LOADED_ROWS) {
      const loaded = ids.slice(from, from + LOADED_ROWS);
      const records = await source.records(pool, scopeOf(row), loaded, dataColumns);
      add(records.map(csvRecord).join(''));
      rows += records.length;
      turn.progress();
      if (size >= partBytes) return { bytes: Buffer.concat(pieces), rows, toId: loaded.at(-1) ?? 0 };
    }
    turn.progress();
  }
  return { bytes: Buffer.concat(pieces), rows, toId: row.last_id ?? 0 };
}

export function createExportWriter({
  pool,
  store,
  quotaBytes,
  partBytes = PART_BYTES,
}: ExportWriterDeps): ExportWriter {
  /** Stores a part, and then its row: a crash between the two leaves a file that housekeeping clears. */
  async function storePart(row: ExportRow, { bytes, rows, toId }: BuiltPart, asOf: Date): Promise<void> {
    const storageKey = newBlobKey('exports', row.account_id);
    await store.put(storageKey, bytes);
    const part: NewPart = { storageKey, size: bytes.length, rows, toId };
    // If this fails, it may have committed all the same, so the file stays.
    if (!(await addPart(pool, row, part, asOf))) await store.remove(storageKey);
  }

  async function writeNext(row: ExportRow, asOf: Date, turn: Turn): Promise<void> {
    // A process died between the last part and this.
    if (await complete(pool, row.id, asOf)) return;
    if (isOverdue(row, asOf)) return fail(pool, row.id, 'timed_out');
    const part = await buildPart(pool, row, turn, partBytes);
    if ((await storedBytes(pool, scopeOf(row))) + part.bytes.length > quotaBytes) {
      return fail(pool, row.id, 'quota_exceeded');
    }
    await storePart(row, part, asOf);
  }

  /** A filter may name a segment that was deleted since: no retry can help then. */
  async function orFail(id: number, work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => {
      const isGone = error instanceof AppError && ['not_found', 'validation_error'].includes(error.code);
      if (!isGone) throw error;
      return fail(pool, id, 'invalid_filters');
    });
  }

  return {
    begin: async (id, asOf) => progressOf(await inTransaction(pool, (trx) => begin(trx, id, asOf))),
    async plan(id, givenTime, turn) {
      const asOf = notBefore(givenTime);
      const row = await findUnderWay(pool, id, asOf);
      if (row && isOverdue(row, asOf)) await fail(pool, id, 'timed_out');
      else if (row && row.last_id === null) await orFail(id, countAll(pool, row, turn));
      return progressOf(await findUnderWay(pool, id, asOf));
    },
    async write(id, givenTime, turn) {
      const asOf = notBefore(givenTime);
      const endsAt = performance.now() + TURN_MS;
      for (;;) {
        const row = await findUnderWay(pool, id, asOf);
        if (!row || row.last_id === null || turn.stopping.aborted || performance.now() > endsAt) {
          return progressOf(row);
        }
        await orFail(id, writeNext(row, asOf, turn));
      }
    },
  };
}
