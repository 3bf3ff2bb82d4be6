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

/** Number of rows that one statement scans. */
const SCAN_ROWS = 10_000;
/** Maximum number of rows in memory at the same time. A contact may have 64 KB. */
const LOADED_ROWS = 250;
const PART_BYTES = 4 * 1024 * 1024;
const MAX_DURATION_MS = 24 * 3_600_000;
/** Maximum time that an export works before the next one gets its turn, in ms. */
const TURN_MS = 10_000;
/** Maximum number of statements that time out. After each, pages are a quarter as large. */
const MAX_TIMEOUTS = 5;

export interface ExportWriterDeps {
  pool: pg.Pool;
  store: BlobStore;
  /** Maximum number of bytes of all exports of one account. */
  quotaBytes: number;
  /** Size at which a part ends, in bytes; 4 MB by default. */
  partBytes?: number;
  /** Number of rows that one statement scans; 10,000 by default. */
  scanRows?: number;
  /** Length of a turn in ms; ten seconds by default. */
  turnMs?: number;
}

/** How a long step reports that it is alive, and learns that it must stop. */
type Turn = Pick<Attendance, 'progress' | 'stopping'>;

export interface ExportWriter {
  begin(id: number, asOf: Date): Promise<ExportProgress>;
  plan(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
  write(id: number, asOf: Date, turn: Turn): Promise<ExportProgress>;
  /** Ends an export whose steps have failed finally. */
  fail(id: number): Promise<void>;
}

const GONE: ExportProgress = { state: 'final', processedRows: 0, totalRows: null };

/** @param underWay null if the export has ended or was deleted */
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

/** Number of rows in a page, which is smaller if the filters take long to evaluate. */
const pageRows = (scanRows: number, { timeouts }: ExportRow): number =>
  Math.max(1, Math.floor(scanRows / 4 ** timeouts));

/** Reads all matching ids, page by page. */
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
  /** Call it after each piece of work. @returns whether the turn is over */
  isOver: () => boolean;
}

/**
 * Builds the next part of the file, until it is large enough or the turn is over. The first part begins with the
 * header, so every export has at least one part. A later part may be empty.
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
  /** Stores a part, then its row. A crash between the two leaves a file that housekeeping removes. */
  async function storePart(row: ExportRow, { bytes, ...built }: BuiltPart, asOf: Date): Promise<void> {
    const storageKey = newBlobKey('exports', row.account_id);
    await store.put(storageKey, bytes);
    const part: NewPart = { ...built, storageKey, size: bytes.length };
    // If this throws, it may still have committed, so the file stays.
    if (!(await addPart(pool, row, part, asOf))) await store.remove(storageKey);
  }

  return async function writeNext(row: ExportRow, asOf: Date, isOver: () => boolean): Promise<void> {
    // The process that wrote the last part may have died before it completed the export.
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
   * Ends an export for which a retry would not help: a filter names a deleted segment, or takes too long even for small
   * pages.
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

  /** Repeats a step until the turn is over or another kind of step is due. A turn has at least one step. */
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
