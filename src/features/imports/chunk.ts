import type pg from 'pg';
import type { CsvPosition } from '../../platform/csv/scanner.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import {
  bulkCreateContacts,
  type BulkProblem,
  bulkUpsertContacts,
  type ConsentDeps,
  findByAddresses,
  type FoundContact,
  withdrawSubscriptions,
} from '../contacts/service.ts';
import { addToLists } from '../lists/service.ts';
import type { RowProblem } from './cells.ts';
import { type BlockedRow, Claims, shareAddress, storedClaims } from './claims.ts';
import {
  insertErrors,
  keptErrors,
  keptWarnings,
  type ReportedRow,
  reportOf,
  warnedRow,
} from './failed-rows.ts';
import { type ImportRecord, markedPosition, readImport } from './model.ts';
import type { FailedRow, ImportRow } from './rows.ts';
import { MAX_ERROR_BYTES, MAX_WARNING_BYTES } from './schema.ts';
import { importSuppressions } from './suppression-rows.ts';
import { suppressReported, withdrawalsOf } from './withdrawals.ts';

export interface ChunkDeps {
  pool: pg.Pool;
  consent: ConsentDeps;
  /** Other limits, for tests. */
  maxErrorBytes?: number;
  maxWarningBytes?: number;
}

/** Rows that commit together, in the order of the file. */
export interface Chunk {
  rows: (ImportRow | FailedRow)[];
  /** The positions where the chunk begins and where the next one begins. */
  from: CsvPosition;
  next: CsvPosition;
  /** Whether the contacts are probably all new. If so, they are inserted without looking for them first. */
  seemsNew?: boolean;
}

/** The outcomes of the rows of a chunk. */
interface Tally {
  created: number;
  updated: number;
  unchanged: number;
  duplicate: number;
  failed: FailedRow[];
  /** The rows with warnings. Those of rows that are duplicates do not count. */
  warned: Set<ImportRow>;
}

/** A chunk whose rows are being imported. */
interface Work {
  trx: Queryable;
  deps: ChunkDeps;
  record: ImportRecord;
  claims: Claims;
  tally: Tally;
  /** The contacts that rows of the chunk have unsubscribed. */
  withdrawn: ReadonlySet<number>;
}

/**
 * How long a statement waits for a lock before it fails and the chunk is retried. This is shorter than PostgreSQL's
 * `deadlock_timeout`, so that in a deadlock with an API request, the chunk fails and not the request.
 */
const LOCK_TIMEOUT = '500ms';
const SOURCE = 'import';
/** Maximum number of rows with the same address that a chunk tries if each of them fails. */
const MAX_ROUNDS = 5;

const conflicts: Record<BulkProblem, RowProblem> = {
  phone_conflict: {
    code: 'phone_conflict',
    message: 'the phone number is that of another contact',
    column: null,
  },
  email_conflict: {
    code: 'email_conflict',
    message: 'the phone number is that of a contact with another email address',
    column: null,
  },
  data_too_large: {
    code: 'data_too_large',
    message: 'with what the contact has, the other columns are more than 64 KB',
    column: null,
  },
};

const earlierFailed: RowProblem = {
  code: 'earlier_rows_failed',
  message: `${MAX_ROUNDS} earlier rows with the same address have failed`,
  column: null,
};

/** Whether the row is known to fail. */
export const isFailed = (row: ImportRow | FailedRow): row is FailedRow => 'problem' in row;

/** Returns the row as a failed one. */
export function failedOf(row: ImportRow, problem: RowProblem): FailedRow {
  const { number, next, fields, email, phone, consent } = row;
  return { number, next, fields, email, phone, consent, problem };
}

function bulkOf({ id, account_id: accountId, brand_id: brandId, options }: ImportRecord) {
  const { update_existing: updateExisting, subscribe } = options;
  return {
    scope: { accountId, brandId },
    options: { updateExisting, subscribe, source: SOURCE, importId: id },
  };
}

/**
 * Creates or changes the contacts of the rows. Rows that fail release their claims.
 * @param found see {@link bulkUpsertContacts}
 */
async function importContacts(
  { trx, deps: { consent }, record, claims, tally, withdrawn }: Work,
  rows: readonly ImportRow[],
  found: readonly FoundContact[] | null,
): Promise<void> {
  const { scope, options } = bulkOf(record);
  const outcomes = await bulkUpsertContacts(trx, consent, scope, rows, options, found);
  const ids: number[] = [];
  for (const [index, row] of rows.entries()) {
    const outcome = outcomes[index];
    if (!outcome) throw new Error('a row has no outcome');
    if (outcome.status === 'failed') {
      tally.failed.push(failedOf(row, conflicts[outcome.problem]));
      claims.release(row);
    } else {
      const isChanged = outcome.status === 'unchanged' && withdrawn.has(outcome.id);
      tally[isChanged ? 'updated' : outcome.status] += 1;
      if (outcome.status === 'created' && !record.options.dry_run) claims.creates(row);
      ids.push(outcome.id);
    }
  }
  await addToLists(trx, ids, record.options.list_ids);
}

/**
 * Creates the contacts of rows that seem to be new without looking for them: an insert that finds one of their addresses
 * fails.
 * @returns whether they were new. If not, nothing has changed
 */
async function importAsNew(
  { trx, deps, record, tally }: Omit<Work, 'claims'>,
  rows: readonly ImportRow[],
): Promise<boolean> {
  // The insert would fail.
  if (shareAddress(rows)) return false;
  await trx.query('savepoint as_new');
  const { scope, options } = bulkOf(record);
  const ids = await bulkCreateContacts(trx, deps.consent, scope, rows, options);
  // Read claims last: if a contact with one is removed before the insert, its claims were stored by then.
  if (!ids || (await storedClaims(trx, record.id, rows)).length > 0) {
    await trx.query('rollback to savepoint as_new');
    return false;
  }
  await addToLists(trx, ids, record.options.list_ids);
  tally.created += rows.length;
  return true;
}

function settleRows(tally: Tally, blocked: readonly BlockedRow[]): void {
  for (const { row, problem } of blocked) {
    if (problem) tally.failed.push(failedOf(row, problem));
    else {
      tally.duplicate += 1;
      tally.warned.delete(row);
    }
  }
}

/**
 * Imports the first row of each address. If a row fails, its addresses become free, and the next rows with them are
 * tried.
 */
async function importFirstRows(
  work: Work,
  rows: readonly ImportRow[],
  found: readonly FoundContact[],
): Promise<void> {
  const { trx, record, claims, tally } = work;
  // Rows of contacts that this import has created are duplicates.
  const others = found.filter((contact) => contact.import_id !== record.id);
  let pending = rows;
  for (let round = 1; pending.length > 0; round += 1) {
    const { first, blocked } = claims.take(pending);
    if (record.resource === 'suppressions') {
      settleRows(tally, blocked);
      for (const status of await importSuppressions(trx, record, first)) tally[status] += 1;
      return;
    }
    await importContacts(work, first, round === 1 ? others : null);
    const isFree = ({ by }: BlockedRow) => claims.isFree(by);
    settleRows(
      tally,
      blocked.filter((each) => !isFree(each)),
    );
    pending = blocked.filter(isFree).map(({ row }) => row);
    if (round < MAX_ROUNDS) continue;
    tally.failed.push(...pending.map((row) => failedOf(row, earlierFailed)));
    return;
  }
}

/**
 * Takes away the subscriptions that rows end, before anything else: the opt-outs are in the ledger when contacts are
 * created, whichever row creates them.
 */
function withdraw(
  { trx, deps, record }: Pick<Work, 'trx' | 'deps' | 'record'>,
  rows: Chunk['rows'],
): Promise<ReadonlySet<number>> | ReadonlySet<number> {
  if (record.resource === 'suppressions') return new Set();
  const { scope, options } = bulkOf(record);
  return withdrawSubscriptions(trx, deps.consent, scope, withdrawalsOf(record, rows), options);
}

/** The rows that were imported without some of their cells. */
function warnedRows({ warned, failed }: Tally): ReportedRow[] {
  if (warned.size === 0) return [];
  const numbers = new Set(failed.map(({ number }) => number));
  return [...warned].filter(({ number }) => !numbers.has(number)).map(warnedRow);
}

/** Imports the rows, and rolls that back if it is a dry run. */
async function importRows(work: Omit<Work, 'claims'>, rows: readonly ImportRow[]): Promise<void> {
  const { trx, record } = work;
  const isDry = record.options.dry_run;
  const found = record.resource === 'contacts' ? await findByAddresses(trx, record.brand_id, rows) : [];
  const claims = await Claims.read(trx, record.id, rows, found);
  await importFirstRows({ ...work, claims }, rows, found);
  if (isDry) await trx.query('rollback to savepoint dry_run');
  await claims.store(trx);
}

/**
 * Imports a chunk. Rows, errors, counts and the position in the file commit together, so that a chunk that is repeated
 * after a crash is imported once.
 * @returns the import afterwards; null if its position is not the beginning of the chunk: it was canceled, or another
 *   process has imported the chunk
 */
export function commitChunk(
  deps: ChunkDeps,
  importId: number,
  { rows, from, next, seemsNew = false }: Chunk,
): Promise<ImportRecord | null> {
  const { maxErrorBytes = MAX_ERROR_BYTES, maxWarningBytes = MAX_WARNING_BYTES } = deps;
  return inTransaction(deps.pool, async (trx) => {
    await trx.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
    const record = await readImport(trx, importId, { lock: true });
    if (record?.status !== 'processing' || record.position?.offset !== from.offset) return null;
    // One chunk of a brand at a time: two that create the same contacts would deadlock.
    await trx.query(`select pg_advisory_xact_lock(hashtextextended('import chunk ' || $1::text, 0))`, [
      record.brand_id,
    ]);
    const checked = rows.filter((row): row is ImportRow => !isFailed(row));
    const tally: Tally = {
      created: 0,
      updated: 0,
      unchanged: 0,
      duplicate: 0,
      failed: rows.filter(isFailed),
      warned: new Set(checked.filter(({ warnings }) => warnings.length > 0)),
    };
    if (record.options.dry_run) await trx.query('savepoint dry_run');
    const withdrawn = await withdraw({ trx, deps, record }, rows);
    const work = { trx, deps, record, tally, withdrawn };
    if (!seemsNew || !(await importAsNew(work, checked))) await importRows(work, checked);
    if (record.resource === 'contacts' && !record.options.dry_run) await suppressReported(trx, record, rows);
    const failedRows = tally.failed.map((row) => ({ ...row, warnings: null }));
    const report = reportOf(keptErrors(record), failedRows, maxErrorBytes);
    const warned = warnedRows(tally);
    const warnings = reportOf(keptWarnings(record), warned, maxWarningBytes);
    await insertErrors(trx, record, [...report.kept, ...warnings.kept]);
    await trx.query(
      `update imports set position = $2, chunk_count = chunk_count + $11, created_count = created_count + $3,
         updated_count = updated_count + $4, unchanged_count = unchanged_count + $5, duplicate_count = duplicate_count + $6,
         failed_count = failed_count + $7, error_bytes = error_bytes + $8, left_out_count = left_out_count + $9,
         left_out_from = coalesce(left_out_from, $10), warning_count = warning_count + $12,
         warning_bytes = warning_bytes + $13, warnings_left_out = warnings_left_out + $14,
         engine_expected_by = now() + interval '2 minutes'
       where id = $1`,
      [
        importId,
        JSON.stringify(markedPosition(next)),
        tally.created,
        tally.updated,
        tally.unchanged,
        tally.duplicate,
        tally.failed.length,
        report.bytes,
        report.leftOut.length,
        report.leftOut[0]?.number ?? null,
        // Only such a chunk has claims that an older version does not know.
        record.resource === 'contacts' && !record.options.dry_run ? 1 : 0,
        warned.length,
        warnings.bytes,
        warnings.leftOut.length,
      ],
    );
    return readImport(trx, importId);
  });
}
