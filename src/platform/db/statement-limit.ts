import type { Queryable } from './queryable.ts';

/** Whether PostgreSQL canceled a statement at its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === '57014';
}

/** Runs `work` in a transaction, with a time limit for each of its statements. @returns null if one took longer */
export async function withLimit<T>(
  client: Queryable,
  ms: number,
  work: (trx: Queryable) => Promise<T>,
): Promise<T | null> {
  await client.query(`begin; set local statement_timeout = ${ms}`);
  try {
    return await work(client);
  } catch (error) {
    if (isStatementTimeout(error)) return null;
    throw error;
  } finally {
    await client.query('rollback');
  }
}
