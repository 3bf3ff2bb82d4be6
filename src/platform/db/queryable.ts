import type pg from 'pg';

/** Runs SQL: a pool, a client, or a client inside a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
}

/** Runs `work` on one client of the pool. A client whose connection broke is discarded instead of pooled again. */
export async function onClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    return await work(client);
  } catch (error) {
    broken = !('severity' in (error as Error)) && isConnectionError(error);
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Runs `work` in a transaction.
 * @throws the error of `work` or of the commit, after a rollback
 */
export function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return onClient(pool, async (client) => {
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  });
}

/**
 * Thrown inside a transaction that needs slow work to be done first. The transaction is rolled back, `prepare` runs
 * outside of any transaction, and then the transaction runs again: see {@link inPreparedTransaction}.
 */
export class NotPreparedError extends Error {
  readonly prepare: () => Promise<void>;

  constructor(prepare: () => Promise<void>) {
    super('the transaction needs something that is not prepared yet');
    this.prepare = prepare;
  }
}

/**
 * Runs `work` in a transaction. After each {@link NotPreparedError}, prepares and runs it again.
 * @throws as {@link inTransaction}, and any error of `prepare`
 */
export async function inPreparedTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await inTransaction(pool, work);
    } catch (error) {
      if (!(error instanceof NotPreparedError)) throw error;
      await error.prepare();
    }
  }
}

/** Whether an error means that the connection is lost. It is then unknown whether a COMMIT succeeded. */
export function isConnectionError(error: unknown): boolean {
  const given = (error as { code?: unknown }).code;
  // Temporal's errors have numeric codes.
  const code = typeof given === 'string' ? given : '';
  if (['57P01', '57P02', '57P03', '25P03', 'EAI_AGAIN'].includes(code)) return true;
  if (code.startsWith('08') || /^E[A-Z]+$/.test(code)) return true;
  return /connection terminated|connection ended|timeout exceeded|not queryable/i.test(
    (error as Error).message,
  );
}

/** SQL for a time as text with microseconds, which JavaScript's Date would lose. @param column a trusted name */
export function exactTime(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
