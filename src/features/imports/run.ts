import type { Logger } from 'pino';
import type { ImportState } from '../../../workflows/imports/contract.ts';
import { AppError } from '../../errors.ts';
import type { RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import {
  type CsvInspection,
  inspectCsv,
  type FileProblem,
  type OpenFile,
} from '../../platform/csv/inspect.ts';
import type { CsvPosition } from '../../platform/csv/scanner.ts';
import { inTransaction, isConnectionError } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { createEvent } from '../../platform/events/define.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import type { Attendance } from '../../platform/temporal/contract.ts';
import { type Chunk, type ChunkDeps, isFailed } from './chunk.ts';
import { commitRows, isHopeless } from './commit.ts';
import { readColumns } from './columns.ts';
import { decideConsent, readWords } from './consent/words-of-file.ts';
import { examplesOf, samplesOf } from './examples.ts';
import { importEvents } from './events.ts';
import {
  endImport,
  type Failure,
  forgetFile,
  type ImportRecord,
  type Layout,
  readImport,
  storeBeginning,
  storeLayout,
  timezoneOf,
} from './model.ts';
import { beginImport, wakeWaiting } from './running-slots.ts';
import { processedRows } from './presenter.ts';
import { reasonOfFile } from './suppressions/reason.ts';
import { chunkRows, readChunks } from './read-chunks.ts';
import { refusalOf } from './refusals.ts';
import { readingOf } from './rows.ts';
import { MissingFile, openStored } from './stored-file.ts';
import { stopsMailOf } from './withdrawals.ts';

export interface ImportRunDeps extends ChunkDeps {
  store: BlobStore;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  fence: RecipientFence;
  log: Logger;
  /** Other limits, for tests. */
  turnMs?: number;
  maxFailedRows?: number;
}

/** Maximum time that an import works before the next one gets its turn, in ms. */
const TURN_MS = 10_000;
/** Maximum number of failed rows, after which an import ends. */
const MAX_FAILED_ROWS = 1_000_000;
/** Maximum number of tries of a piece of work that fails with an internal error. */
const MAX_TRIES = 10;
/** Maximum number of addresses that one statement removes. */
const CLEAR_ROWS = 10_000;

const fileProblems: Record<FileProblem, string> = {
  compressed: 'the file is compressed, or a spreadsheet; send it as plain CSV',
  empty: 'the file is empty',
  unreadable_header: 'the first row of the file cannot be read',
  wrong_encoding: 'the file begins with the byte order mark of another encoding than options.encoding',
};

function stateOf(row: ImportRecord, phase: ImportState['phase']): ImportState {
  return {
    phase,
    status: row.status,
    totalRows: row.total_rows,
    createdCount: row.created_count,
    updatedCount: row.updated_count,
    unchangedCount: row.unchanged_count,
    duplicateCount: row.duplicate_count,
    failedCount: row.failed_count,
  };
}

const gone: ImportState = {
  phase: 'done',
  totalRows: null,
  createdCount: 0,
  updatedCount: 0,
  unchangedCount: 0,
  duplicateCount: 0,
  failedCount: 0,
};

/** Ends a running import and publishes its event. Does nothing if it has already ended. */
async function finishImport(
  { pool, events, waker }: ImportRunDeps,
  id: number,
  failure: Failure | null,
): Promise<void> {
  const queued = await inTransaction(pool, async (trx) => {
    const row = (await endImport(trx, id, failure)) ? await readImport(trx, id) : null;
    if (!row) return null;
    await wakeWaiting(trx, row.account_id);
    const data = {
      import_id: id,
      resource: row.resource,
      filename: row.filename,
      dry_run: row.options.dry_run,
      total_rows: row.total_rows ?? 0,
      created_count: row.created_count,
      updated_count: row.updated_count,
      unchanged_count: row.unchanged_count,
      duplicate_count: row.duplicate_count,
      failed_count: row.failed_count,
      warning_count: row.warning_count,
    };
    const to = { accountId: row.account_id, brandId: row.brand_id, occurredAt: new Date() };
    const event = failure
      ? createEvent(importEvents.failed, { ...to, data: { ...data, reason: failure.message } })
      : createEvent(importEvents.completed, { ...to, data });
    return events.publish(trx, [event]);
  });
  for (const channel of queued ? ['outbox', ...queued.keys()] : []) waker.wake(channel);
}

class ChangedFile extends Error {}

/**
 * Decides how the columns are read, by all words of those about subscriptions, and stores it.
 * @returns why the import cannot begin; null if it can
 */
async function decideColumns(
  deps: ImportRunDeps,
  row: ImportRecord,
  { header, body, encoding, delimiter, sampled }: CsvInspection,
  open: OpenFile,
  progress: () => void,
): Promise<Failure | null> {
  const { mapping, status, reason, encoding: given } = row.options;
  const dialect = { encoding, delimiter };
  const recognized: Layout = { ...dialect, columns: readColumns(header, row.resource, mapping) };
  const words = await readWords(open, recognized, body, progress);
  const { columns, unknown } = decideConsent(recognized.columns, words);
  const layout: Layout = {
    ...dialect,
    columns,
    ...(row.resource === 'contacts'
      ? { status: status ?? null }
      : { reason: reason ?? reasonOfFile(header) }),
    timezone: await timezoneOf(deps.pool, row.brand_id),
  };
  const reading = readingOf(row, layout);
  const { examples, keys } = examplesOf(reading, words.first);
  const { samples, keys: more } = samplesOf(reading, header, sampled);
  await storeLayout(deps.pool, row.id, {
    layout,
    encoding: { name: encoding, detected: !given, ...(samples.length > 0 ? { samples } : {}) },
    examples,
    keys: [...keys, ...more],
  });
  return refusalOf(row, header, columns, unknown);
}

/** Detects the format of the file, counts its rows and decides how its columns are read, or fails the import. */
async function inspect(deps: ImportRunDeps, row: ImportRecord, open: OpenFile, attendance: Attendance) {
  const given = row.options.encoding ?? null;
  const progress = () => {
    attendance.stopping.throwIfAborted();
    attendance.progress();
  };
  const inspection = await inspectCsv(open, progress, given);
  if ('problem' in inspection) {
    return finishImport(deps, row.id, {
      code: inspection.problem,
      message: fileProblems[inspection.problem],
    });
  }
  const failure = await decideColumns(deps, row, inspection, open, progress);
  if (failure) return finishImport(deps, row.id, failure);
  await storeBeginning(deps.pool, row.id, { position: inspection.body, totalRows: inspection.records });
}

/** Whether the chunk makes some recipients get no more mail. */
const stopsMail = ({ resource }: ImportRecord, { rows }: Chunk): boolean =>
  resource === 'suppressions' || rows.some(stopsMailOf);

/**
 * Whether an import has created a contact for each row of the turn so far. Most likely it will do so for the next chunk,
 * too. After a chunk in which it has not, contacts are looked for during the rest of the turn.
 * @param rows number of rows of the turn that could be imported
 */
const createdAll = ({ resource, options, created_count }: ImportRecord, after: ImportRecord, rows: number) =>
  resource === 'contacts' && !options.dry_run && after.created_count - created_count === rows;

function tooManyErrors(row: ImportRecord, max: number): Failure | null {
  if (row.failed_count < max || processedRows(row) === row.total_rows) return null;
  return { code: 'too_many_errors', message: `${row.failed_count} rows failed; the rest was not imported` };
}

/**
 * Ends an import after the whole file was read.
 * @throws ChangedFile if rows are missing
 */
async function endWhenRead(deps: ImportRunDeps, row: ImportRecord): Promise<void> {
  const last = await readImport(deps.pool, row.id);
  if (last?.status !== 'processing') return;
  // Another process may have imported the chunks that this one has read.
  if (processedRows(last) === last.total_rows) {
    // Needed if the process that imported the last chunk stopped before its wait.
    await deps.fence.wait(last.account_id);
    await finishImport(deps, row.id, null);
  } else if (last.position?.offset === row.position?.offset)
    throw new ChangedFile('the rows of the file do not add up');
}

/**
 * Imports chunks until the turn is over, or the file or the import ends.
 * @returns whether the file has ended
 */
async function importChunks(
  deps: ImportRunDeps,
  row: ImportRecord,
  chunks: AsyncIterator<Chunk, undefined>,
  attendance: Attendance,
): Promise<boolean> {
  const until = Date.now() + (deps.turnMs ?? TURN_MS);
  let reading = chunks.next();
  let [seemsNew, tried] = [false, 0];
  for (;;) {
    const { value: chunk } = await reading;
    if (!chunk) return true;
    // Read the next chunk while this one is written.
    reading = chunks.next();
    reading.catch(() => undefined);
    const after = await commitRows(deps, row.id, { ...chunk, seemsNew }, attendance);
    attendance.progress();
    if (after && stopsMail(after, chunk)) await deps.fence.wait(after.account_id);
    const failure = after && tooManyErrors(after, deps.maxFailedRows ?? MAX_FAILED_ROWS);
    if (failure) await finishImport(deps, row.id, failure);
    if (failure || !after || Date.now() >= until || attendance.stopping.aborted) return false;
    tried += chunk.rows.filter((each) => !isFailed(each)).length;
    seemsNew = createdAll(row, after, tried);
  }
}

async function importFile(
  deps: ImportRunDeps,
  row: ImportRecord,
  open: OpenFile,
  attendance: Attendance,
): Promise<void> {
  const layout = row.layout as Layout;
  const maxRows = chunkRows(layout.columns, row.options.list_ids.length);
  const chunks = readChunks(open, layout, row.position as CsvPosition, maxRows, readingOf(row, layout));
  let ended: boolean;
  try {
    ended = await importChunks(deps, row, chunks, attendance);
  } finally {
    await chunks.return(undefined);
  }
  if (ended) await endWhenRead(deps, row);
}

/**
 * Removes what only a running import needs: its claimed addresses and the file.
 * @returns whether everything is removed
 */
async function clear(
  { pool, store, turnMs = TURN_MS }: ImportRunDeps,
  row: ImportRecord,
  attendance: Attendance,
): Promise<boolean> {
  const until = Date.now() + turnMs;
  for (;;) {
    const { rowCount } = await pool.query(
      // Nothing updates these rows, so each keeps its ctid.
      `delete from import_addresses where ctid = any(array(
         select ctid from import_addresses where import_id = $1 limit $2))`,
      [row.id, CLEAR_ROWS],
    );
    attendance.progress();
    if ((rowCount ?? 0) < CLEAR_ROWS) break;
    if (Date.now() >= until || attendance.stopping.aborted) return false;
  }
  if (row.storage_key !== null) await store.remove(row.storage_key);
  await forgetFile(pool, row.id);
  return true;
}

/** Whether an error comes from the database, a connection or the disk, and may therefore go away. */
const mayEnd = (error: unknown): boolean =>
  isConnectionError(error) ||
  (typeof (error as { code?: unknown }).code === 'string' && !(error instanceof AppError));

/**
 * Why an import with this error cannot continue; null for errors that may go away.
 * @param attempt number of the try that failed, from 1
 */
function failureOf(error: unknown, attempt: number): Failure | null {
  if (error instanceof MissingFile) return { code: 'file_missing', message: 'the file is gone' };
  if (error instanceof ChangedFile) return { code: 'file_changed', message: error.message };
  if (isHopeless(error)) return { code: 'refused', message: 'the database refuses what the file contains' };
  if (attempt < MAX_TRIES || mayEnd(error)) return null;
  const message = `the import failed ${MAX_TRIES} times at the same place; what was imported until then stays`;
  return { code: 'internal_error', message };
}

async function step(
  deps: ImportRunDeps,
  row: ImportRecord,
  attendance: Attendance,
): Promise<ImportState['phase']> {
  if (row.status === 'queued') return (await beginImport(deps.pool, row)) ? 'inspecting' : 'waiting';
  if (row.status !== 'processing') {
    return (await clear(deps, row, attendance)) ? 'done' : 'clearing';
  }
  const open = openStored(deps.store, row.storage_key);
  try {
    if (row.position === null) await inspect(deps, row, open, attendance);
    else await importFile(deps, row, open, attendance);
  } catch (error) {
    const failure = failureOf(error, attendance.attempt);
    if (!failure || attendance.stopping.aborted) throw error;
    deps.log.warn({ err: error, importId: row.id }, 'an import failed');
    await finishImport(deps, row.id, failure);
  }
  return 'importing';
}

/**
 * Does the next piece of an import, according to its row: begins it, inspects the file, imports chunks, or clears up.
 * @returns the state of the import afterwards
 */
export async function advanceImport(
  deps: ImportRunDeps,
  importId: number,
  attendance: Attendance,
): Promise<ImportState> {
  const row = await readImport(deps.pool, importId);
  if (!row) return gone;
  const phase = await step(deps, row, attendance);
  const after = (await readImport(deps.pool, importId)) ?? row;
  return stateOf(after, phase === 'importing' && after.finished_at !== null ? 'clearing' : phase);
}
