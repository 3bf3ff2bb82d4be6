/** What becomes of a run whose transaction failed. */
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../../../errors.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import { FlowVersionMissingError } from '../versions.ts';
import { endRuns, type RunEnd } from './ends.ts';
import { NewerRecordError } from './record.ts';

/** Whether a run can never continue after the error. */
export function isFinal(error: unknown): boolean {
  if (error instanceof FlowVersionMissingError) return true;
  // Filters that cannot be evaluated, such as those that have become too many.
  return error instanceof AppError && error.code === 'validation_error';
}

/** Why a run cannot continue now, for an operator; null if the error has another cause. */
export function reasonToWait(error: unknown): string | null {
  if (isStatementTimeout(error)) return 'tries again soon, because its step or its filters took too long';
  if (error instanceof NewerRecordError)
    return 'waits for a worker of the newer version that stored its position';
  return null;
}

/** Ends a run whose step can never be taken, because its version and the filters in it never change. */
export async function endBroken(
  { pool, log }: { pool: pg.Pool; log: Logger },
  runId: number,
  asOf: Date,
  error: unknown,
): Promise<RunEnd> {
  log.warn({ err: error, flow_run_id: runId }, 'flow run ended: its step cannot be taken');
  const end: RunEnd = { state: 'exited', reason: 'error' };
  await inTransaction(pool, async (trx) => {
    // Only versions that know every kind of filter may end a run so.
    await trx.query(`select set_config('carillon.filters', 'compared', true)`);
    await endRuns(trx, [runId], end, { asOf, priority: null });
  });
  return end;
}
