import type pg from 'pg';
import type { BlobStore } from '../storage/blob-store.ts';

const FILES_AT_ONCE = 200;

export interface FileRemovalDeps {
  pool: pg.Pool;
  store: Pick<BlobStore, 'remove'>;
}

/** The table of files whose rows are gone and which are removed next. Rows go first, in whichever way they go. */
export interface RemovedFiles {
  table: string;
  /** The column of the storage keys; `account_id` has the account. */
  keyColumn: string;
  /**
   * SQL: deletes from the table. `$1`: keys of files that are gone, `$2`: their account. Another process may have deleted
   * some of them.
   */
  forgetSql: string;
}

/**
 * Removes files of an account that are in the table.
 * @returns the rows of `forgetSql`
 */
export async function removeFilesOf<Row extends pg.QueryResultRow>(
  { pool, store }: FileRemovalDeps,
  { forgetSql }: RemovedFiles,
  accountId: number,
  keys: readonly string[],
): Promise<Row[]> {
  // Files first: a file without any row would be kept for another month.
  for (const key of keys) await store.remove(key);
  return (await pool.query<Row>(forgetSql, [keys, accountId])).rows;
}

/**
 * Removes all files in the table. A file that is already gone counts as removed. Any number of processes may do so at
 * once.
 * @param progress called after each batch
 * @returns how many files were removed
 * @throws the error of the storage or of the database; what was removed before stays removed
 */
export async function removeFiles(
  deps: FileRemovalDeps,
  removed: RemovedFiles,
  progress: () => void = () => undefined,
): Promise<number> {
  for (let total = 0; ;) {
    const { rows } = await deps.pool.query<{ key: string; account_id: number }>(
      `select ${removed.keyColumn} as key, account_id from ${removed.table} limit $1`,
      [FILES_AT_ONCE],
    );
    for (const [accountId, files] of Map.groupBy(rows, (row) => row.account_id)) {
      await removeFilesOf(
        deps,
        removed,
        accountId,
        files.map(({ key }) => key),
      );
    }
    total += rows.length;
    progress();
    if (rows.length < FILES_AT_ONCE) return total;
  }
}
