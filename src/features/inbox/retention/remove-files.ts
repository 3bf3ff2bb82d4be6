import type { Logger } from 'pino';
import {
  type FileRemovalDeps,
  type RemovedFiles,
  removeFilesOf,
  removeFiles as removeFilesIn,
} from '../../../platform/housekeeping/removed-files.ts';
import { repeat, type Repeating } from '../../../platform/processes/repeat.ts';

const PAUSE_MS = 60_000;

/** Also takes the bytes of the files off what their account stores. */
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

const removedFiles: RemovedFiles = { table: 'inbox_removed_files', keyColumn: 'key', forgetSql };

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
  const keysGone = rows.map(({ key }) => key);
  const [freed] = await removeFilesOf<{ bytes: number }>(deps, removedFiles, accountId, keysGone);
  return freed?.bytes ?? 0;
}

/**
 * Removes the files whose rows are gone, and takes their bytes off what their accounts store. See {@link removeFilesIn}.
 */
export const removeFiles = (deps: FileRemovalDeps, progress?: () => void): Promise<number> =>
  removeFilesIn(deps, removedFiles, progress);

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
