import type pg from 'pg';
import type { Logger } from 'pino';
import type { ValidationState } from '../../../workflows/validation/contract.ts';
import { inTransaction, isConnectionError } from '../../platform/db/queryable.ts';
import type { Attendance } from '../../platform/temporal/contract.ts';
import type { AddressChecker } from './checks/address-checker.ts';
import { expectOperation, lockAccount, type OperationRow, readOperation } from './model.ts';
import { checkPage, type PageOptions } from './page.ts';
import { checkedCount } from './presenter.ts';
import { endOperation } from './settle.ts';
import { collectPage } from './snapshot.ts';

export interface ValidationRunDeps {
  pool: pg.Pool;
  checker: Pick<AddressChecker, 'check' | 'forget'>;
  log: Logger;
  /** Overrides the usual limit in tests. */
  turnMs?: number;
}

/** After this time, no new page begins. */
const TURN_MS = 20_000;
/** After this time, the rest of a page is left for later, because mail servers may be queried slowly. */
const MAX_PAGE_MS = 120_000;
/**
 * Maximum number of tries of a piece of work that fails with an error. After that the operation fails, and may be
 * resumed.
 */
const MAX_TRIES = 10;

/**
 * Begins an operation if no other operation of the account runs. Operations of test keys cost nothing and do not wait.
 */
async function beginOperation(
  pool: pg.Pool,
  { id, account_id: accountId, test }: OperationRow,
): Promise<boolean> {
  const { rowCount } = await inTransaction(pool, async (trx) => {
    await lockAccount(trx, accountId);
    return trx.query(
      `update validation_operations set status = 'running', started_at = coalesce(started_at, now())
       where id = $1 and status = 'pending' and ($3 or not exists (
         select 1 from validation_operations o where o.account_id = $2 and o.status = 'running' and not o.test))`,
      [id, accountId, test],
    );
  });
  return rowCount === 1;
}

interface Left {
  /** Whether items are left that were never checked. */
  isNew: boolean;
  /** When the next item may be checked again; null if none is waiting for that. */
  retryAt: Date | null;
}

async function findLeft(pool: pg.Pool, id: number): Promise<Left> {
  const { rows } = await pool.query<{ is_new: boolean; retry_at: Date | null }>(
    `select coalesce(bool_or(retry_at is null), false) as is_new, min(retry_at) as retry_at
     from validation_items where operation_id = $1 and verdict is null`,
    [id],
  );
  return { isNew: rows[0]?.is_new ?? false, retryAt: rows[0]?.retry_at ?? null };
}

async function usesOutsideValidator(pool: pg.Pool, accountId: number): Promise<boolean> {
  const { rows } = await pool.query<{ outside_validation: boolean }>(
    'select outside_validation from accounts where id = $1',
    [accountId],
  );
  return rows[0]?.outside_validation ?? false;
}

interface Turn {
  deps: ValidationRunDeps;
  id: number;
  asOf: Date;
  attendance: Attendance;
  isOver: () => boolean;
  /** Aborted when the work in progress must end. */
  signal: AbortSignal;
}

/** Takes candidates until none is left or the turn is over. */
async function collect({ deps, id, attendance, isOver }: Turn): Promise<void> {
  while (await collectPage(deps.pool, id, attendance.attempt)) {
    attendance.progress();
    if (isOver()) return;
  }
}

/** Checks pages until none is left, the turn is over or the operation ends. @returns whether none is left */
async function checkPages(turn: Turn, dueBy: Date | null, outsideValidator: boolean): Promise<boolean> {
  const { deps, id, asOf, attendance, isOver, signal } = turn;
  for (let after: number | null = 0; after !== null;) {
    const row = await readOperation(deps.pool, id);
    if (row?.status !== 'running') return false;
    const options: PageOptions = { after, dueBy, asOf, outsideValidator, signal };
    after = await checkPage(deps, row, options);
    attendance.progress();
    if (after !== null && isOver()) return false;
  }
  return true;
}

/** @returns when to continue; null: at once, or the operation has ended */
async function checkAll(turn: Turn, row: OperationRow): Promise<Date | null> {
  const { deps, id, asOf } = turn;
  const outside = !row.test && (await usesOutsideValidator(deps.pool, row.account_id));
  if (!(await checkPages(turn, null, outside))) return null;
  if (!(await checkPages(turn, asOf, outside))) return null;
  const { isNew, retryAt } = await findLeft(deps.pool, id);
  // Another process may have been writing a page that this one has skipped.
  if (isNew || (retryAt !== null && retryAt <= asOf)) return null;
  if (retryAt === null) await inTransaction(deps.pool, (trx) => endOperation(trx, id, 'completed'));
  return retryAt;
}

const isFinal = ({ status }: OperationRow) => status !== 'pending' && status !== 'running';

interface Step {
  phase: ValidationState['phase'];
  retryAt: Date | null;
}

async function step(turn: Turn, row: OperationRow): Promise<Step> {
  const { pool } = turn.deps;
  if (row.status === 'pending') {
    return { phase: (await beginOperation(pool, row)) ? 'collecting' : 'waiting', retryAt: null };
  }
  if (!row.snapshot_complete) {
    await collect(turn);
    return { phase: 'collecting', retryAt: null };
  }
  const retryAt = await checkAll(turn, row);
  return { phase: retryAt === null ? 'checking' : 'retrying', retryAt };
}

/** Fails the operation if the same piece of work keeps failing although the database is reachable. */
async function failIfHopeless({ deps, id, attendance }: Turn, error: unknown): Promise<void> {
  const isHopeless = attendance.attempt >= MAX_TRIES && !isConnectionError(error);
  if (!isHopeless || attendance.stopping.aborted) throw error;
  deps.log.warn({ err: error, validationId: id }, 'a validation failed');
  await inTransaction(deps.pool, (trx) => endOperation(trx, id, 'failed'));
}

/**
 * Does the next piece of an operation, according to its row: begins, takes candidates, checks pages, or ends and
 * settles.
 * @param asOf items that are due by then are checked again
 * @returns the operation's progress
 */
export async function advanceValidation(
  deps: ValidationRunDeps,
  id: number,
  asOf: Date,
  attendance: Attendance,
): Promise<ValidationState> {
  const gone: ValidationState = { phase: 'done', retryAt: null, candidateCount: 0, checkedCount: 0 };
  const row = await readOperation(deps.pool, id);
  if (!row) return gone;
  const until = Date.now() + (deps.turnMs ?? TURN_MS);
  const isOver = () => Date.now() >= until || attendance.stopping.aborted;
  const signal = AbortSignal.any([attendance.stopping, AbortSignal.timeout(MAX_PAGE_MS)]);
  const turn: Turn = { deps, id, asOf, attendance, isOver, signal };
  let done: Step = { phase: 'done', retryAt: null };
  if (!isFinal(row)) {
    await expectOperation(deps.pool, id);
    try {
      done = await step(turn, row);
    } catch (error) {
      await failIfHopeless(turn, error);
    }
  }
  const after = (await readOperation(deps.pool, id)) ?? row;
  if (isFinal(after)) deps.checker.forget(String(id));
  return {
    phase: isFinal(after) ? 'done' : done.phase,
    status: after.status,
    retryAt: done.retryAt?.toISOString() ?? null,
    candidateCount: after.candidate_count,
    checkedCount: checkedCount(after),
  };
}
