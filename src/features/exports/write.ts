import type pg from 'pg';
import type { ExportProgress } from '../../../workflows/exports/contract.ts';
import { AppError } from '../../errors.ts';
import { csvRecord } from '../../platform/csv/writer.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import { newBlobKey, type BlobStore } from '../../platform/storage/blob-store.ts';
import type { Attendance } from '../../platform/temporal/contract.ts';
import { countPage } from './count.ts';
import { hashesOf, type Held } from './held.ts';
import {
  addPart,
  addTimeout,
  beginExport,
  complete,
  type ExportRow,
  fail,
  findUnderWay,
  readExport,
  moveCursor,
  type NewPart,
  storedBytes,
} from './model.ts';
import { filterTexts } from './schema.ts';
import { exportSources, scopeOf } from './sources.ts';

/** Rows that one statement looks at. */
const SCAN_ROWS = 10_000;
/** Rows that are in memory at the same time; a contact may have 64 KB. */
const LOADED_ROWS = 250;
const PART_BYTES = 4 * 1024 * 1024;
const MAX_DURATION_MS = 24 * 3_600_000;
/** After this time the next export has its turn. */
const TURN_MS = 10_000;
/** Statements that may take too long. After each of them the pages are a quarter as large. */
const MAX_TIMEOUTS = 5;

export interface ExportWriterDeps {
  pool: pg.Pool;
  store: BlobStore;
  /** Bytes of all exports of one account. */
  quotaBytes: number;
  /** A part ends with the first rows that make it this large; 4 MB by default. */
  partBytes?: number;
  /** Rows that one statement looks at; 10,000 by default. */
  scanRows?: number;
  /** Milliseconds after which a turn ends; ten seconds by default. */
  turnMs?: number;
}

/** How a long step shows that it is alive, and learns that it should end. */
type Turn = Pick<Attendance, 'progress' | 'stopping'>;

export interface ExportWriter {
  begin(id: number, asOf: Date): Promise<ExportProgress>;
  plan(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
  write(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
  /** Ends an export whose steps fail for good. */
  fail(id: number): Promise<void>;
}

const GONE: ExportProgress = { state: 'final', processedRows: 0, totalRows: null };

/** @param underWay null if the export has ended or is gone */
async function progressOf(db: pg.Pool, id: number, underWay: ExportRow | null): Promise<ExportProgress> {
  const row = underWay ?? (await readExport(db, id));
  if (!row) return GONE;
  const { status } = row;
  const numbers = { status, processedRows: row.processed_rows, totalRows: row.total_rows };
  if (row.status === 'queued') return { state: 'waiting', ...numbers };
  if (row.status !== 'processing') return { state: 'final', ...numbers };
  return { state: row.last_id === null ? 'counting' : 'writing', ...numbers };
}

const isOverdue = (row: ExportRow, asOf: Date): boolean =>
  asOf.getTime() - (row.started_at ?? row.created_at).getTime() > MAX_DURATION_MS;

/** Smaller pages for rows whose filters take long to evaluate. */
const pageRows = (scanRows: number, { timeouts }: ExportRow): number =>
  Math.max(1, Math.floor(scanRows / 4 ** timeouts));

/** Reads all ids that match, page by page. */
async function* scanAll(pool: pg.Pool, row: ExportRow, scanRows: number) {
  const source = exportSources[row.resource];
  const filters = filterTexts(row.filters);
  const upTo = row.last_id ?? 0;
  const maxRows = pageRows(scanRows, row);
  for (let after = row.cursor_id; after < upTo;) {
    const found = await source.scan(pool, scopeOf(row), filters, { after, upTo, maxRows });
    after = found.scannedTo;
    yield found;
  }
}

interface BuiltPart extends Pick<NewPart, 'rows' | 'toId' | 'holds'> {
  bytes: Buffer;
}

interface PartLimits {
  scanRows: number;
  partBytes: number;
  /** Called after each piece of work. @returns whether the turn is over */
  isOver: () => boolean;
}

/**
 * Builds the next part of the file: until it is large enough or the turn is over. The first begins with the header, so
 * every export has one part at least. A later one may be empty.
 */
async function buildPart(
  pool: pg.Pool,
  row: ExportRow,
  { scanRows, partBytes, isOver }: PartLimits,
): Promise<BuiltPart> {
  const source = exportSources[row.resource];
  const dataColumns = row.data_columns ?? [];
  const pieces: Buffer[] = [];
  const held: Held[] = [];
  let size = 0;
  let rows = 0;
  const add = (text: string): void => {
    const piece = Buffer.from(text);
    pieces.push(piece);
    size += piece.length;
  };
  const holds = () => (source.heldBy ? hashesOf(held) : null);
  const upTo = (toId: number): BuiltPart => ({ bytes: Buffer.concat(pieces), rows, toId, holds: holds() });
  if (row.parts === 0) add(csvRecord(source.header(dataColumns)));
  for await (const { ids, scannedTo } of scanAll(pool, row, scanRows)) {
    for (let from = 0; from < ids.length; from += LOADED_ROWS) {
      const loaded = ids.slice(from, from + LOADED_ROWS);
      const records = await source.records(pool, scopeOf(row), loaded, dataColumns);
      add(records.map(csvRecord).join(''));
      held.push(...records.flatMap((record) => source.heldBy?.(record) ?? []));
      rows += records.length;
      if (isOver() || size >= partBytes) return upTo(loaded.at(-1) ?? 0);
    }
    if (isOver()) return upTo(scannedTo);
  }
  return upTo(row.last_id ?? 0);
}

/** Returns the step that writes the next part of an export. */
function createPartWriter({ pool, store, quotaBytes, partBytes, scanRows }: Required<ExportWriterDeps>) {
  /** Stores a part, and then its row: a crash between the two leaves a file that housekeeping clears. */
  async function storePart(row: ExportRow, { bytes, ...built }: BuiltPart, asOf: Date): Promise<void> {
    const storageKey = newBlobKey('exports', row.account_id);
    await store.put(storageKey, bytes);
    const part: NewPart = { ...built, storageKey, size: bytes.length };
    // If this fails, it may have committed all the same, so the file stays.
    if (!(await addPart(pool, row, part, asOf))) await store.remove(storageKey);
  }

  return async function writeNext(row: ExportRow, asOf: Date, isOver: () => boolean): Promise<void> {
    // A process died between the last part and this.
    if (await complete(pool, row.id, asOf)) return;
    const part = await buildPart(pool, row, { scanRows, partBytes, isOver });
    if (part.bytes.length === 0) {
      await moveCursor(pool, row, part.toId);
      await complete(pool, row.id, asOf);
      return;
    }
    if ((await storedBytes(pool, scopeOf(row))) + part.bytes.length > quotaBytes) {
      return fail(pool, row.id, 'quota_exceeded');
    }
    await storePart(row, part, asOf);
  };
}

export function createExportWriter(given: ExportWriterDeps): ExportWriter {
  const deps = { partBytes: PART_BYTES, scanRows: SCAN_ROWS, turnMs: TURN_MS, ...given };
  const { pool, scanRows, turnMs } = deps;
  const writeNext = createPartWriter(deps);

  /**
   * Ends an export that no retry can help: a filter names a segment that was deleted since, or takes too long even for
   * small pages.
   */
  async function orFail(id: number, work: Promise<void>): Promise<void> {
    await work.catch(async (error: unknown) => {
      if (isStatementTimeout(error)) {
        if ((await addTimeout(pool, id)) >= MAX_TIMEOUTS) await fail(pool, id, 'too_slow');
        return;
      }
      const isGone = error instanceof AppError && ['not_found', 'validation_error'].includes(error.code);
      if (!isGone) throw error;
      await fail(pool, id, 'invalid_filters');
    });
  }

  type Step = (row: ExportRow, asOf: Date, isOver: () => boolean) => Promise<void>;

  /** Repeats a step until the turn is over or another kind of step is due. A turn has one step at least. */
  async function inTurn(id: number, asOf: Date, turn: Turn, isDue: (row: ExportRow) => boolean, step: Step) {
    const endsAt = performance.now() + turnMs;
    const isOver = (): boolean => {
      turn.progress();
      return turn.stopping.aborted || performance.now() >= endsAt;
    };
    for (let isFirst = true; ; isFirst = false) {
      const row = await findUnderWay(pool, id, asOf);
      if (!row || !isDue(row) || turn.stopping.aborted || (!isFirst && isOver()))
        return progressOf(pool, id, row);
      if (isOverdue(row, asOf)) await fail(pool, id, 'timed_out');
      else await orFail(id, step(row, asOf, isOver));
    }
  }

  return {
    begin: async (id, asOf) =>
      progressOf(pool, id, await inTransaction(pool, (trx) => beginExport(trx, id, asOf))),
    plan: (id, asOf, turn) =>
      inTurn(
        id,
        asOf,
        turn,
        (row) => row.last_id === null,
        (row) => countPage(pool, row, pageRows(scanRows, row)),
      ),
    write: (id, asOf, turn) => inTurn(id, asOf, turn, (row) => row.last_id !== null, writeNext),
    fail: (id) => fail(pool, id, 'internal_error'),
  };
}
