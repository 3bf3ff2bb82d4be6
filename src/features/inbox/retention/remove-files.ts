import type pg from 'pg';
import type { Logger } from 'pino';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';

const FILES_AT_ONCE = 200;
const PAUSE_MS = 60_000;

export interface FileRemovalDeps {
  pool: pg.Pool;
  store: Pick<BlobStore, 'remove'>;
}

/** `$1`: keys of files that are gone, `$2`: their account. Another process may have removed some of them. */
const forgetSql = `
  with gone as (
    delete from inbox_removed_files where key = any(array(
      select key from inbox_removed_files where key = any($1) and account_id = $2 order by key for update skip locked))
    returning size
  ), total as (
    select coalesce(sum(size), 0)::bigint as bytes from gone
  ), counted as (
    update inbox_storage set bytes = greatest(0, bytes - (select bytes from total)) where account_id = $2
  )
  select bytes from total`;

/** Removes files, and takes their bytes off what their account stores. @returns these bytes */
async function removeOf(
  { pool, store }: FileRemovalDeps,
  accountId: number,
  keys: string[],
): Promise<number> {
  // Files first: a file without any row would be kept for another month.
  for (const key of keys) await store.remove(key);
  const { rows } = await pool.query<{ bytes: number }>(forgetSql, [keys, accountId]);
  return rows[0]?.bytes ?? 0;
}

/**
 * Removes at once those of the files whose rows are gone. Others, which mail still uses, stay.
 * @returns bytes that the account no longer stores
 */
export async function removeListedFiles(
  deps: FileRemovalDeps,
  accountId: number,
  keys: readonly string[],
): Promise<number> {
  const { rows } = await deps.pool.query<{ key: string }>(
    'select key from inbox_removed_files where key = any($1) and account_id = $2',
    [keys, accountId],
  );
  return removeOf(
    deps,
    accountId,
    rows.map(({ key }) => key),
  );
}

/**
 * Removes the files whose rows are gone, and takes their bytes off what their accounts store. A file that is already
 * gone counts as removed. Any number of processes may do so at once.
 * @param progress called after each batch
 * @returns how many files were removed
 * @throws the error of the storage or of the database; what was removed before stays removed
 */
export async function removeFiles(
  deps: FileRemovalDeps,
  progress: () => void = () => undefined,
): Promise<number> {
  for (let total = 0; ;) {
    const { rows } = await deps.pool.query<{ key: string; account_id: number }>(
      'select key, account_id from inbox_removed_files limit $1',
      [FILES_AT_ONCE],
    );
    for (const [accountId, files] of Map.groupBy(rows, (row) => row.account_id)) {
      await removeOf(
        deps,
        accountId,
        files.map(({ key }) => key),
      );
    }
    total += rows.length;
    progress();
    if (rows.length < FILES_AT_ONCE) return total;
  }
}

/** Removes files each minute, so that an account whose storage is full soon has room again. */
export function startFileRemoval({ log, ...deps }: FileRemovalDeps & { log: Logger }): Repeating {
  return repeat(
    async () => {
      await removeFiles(deps);
      return PAUSE_MS;
    },
    { log, name: 'removing files of mail', retryMs: PAUSE_MS },
  );
}
