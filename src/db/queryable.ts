import type pg from 'pg';

/** A pool, a client, or a client inside a transaction: what hot paths and rooms run bare SQL on. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
}

/**
 * Run `work` in one transaction of a pool's client.
 * @throws whatever `work` or the commit throws, after a rollback
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // Its statements tell of a lost connection; without a listener the client's own event would end the process.
  const ignore = () => undefined;
  client.on('error', ignore);
  let failure: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    failure = error as Error;
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    // A client whose connection broke is thrown away, not pooled again.
    client.release(failure !== undefined && !('severity' in failure) && isConnectionError(failure));
    client.off('error', ignore);
  }
}

/** Whether an error says that the connection is gone, so that a COMMIT's fate is not known. */
export function isConnectionError(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? '';
  if (['57P01', '57P02', '57P03', '25P03'].includes(code)) return true;
  if (code.startsWith('08') || /^E[A-Z]+$/.test(code)) return true;
  return /connection terminated|connection ended|timeout exceeded|not queryable/i.test(
    (error as Error).message,
  );
}
