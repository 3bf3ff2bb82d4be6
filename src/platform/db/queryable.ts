import type pg from 'pg';

/** A pool, a client, or a client inside a transaction: what hot paths and rooms run bare SQL on. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
}

/** Run `work` on a pool's client of its own. A client whose connection broke is thrown away, not pooled again. */
export async function onClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // Its statements tell of a lost connection; without a listener the client's own event would end the process.
  const ignore = () => undefined;
  client.on('error', ignore);
  let broken = false;
  try {
    return await work(client);
  } catch (error) {
    broken = !('severity' in (error as Error)) && isConnectionError(error);
    throw error;
  } finally {
    client.release(broken);
    client.off('error', ignore);
  }
}

/**
 * Run `work` in one transaction of a pool's client.
 * @throws whatever `work` or the commit throws, after a rollback
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

/** Whether an error says that the connection is gone, so that a COMMIT's fate is not known. */
export function isConnectionError(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? '';
  if (['57P01', '57P02', '57P03', '25P03'].includes(code)) return true;
  if (code.startsWith('08') || /^E[A-Z]+$/.test(code)) return true;
  return /connection terminated|connection ended|timeout exceeded|not queryable/i.test(
    (error as Error).message,
  );
}
