import type pg from 'pg';
import type { BulkActionProgress } from '../../../workflows/bulk-actions/contract.ts';
import type { RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import type { ScannedIds } from '../../platform/db/id-scan.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import type { Attendance } from '../../platform/temporal/contract.ts';
import { cancelMessagesTo, type ConsentDeps, removalsWaiting } from '../contacts/service.ts';
import { scanConversations } from '../inbox/index.ts';
import { changePage, kinds, scopeOf } from './change.ts';
import { ListDeleted, scanFilter } from './filter.ts';
import {
  addTimeout,
  beginBulkAction,
  type BulkActionRow,
  complete,
  endCounting,
  fail,
  findUnderWay,
  lockRunning,
  readBulkAction,
  saveCounted,
  savePage,
} from './model.ts';

export interface BulkActionRunDeps {
  pool: pg.Pool;
  consent: ConsentDeps;
  fence: RecipientFence;
  /** Other limits, for tests. */
  turnMs?: number;
  scanRows?: number;
  pageRows?: number;
  maxRemovals?: number;
}

type Turn = Pick<Attendance, 'progress' | 'stopping'>;

/** Maximum time that an action works before the next one gets its turn, in ms. */
const TURN_MS = 10_000;
/** Number of contacts or conversations that one statement examines. */
const SCAN_ROWS = 10_000;
/** Maximum number of statements that time out. After each, pages are a quarter as large. */
const MAX_TIMEOUTS = 5;
/**
 * Number of deleted contacts that wait to be cleared, after which no further ones are deleted: a contact that another
 * account deletes would wait behind them.
 */
const MAX_REMOVALS = 2_000;

const GONE: BulkActionProgress = {
  phase: 'done',
  totalCount: null,
  processedCount: 0,
  changedCount: 0,
  failedCount: 0,
};

const phases: Record<BulkActionRow['status'], BulkActionProgress['phase']> = {
  queued: 'waiting',
  counting: 'counting',
  running: 'running',
  completed: 'done',
  canceled: 'done',
  failed: 'done',
};

async function progressOf(db: Queryable, id: number, isYielding = false): Promise<BulkActionProgress> {
  const row = await readBulkAction(db, id);
  if (!row) return GONE;
  return {
    phase: isYielding && row.status === 'running' ? 'yielding' : phases[row.status],
    status: row.status,
    totalCount: row.total_count,
    processedCount: row.processed_count,
    changedCount: row.changed_count,
    failedCount: row.failed_count,
  };
}

/** Pages are smaller if the filters take long to evaluate. */
const smaller = (rows: number, { timeouts }: BulkActionRow): number =>
  Math.max(1, Math.floor(rows / 4 ** timeouts));

function scan(db: Queryable, row: BulkActionRow, maxRows: number): Promise<ScannedIds> {
  const page = { after: row.cursor_id, upTo: row.last_id ?? 0, maxRows: smaller(maxRows, row) };
  const scope = scopeOf(row);
  if (row.action === 'delete_conversations') return scanConversations(db, scope, row.filter, page);
  const { filter, pinned } = row;
  // Periods of segments, such as the last 30 days, must not move while the action runs.
  return scanFilter(db, { scope, asOf: row.started_at ?? row.created_at, filter, pinned }, page);
}

/** The next contacts or conversations to change, at most as many as one transaction may change. */
async function nextPage(db: Queryable, row: BulkActionRow, deps: BulkActionRunDeps): Promise<ScannedIds> {
  const { ids, scannedTo } = await scan(db, row, deps.scanRows ?? SCAN_ROWS);
  const page = ids.slice(0, smaller(deps.pageRows ?? kinds[row.action].pageSize, row));
  return { ids: page, scannedTo: page.length < ids.length ? (page.at(-1) ?? scannedTo) : scannedTo };
}

async function countPage(deps: BulkActionRunDeps, row: BulkActionRow): Promise<void> {
  const { pool, scanRows = SCAN_ROWS } = deps;
  if (row.cursor_id >= (row.last_id ?? 0)) return endCounting(pool, row.id);
  const { ids, scannedTo } = await scan(pool, row, scanRows);
  await saveCounted(pool, row, { matching: ids.length, cursor: scannedTo });
}

/**
 * Finds the contacts to delete, and cancels their messages.
 * @returns the ids, of which only those are deleted that still match
 */
async function prepareDeletion(deps: BulkActionRunDeps, row: BulkActionRow): Promise<ScannedIds> {
  const page = await nextPage(deps.pool, row, deps);
  await cancelMessagesTo(deps.pool, scopeOf(row), page.ids);
  return page;
}

/** @returns the part of a page that still matches */
async function findToDelete(
  trx: Queryable,
  row: BulkActionRow,
  { ids, scannedTo }: ScannedIds,
): Promise<ScannedIds> {
  const now = await scan(trx, { ...row, last_id: scannedTo, timeouts: 0 }, Number.MAX_SAFE_INTEGER);
  const matching = new Set(now.ids);
  return { ids: ids.filter((id) => matching.has(id)), scannedTo };
}

/** Chooses what to change, under the locks that keep it as it is. */
async function choosePage(
  trx: Queryable,
  row: BulkActionRow,
  deps: BulkActionRunDeps,
  prepared: ScannedIds | null,
): Promise<ScannedIds> {
  if (prepared) return findToDelete(trx, row, prepared);
  const page = await nextPage(trx, row, deps);
  const { lockPage } = kinds[row.action];
  if (!lockPage) return page;
  await lockPage(trx, page.ids);
  return findToDelete(trx, row, page);
}

/** Changes a page, in one transaction with the progress: a crash loses at most the page. */
async function runPage(deps: BulkActionRunDeps, row: BulkActionRow): Promise<void> {
  const { pool, consent, fence } = deps;
  const kind = kinds[row.action];
  if (row.cursor_id >= (row.last_id ?? 0)) {
    // Needed if the process that changed the last page stopped before its wait.
    if (kind.stopsMail) await fence.wait(row.account_id);
    return complete(pool, row.id);
  }
  const prepared = row.action === 'delete' ? await prepareDeletion(deps, row) : null;
  const changed = await inTransaction(pool, async (trx) => {
    if (!(await lockRunning(trx, row))) return 0;
    await kind.lock?.(trx, row);
    const page = await choosePage(trx, row, deps, prepared);
    const done = await changePage(trx, consent, row, page.ids);
    await savePage(trx, row.id, { cursor: page.scannedTo, processed: page.ids.length, ...done });
    return done.changed;
  });
  if (kind.stopsMail && changed > 0) await fence.wait(row.account_id);
}

/** Ends an action for which a retry would not help. */
async function orFail({ pool }: BulkActionRunDeps, id: number, work: Promise<void>): Promise<void> {
  await work.catch(async (error: unknown) => {
    if (error instanceof ListDeleted) return fail(pool, id, 'list_deleted');
    if (!isStatementTimeout(error)) throw error;
    if ((await addTimeout(pool, id)) >= MAX_TIMEOUTS) await fail(pool, id, 'too_slow');
  });
}

/**
 * Does the next piece of a bulk action, according to its row: begins it, counts, or changes what matches, until the turn is
 * over. Several processes may do so at once.
 * @returns the progress afterwards
 */
export async function advanceBulkAction(
  deps: BulkActionRunDeps,
  id: number,
  turn: Turn,
): Promise<BulkActionProgress> {
  const { pool, turnMs = TURN_MS, maxRemovals = MAX_REMOVALS } = deps;
  const endsAt = performance.now() + turnMs;
  await inTransaction(pool, (trx) => beginBulkAction(trx, id));
  do {
    const row = await findUnderWay(pool, id);
    if (!row) break;
    if (row.status === 'counting') await orFail(deps, id, countPage(deps, row));
    else if (row.action === 'delete' && (await removalsWaiting(pool, maxRemovals)))
      return progressOf(pool, id, true);
    else await orFail(deps, id, runPage(deps, row));
    turn.progress();
  } while (!turn.stopping.aborted && performance.now() < endsAt);
  return progressOf(pool, id);
}
