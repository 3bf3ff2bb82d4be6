import { setTimeout as delay } from 'node:timers/promises';
import { isRefusedData } from '../../platform/db/refused-data.ts';
import type { Attendance } from '../../platform/temporal/contract.ts';
import { type Chunk, type ChunkDeps, commitChunk, failedOf, isFailed } from './chunk.ts';
import type { ImportRecord } from './model.ts';
import type { RowProblem } from './cells.ts';

const TIMEOUT = '57014';
/** PostgreSQL's error class "program limit exceeded". */
const LIMIT_EXCEEDED = /^54/;

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';

const refused: RowProblem = {
  code: 'refused',
  message: 'the database refuses what the row contains',
  column: null,
};
const timeout: RowProblem = { code: 'timeout', message: 'the row takes too long to import', column: null };

/** Whether the contents of the file cause the error, so that a retry would not help. */
export function isHopeless(error: unknown): boolean {
  return (
    isRefusedData(error) ||
    LIMIT_EXCEEDED.test(codeOf(error)) ||
    error instanceof RangeError ||
    error instanceof TypeError
  );
}

/** Returns the problem of a row that failed on its own with this error; null if rows are not to blame. */
function blame(error: unknown): RowProblem | null {
  if (codeOf(error) === TIMEOUT) return timeout;
  return isHopeless(error) ? refused : null;
}

/**
 * Maximum number of tries of a chunk that fails because of a lock, a deadlock, or a contact that was created meanwhile.
 * A statement that takes too long is retried with fewer rows instead, unless there is only one. A worker of a newer
 * version refuses the chunk with 40001: the engine retries the activity until such a worker does it.
 */
function triesFor(code: string, rows: number): number {
  if (['40P01', '55P03'].includes(code)) return 20;
  if (['23505', '23503'].includes(code)) return 5;
  return code === TIMEOUT && rows <= 1 ? 3 : 1;
}

async function commitWithRetries(
  deps: ChunkDeps,
  id: number,
  chunk: Chunk,
  { progress, stopping }: Attendance,
): Promise<ImportRecord | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await commitChunk(deps, id, chunk);
    } catch (error) {
      progress();
      if (stopping.aborted || tries >= triesFor(codeOf(error), chunk.rows.length)) throw error;
      await delay(50 + Math.random() * 50 * tries);
    }
  }
}

/**
 * Imports a chunk. If the database refuses rows or takes too long, the chunk is halved until the rows at fault are
 * found. These fail, and the others are imported.
 * @returns like {@link commitChunk}
 * @throws errors for which rows are not to blame
 */
export async function commitRows(
  deps: ChunkDeps,
  id: number,
  chunk: Chunk,
  attendance: Attendance,
): Promise<ImportRecord | null> {
  try {
    return await commitWithRetries(deps, id, chunk, attendance);
  } catch (error) {
    const problem = blame(error);
    const { rows, from, next } = chunk;
    const [only] = rows;
    if (!problem || !only) throw error;
    attendance.stopping.throwIfAborted();
    if (rows.length === 1) {
      if (isFailed(only)) throw error;
      return commitWithRetries(deps, id, { rows: [failedOf(only, problem)], from, next }, attendance);
    }
    const half = Math.ceil(rows.length / 2);
    const middle = rows[half - 1]?.next ?? next;
    const after = await commitRows(deps, id, { rows: rows.slice(0, half), from, next: middle }, attendance);
    return after && commitRows(deps, id, { rows: rows.slice(half), from: middle, next }, attendance);
  }
}
